/* segment/kernel.c - packing of integers.
 *
 * Unpacking is written once, over vectors of 8 lanes as the compiler knows
 * them, and compiled for each width, so that every shift is a constant, and
 * for each kind of processor: the plain one is NEON or SSE2 where these are
 * part of the machine. Sums are written out for x86.
 *
 * Invariant: all kernels give the same numbers; none reads beyond 32 * width
 * bytes.
 * Threads: any; the table is written before main.
 */
#include "segment/kernel.h"

#define LANES 8u
#define ROWS (GRB_BLOCK / LANES)

/* A row: one number of each lane. */
typedef uint32_t row_of_8 __attribute__((vector_size(32), aligned(4)));
typedef uint32_t row_of_4 __attribute__((vector_size(16), aligned(4)));

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

/* ---- unpacking ---- */

static inline __attribute__((always_inline)) void
width_unpack(const uint8_t *in, const uint32_t width, uint32_t *out) {
    const uint32_t mask = width_mask(width);
#pragma GCC unroll 32
    for (uint32_t row = 0; row < ROWS; row++) {
        const uint32_t bit = row * width, shift = bit & 31;
        const uint8_t *word = in + (size_t)(bit >> 5) * sizeof(row_of_8);
        row_of_8 v, high;
        memcpy(&v, word, sizeof v);
        v >>= shift;
        if (shift + width > 32) {
            memcpy(&high, word + sizeof v, sizeof high);
            v |= high << (32 - shift);
        }
        v &= mask;
        memcpy(out + row * LANES, &v, sizeof v);
    }
}

#define UNPACK(w)                 \
    case w:                       \
        width_unpack(in, w, out); \
        break;
#define UNPACK_4(w) UNPACK(w) UNPACK(w + 1) UNPACK(w + 2) UNPACK(w + 3)
#define UNPACK_16(w) \
    UNPACK_4(w) UNPACK_4(w + 4) UNPACK_4(w + 8) UNPACK_4(w + 12)
#define UNPACK_BODY                                  \
    {                                                \
        switch (width) {                             \
            UNPACK_16(1)                             \
            UNPACK_16(17)                            \
        default:                                     \
            memset(out, 0, GRB_BLOCK * sizeof *out); \
        }                                            \
    }

static void plain_unpack(const uint8_t *in, uint32_t width,
                         uint32_t *out) UNPACK_BODY

    /* Two steps within a row of four, then the sum of all before it. */
    static void plain_sum(uint32_t *v, uint32_t base) {
    row_of_4 carry = {base, base, base, base};
    const row_of_4 none = {0, 0, 0, 0};
    for (uint32_t row = 0; row < GRB_BLOCK / 4; row++) {
        row_of_4 x;
        memcpy(&x, v + row * 4, sizeof x);
        x += 1;
        x += __builtin_shufflevector(none, x, 0, 4, 5, 6);
        x += __builtin_shufflevector(none, x, 0, 1, 4, 5);
        x += carry;
        memcpy(v + row * 4, &x, sizeof x);
        carry = __builtin_shufflevector(x, x, 3, 3, 3, 3);
    }
}

static const grb_kernels plain = {plain_unpack, plain_sum, "plain"};
grb_kernels grb_kernels_best = {plain_unpack, plain_sum, "plain"};

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))
#define AVX512 __attribute__((target("avx512f,avx512vl,avx512vbmi2")))

AVX2 static void avx2_unpack(const uint8_t *in, uint32_t width,
                             uint32_t *out) UNPACK_BODY

    AVX512 static void avx512_unpack(const uint8_t *in, uint32_t width,
                                     uint32_t *out) UNPACK_BODY

    /* What a row adds is known before the sum that it is added to: from row to
     * row one addition waits for another. */
    AVX2 static void avx2_sum(uint32_t *v, uint32_t base) {
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
        x = _mm256_add_epi32(x, low);
        _mm256_storeu_si256(at + row, _mm256_add_epi32(x, carry));
        carry = _mm256_add_epi32(carry, _mm256_permutevar8x32_epi32(x, last));
    }
}

/* Each lane gets that which is `step` lanes before it, the first ones 0. */
AVX512 static inline __m512i lanes_shift(__m512i x, int step) {
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
                                           11, 12, 13, 14, 15);
    return _mm512_maskz_permutexvar_epi32(
        (__mmask16)(0xffffu << step),
        _mm512_sub_epi32(lane, _mm512_set1_epi32(step)), x);
}

AVX512 static void avx512_sum(uint32_t *v, uint32_t base) {
    __m512i carry = _mm512_set1_epi32((int)base);
    const __m512i one = _mm512_set1_epi32(1);
    const __m512i last = _mm512_set1_epi32(15);
    for (uint32_t i = 0; i < GRB_BLOCK; i += 16) {
        __m512i x = _mm512_add_epi32(_mm512_loadu_si512(v + i), one);
#pragma GCC unroll 4
        for (int step = 1; step < 16; step *= 2)
            x = _mm512_add_epi32(x, lanes_shift(x, step));
        _mm512_storeu_si512(v + i, _mm512_add_epi32(x, carry));
        carry = _mm512_add_epi32(carry, _mm512_permutexvar_epi32(last, x));
    }
}

static const grb_kernels avx2 = {avx2_unpack, avx2_sum, "avx2"};
static const grb_kernels avx512 = {avx512_unpack, avx512_sum, "avx512"};

const grb_kernels *grb_kernels_of(uint32_t i) {
    const grb_kernels *found[4] = {&plain};
    uint32_t n = 1;
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2")) found[n++] = &avx2;
    if (n == 2 && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512vbmi2"))
        found[n++] = &avx512;
    return i < n ? found[i] : NULL;
}

__attribute__((constructor)) static void kernels_choose(void) {
    for (uint32_t i = 0; grb_kernels_of(i); i++)
        grb_kernels_best = *grb_kernels_of(i);
}
#else
const grb_kernels *grb_kernels_of(uint32_t i) {
    return i == 0 ? &plain : NULL;
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
