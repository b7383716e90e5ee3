/* segment/places.c - positions, packed so that any few can be read alone.
 *
 * The positions of a block of postings are numbers: the first of a document,
 * then distances. A phrase wants those of one document in a hundred, a merge
 * all. So they stand in chunks of 128 side by side, where the n-th number
 * lies at bit n * width; what does not fit stands apart:
 *
 *   u8  width (0-31), 64 more if there are exceptions
 *   u8  only then: width of their high bits (1-31), 32 x exceptions less one
 *       count * width bits, the low ones first, padded to bytes
 *   u8  place of each exception, rising
 *       exceptions * that width bits, padded to bytes
 *
 * The sizes follow from the first two bytes, which makes passing over a
 * chunk a few additions. A chunk of fewer than 4 is varints.
 *
 * Invariant: reading stays inside [from, end).
 * Threads: a grb_places belongs to one.
 */
#include "segment/places.h"

#define WIDTH_MAX 31u
#define PATCHED 64u
#define EXCEPTIONS_MAX 8u /* few, as a reader looks through them */

static inline uint32_t bit_count(uint32_t v) {
    return v ? 32u - (uint32_t)__builtin_clz(v) : 0;
}

static inline uint32_t bits_size(uint32_t count, uint32_t width) {
    return (count * width + 7) / 8;
}

/* ---- writing ---- */

/* The cheapest width; `top` is that of the widest number. */
static uint32_t width_choose(const uint32_t *v, uint32_t count,
                             uint32_t *top) {
    uint32_t with[33] = {0}, all = 0, beyond = 0;
    for (uint32_t i = 0; i < count; i++) {
        with[bit_count(v[i])]++;
        all |= v[i];
    }
    *top = bit_count(all);
    uint32_t best = *top, least = bits_size(count, *top);
    for (uint32_t width = *top; width-- > 0;) {
        beyond += with[width + 1];
        if (beyond > EXCEPTIONS_MAX) break;
        uint32_t cost = bits_size(count, width) + 1 + beyond +
                        bits_size(beyond, *top - width);
        if (cost >= least) continue;
        least = cost;
        best = width;
    }
    return best;
}

/* Eight bytes beyond the numbers are written. */
static uint8_t *bits_put(const uint32_t *v, uint32_t count, uint32_t width,
                         uint8_t *out) {
    uint64_t held = 0, mask = ((uint64_t)1 << width) - 1;
    uint32_t bits = 0;
    for (uint32_t i = 0; i < count; i++) {
        held |= (v[i] & mask) << bits;
        bits += width;
        if (bits < 32) continue;
        memcpy(out, &held, 4);
        out += 4;
        held >>= 32;
        bits -= 32;
    }
    memcpy(out, &held, 8);
    return out + (bits + 7) / 8;
}

void grb_places_put(const uint32_t *v, uint32_t count, grb_buf *out) {
    uint32_t top, high[EXCEPTIONS_MAX + 1], exceptions = 0;
    uint8_t places[EXCEPTIONS_MAX + 1];
    if (count < GRB_PLACES_PLAIN) {
        for (uint32_t i = 0; i < count; i++) grb_buf_varint(out, v[i]);
        return;
    }
    uint32_t width = width_choose(v, count, &top);
    if (!grb_buf_reserve(out,
                         3 + 8 + bits_size(count, width) + EXCEPTIONS_MAX * 5))
        return;
    uint8_t *at = out->bytes + out->size;
    if (width == top) {
        *at++ = (uint8_t)width;
        at = bits_put(v, count, width, at);
        out->size = (size_t)(at - out->bytes);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (v[i] >> width == 0) continue;
        places[exceptions] = (uint8_t)i;
        high[exceptions++] = v[i] >> width;
    }
    *at++ = (uint8_t)(width | PATCHED);
    *at++ = (uint8_t)((exceptions - 1) << 5 | (top - width));
    at = bits_put(v, count, width, at);
    memcpy(at, places, exceptions);
    at = bits_put(high, exceptions, top - width, at + exceptions);
    out->size = (size_t)(at - out->bytes);
}

/* ---- reading ---- */

/* By halves of their bits: so sums fit into lanes of 32. */
uint64_t grb_places_sum(const uint32_t *freqs, uint32_t from, uint32_t to) {
    uint32_t low = 0, high = 0;
    for (uint32_t i = from; i < to; i++) {
        low += freqs[i] & 0xffff;
        high += freqs[i] >> 16;
    }
    return low + ((uint64_t)high << 16);
}

static void chunks_begin(grb_places *p) {
    p->first = p->count = 0;
    p->next = NULL;
}

void grb_places_open(grb_places *p, const uint8_t *from, const uint8_t *end,
                     const uint32_t *freqs, uint32_t postings) {
    p->from = from;
    p->end = end;
    p->freqs = freqs;
    p->postings = postings;
    p->total = 0;
    chunks_begin(p);
}

static uint64_t total_get(grb_places *p) {
    if (p->total == 0) p->total = grb_places_sum(p->freqs, 0, p->postings);
    return p->total;
}

