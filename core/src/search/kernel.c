/* search/kernel.c - scoring, comparing and moving together, scalar and AVX2.
 *
 * The scalar loops are written so that the compiler makes vectors of them on
 * any machine; AVX2 is chosen once when the library is loaded.
 *
 * Invariant: all kernels of a table give the same bits.
 * Threads: any; the table is written before main.
 * Owns: nothing.
 */
#include "search/kernel.h"

static void scalar_score(float *x, uint32_t count, float weight) {
    for (uint32_t i = 0; i < count; i++)
        x[i] = weight - weight / (1.0f + x[i]);
}

static uint32_t scalar_above(const uint32_t *docs, const float *x,
                             uint32_t count, float least, uint32_t *to,
                             float *kept) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++) {
        float value = x[i];
        to[n] = docs[i];
        kept[n] = value;
        n += value > least;
    }
    return n;
}

static uint64_t scalar_sums(const double *values, double cut) {
    uint64_t above = 0;
    for (uint32_t i = 0; i < 64; i++)
        above |= (uint64_t)(values[i] > cut) << i;
    return above;
}

/* Counts in bytes, all words side by side, so that the compiler makes vectors
 * of it; without -mpopcnt a call a word costs three times as much. */
static uint64_t scalar_count(const uint64_t *words, uint32_t count) {
    const uint64_t m1 = 0x5555555555555555u, m2 = 0x3333333333333333u;
    const uint64_t m4 = 0x0f0f0f0f0f0f0f0fu, m8 = 0x00ff00ff00ff00ffu;
    uint64_t total = 0;
    for (uint32_t from = 0, to; from < count; from = to) {
        uint64_t sum = 0; /* bytes of at most 128 */
        to = GRB_MIN(count, from + 16);
        for (uint32_t i = from; i < to; i++) {
            uint64_t w = words[i];
            w -= w >> 1 & m1;
            w = (w & m2) + (w >> 2 & m2);
            sum += (w + (w >> 4)) & m4;
        }
        sum = (sum & m8) + (sum >> 8 & m8);
        total += sum * 0x0001000100010001u >> 48;
    }
    return total;
}

const grb_search_kernels grb_search_kernels_scalar = {
    scalar_score, scalar_above, scalar_sums, scalar_count, "scalar"};
grb_search_kernels grb_search_kernels_best = {
    scalar_score, scalar_above, scalar_sums, scalar_count, "scalar"};

#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("avx2"))) static void
avx2_score(float *x, uint32_t count, float weight) {
    const __m256 w = _mm256_set1_ps(weight), one = _mm256_set1_ps(1.0f);
    uint32_t i = 0;
    for (; i + 8 <= count; i += 8) {
        __m256 v = _mm256_add_ps(one, _mm256_loadu_ps(x + i));
        _mm256_storeu_ps(x + i, _mm256_sub_ps(w, _mm256_div_ps(w, v)));
    }
    for (; i < count; i++) x[i] = weight - weight / (1.0f + x[i]);
}

/* Most groups of eight have none: only those with some are taken apart. */
__attribute__((target("avx2"))) static uint32_t
avx2_above(const uint32_t *docs, const float *x, uint32_t count, float least,
           uint32_t *to, float *kept) {
    const __m256 bound = _mm256_set1_ps(least);
    uint32_t n = 0, i = 0;
    for (; i + 8 <= count; i += 8) {
        __m256 v = _mm256_loadu_ps(x + i);
        uint32_t some =
            (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(v, bound, _CMP_GT_OQ));
        for (; some; some &= some - 1) {
            uint32_t at = i + (uint32_t)__builtin_ctz(some);
            float value = x[at];
            to[n] = docs[at];
            kept[n++] = value;
        }
    }
    for (; i < count; i++) {
        float value = x[i];
        if (!(value > least)) continue;
        to[n] = docs[i];
        kept[n++] = value;
    }
    return n;
}

__attribute__((target("avx2"))) static uint64_t avx2_sums(const double *values,
                                                          double cut) {
    const __m256d bound = _mm256_set1_pd(cut);
    uint64_t above = 0;
    for (uint32_t i = 0; i < 64; i += 4) {
        __m256d v = _mm256_loadu_pd(values + i);
        above |= (uint64_t)(uint32_t)_mm256_movemask_pd(
                     _mm256_cmp_pd(v, bound, _CMP_GT_OQ))
                 << i;
    }
    return above;
}

/* Every processor with AVX2 counts a word by one instruction. */
__attribute__((target("avx2,popcnt"))) static uint64_t
avx2_count(const uint64_t *words, uint32_t count) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < count; i++)
        total += (uint64_t)__builtin_popcountll(words[i]);
    return total;
}

static const grb_search_kernels avx2 = {avx2_score, avx2_above, avx2_sums,
                                        avx2_count, "avx2"};

const grb_search_kernels *grb_search_kernels_avx2(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt")
               ? &avx2
               : NULL;
}

__attribute__((constructor)) static void kernels_choose(void) {
    if (grb_search_kernels_avx2()) grb_search_kernels_best = avx2;
}
#else
const grb_search_kernels *grb_search_kernels_avx2(void) {
    return NULL;
}
#endif
