/* invert/key.c - bytes of terms and of unique keys, and their hashes.
 *
 * A term of up to 16 bytes is two zero-padded words: hashing is one 128-bit
 * multiplication and comparing is two compares. Longer ones take XXH3.
 *
 * Invariant: equal (field, bytes) give equal keys within a process; the seed
 *   is unpredictable, so that no set of documents can be made to collide.
 * Threads: any.
 * Owns: the byte form of integer keys (8 bytes big endian, sign bit flipped).
 */
#include "invert/inverted.h"

static _Atomic uint64_t seeds[2]; /* 0: not drawn yet */

static uint64_t seed_draw(int i) {
    uint64_t none = 0, drawn = grb_random() | 1;
    if (atomic_compare_exchange_strong(&seeds[i], &none, drawn)) return drawn;
    return none;
}

static inline uint64_t seed(int i) {
    uint64_t s = atomic_load_explicit(&seeds[i], memory_order_relaxed);
    return GRB_LIKELY(s != 0) ? s : seed_draw(i);
}

static inline uint64_t word_load(const uint8_t *at) {
    uint64_t w;
    memcpy(&w, at, 8);
    return w;
}

/* Up to 7 bytes as a word padded with zeros, never reading past them. */
static inline uint64_t word_load_part(const uint8_t *at, uint32_t size) {
    if (size >= 4) {
        uint32_t low, high;
        memcpy(&low, at, 4);
        memcpy(&high, at + size - 4, 4);
        return low | (uint64_t)high << ((size - 4) * 8);
    }
    if (size == 0) return 0;
    return at[0] | (uint64_t)at[size / 2] << (size / 2 * 8) |
           (uint64_t)at[size - 1] << ((size - 1) * 8);
}

static inline uint64_t fold(uint64_t a, uint64_t b) {
    __uint128_t product = (__uint128_t)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

typedef struct seed_pair {
    uint64_t s0, s1;
} seed_pair;

static inline uint32_t words_hash(uint64_t a, uint64_t b, uint32_t size,
                                  uint32_t field, seed_pair s) {
    uint64_t place = (uint64_t)field << 32 | size;
    return (uint32_t)fold(fold(a ^ s.s0, b ^ s.s1) ^ place ^ s.s1,
                          0x9e3779b97f4a7c15u ^ s.s0);
}

static void key_make(const uint8_t *at, uint32_t size, uint32_t field,
                     seed_pair s, grb_term_key *out) {
    uint64_t a, b = 0;
    if (size < 8) {
        a = out->words[0] = word_load_part(at, size);
    } else if (size <= GRB_TERM_INLINE) {
        a = out->words[0] = word_load(at);
        if (size > 8) b = word_load(at + size - 8) >> (8 * (16 - size));
    } else {
        out->words[0] = word_load(at);
        a = grb_hash(at, size, s.s0);
    }
    out->words[1] = b;
    out->hash = words_hash(a, b, size, field, s);
    out->bytes = at;
    out->size = size;
}

void grb_term_key_make(const void *bytes, uint32_t size, uint32_t field,
                       grb_term_key *out) {
    key_make(bytes, size, field, (seed_pair){seed(0), seed(1)}, out);
}

void grb_term_keys_make(const grb_token *tokens, uint32_t count,
                        uint32_t field, const char *text, grb_term_key *out) {
    seed_pair s = {seed(0), seed(1)};
    for (uint32_t i = 0; i < count; i++, out++) {
        const uint8_t *at = (const uint8_t *)tokens[i].bytes;
        uint32_t size = tokens[i].size;
        if (GRB_UNLIKELY(size - 1 >= GRB_TERM_INLINE ||
                         (uintptr_t)at - (uintptr_t)text < 8)) {
            key_make(at, size, field, s, out);
            continue;
        }
        /* `tail` is the last 8 bytes that end with the token. */
        uint64_t tail = word_load(at + size - 8);
        uint32_t wide = size > 8;
        uint64_t head = word_load(wide ? at : at + size - 8);
        uint32_t narrow = wide ? 0 : 64 - 8 * size;
        uint64_t a = head >> narrow;
        uint64_t b = wide ? tail >> ((128 - 8 * size) & 63) : 0;
        out->words[0] = a;
        out->words[1] = b;
        out->hash = words_hash(a, b, size, field, s);
        out->bytes = at;
        out->size = size;
    }
}

uint32_t grb_term_hash_key(const void *bytes, uint32_t size) {
    grb_term_key key;
    grb_term_key_make(bytes, size, UINT32_MAX, &key);
    return key.hash;
}

void grb_key_make(const grebe_value *value, uint8_t scratch[8], grb_key *out) {
    if (value->kind == GREBE_INT) {
        uint64_t bits = (uint64_t)value->as.integer ^ (uint64_t)1 << 63;
        for (int i = 0; i < 8; i++)
            scratch[i] = (uint8_t)(bits >> (56 - 8 * i));
        out->bytes = scratch;
        out->size = 8;
    } else {
        /* An empty key still has an address: NULL means "no key". */
        out->bytes = value->as.text.size
                         ? (const uint8_t *)value->as.text.bytes
                         : (const uint8_t *)"";
        out->size = (uint32_t)value->as.text.size;
    }
    out->hash = grb_hash(out->bytes, out->size, 0);
}

void grb_key_value(grebe_kind kind, const uint8_t *bytes, uint32_t size,
                   grebe_value *out) {
    memset(out, 0, sizeof *out);
    out->kind = kind;
    if (kind == GREBE_INT) {
        uint64_t bits = 0;
        for (uint32_t i = 0; i < 8 && i < size; i++)
            bits = bits << 8 | bytes[i];
        out->as.integer = (int64_t)(bits ^ (uint64_t)1 << 63);
    } else {
        out->as.text.bytes = (const char *)bytes;
        out->as.text.size = size;
    }
}
