/* rooms: base doc segment snapshot */
/* Acquire and release against publish, with slots that are reused at once. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "snapshot/snapshot.h"

static _Atomic uint64_t allocations;
static void *counted(void *context, void *block, size_t old_size,
                     size_t new_size) {
    (void)context;
    if (!old_size) allocations++;
    return grb_allocator_malloc.resize(grb_allocator_malloc.context, block,
                                       old_size, new_size);
}
static const grebe_allocator counting = {counted, NULL};

/* A header whose fields can be checked against each other. */
static void publish(grb_line *line, grb_list *list, uint64_t epoch) {
    grb_snapshot *s = grb_line_slot(line);
    assert_non_null(s);
    s->epoch = epoch;
    s->live = epoch * 3;
    s->number = ~epoch;
    s->list = grb_list_acquire(list);
    grb_line_publish(line, s);
}

typedef struct shared {
    grb_line *line;
    _Atomic bool stop;
    _Atomic uint64_t acquired;
} shared;

static void *reader(void *context) {
    shared *sh = context;
    uint64_t last = 0;
    while (!sh->stop) {
        grb_snapshot *s = grb_line_snapshot(sh->line);
        grb_snapshot *again = grb_snapshot_acquire(s);
        bool whole = s->live == s->epoch * 3 && s->number == ~s->epoch;
        bool rising = s->epoch >= last;
        last = s->epoch;
        grb_snapshot_release(s);
        whole = whole && again->live == again->epoch * 3;
        grb_snapshot_release(again);
        sh->acquired++;
        if (!whole || !rising) return (void *)1;
    }
    return NULL;
}

static void readers_see_whole_and_rising_snapshots(void **unused) {
    (void)unused;
    shared sh = {0};
    pthread_t threads[3];
    grb_list *list = grb_list_new(&counting, 0);
    assert_int_equal(grb_line_new(&counting, &sh.line, NULL), GREBE_OK);
    publish(sh.line, list, 1);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, reader, &sh);
    for (uint64_t e = 2; e < 200000 || sh.acquired < 1000; e++)
        publish(sh.line, list, e);
    sh.stop = true;
    for (int i = 0; i < 3; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    grb_line_unpublish(sh.line);
    grb_line_release(sh.line);
    grb_list_release(list);
}

static void publish_and_acquire_allocate_nothing(void **unused) {
    (void)unused;
    grb_line *line;
    grb_list *list = grb_list_new(&counting, 0);
    assert_int_equal(grb_line_new(&counting, &line, NULL), GREBE_OK);
    publish(line, list, 1);
    publish(line, list, 2);
    uint64_t before = allocations;
    for (uint64_t e = 3; e < 100000; e++) {
        publish(line, list, e);
        grb_snapshot_release(grb_line_snapshot(line));
    }
    assert_int_equal(allocations, before);
    grb_line_unpublish(line);
    grb_line_release(line);
    grb_list_release(list);
}

static void snapshots_outlive_the_line_s_owner(void **unused) {
    (void)unused;
    grb_line *line;
    grb_list *list = grb_list_new(&counting, 0);
    assert_int_equal(grb_line_new(&counting, &line, NULL), GREBE_OK);
    publish(line, list, 5);
    grb_snapshot *kept = grb_line_snapshot(line);
    grb_line_unpublish(line);
    grb_line_release(line);
    grb_list_release(list);
    assert_int_equal(kept->epoch, 5);
    grb_snapshot_release(kept);
}

static void the_65533rd_live_snapshot_is_refused(void **unused) {
    (void)unused;
    grb_line *line;
    uint32_t held = 0;
    grb_list *list = grb_list_new(&counting, 0);
    assert_int_equal(grb_line_new(&counting, &line, NULL), GREBE_OK);
    grb_snapshot **all = calloc(70000, sizeof *all);
    for (grb_snapshot *s; held < 70000 && (s = grb_line_slot(line)); held++) {
        s->list = grb_list_acquire(list);
        grb_line_private(line, s);
        all[held] = s;
    }
    assert_int_equal(held, 65532);
    while (held > 0) grb_snapshot_release(all[--held]);
    assert_non_null(all[0] = grb_line_slot(line));
    all[0]->list = grb_list_acquire(list);
    grb_line_discard(line, all[0]);
    free(all);
    grb_line_release(line);
    grb_list_release(list);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_see_whole_and_rising_snapshots),
        cmocka_unit_test(publish_and_acquire_allocate_nothing),
        cmocka_unit_test(snapshots_outlive_the_line_s_owner),
        cmocka_unit_test(the_65533rd_live_snapshot_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