bool grb_places_done(grb_places *p) {
    return p->first + p->count == total_get(p) &&
           (p->next ? p->next : p->from) == p->end;
}

static const uint8_t *varint_get(const uint8_t *at, const uint8_t *end,
                                 uint32_t *out) {
    uint32_t v = 0;
    for (uint32_t shift = 0; at < end && shift <= 28; shift += 7) {
        v |= (uint32_t)(*at & 0x7f) << shift;
        if (*at++ < 0x80) {
            *out = v;
            return at;
        }
    }
    return NULL;
}

/* The end of `count` varints. */
static const uint8_t *varints_pass(const uint8_t *at, const uint8_t *end,
                                   uint32_t count) {
    uint32_t v;
    while (count-- && at) at = varint_get(at, end, &v);
    return at;
}

/* Takes the head of the chunk behind the present one apart. */
static bool chunk_next(grb_places *p) {
    const uint8_t *at = p->next ? p->next : p->from;
    p->first += p->count;
    p->count = GRB_PLACES_CHUNK;
    /* As many numbers as postings there are at least: mostly that tells
     * whether the chunk is full. */
    if (p->first + GRB_PLACES_CHUNK > p->postings) {
        if (p->first >= total_get(p)) return false;
        p->count = (uint32_t)GRB_MIN(GRB_PLACES_CHUNK, p->total - p->first);
    }
    p->bits = at;
    if (p->count < GRB_PLACES_PLAIN) {
        p->next = varints_pass(at, p->end, p->count);
        return p->next != NULL;
    }
    if (p->end - at < 2 && (at == p->end || *at & PATCHED)) return false;
    uint32_t head = *at++, size;
    p->width = head & ~PATCHED;
    p->exceptions = p->high_width = 0;
    if (head & PATCHED) {
        p->exceptions = (uint32_t)(*at >> 5) + 1;
        p->high_width = *at++ & 31;
    }
    if (p->width > WIDTH_MAX || p->exceptions > p->count) return false;
    size = bits_size(p->count, p->width);
    p->bits = at;
    p->places = at + size;
    size += p->exceptions;
    p->high = at + size;
    size += bits_size(p->exceptions, p->high_width);
    if (size > (size_t)(p->end - at)) return false;
    p->next = at + size;
    return true;
}

/* Eight bytes at `at`, zeros for what lies beyond the end. */
static inline uint64_t word_load(const uint8_t *at, const uint8_t *end) {
    uint64_t word = 0;
    if (GRB_LIKELY(end - at >= 8))
        memcpy(&word, at, 8);
    else if (at < end)
        memcpy(&word, at, (size_t)(end - at));
    return word;
}

static inline uint32_t bits_get(const uint8_t *bits, const uint8_t *end,
                                uint32_t i, uint32_t width) {
    uint32_t bit = i * width;
    return (uint32_t)(word_load(bits + (bit >> 3), end) >> (bit & 7)) &
           (((uint32_t)1 << width) - 1);
}

/* Numbers [i, i + count) of the present chunk. */
static inline bool chunk_get(const grb_places *p, uint32_t i, uint32_t count,
                             uint32_t *out) {
    if (p->count < GRB_PLACES_PLAIN) {
        const uint8_t *at = varints_pass(p->bits, p->end, i);
        for (uint32_t k = 0; k < count && at; k++)
            at = varint_get(at, p->end, out + k);
        return at != NULL;
    }
    uint32_t width = p->width, mask = ((uint32_t)1 << width) - 1;
    uint32_t bit = i * width, k = 0;
    /* All but the last few have a whole word to load. */
    uint32_t whole = bit + count * width;
    if (GRB_LIKELY((size_t)(p->end - p->bits) >= (whole >> 3) + 8)) {
        for (; k < count; k++, bit += width) {
            uint64_t word;
            memcpy(&word, p->bits + (bit >> 3), sizeof word);
            out[k] = (uint32_t)(word >> (bit & 7)) & mask;
        }
    }
    for (; k < count; k++) out[k] = bits_get(p->bits, p->end, i + k, width);
    /* No branch asks about each: most are elsewhere. */
    uint32_t inside = 0;
    for (uint32_t e = 0; e < p->exceptions; e++)
        inside |= (uint32_t)(p->places[e] - i < count) << e;
    for (; inside; inside &= inside - 1) {
        uint32_t e = (uint32_t)__builtin_ctz(inside);
        out[p->places[e] - i] |= bits_get(p->high, p->end, e, p->high_width)
                                 << width;
    }
    return true;
}

bool grb_places_get(grb_places *p, uint64_t at, uint32_t count,
                    uint32_t *out) {
    if (at < p->first) chunks_begin(p);
    if (GRB_LIKELY(at + count <= p->first + p->count))
        return chunk_get(p, (uint32_t)(at - p->first), count, out);
    while (count) {
        while (at >= p->first + p->count)
            if (!chunk_next(p)) {
                chunks_begin(p);
                return false;
            }
        uint32_t i = (uint32_t)(at - p->first);
        uint32_t n = GRB_MIN(count, p->count - i);
        if (!chunk_get(p, i, n, out)) return false;
        at += n;
        out += n;
        count -= n;
    }
    return true;
}
