/* rooms: base store doc segment */
/* tests/c/segment_numbers_test.c - the positions of a block as bytes and back.
 *
 * Whole, in stretches and one by one, forwards and backwards; each prefix of
 * the bytes and damaged bytes are refused or give as many numbers as asked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "segment/numbers.h"

#define NUMBERS_MAX 4096u

static uint64_t seed = 1;

static uint32_t dice(uint32_t below) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) % below);
}

typedef struct sample {
    uint32_t freqs[GRB_BLOCK], postings, numbers[NUMBERS_MAX], total;
    grb_buf bytes;
} sample;

static void sample_make(sample *s, uint32_t postings, uint32_t tf_max,
                        uint32_t bits, uint32_t rare) {
    grb_buf_init(&s->bytes, &grb_allocator_malloc, 0);
    s->postings = postings;
    s->total = 0;
    for (uint32_t i = 0; i < postings; i++) {
        s->freqs[i] = 1 + dice(tf_max);
        s->total += s->freqs[i];
    }
    for (uint32_t i = 0; i < s->total; i++) {
        uint32_t wide = rare && dice(rare) == 0 ? 31 : bits;
        s->numbers[i] = dice(1u << 31) >> (31 - wide);
    }
    for (uint32_t i = 0; i < s->total; i += GRB_NUMBERS_CHUNK)
        grb_numbers_put(s->numbers + i,
                        GRB_MIN(GRB_NUMBERS_CHUNK, s->total - i), &s->bytes);
    assert_false(s->bytes.failed);
}

static void sample_open(const sample *s, size_t size, grb_numbers *p) {
    grb_numbers_open(p, s->bytes.bytes, s->bytes.bytes + size, s->freqs,
                     s->postings);
}

static void stretches_check(const sample *s) {
    uint32_t out[NUMBERS_MAX];
    grb_numbers p;
    sample_open(s, s->bytes.size, &p);
    assert_true(grb_numbers_room(&p, s->total));
    assert_true(grb_numbers_get(&p, 0, s->total, out));
    assert_memory_equal(out, s->numbers, s->total * sizeof *out);
    assert_true(grb_numbers_done(&p));
    for (uint32_t n = 0; n < 50; n++) {
        uint32_t at = dice(s->total), count = 1 + dice(s->total - at);
        if (n % 2) count = 1;
        assert_true(grb_numbers_get(&p, at, count, out));
        assert_memory_equal(out, s->numbers + at, count * sizeof *out);
    }
    assert_false(grb_numbers_get(&p, s->total, 1, out));
}

static void any_stretch_comes_back(void **state) {
    sample s;
    for (uint32_t bits = 0; bits <= 31; bits++)
        for (uint32_t rare = 0; rare <= 30; rare += 10)
            for (uint32_t n = 1; n <= GRB_BLOCK; n += n < 9 ? 1 : 29) {
                sample_make(&s, n, 1 + dice(15), bits, rare);
                stretches_check(&s);
                grb_buf_deinit(&s.bytes);
            }
}

static void cut_bytes_are_refused(void **state) {
    sample s;
    uint32_t out[NUMBERS_MAX];
    grb_numbers p;
    for (uint32_t n = 1; n < 200; n += 7) {
        sample_make(&s, n, 3, 1 + n % 20, 9);
        for (size_t size = 0; size < s.bytes.size; size++) {
            sample_open(&s, size, &p);
            assert_false(grb_numbers_get(&p, 0, s.total, out));
        }
        grb_buf_deinit(&s.bytes);
    }
}

/* The sanitizers say whether reading stayed inside. */
static void damaged_bytes_stay_inside(void **state) {
    sample s;
    uint32_t out[NUMBERS_MAX], read = 0;
    grb_numbers p;
    for (uint32_t round = 0; round < 5000; round++) {
        sample_make(&s, 1 + dice(256), 3, dice(20), dice(12));
        uint8_t *copy = malloc(s.bytes.size);
        assert_non_null(copy);
        memcpy(copy, s.bytes.bytes, s.bytes.size);
        copy[dice((uint32_t)s.bytes.size)] ^= (uint8_t)(1u << dice(8));
        grb_numbers_open(&p, copy, copy + s.bytes.size, s.freqs, s.postings);
        read += grb_numbers_get(&p, 0, s.total, out);
        read += grb_numbers_get(&p, s.total / 2, 1, out);
        free(copy);
        grb_buf_deinit(&s.bytes);
    }
    assert_true(read > 0);
}

/* Few outliers must not widen every number. */
static void outliers_are_kept_apart(void **state) {
    uint32_t v[GRB_NUMBERS_CHUNK];
    grb_buf out;
    grb_buf_init(&out, &grb_allocator_malloc, 0);
    for (uint32_t i = 0; i < GRB_NUMBERS_CHUNK; i++) v[i] = i % 16;
    for (uint32_t i = 0; i < 8; i++) v[i * 9] = 1u << 20;
    grb_numbers_put(v, GRB_NUMBERS_CHUNK, &out);
    assert_true(out.size <= 2 + GRB_NUMBERS_CHUNK / 2 + 8 * 4);
    grb_buf_deinit(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_stretch_comes_back),
        cmocka_unit_test(cut_bytes_are_refused),
        cmocka_unit_test(damaged_bytes_stay_inside),
        cmocka_unit_test(outliers_are_kept_apart)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
