/* rooms: base doc segment snapshot */
/* Views against a plain model: who is dead, at which epoch, in which line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "snapshot/snapshot.h"

#define A (&grb_allocator_malloc)
#define DOCS 9000u

/* died[d] = epoch of death, 0 alive; base_dead[d] = dead from the start. */
typedef struct model {
    uint64_t died[DOCS];
    bool base_dead[DOCS];
} model;

static uint64_t state = 7;
static uint32_t below(uint32_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % n);
}

static bool model_dead(const model *m, uint32_t d, uint64_t epoch) {
    return m->base_dead[d] || (m->died[d] && m->died[d] <= epoch);
}

static void kill_some(grb_view *v, model *m, uint64_t epoch, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t d = below(DOCS);
        if (model_dead(m, d, UINT64_MAX)) continue;
        assert_true(grb_view_reserve(v, d));
        grb_view_kill(v, d, epoch);
        m->died[d] = epoch;
    }
}

static void check(const grb_view *v, const model *m, uint64_t epoch,
                  uint32_t max_doc) {
    uint32_t dead = 0;
    for (uint32_t d = 0; d < max_doc; d++) {
        assert_int_equal(grb_view_dead(v, d, epoch), model_dead(m, d, epoch));
        dead += model_dead(m, d, epoch);
    }
    assert_int_equal(grb_view_dead_count(v, epoch, max_doc), dead);
    for (uint32_t base = 0; base < max_doc; base += GRB_WINDOW) {
        uint64_t live[GRB_WINDOW_WORDS];
        bool any = grb_view_window(v, epoch, base, max_doc, live);
        uint32_t n = GRB_MIN(GRB_WINDOW, max_doc - base);
        for (uint32_t i = 0; i < n; i++) {
            bool alive = any ? grb_bit(live, i) : true;
            assert_int_equal(alive, !model_dead(m, base + i, epoch));
        }
        for (uint32_t i = n; any && i < GRB_WINDOW; i++)
            assert_false(grb_bit(live, i));
    }
}

static void an_older_epoch_reads_the_older_state(void **unused) {
    (void)unused;
    uint64_t first[] = {1, UINT32_MAX - 100ull, UINT64_MAX - 3000};
    for (size_t f = 0; f < GRB_COUNT(first); f++) {
        model *m = calloc(1, sizeof *m);
        grb_view *v = grb_view_new(A, first[f], NULL);
        for (uint64_t e = 0; e < 40; e++) kill_some(v, m, first[f] + e, 20);
        for (uint64_t e = 0; e < 40; e += 13) {
            check(v, m, first[f] + e, DOCS);
            check(v, m, first[f] + e, 4097);
            check(v, m, first[f] + e, 63);
        }
        grb_view_release(v);
        free(m);
    }
}

static void a_branch_sees_the_past_and_not_the_future(void **unused) {
    (void)unused;
    model *m = calloc(1, sizeof *m), *line = calloc(1, sizeof *line);
    grb_bitmap *dead = grb_bitmap_new(A, DOCS);
    for (uint32_t d = 0; d < DOCS; d += 17) {
        grb_bit_set(dead->words, d);
        dead->set_count++;
        m->base_dead[d] = true;
    }
    grb_view *v = grb_view_new(A, 10, dead);
    grb_bitmap_release(dead);
    for (uint64_t e = 10; e < 20; e++) kill_some(v, m, e, 100);
    uint64_t at = 15;
    /* Branch of a branch of a branch: each flattened or referred to. */
    for (int generation = 0; generation < 4; generation++) {
        grb_view *twin = grb_view_branch(v, at, 30 + 10 * generation, DOCS);
        for (uint32_t d = 0; d < DOCS; d++) {
            line->base_dead[d] = model_dead(m, d, at);
            line->died[d] = 0;
        }
        uint64_t epoch = 30 + 10 * (uint64_t)generation;
        check(twin, line, epoch, DOCS);
        assert_int_equal(grb_view_dead_total(twin),
                         grb_view_dead_count(twin, epoch, DOCS));
        kill_some(twin, line, epoch + 1, 50);
        check(twin, line, epoch + 1, DOCS);
        check(twin, line, epoch, DOCS);
        check(v, m, at, DOCS);
        grb_view_release(v);
        v = twin;
        *m = *line;
        at = epoch + 1;
    }
    grb_view_release(v);
    free(m);
    free(line);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_older_epoch_reads_the_older_state),
        cmocka_unit_test(a_branch_sees_the_past_and_not_the_future),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
