/* segment/numbers.h - numbers packed in chunks (numbers.c): positions, and
 * documents of short blocks. */
#ifndef GRB_SEGMENT_PLACES_H
#define GRB_SEGMENT_PLACES_H

#include "base/base.h"

#define GRB_NUMBERS_CHUNK 128u
/* A chunk of fewer numbers is varints. */
#define GRB_NUMBERS_PLAIN 4u

/* Appends numbers in chunks of GRB_NUMBERS_CHUNK and a rest. */
void grb_numbers_put(const uint32_t *v, uint32_t count, grb_buf *out);

/* The width at which `count` numbers take the fewest bytes (`size`, without
 * heads, with `fee` more for each exception) if at most `most` of them stand
 * apart; `top`: bits of the widest. */
uint32_t grb_width_choose(const uint32_t *v, uint32_t count, uint32_t most,
                          uint32_t fee, uint32_t *top, uint32_t *size);
/* Numbers side by side, the low bits first. Eight bytes behind them are
 * written, too; gives their end. */
uint8_t *grb_side_put(const uint32_t *v, uint32_t count, uint32_t width,
                      uint8_t *out);
static inline uint32_t grb_side_size(uint32_t count, uint32_t width) {
    return (count * width + 7) / 8;
}
/* Eight bytes at `at`, zeros for what lies beyond the end. */
static inline uint64_t grb_word_load(const uint8_t *at, const uint8_t *end) {
    uint64_t word = 0;
    if (GRB_LIKELY(end - at >= 8)) {
        memcpy(&word, at, 8);
        return word;
    }
    for (uint32_t i = 0; at < end; i++) word |= (uint64_t)*at++ << 8 * i;
    return word;
}
static inline uint32_t grb_side_get(const uint8_t *bits, const uint8_t *end,
                                    uint32_t i, uint32_t width) {
    uint32_t bit = i * width;
    return (uint32_t)(grb_word_load(bits + (bit >> 3), end) >> (bit & 7) &
                      (((uint64_t)1 << width) - 1));
}

/* The numbers of a block, of which any stretch can be read. */
typedef struct grb_numbers {
    const uint8_t *from, *end;
    const uint32_t *freqs; /* of the block's postings: they add up to */
    uint32_t postings;
    uint64_t total; /* the numbers of the block, 0: not yet added */
    /* the chunk last looked at; next NULL: none */
    uint64_t first; /* its first number */
    uint32_t count, width, exceptions, high_width;
    const uint8_t *bits, *places, *high, *next;
} grb_numbers;

/* `freqs` (up to GRB_BLOCK, each at least 1) are read until the end. */
void grb_numbers_open(grb_numbers *p, const uint8_t *from, const uint8_t *end,
                      const uint32_t *freqs, uint32_t postings);
/* Sum of frequencies [from, to). */
uint64_t grb_numbers_sum(const uint32_t *freqs, uint32_t from, uint32_t to);
/* False if the bytes are too few for that many numbers. */
static inline bool grb_numbers_room(const grb_numbers *p, uint64_t count) {
    return count <= (uint64_t)(p->end - p->from) * GRB_NUMBERS_CHUNK;
}
/* Numbers [at, at + count), which must be inside. False: no writer made
 * these bytes. */
bool grb_numbers_get(grb_numbers *p, uint64_t at, uint32_t count,
                     uint32_t *out);
/* All `count` numbers at `at`; gives their end, NULL for bytes that no writer
 * makes. `patched`: some chunk has exceptions. */
const uint8_t *grb_numbers_all(const uint8_t *at, const uint8_t *end,
                               uint32_t count, uint32_t *out, bool *patched);
/* True if the last number read is the block's and ends where the bytes end.
 */
bool grb_numbers_done(grb_numbers *p);

#endif
