/* rooms: base store doc analysis segment invert memseg snapshot merge query search commit collect result engine api */
/* Handles in the hands of several threads: closed twice at once, freed while
 * another thread waits, freed inside a batch (A1, A5). */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "engine_steps.h"

typedef struct closer {
    grebe_index *index;
    pthread_barrier_t *start;
    int closed, refused;
} closer;

static void *closer_run(void *context) {
    closer *x = context;
    pthread_barrier_wait(x->start);
    for (;;) {
        grebe_status status = grebe_index_close(x->index, 1, NULL);
        if (status == GREBE_OK) break;
        if (status != GREBE_STATE) abort();
        x->refused++;
    }
    x->closed = grebe_index_closed(x->index);
    return NULL;
}

static void a1_two_threads_close_one_handle(void **unused) {
    (void)unused;
    for (int round = 0; round < 200; round++) {
        engine_case c;
        pthread_barrier_t start;
        pthread_t threads[2];
        case_open(&c, round % 2 ? CASE_MEMORY : CASE_RAM);
        case_add(&c, "k", "fox", "t", 1);
        pthread_barrier_init(&start, NULL, 2);
        closer x[2] = {{.index = c.index, .start = &start},
                       {.index = c.index, .start = &start}};
        for (int i = 0; i < 2; i++)
            pthread_create(&threads[i], NULL, closer_run, &x[i]);
        for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
        assert_int_equal(x[0].closed && x[1].closed, 1);
        pthread_barrier_destroy(&start);
        case_close(&c);
    }
}

typedef struct waiter {
    engine_case *c;
    grebe_index *index;
    _Atomic int begun;
    grebe_status status;
} waiter;

static void *waiter_run(void *context) {
    waiter *x = context;
    grebe_document *d;
    if (grebe_document_new(x->c->schema, &d, NULL)) abort();
    if (grebe_document_add_text(d, 0, "w", 1, NULL)) abort();
    x->begun = 1;
    x->status = grebe_index_add(x->index, d, 1, NULL);
    grebe_document_free(d);
    return NULL;
}

static void a1_a_handle_is_freed_while_another_thread_waits(void **unused) {
    (void)unused;
    for (int round = 0; round < 20; round++) {
        engine_case c;
        pthread_t thread;
        case_open(&c, round % 2 ? CASE_MEMORY : CASE_RAM);
        waiter x = {.c = &c, .index = c.index};
        batch_begin(&c);
        case_add(&c, "k", "fox", "t", 1);
        pthread_create(&thread, NULL, waiter_run, &x);
        while (!x.begun) sched_yield();
        usleep(2000); /* now it waits for the batch's end */
        grebe_index_free(c.index);
        pthread_join(thread, NULL);
        assert_int_equal(x.status, GREBE_OK);
        c.index = NULL;
        case_close(&c);
    }
}

static void a5_a_batch_goes_with_the_handle_it_was_begun_on(void **unused) {
    (void)unused;
    for (int folder = 0; folder < 2; folder++) {
        engine_case c;
        grebe_container *container;
        grebe_index *one;
        pthread_t thread;
        case_open(&c, CASE_FOLDER);
        grebe_index_free(c.index);
        case_ok(grebe_container_open(folder ? c.path : NULL, NULL, &container,
                                     &c.error),
                &c);
        case_ok(
            grebe_container_core(container, "main", c.schema, &one, &c.error),
            &c);
        case_ok(grebe_container_core(container, "main", c.schema, &c.index,
                                     &c.error),
                &c);
        case_ok(grebe_index_batch_begin(one, &c.error), &c);
        case_add(&c, "k", "fox", "t", 1); /* this thread owns the batch */
        grebe_index_free(one);
        waiter x = {.c = &c, .index = c.index};
        pthread_create(&thread, NULL, waiter_run, &x);
        pthread_join(thread, NULL); /* it does not wait for ever */
        assert_int_equal(x.status, GREBE_OK);
        case_commit(&c, GREBE_HARD);
        assert_int_equal(case_count(&c), 1);
        assert_int_equal(got(&c, "k"), 0);
        /* A container freed with a batch open leaves its handles working. */
        batch_begin(&c);
        grebe_container_free(container);
        case_add(&c, "k2", "fox", "t", 1);
        case_ok(grebe_index_batch_end(c.index, GREBE_SOFT, NULL, &c.error),
                &c);
        assert_int_equal(case_count(&c), 2);
        case_close(&c);
    }
}

