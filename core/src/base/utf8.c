/* base/utf8.c - strict UTF-8: validating, decoding, encoding.
 *
 * Every text is validated once, where it enters; behind that point the rest
 * of the library decodes without checks. Most text is ASCII, which is passed
 * over 32 bytes a step.
 *
 * Invariant: valid means RFC 3629: shortest form, no surrogates, at most
 *   U+10FFFF. U+0000 is an ordinary character.
 * Threads: any.
 * Owns: nothing.
 */
#include "base/base.h"

#define HIGH_BITS UINT64_C(0x8080808080808080)

static inline uint64_t word_load(const uint8_t *at) {
    uint64_t w;
    memcpy(&w, at, 8);
    return w;
}

/* The first byte at or behind `at` that is not ASCII, or `end`. */
static inline const uint8_t *ascii_skip(const uint8_t *at,
                                        const uint8_t *end) {
    while (end - at >= 32) {
        uint64_t any = word_load(at) | word_load(at + 8) | word_load(at + 16) |
                       word_load(at + 24);
        if (any & HIGH_BITS) break;
        at += 32;
    }
    while (end - at >= 8 && !(word_load(at) & HIGH_BITS)) at += 8;
    while (at < end && *at < 0x80) at++;
    return at;
}

static inline bool is_tail(uint8_t byte) {
    return (byte & 0xC0) == 0x80;
}

/* Length of the sequence of two or more bytes at `at`; 0 if it is bad. */
static inline uint32_t sequence_check(const uint8_t *at, const uint8_t *end) {
    uint8_t lead = at[0];
    size_t left = (size_t)(end - at);
    if (lead < 0xC2) return 0;
    if (lead < 0xE0) return left >= 2 && is_tail(at[1]) ? 2 : 0;
    if (lead < 0xF0) {
        if (left < 3 || !is_tail(at[1]) || !is_tail(at[2])) return 0;
        if (lead == 0xE0 && at[1] < 0xA0) return 0; /* overlong */
        if (lead == 0xED && at[1] > 0x9F) return 0; /* surrogate */
        return 3;
    }
    if (lead > 0xF4 || left < 4) return 0;
    if (!is_tail(at[1]) || !is_tail(at[2]) || !is_tail(at[3])) return 0;
    if (lead == 0xF0 && at[1] < 0x90) return 0; /* overlong */
    if (lead == 0xF4 && at[1] > 0x8F) return 0; /* above U+10FFFF */
    return 4;
}

bool grb_utf8_valid(const char *bytes, size_t size, size_t *bad_at) {
    const uint8_t *base = (const uint8_t *)bytes, *at = base;
    const uint8_t *end = size ? base + size : base;
    while ((at = ascii_skip(at, end)) < end) {
        /* Texts of other scripts come in runs: stay here while they last. */
        do {
            uint32_t length = sequence_check(at, end);
            if (GRB_UNLIKELY(length == 0)) {
                if (bad_at) *bad_at = (size_t)(at - base);
                return false;
            }
            at += length;
        } while (at < end && *at >= 0x80);
    }
    return true;
}

uint32_t grb_utf8_decode(const char *bytes, uint32_t *code_point) {
    const uint8_t *at = (const uint8_t *)bytes;
    uint32_t c = at[0];
    if (c < 0x80) {
        *code_point = c;
        return 1;
    }
    if (c < 0xE0) {
        *code_point = (c & 0x1F) << 6 | (at[1] & 0x3F);
        return 2;
    }
    if (c < 0xF0) {
        *code_point =
            (c & 0x0F) << 12 | (uint32_t)(at[1] & 0x3F) << 6 | (at[2] & 0x3F);
        return 3;
    }
    *code_point = (c & 0x07) << 18 | (uint32_t)(at[1] & 0x3F) << 12 |
                  (uint32_t)(at[2] & 0x3F) << 6 | (at[3] & 0x3F);
    return 4;
}

uint32_t grb_utf8_encode(uint32_t code_point, char *out) {
    if (code_point < 0x80) {
        out[0] = (char)code_point;
        return 1;
    }
    if (code_point < 0x800) {
        out[0] = (char)(0xC0 | code_point >> 6);
        out[1] = (char)(0x80 | (code_point & 0x3F));
        return 2;
    }
    if (code_point < 0x10000) {
        out[0] = (char)(0xE0 | code_point >> 12);
        out[1] = (char)(0x80 | (code_point >> 6 & 0x3F));
        out[2] = (char)(0x80 | (code_point & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | code_point >> 18);
    out[1] = (char)(0x80 | (code_point >> 12 & 0x3F));
    out[2] = (char)(0x80 | (code_point >> 6 & 0x3F));
    out[3] = (char)(0x80 | (code_point & 0x3F));
    return 4;
}
