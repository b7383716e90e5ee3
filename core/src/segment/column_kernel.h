/* segment/column_kernel.h - the loops over a column's values, scalar and by
 * vectors. Every kernel gives the same numbers and bits. */
#ifndef GRB_SEGMENT_COLUMN_KERNEL_H
#define GRB_SEGMENT_COLUMN_KERNEL_H

#include "segment/kernel.h"

typedef struct grb_column_kernels {
    /* Unpacks `count` numbers of an allowed width up to 32 (grb_bits_width)
     * from grb_bits_size bytes; returns the greatest. */
    uint32_t (*unpack)(const uint8_t *in, uint32_t count, uint32_t width,
                       uint32_t *out);
    /* Bit i of `bits`: v[i] - lower <= span, both without sign. Writes whole
     * words; bits at and above `count` are 0. */
    void (*within)(const uint32_t *v, uint32_t count, uint32_t lower,
                   uint32_t span, uint64_t *bits);
    const char *name;
} grb_column_kernels;

extern const grb_column_kernels grb_column_kernels_scalar;
/* The best of this machine, chosen when the library is loaded. */
extern grb_column_kernels grb_column_kernels_best;
/* AVX2, or NULL where the machine lacks it. */
const grb_column_kernels *grb_column_kernels_avx2(void);

#endif
