/* rooms: base store doc segment */
/* tests/c/segment_block_test.c - a block of postings as bytes and back.
 *
 * Every count and width, with and without exceptions, and each prefix of the
 * bytes: what comes back is what went in, or the block is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "segment/block.h"

static uint64_t seed = 1;

static uint32_t dice(uint32_t below) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) % below);
}

typedef struct sample {
    uint32_t docs[GRB_BLOCK], freqs[GRB_BLOCK], count, base;
} sample;

/* Moves the block to the last documents that a segment can have. */
static void sample_move(sample *s) {
    uint32_t by = GRB_SEGMENT_DOCS_MAX - 1 - s->docs[s->count - 1];
    s->base += by;
    for (uint32_t i = 0; i < s->count; i++) s->docs[i] += by;
}

/* Gaps below `widest`, one in `rare` of them up to 64 times wider; one block
 * in four ends with the last document of the largest segment. */
static void sample_make(sample *s, uint32_t count, uint32_t widest,
                        uint32_t rare, uint32_t tf_max) {
    uint32_t doc = s->base = dice(2) ? UINT32_MAX : dice(1000);
    s->count = count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t gap = dice(widest);
        if (rare && dice(rare) == 0) gap *= 1 + dice(64);
        s->docs[i] = doc += gap + 1;
        s->freqs[i] = dice(3) ? 1 : 1 + dice(tf_max);
    }
    if (s->base != UINT32_MAX && dice(2)) sample_move(s);
}

/* Bytes in memory of just their size, so that a sanitizer sees every read
 * beyond them. */
static bool block_get(const sample *s, const uint8_t *bytes, size_t size,
                      uint32_t *docs, uint32_t *freqs, bool *whole) {
    _Alignas(64) static uint32_t room[GRB_BLOCK + 16];
    uint64_t words[GRB_WINDOW_WORDS];
    grb_block_decoded d;
    const uint8_t *after;
    uint8_t *copy = malloc(size ? size : 1);
    if (size) memcpy(copy, bytes, size);
    grb_block_source in = {.at = copy,
                           .end = copy + size,
                           .count = s->count,
                           .base = s->base,
                           .last = s->docs[s->count - 1],
                           .max_doc = GRB_SEGMENT_DOCS_MAX};
    bool ok = grb_block_docs(&in, &d, room, words) &&
              grb_block_freqs(&in, &d, freqs, &after);
    *whole = ok && after == in.end;
    if (ok && d.encoding == GRB_ENCODING_RUN) {
        for (uint32_t i = 0; i < s->count; i++) docs[i] = d.first + i;
    } else if (ok && d.encoding == GRB_ENCODING_BITMAP) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < d.word_count * 64; i++)
            if (grb_bit(words, i)) docs[n++] = d.first + i;
    } else if (ok) {
        memcpy(docs, room, s->count * sizeof *docs);
    }
    free(copy);
    return ok;
}

static void sample_check(const sample *s, bool cut) {
    uint32_t docs[GRB_BLOCK], freqs[GRB_BLOCK];
    bool whole;
    grb_buf buf;
    grb_buf_init(&buf, &grb_allocator_malloc, 0);
    grb_block_encode(s->docs, s->freqs, s->count, s->base, NULL, 0, &buf);
    assert_false(buf.failed);
    assert_true(block_get(s, buf.bytes, buf.size, docs, freqs, &whole));
    assert_true(whole);
    assert_memory_equal(docs, s->docs, s->count * sizeof *docs);
    assert_memory_equal(freqs, s->freqs, s->count * sizeof *freqs);
    for (size_t size = 0; cut && size < buf.size; size++)
        assert_false(block_get(s, buf.bytes, size, docs, freqs, &whole) &&
                     whole);
    grb_buf_deinit(&buf);
}

