/* segment/kernel.c - packing of integers, scalar and AVX2.
 *
 * The scalar loops are written over 8 lanes with constant bounds, so that the
 * compiler makes vectors of them on any machine; AVX2 is chosen once when the
 * library is loaded.
 *
 * Invariant: all kernels of a table give the same numbers; none reads beyond
 * 32 * width bytes.
 * Threads: any; the table is written before main.
 */
#include "segment/kernel.h"

#define LANES 8u
#define ROWS (GRB_BLOCK / LANES)

static inline uint32_t width_mask(uint32_t width) {
    return width >= 32 ? UINT32_MAX : ((uint32_t)1 << width) - 1;
}

void grb_pack(const uint32_t *in, uint32_t width, uint8_t *out) {
    uint32_t words[32 * LANES];
    uint32_t mask = width_mask(width);
    if (width == 0) return;
    memset(words, 0, (size_t)width * LANES * 4);
    for (uint32_t row = 0; row < ROWS; row++) {
        uint32_t bit = row * width, shift = bit & 31;
        uint32_t *word = words + (bit >> 5) * LANES;
        for (uint32_t lane = 0; lane < LANES; lane++)
            word[lane] |= (in[row * LANES + lane] & mask) << shift;
        if (shift + width <= 32) continue;
        for (uint32_t lane = 0; lane < LANES; lane++)
            word[LANES + lane] |=
                (in[row * LANES + lane] & mask) >> (32 - shift);
    }
    memcpy(out, words, (size_t)width * LANES * 4);
}

static void scalar_unpack(const uint8_t *in, uint32_t width, uint32_t *out) {
    uint32_t mask = width_mask(width);
    if (width == 0) {
        memset(out, 0, GRB_BLOCK * sizeof *out);
        return;
    }
    for (uint32_t row = 0; row < ROWS; row++) {
        uint32_t bit = row * width, shift = bit & 31;
        uint32_t low[LANES], high[LANES];
        const uint8_t *word = in + (size_t)(bit >> 5) * LANES * 4;
        memcpy(low, word, sizeof low);
        if (shift + width > 32) {
            memcpy(high, word + sizeof low, sizeof high);
            for (uint32_t lane = 0; lane < LANES; lane++)
                out[row * LANES + lane] =
                    (low[lane] >> shift | high[lane] << (32 - shift)) & mask;
        } else {
            for (uint32_t lane = 0; lane < LANES; lane++)
                out[row * LANES + lane] = low[lane] >> shift & mask;
        }
    }
}

static void scalar_sum(uint32_t *v, uint32_t base) {
    for (uint32_t i = 0; i < GRB_BLOCK; i++) {
        base += v[i] + 1;
        v[i] = base;
    }
}

const grb_kernels grb_kernels_scalar = {scalar_unpack, scalar_sum, "scalar"};
grb_kernels grb_kernels_best = {scalar_unpack, scalar_sum, "scalar"};

#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("avx2"))) static void
avx2_unpack(const uint8_t *in, uint32_t width, uint32_t *out) {
    const __m256i mask = _mm256_set1_epi32((int)width_mask(width));
    __m256i *to = (__m256i *)(void *)out;
    if (width == 0) {
        for (uint32_t row = 0; row < ROWS; row++)
            _mm256_storeu_si256(to + row, _mm256_setzero_si256());
        return;
    }
    const __m256i *from = (const __m256i *)(const void *)in;
    for (uint32_t row = 0; row < ROWS; row++) {
        uint32_t bit = row * width, shift = bit & 31;
        __m256i v = _mm256_loadu_si256(from + (bit >> 5));
        v = _mm256_srl_epi32(v, _mm_cvtsi32_si128((int)shift));
        if (shift + width > 32) {
            __m256i high = _mm256_loadu_si256(from + (bit >> 5) + 1);
            v = _mm256_or_si256(
                v,
                _mm256_sll_epi32(high, _mm_cvtsi32_si128((int)(32 - shift))));
        }
        _mm256_storeu_si256(to + row, _mm256_and_si256(v, mask));
    }
}

__attribute__((target("avx2"))) static void avx2_sum(uint32_t *v,
                                                     uint32_t base) {
    __m256i carry = _mm256_set1_epi32((int)base);
    const __m256i one = _mm256_set1_epi32(1);
    const __m256i last = _mm256_set1_epi32(7);
    __m256i *at = (__m256i *)(void *)v;
    for (uint32_t row = 0; row < ROWS; row++) {
        __m256i x = _mm256_add_epi32(_mm256_loadu_si256(at + row), one);
        x = _mm256_add_epi32(x, _mm256_slli_si256(x, 4));
        x = _mm256_add_epi32(x, _mm256_slli_si256(x, 8));
        /* The sum of the lower half goes to each lane of the upper one. */
        __m256i low =
            _mm256_shuffle_epi32(_mm256_permute2x128_si256(x, x, 0x08), 0xff);
        x = _mm256_add_epi32(_mm256_add_epi32(x, low), carry);
        _mm256_storeu_si256(at + row, x);
        carry = _mm256_permutevar8x32_epi32(x, last);
    }
}

static const grb_kernels avx2 = {avx2_unpack, avx2_sum, "avx2"};

const grb_kernels *grb_kernels_avx2(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") ? &avx2 : NULL;
}

__attribute__((constructor)) static void kernels_choose(void) {
    if (grb_kernels_avx2()) grb_kernels_best = avx2;
}
#else
const grb_kernels *grb_kernels_avx2(void) {
    return NULL;
}
#endif

/* ---- columns ---- */

uint32_t grb_bits_width(uint64_t v) {
    if (v == 0) return 0;
    uint32_t width = 64u - (uint32_t)grb_clz64(v);
    /* Up to 16 bits exactly, then steps of 4, of 8 from 32: whole bytes and
     * half ones are faster and rarely cost more than a bit. */
    if (width > 16) width = (width + 3) & ~3u;
    if (width > 32) width = (width + 7) & ~7u;
    return width;
}

void grb_bits_pack(const uint64_t *in, uint32_t count, uint32_t width,
                   uint8_t *out) {
    uint64_t bit = 0;
    if (width == 0) return;
    for (uint32_t i = 0; i < count; i++, bit += width) {
        uint64_t v;
        memcpy(&v, out + (bit >> 3), sizeof v);
        v |= in[i] << (bit & 7);
        memcpy(out + (bit >> 3), &v, sizeof v);
    }
}

void grb_bits_unpack(const uint8_t *in, uint32_t count, uint32_t width,
                     uint64_t *out) {
    if (width == 8) {
        for (uint32_t i = 0; i < count; i++) out[i] = in[i];
    } else if (width == 16) {
        for (uint32_t i = 0; i < count; i++) {
            uint16_t v;
            memcpy(&v, in + 2 * (size_t)i, sizeof v);
            out[i] = v;
        }
    } else if (width == 32) {
        for (uint32_t i = 0; i < count; i++) {
            uint32_t v;
            memcpy(&v, in + 4 * (size_t)i, sizeof v);
            out[i] = v;
        }
    } else if (width == 64) {
        memcpy(out, in, (size_t)count * 8);
    } else if (width == 0) {
        memset(out, 0, (size_t)count * 8);
    } else {
        for (uint32_t i = 0; i < count; i++)
            out[i] = grb_bits_get(in, i, width);
    }
}
