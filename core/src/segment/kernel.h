/* segment/kernel.h - packing of integers, for each kind of processor.
 *
 * 256 numbers of `width` bits in 8 lanes: number i lies in lane i % 8, and
 * each lane is a little-endian stream of 32-bit words interleaved with the
 * others, 32 * width bytes in all. Every kernel gives the same numbers. */
#ifndef GRB_SEGMENT_KERNEL_H
#define GRB_SEGMENT_KERNEL_H

#include "base/base.h"

typedef struct grb_kernels {
    /* Unpacks 256 numbers of 0-32 bits; `out` is 32-byte aligned. */
    void (*unpack)(const uint8_t *in, uint32_t width, uint32_t *out);
    /* Gaps to documents: v[i] += v[i - 1] + 1, v[-1] is `base`; 256. */
    void (*sum)(uint32_t *v, uint32_t base);
    const char *name;
} grb_kernels;

/* The best of this machine, chosen when the library is loaded. */
extern grb_kernels grb_kernels_best;
/* Those that this machine can run, plainest first; NULL behind the last. */
const grb_kernels *grb_kernels_of(uint32_t i);

void grb_pack(const uint32_t *in, uint32_t width, uint8_t *out);

/* Columns: numbers one behind the other, `width` 0-56 or 64 bits; 7 spare
 * bytes follow, so that each is one load. */
static inline uint64_t grb_bits_size(uint64_t count, uint32_t width) {
    return (count * width + 7) / 8 + 7;
}
/* The least allowed width that holds v. */
uint32_t grb_bits_width(uint64_t v);
void grb_bits_pack(const uint64_t *in, uint32_t count, uint32_t width,
                   uint8_t *out); /* zeroed, grb_bits_size bytes */
void grb_bits_unpack(const uint8_t *in, uint32_t count, uint32_t width,
                     uint64_t *out);
static inline uint64_t grb_bits_get(const uint8_t *in, uint32_t i,
                                    uint32_t width) {
    uint64_t bit = (uint64_t)i * width, v;
    if (width == 0) return 0;
    memcpy(&v, in + (bit >> 3), sizeof v);
    if (width == 64) return v;
    return v >> (bit & 7) & (((uint64_t)1 << width) - 1);
}

#endif