static void blocks_of_every_count_come_back(void **state) {
    static const uint32_t widths[] = {1, 2, 9, 100, 5000, 300000, 8000000};
    sample s;
    for (uint32_t count = 1; count <= GRB_BLOCK; count++)
        for (size_t w = 0; w < GRB_COUNT(widths); w++)
            for (uint32_t rare = 0; rare <= 20; rare += 10) {
                if ((uint64_t)count * widths[w] * (rare ? 8 : 1) > 1u << 31)
                    continue;
                sample_make(&s, count, widths[w], rare, 1 + dice(300));
                sample_check(&s, count % 37 == 3 || count == GRB_BLOCK);
            }
}

/* Few outliers must not widen every number. */
static void outliers_of_a_tail_are_kept_apart(void **state) {
    sample s;
    grb_buf buf;
    grb_buf_init(&buf, &grb_allocator_malloc, 0);
    sample_make(&s, 200, 16, 0, 1);
    for (uint32_t i = 100; i < 200; i++) s.docs[i] += 1u << 29;
    sample_check(&s, true);
    grb_block_encode(s.docs, s.freqs, 200, s.base, NULL, 0, &buf);
    assert_true(buf.size < 200 * 5 / 8 + 20);
    grb_buf_deinit(&buf);
}

static void damaged_tails_are_refused_or_rise(void **state) {
    sample s;
    uint32_t docs[GRB_BLOCK], freqs[GRB_BLOCK];
    bool whole;
    for (uint32_t round = 0; round < 3000; round++) {
        grb_buf buf;
        grb_buf_init(&buf, &grb_allocator_malloc, 0);
        sample_make(&s, 1 + dice(255), 1 + dice(3000), dice(15), 5);
        grb_block_encode(s.docs, s.freqs, s.count, s.base, NULL, 0, &buf);
        buf.bytes[dice((uint32_t)buf.size)] ^= (uint8_t)(1u << dice(8));
        if (block_get(&s, buf.bytes, buf.size, docs, freqs, &whole))
            for (uint32_t i = 0; i < s.count; i++) {
                assert_true(i == 0 || docs[i] > docs[i - 1]);
                assert_int_not_equal(freqs[i], 0);
            }
        grb_buf_deinit(&buf);
    }
}

/* Near and far distances of lengths and frequencies. */
static void pairs_come_back(void **state) {
    for (uint32_t round = 0; round < 4000; round++) {
        grb_impact pairs[GRB_IMPACTS_MAX];
        uint32_t count = dice(GRB_IMPACTS_MAX + 1), length = dice(40);
        uint32_t tf = round % 2 ? 1 + dice(500) : 1;
        grb_block_decoded b;
        sample s;
        grb_buf buf;
        grb_buf_init(&buf, &grb_allocator_malloc, 0);
        for (uint32_t i = 0; i < count; i++) {
            pairs[i] = (grb_impact){tf, (uint8_t)length};
            tf += 1 + dice(round % 3 ? 10 : 100000);
            length += 1 + dice(42);
        }
        sample_make(&s, 1 + dice(256), 50, 0, 1);
        grb_block_encode(s.docs, NULL, s.count, s.base, pairs, count, &buf);
        grb_block_source in = {.at = buf.bytes, .end = buf.bytes + buf.size};
        assert_true(grb_block_impacts(&in, &b));
        assert_int_equal(b.impact_count, count);
        for (uint32_t i = 0; i < count; i++) {
            assert_int_equal(b.impacts[i].tf, pairs[i].tf);
            assert_int_equal(b.impacts[i].length, pairs[i].length);
        }
        for (size_t size = 0; count && size < 2; size++) {
            in.end = buf.bytes + size;
            assert_false(grb_block_impacts(&in, &b));
        }
        grb_buf_deinit(&buf);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_of_every_count_come_back),
        cmocka_unit_test(pairs_come_back),
        cmocka_unit_test(outliers_of_a_tail_are_kept_apart),
        cmocka_unit_test(damaged_tails_are_refused_or_rise)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
