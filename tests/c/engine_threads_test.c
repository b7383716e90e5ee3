/* rooms: base store doc analysis segment invert memseg snapshot merge query search commit collect result engine api */
/* Readers beside a writer: nobody waits, nothing moves, nothing is torn. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine_case.h"

typedef struct stage {
    engine_case c;
    _Atomic bool stop;
    _Atomic uint64_t searches, failures;
} stage;

/* Documents come in pairs ("even", "odd") inside one commit, so a view always
 * shows as many of one as of the other; an open searcher never changes. */
static uint64_t word_count(grebe_searcher *s, const char *word) {
    grebe_query *q;
    grebe_hits *hits;
    grebe_search_request r = {.limit = 3};
    if (grebe_query_match("title", word, strlen(word), GREBE_OR, &q, NULL))
        return UINT64_MAX;
    r.query = q;
    uint64_t total = UINT64_MAX;
    if (grebe_searcher_search(s, &r, &hits, NULL) == GREBE_OK) {
        total = grebe_hits_total(hits);
        grebe_hits_release(hits);
    }
    grebe_query_release(q);
    return total;
}

static void *reader(void *context) {
    stage *st = context;
    uint64_t last = 0;
    while (!st->stop) {
        grebe_searcher *s;
        if (grebe_index_searcher(st->c.index, 0, &s, NULL) != GREBE_OK) {
            st->failures++;
            break;
        }
        uint64_t even = word_count(s, "even"), odd = word_count(s, "odd");
        bool rising = grebe_searcher_number(s) >= last;
        last = grebe_searcher_number(s);
        if (even != odd || !rising || word_count(s, "even") != even ||
            even + odd != grebe_searcher_count(s))
            st->failures++;
        grebe_searcher_release(s);
        st->searches++;
    }
    return NULL;
}

static void pair_add(stage *st, int i) {
    char key[24];
    snprintf(key, sizeof key, "e%d", i % 50);
    case_add(&st->c, key, "even words", "t", i);
    snprintf(key, sizeof key, "o%d", i % 50);
    case_add(&st->c, key, "odd words", "t", i);
}

static void views_are_whole_beside_a_writer(void **unused) {
    (void)unused;
    const int places[] = {CASE_MEMORY, CASE_FROZEN};
    for (size_t p = 0; p < 2; p++) {
        stage st = {0};
        grebe_snapshot *pin = NULL;
        pthread_t threads[2];
        case_open(&st.c, places[p]);
        pair_add(&st, 0);
        case_commit(&st.c, GREBE_SOFT);
        for (int i = 0; i < 2; i++)
            pthread_create(&threads[i], NULL, reader, &st);
        for (int i = 0; i < 1500 || st.searches < 300; i++) {
            pair_add(&st, i);
            if (i % 97 == 50) case_delete_all(&st.c);
            if (i % 61 == 0) case_merge(&st.c);
            case_commit(&st.c, i % 40 ? GREBE_SOFT : GREBE_HARD);
            if (i % 200 == 10) {
                grebe_snapshot_free(pin);
                case_ok(grebe_index_snapshot(st.c.index, &pin, &st.c.error),
                        &st.c);
            }
            if (i % 200 == 120)
                case_ok(grebe_index_restore(st.c.index, pin, &st.c.error),
                        &st.c);
            if (i % 150 == 140)
                case_ok(grebe_index_rollback(st.c.index, &st.c.error), &st.c);
        }
        st.stop = true;
        for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
        assert_int_equal(st.failures, 0);
        grebe_snapshot_free(pin);
        case_close(&st.c);
    }
}

/* ---- a writer stopped inside add ---- */

typedef struct gate {
    _Atomic bool closed, waiting;
    pthread_t writer;
} gate;

static void *gate_resize(void *context, void *block, size_t old_size,
                         size_t new_size) {
    gate *g = context;
    while (g->closed && new_size > old_size &&
           pthread_equal(pthread_self(), g->writer))
        g->waiting = true;
    if (new_size == 0) {
        free(block);
        return NULL;
    }
    return realloc(block, new_size);
}

typedef struct stopped {
    engine_case c;
    gate g;
} stopped;

/* Adds until an allocation inside an add has met the closed gate. */
static void *writer_stopped(void *context) {
    stopped *s = context;
    s->g.writer = pthread_self();
    s->g.closed = true;
    for (int i = 0; s->g.closed; i++) {
        char key[24];
        snprintf(key, sizeof key, "n%d", i);
        case_add(&s->c, key, "never committed", "t", i);
    }
    return NULL;
}

static void readers_go_on_while_a_writer_stands_inside_add(void **unused) {
    (void)unused;
    stopped s = {0};
    pthread_t thread;
    grebe_allocator allocator = {gate_resize, &s.g};
    grebe_open_options o = {.allocator = &allocator};
    s.c.schema = case_schema();
    case_ok(grebe_index_open(NULL, s.c.schema, &o, &s.c.index, &s.c.error),
            &s.c);
    case_ok(grebe_document_new(s.c.schema, &s.c.document, &s.c.error), &s.c);
    for (int i = 0; i < 100; i++) {
        char key[24];
        snprintf(key, sizeof key, "k%d", i);
        case_add(&s.c, key, "committed words", "t", i);
    }
    case_commit(&s.c, GREBE_SOFT);
    pthread_create(&thread, NULL, writer_stopped, &s);
    while (!s.g.waiting) sched_yield();
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(case_count(&s.c), 100);
        grebe_hits *hits = case_hits(&s.c, "committed");
        assert_int_equal(grebe_hits_total(hits), 100);
        grebe_hits_release(hits);
    }
    assert_true(s.g.waiting);
    s.g.closed = false;
    pthread_join(thread, NULL);
    s.c.where = CASE_MEMORY;
    case_close(&s.c);
}

/* ---- a batch owns the writer ---- */

static void *writer_other(void *context) {
    stage *st = context;
    grebe_query *all;
    grebe_query_all(&all, NULL);
    uint64_t count = 0;
    if (grebe_index_delete_by_query(st->c.index, all, &count, NULL) ||
        count != 2)
        st->failures++;
    grebe_query_release(all);
    st->searches++;
    return NULL;
}

static void others_wait_for_the_end_of_a_batch(void **unused) {
    (void)unused;
    stage st = {0};
    pthread_t thread;
    case_open(&st.c, CASE_MEMORY);
    case_ok(grebe_index_batch_begin(st.c.index, &st.c.error), &st.c);
    case_add(&st.c, "1", "a", "t", 1);
    pthread_create(&thread, NULL, writer_other, &st);
    for (int i = 0; i < 1000; i++) sched_yield();
    case_add(&st.c, "2", "b", "t", 1);
    assert_int_equal(st.searches, 0);
    case_ok(grebe_index_batch_end(st.c.index, GREBE_SOFT, NULL, &st.c.error),
            &st.c);
    pthread_join(thread, NULL);
    assert_int_equal(st.failures, 0);
    case_close(&st.c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_are_whole_beside_a_writer),
        cmocka_unit_test(readers_go_on_while_a_writer_stands_inside_add),
        cmocka_unit_test(others_wait_for_the_end_of_a_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
