/* segment/column_kernel.c - unpacking and comparing a column's values.
 *
 * Numbers lie one behind the other, so that eight of them always begin at a
 * whole byte: where each of the eight lies in its bytes depends on the width
 * alone. One shuffle and one shift for each lane take them apart.
 *
 * Invariant: all kernels of a table give the same numbers; none reads beyond
 * grb_bits_size bytes.
 * Threads: any; the table is written before main.
 * Owns: nothing.
 */
#include "segment/column_kernel.h"

static uint32_t scalar_unpack(const uint8_t *in, uint32_t count,
                              uint32_t width, uint32_t *out) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < count; i++) {
        out[i] = (uint32_t)grb_bits_get(in, i, width);
        most = GRB_MAX(most, out[i]);
    }
    return most;
}

/* Up to 64 values from `from` on. */
static uint64_t word_within(const uint32_t *v, uint32_t from, uint32_t count,
                            uint32_t lower, uint32_t span) {
    uint64_t word = 0;
    for (uint32_t i = from; i < count && i < from + 64; i++)
        word |= (uint64_t)(v[i] - lower <= span) << (i - from);
    return word;
}

static void scalar_within(const uint32_t *v, uint32_t count, uint32_t lower,
                          uint32_t span, uint64_t *bits) {
    for (uint32_t from = 0; from < count; from += 64)
        bits[from / 64] = word_within(v, from, count, lower, span);
}

const grb_column_kernels grb_column_kernels_scalar = {scalar_unpack,
                                                      scalar_within, "scalar"};
grb_column_kernels grb_column_kernels_best = {scalar_unpack, scalar_within,
                                              "scalar"};

#if defined(__x86_64__)
#include <immintrin.h>

/* Where the eight numbers of a group lie: the bytes of each lane, those of the
 * upper four counted from byte width / 2, and the bits before it. */
typedef struct group_shape {
    _Alignas(32) uint8_t bytes[32];
    _Alignas(32) uint32_t shifts[8];
} group_shape;

static void group_shape_make(uint32_t width, group_shape *out) {
    for (uint32_t lane = 0; lane < 8; lane++) {
        uint32_t first = lane < 4 ? 0 : width / 2, bit = lane * width;
        for (uint32_t i = 0; i < 4; i++)
            out->bytes[lane * 4 + i] = (uint8_t)(bit / 8 - first + i);
        out->shifts[lane] = bit & 7;
    }
}

__attribute__((target("avx2"))) static uint32_t
avx2_unpack(const uint8_t *in, uint32_t count, uint32_t width, uint32_t *out) {
    group_shape shape;
    uint32_t i = 0, most = 0, half = width / 2;
    uint64_t size = grb_bits_size(count, width);
    if (width == 0) {
        memset(out, 0, (size_t)count * sizeof *out);
        return 0;
    }
    group_shape_make(width, &shape);
    const __m256i bytes = _mm256_load_si256((__m256i *)(void *)shape.bytes);
    const __m256i shifts = _mm256_load_si256((__m256i *)(void *)shape.shifts);
    const __m256i mask = _mm256_set1_epi32(
        width >= 32 ? -1 : (int)(((uint32_t)1 << width) - 1));
    __m256i high = _mm256_setzero_si256();
    const uint8_t *at = in;
    for (; i + 8 <= count && (uint64_t)(at - in) + half + 16 <= size;
         i += 8, at += width) {
        __m128i a = _mm_loadu_si128((const __m128i *)(const void *)at);
        __m128i b =
            _mm_loadu_si128((const __m128i *)(const void *)(at + half));
        __m256i v = _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1);
        v = _mm256_srlv_epi32(_mm256_shuffle_epi8(v, bytes), shifts);
        v = _mm256_and_si256(v, mask);
        _mm256_storeu_si256((__m256i *)(void *)(out + i), v);
        high = _mm256_max_epu32(high, v);
    }
    _Alignas(32) uint32_t lanes[8];
    _mm256_store_si256((__m256i *)(void *)lanes, high);
    for (uint32_t lane = 0; lane < 8; lane++)
        most = GRB_MAX(most, lanes[lane]);
    for (; i < count; i++) {
        out[i] = (uint32_t)grb_bits_get(in, i, width);
        most = GRB_MAX(most, out[i]);
    }
    return most;
}

__attribute__((target("avx2"))) static void
avx2_within(const uint32_t *v, uint32_t count, uint32_t lower, uint32_t span,
            uint64_t *bits) {
    const __m256i low = _mm256_set1_epi32((int)lower);
    const __m256i most = _mm256_set1_epi32((int)span);
    uint32_t from = 0;
    for (; from + 64 <= count; from += 64) {
        uint64_t word = 0;
        for (uint32_t i = 0; i < 64; i += 8) {
            __m256i x = _mm256_loadu_si256(
                (const __m256i *)(const void *)(v + from + i));
            x = _mm256_sub_epi32(x, low);
            x = _mm256_cmpeq_epi32(_mm256_min_epu32(x, most), x);
            word |=
                (uint64_t)(uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(x))
                << i;
        }
        bits[from / 64] = word;
    }
    if (from < count)
        bits[from / 64] = word_within(v, from, count, lower, span);
}

static const grb_column_kernels avx2 = {avx2_unpack, avx2_within, "avx2"};

const grb_column_kernels *grb_column_kernels_avx2(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") ? &avx2 : NULL;
}

__attribute__((constructor)) static void kernels_choose(void) {
    if (grb_column_kernels_avx2()) grb_column_kernels_best = avx2;
}
#else
const grb_column_kernels *grb_column_kernels_avx2(void) {
    return NULL;
}
#endif
