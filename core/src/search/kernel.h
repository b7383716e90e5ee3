/* search/kernel.h - the loops over postings and sums, for each kind of
 * processor.
 *
 * Every kernel gives the same bits: each number is one IEEE operation on the
 * same operands in the same order, whatever the width of the vector. */
#ifndef GRB_SEARCH_KERNEL_H
#define GRB_SEARCH_KERNEL_H

#include "base/base.h"

typedef struct grb_search_kernels {
    /* x becomes weight - weight / (1 + x). */
    void (*score)(float *x, uint32_t count, float weight);
    /* Moves the documents with x > least, and their x, to the front of `to`
     * and `kept`, which have room for all; returns how many. Either may be
     * where it comes from. */
    uint32_t (*above)(const uint32_t *docs, const float *x, uint32_t count,
                      float least, uint32_t *to, float *kept);
    /* Of 64 sums the set of those > cut. */
    uint64_t (*sums)(const double *values, double cut);
    /* Set bits of these words. */
    uint64_t (*count)(const uint64_t *words, uint32_t count);
    /* Which documents of the rising `list`, from `from` to `to` - 1 and none
     * behind the block's last, stand in the block (grb_block: DOCS): their
     * indexes and their places in the block. Returns how many; room for one
     * more than there are is needed. */
    uint32_t (*meet)(const uint32_t *block, const uint32_t *list,
                     uint32_t from, uint32_t to, uint32_t *found,
                     uint32_t *places);
    const char *name;
} grb_search_kernels;

/* The best of this machine, chosen when the library is loaded. */
extern grb_search_kernels grb_search_kernels_best;
/* Those that this machine can run, plainest first; NULL behind the last. */
const grb_search_kernels *grb_search_kernels_of(uint32_t i);

#endif
