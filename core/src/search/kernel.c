/* search/kernel.c - scoring, comparing and moving together.
 *
 * The plain loops are written so that the compiler makes vectors of them on
 * any machine; AVX2 or AVX-512 is chosen once when the library is loaded.
 *
 * Invariant: all kernels of a table give the same bits.
 * Threads: any; the table is written before main.
 * Owns: nothing.
 */
#include "search/kernel.h"

static void plain_score(float *x, uint32_t count, float weight) {
    for (uint32_t i = 0; i < count; i++)
        x[i] = weight - weight / (1.0f + x[i]);
}

static uint32_t plain_above(const uint32_t *docs, const float *x,
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

static uint64_t plain_sums(const double *values, double cut) {
    uint64_t above = 0;
    for (uint32_t i = 0; i < 64; i++)
        above |= (uint64_t)(values[i] > cut) << i;
    return above;
}

/* Counts in bytes, all words side by side, so that the compiler makes vectors
 * of it; without -mpopcnt a call a word costs three times as much. */
static uint64_t plain_count(const uint64_t *words, uint32_t count) {
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

/* Sixteen at once, of which the compiler makes vectors. */
static uint32_t plain_meet(const uint32_t *block, const uint32_t *list,
                           uint32_t from, uint32_t to, uint32_t *found,
                           uint32_t *places) {
    const uint32_t *at = block;
    uint32_t n = 0;
    for (uint32_t i = from; i < to; i++) {
        uint32_t doc = list[i], less = 0;
        while (at[15] < doc) at += 16;
        for (uint32_t k = 0; k < 16; k++) less += at[k] < doc;
        found[n] = i;
        places[n] = (uint32_t)(at - block) + less;
        n += at[less] == doc;
    }
    return n;
}

static const grb_search_kernels plain = {plain_score, plain_above, plain_sums,
                                         plain_count, plain_meet,  "plain"};
grb_search_kernels grb_search_kernels_best = {
    plain_score, plain_above, plain_sums, plain_count, plain_meet, "plain"};

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

/* Numbers of the lanes in `some`, the lowest first, as bytes. */
__attribute__((target("avx2,bmi2"))) static inline uint64_t
lanes_of(uint32_t some) {
    uint64_t bytes = _pdep_u64(some, 0x0101010101010101u) * 255;
    return _pext_u64(0x0706050403020100u, bytes);
}

/* Eight are written where fewer are kept: never beyond those already read. */
__attribute__((target("avx2,bmi2"))) static uint32_t
avx2_above(const uint32_t *docs, const float *x, uint32_t count, float least,
           uint32_t *to, float *kept) {
    const __m256 bound = _mm256_set1_ps(least);
    uint32_t n = 0, i = 0;
    for (; i + 8 <= count; i += 8) {
        __m256 v = _mm256_loadu_ps(x + i);
        uint32_t some =
            (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(v, bound, _CMP_GT_OQ));
        if (!some) continue;
        __m256i d =
            _mm256_loadu_si256((const __m256i *)(const void *)(docs + i));
        __m256i lanes =
            _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((int64_t)lanes_of(some)));
        _mm256_storeu_si256((__m256i *)(void *)(to + n),
                            _mm256_permutevar8x32_epi32(d, lanes));
        _mm256_storeu_ps(kept + n, _mm256_permutevar8x32_ps(v, lanes));
        n += (uint32_t)__builtin_popcount(some);
    }
    return n +
           plain_above(docs + i, x + i, count - i, least, to + n, kept + n);
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

/* Comparing is of signed numbers: the top bits are flipped. */
__attribute__((target("avx2,popcnt"))) static uint32_t
avx2_meet(const uint32_t *block, const uint32_t *list, uint32_t from,
          uint32_t to, uint32_t *found, uint32_t *places) {
    const __m256i flip = _mm256_set1_epi32(INT32_MIN);
    const uint32_t *at = block;
    uint32_t n = 0;
    for (uint32_t i = from; i < to; i++) {
        uint32_t doc = list[i], less;
        while (at[15] < doc) at += 16;
        __m256i d = _mm256_xor_si256(_mm256_set1_epi32((int)doc), flip);
        __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)at);
        __m256i b =
            _mm256_loadu_si256((const __m256i *)(const void *)(at + 8));
        a = _mm256_cmpgt_epi32(d, _mm256_xor_si256(a, flip));
        b = _mm256_cmpgt_epi32(d, _mm256_xor_si256(b, flip));
        less = (uint32_t)_mm256_movemask_epi8(_mm256_packs_epi32(a, b));
        less = (uint32_t)__builtin_popcount(less) / 2;
        found[n] = i;
        places[n] = (uint32_t)(at - block) + less;
        n += at[less] == doc;
    }
    return n;
}

static const grb_search_kernels avx2 = {avx2_score, avx2_above, avx2_sums,
                                        avx2_count, avx2_meet,  "avx2"};

#define AVX512 __attribute__((target("avx512f,avx512vl,avx512dq,bmi2")))

AVX512 static uint32_t avx512_above(const uint32_t *docs, const float *x,
                                    uint32_t count, float least, uint32_t *to,
                                    float *kept) {
    const __m512 bound = _mm512_set1_ps(least);
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i += 16) {
        __mmask16 in = (__mmask16)_bzhi_u32(0xffffu, GRB_MIN(count - i, 16u));
        __m512 v = _mm512_maskz_loadu_ps(in, x + i);
        __mmask16 some = _mm512_mask_cmp_ps_mask(in, v, bound, _CMP_GT_OQ);
        if (!some) continue;
        uint32_t found = (uint32_t)__builtin_popcount(some);
        __mmask16 out = (__mmask16)_bzhi_u32(0xffffu, found);
        __m512i d = _mm512_maskz_loadu_epi32(in, docs + i);
        _mm512_mask_storeu_epi32(to + n, out,
                                 _mm512_maskz_compress_epi32(some, d));
        _mm512_mask_storeu_ps(kept + n, out,
                              _mm512_maskz_compress_ps(some, v));
        n += found;
    }
    return n;
}

AVX512 static uint64_t avx512_sums(const double *values, double cut) {
    const __m512d bound = _mm512_set1_pd(cut);
    uint64_t above = 0;
    for (uint32_t i = 0; i < 64; i += 8)
        above |= (uint64_t)_mm512_cmp_pd_mask(_mm512_loadu_pd(values + i),
                                              bound, _CMP_GT_OQ)
                 << i;
    return above;
}

/* Division is as fast by eight as by sixteen. */
static const grb_search_kernels avx512 = {
    avx2_score, avx512_above, avx512_sums, avx2_count, avx2_meet, "avx512"};

const grb_search_kernels *grb_search_kernels_of(uint32_t i) {
    const grb_search_kernels *found[4] = {&plain};
    uint32_t n = 1;
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
        __builtin_cpu_supports("popcnt"))
        found[n++] = &avx2;
    if (n == 2 && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq"))
        found[n++] = &avx512;
    return i < n ? found[i] : NULL;
}

__attribute__((constructor)) static void kernels_choose(void) {
    for (uint32_t i = 0; grb_search_kernels_of(i); i++)
        grb_search_kernels_best = *grb_search_kernels_of(i);
}
#else
const grb_search_kernels *grb_search_kernels_of(uint32_t i) {
    return i == 0 ? &plain : NULL;
}
#endif
