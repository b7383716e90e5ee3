/* memseg/append.h - what reserving and appending must agree on. */
#ifndef GRB_MEMSEG_APPEND_H
#define GRB_MEMSEG_APPEND_H

#include "memseg/parts.h"

/* Postings of the slice behind one of `capacity` (0: the first slice). */
static inline uint32_t grb_slice_next(uint32_t capacity) {
    return capacity == 0          ? GRB_SLICE_FIRST
           : capacity < GRB_BLOCK ? capacity * 2
                                  : GRB_BLOCK;
}
static inline size_t grb_blocks_size(uint32_t capacity) {
    return sizeof(grb_blocks) + capacity * sizeof(grb_sealed);
}

#endif
