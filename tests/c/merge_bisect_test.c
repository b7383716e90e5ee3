/* rooms: base merge */
/* Documents of two kinds, given at random, come apart; each stays once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "merge/bisect.h"

enum { DOCS = 4000, TERMS = 40, EACH = 5 };

/* A document has terms of the first half or of the second alone. */
static void kinds_make(uint64_t *starts, uint32_t *terms, uint32_t *kinds) {
    uint32_t seed = 1;
    for (uint32_t d = 0; d < DOCS; d++) {
        starts[d] = (uint64_t)d * EACH;
        seed = seed * 1103515245u + 12345u;
        kinds[d] = seed >> 30 & 1;
        for (uint32_t i = 0; i < EACH; i++)
            terms[d * EACH + i] =
                kinds[d] * (TERMS / 2) + ((seed >> 16) + i * 3) % (TERMS / 2);
    }
    starts[DOCS] = (uint64_t)DOCS * EACH;
}

static void kinds_come_apart(void **unused) {
    static uint64_t starts[DOCS + 1];
    static uint32_t terms[DOCS * EACH], order[DOCS], again[DOCS];
    static uint32_t kinds[DOCS];
    static bool seen[DOCS];
    uint32_t changes = 0;
    grb_doc_terms d = {DOCS, TERMS, starts, terms};
    kinds_make(starts, terms, kinds);
    for (uint32_t i = 0; i < DOCS; i++) order[i] = again[i] = i;
    assert_int_equal(grb_bisect(&grb_allocator_malloc, &d, order, NULL), 0);
    assert_int_equal(grb_bisect(&grb_allocator_malloc, &d, again, NULL), 0);
    assert_memory_equal(order, again, sizeof order);
    for (uint32_t i = 0; i < DOCS; i++) {
        assert_true(order[i] < DOCS && !seen[order[i]]);
        seen[order[i]] = true;
        changes += i && kinds[order[i]] != kinds[order[i - 1]];
    }
    /* In the order given every second neighbour is of the other kind. */
    assert_in_range(changes, 1, DOCS / 100);
}

static void few_documents_stay(void **unused) {
    uint64_t starts[3] = {0, 1, 2};
    uint32_t terms[2] = {0, 0}, order[2] = {0, 1};
    grb_doc_terms d = {2, 1, starts, terms};
    assert_int_equal(grb_bisect(&grb_allocator_malloc, &d, order, NULL), 0);
    assert_int_equal(order[0], 0);
    d.doc_count = 0;
    assert_int_equal(grb_bisect(&grb_allocator_malloc, &d, order, NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(kinds_come_apart),
                                       cmocka_unit_test(few_documents_stay)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