typedef struct opener {
    grebe_container *container;
    grebe_schema *schema;
    _Atomic int begun;
    grebe_index *index;
} opener;

static void *opener_run(void *context) {
    opener *x = context;
    x->begun = 1;
    if (grebe_container_core(x->container, "main", x->schema, &x->index, NULL))
        abort();
    return NULL;
}

/* Asking for a core with more fields waits for the batch of another thread;
 * nobody waits for the container meanwhile. */
static void a5_a_batch_does_not_hold_up_a_container(void **unused) {
    (void)unused;
    engine_case c;
    pthread_t thread;
    grebe_index *other;
    grebe_open_options o = {.add_fields = 1};
    grebe_schema *wide = case_schema();
    const grebe_field more = {
        .name = "more", .kind = GREBE_INT, .flags = GREBE_STORED};
    case_open(&c, CASE_MEMORY);
    grebe_index_free(c.index);
    case_ok(grebe_schema_add(wide, &more, &c.error), &c);
    opener x = {.schema = wide};
    case_ok(grebe_container_open(NULL, &o, &x.container, &c.error), &c);
    case_ok(grebe_container_core(x.container, "main", c.schema, &c.index,
                                 &c.error),
            &c);
    batch_begin(&c);
    pthread_create(&thread, NULL, opener_run, &x);
    while (!x.begun) sched_yield();
    usleep(5000);
    case_ok(
        grebe_container_core(x.container, "other", c.schema, &other, &c.error),
        &c);
    batch_undo(&c);
    pthread_join(thread, NULL);
    grebe_index_free(other);
    grebe_index_free(x.index);
    grebe_container_free(x.container);
    grebe_schema_release(wide);
    case_close(&c);
}

typedef struct adder {
    engine_case *c;
    _Atomic int ended;
} adder;

static void *adder_run(void *context) {
    adder *x = context;
    char key[16];
    for (int i = 0; i < 3000; i++) {
        snprintf(key, sizeof key, "k%d", i % 700);
        case_add(x->c, key, i % 3 ? "fox" : "fox cub", "t", i);
        if (i % 50 == 0) case_delete(x->c, "k7");
        if (i % 5 == 0) case_commit(x->c, GREBE_SOFT);
        if (i % 900 == 0) case_merge(x->c);
    }
    x->ended = 1;
    return NULL;
}

/* A branch reads, freezes and merges what its parent goes on growing. */
static void a4_branches_work_while_their_parent_adds(void **unused) {
    (void)unused;
    for (int where = CASE_MEMORY; where <= CASE_RAM; where++) {
        engine_case c, b;
        pthread_t thread;
        case_open(&c, where);
        adder x = {.c = &c};
        b = c;
        pthread_create(&thread, NULL, adder_run, &x);
        for (int i = 0; !x.ended || i < 3; i++) {
            case_ok(grebe_index_branch(c.index, &b.index, &b.error), &b);
            uint64_t before = case_count(&b);
            uint64_t killed = case_delete(&b, "k1") + case_delete(&b, "k9");
            if (i % 3 != 2) case_merge(&b);
            case_commit(&b, GREBE_HARD);
            assert_int_equal(case_count(&b), before - killed);
            grebe_searcher *s = searcher(&b);
            assert_int_equal(seen_by(&b, s, "fox"), before - killed);
            grebe_index_free(b.index);
            assert_int_equal(seen_by(&b, s, "fox"), before - killed);
            grebe_searcher_release(s);
        }
        pthread_join(thread, NULL);
        case_close(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a4_branches_work_while_their_parent_adds),
        cmocka_unit_test(a1_two_threads_close_one_handle),
        cmocka_unit_test(a1_a_handle_is_freed_while_another_thread_waits),
        cmocka_unit_test(a5_a_batch_goes_with_the_handle_it_was_begun_on),
        cmocka_unit_test(a5_a_batch_does_not_hold_up_a_container),
    };
    return STEPS_RUN(tests);
}
