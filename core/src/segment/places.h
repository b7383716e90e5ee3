/* segment/places.h - the positions of a block of postings (places.c). */
#ifndef GRB_SEGMENT_PLACES_H
#define GRB_SEGMENT_PLACES_H

#include "base/base.h"

#define GRB_PLACES_CHUNK 128u
/* A chunk of fewer numbers is varints. */
#define GRB_PLACES_PLAIN 4u

/* Appends 1 to GRB_PLACES_CHUNK numbers below 2^31. All chunks of a block
 * but its last are full. */
void grb_places_put(const uint32_t *v, uint32_t count, grb_buf *out);

/* The numbers of a block, of which any stretch can be read. */
typedef struct grb_places {
    const uint8_t *from, *end;
    const uint32_t *freqs; /* of the block's postings: they add up to */
    uint32_t postings;
    uint64_t total; /* the numbers of the block, 0: not yet added */
    /* the chunk last looked at; next NULL: none */
    uint64_t first; /* its first number */
    uint32_t count, width, exceptions, high_width;
    const uint8_t *bits, *places, *high, *next;
} grb_places;

/* `freqs` (up to GRB_BLOCK, each at least 1) are read until the end. */
void grb_places_open(grb_places *p, const uint8_t *from, const uint8_t *end,
                     const uint32_t *freqs, uint32_t postings);
/* Sum of frequencies [from, to). */
uint64_t grb_places_sum(const uint32_t *freqs, uint32_t from, uint32_t to);
/* False if the bytes are too few for that many numbers. */
static inline bool grb_places_room(const grb_places *p, uint64_t count) {
    return count <= (uint64_t)(p->end - p->from) * GRB_PLACES_CHUNK;
}
/* Numbers [at, at + count), which must be inside. False: no writer made
 * these bytes. */
bool grb_places_get(grb_places *p, uint64_t at, uint32_t count, uint32_t *out);
/* True if the last number read is the block's and ends where the bytes end.
 */
bool grb_places_done(grb_places *p);

#endif
