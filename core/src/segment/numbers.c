/* segment/numbers.c - numbers packed so that any few can be read alone.
 *
 * The positions of a block of postings are numbers: the first of a document,
 * then distances. A phrase wants those of one document in a hundred, a merge
 * all. So they stand in chunks of 128 side by side, where the n-th number
 * lies at bit n * width; what does not fit stands apart. Gaps of documents of
 * a block that is not full are kept in the same way:
 *
 *   u8  width (0-32), 64 more if there are exceptions
 *   u8  only then: width of their high bits (1-31), 32 x exceptions less one
 *   u8  place of each exception, rising
 *       exceptions * that width bits, the low ones first, padded to bytes
 *       count * width bits, likewise
 *
 * The sizes follow from the first two bytes, which makes passing over a
 * chunk a few additions. A chunk of fewer than 4 is varints.
 *
 * Invariant: reading stays inside [from, end).
 * Threads: a grb_numbers belongs to one.
 */
#include "segment/numbers.h"

#define PATCHED 64u
#define EXCEPTIONS_MAX 8u /* few, as a reader looks through them */
#define HIGH_MAX 31u

static inline uint32_t bit_count(uint32_t v) {
    return v ? 32u - (uint32_t)__builtin_clz(v) : 0;
}

/* ---- writing ---- */

uint32_t grb_width_choose(const uint32_t *v, uint32_t count, uint32_t most,
                          uint32_t fee, uint32_t *top, uint32_t *size) {
    uint32_t with[33] = {0}, all = 0, beyond = 0;
    for (uint32_t i = 0; i < count; i++) {
        with[bit_count(v[i])]++;
        all |= v[i];
    }
    *top = bit_count(all);
    uint32_t best = *top, least = grb_side_size(count, *top);
    for (uint32_t width = *top; width-- > 0;) {
        beyond += with[width + 1];
        if (beyond > most || *top - width > HIGH_MAX) break;
        uint32_t cost = grb_side_size(count, width) + 1 + beyond * (1 + fee) +
                        grb_side_size(beyond, *top - width);
        if (cost >= least) continue;
        least = cost;
        best = width;
    }
    *size = least;
    return best;
}

uint8_t *grb_side_put(const uint32_t *v, uint32_t count, uint32_t width,
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

static void chunk_put(const uint32_t *v, uint32_t count, grb_buf *out) {
    uint32_t top, high[EXCEPTIONS_MAX + 1], exceptions = 0;
    uint8_t places[EXCEPTIONS_MAX + 1];
    uint32_t size;
    uint32_t width =
        grb_width_choose(v, count, EXCEPTIONS_MAX, 0, &top, &size);
    if (!grb_buf_reserve(out, 2 + size + 8)) return;
    uint8_t *at = out->bytes + out->size;
    if (width == top) {
        *at++ = (uint8_t)width;
        at = grb_side_put(v, count, width, at);
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
    memcpy(at, places, exceptions);
    at = grb_side_put(high, exceptions, top - width, at + exceptions);
    at = grb_side_put(v, count, width, at);
    out->size = (size_t)(at - out->bytes);
}

void grb_numbers_put(const uint32_t *v, uint32_t count, grb_buf *out) {
    for (; count >= GRB_NUMBERS_PLAIN; v += GRB_NUMBERS_CHUNK) {
        uint32_t part = GRB_MIN(count, GRB_NUMBERS_CHUNK);
        chunk_put(v, part, out);
        count -= part;
    }
    for (uint32_t i = 0; i < count; i++) grb_buf_varint(out, v[i]);
}

/* ---- reading ---- */

/* By halves of their bits: so sums fit into lanes of 32. */
uint64_t grb_numbers_sum(const uint32_t *freqs, uint32_t from, uint32_t to) {
    uint32_t low = 0, high = 0;
    for (uint32_t i = from; i < to; i++) {
        low += freqs[i] & 0xffff;
        high += freqs[i] >> 16;
    }
    return low + ((uint64_t)high << 16);
}

static void chunks_begin(grb_numbers *p) {
    p->first = p->count = 0;
    p->next = NULL;
}

void grb_numbers_open(grb_numbers *p, const uint8_t *from, const uint8_t *end,
                      const uint32_t *freqs, uint32_t postings) {
    p->from = from;
    p->end = end;
    p->freqs = freqs;
    p->postings = postings;
    p->total = 0;
    chunks_begin(p);
}

static uint64_t total_get(grb_numbers *p) {
    if (p->total == 0) p->total = grb_numbers_sum(p->freqs, 0, p->postings);
    return p->total;
}

bool grb_numbers_done(grb_numbers *p) {
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
static bool chunk_next(grb_numbers *p) {
    const uint8_t *at = p->next ? p->next : p->from;
    p->first += p->count;
    p->count = GRB_NUMBERS_CHUNK;
    /* As many numbers as postings there are at least: mostly that tells
     * whether the chunk is full. */
    if (p->first + GRB_NUMBERS_CHUNK > p->postings) {
        if (p->first >= total_get(p)) return false;
        p->count = (uint32_t)GRB_MIN(GRB_NUMBERS_CHUNK, p->total - p->first);
    }
    p->bits = at;
    if (p->count < GRB_NUMBERS_PLAIN) {
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
    if (p->width > 32 || p->exceptions > p->count) return false;
    p->places = at;
    p->high = at + p->exceptions;
    size = p->exceptions + grb_side_size(p->exceptions, p->high_width);
    p->bits = at + size;
    size += grb_side_size(p->count, p->width);
    if (size > (size_t)(p->end - at)) return false;
    p->next = at + size;
    return true;
}

/* Numbers [i, i + count) of the present chunk. */
static inline bool chunk_get(const grb_numbers *p, uint32_t i, uint32_t count,
                             uint32_t *out) {
    if (p->count < GRB_NUMBERS_PLAIN) {
        const uint8_t *at = varints_pass(p->bits, p->end, i);
        for (uint32_t k = 0; k < count && at; k++)
            at = varint_get(at, p->end, out + k);
        return at != NULL;
    }
    uint32_t width = p->width, mask = (uint32_t)(((uint64_t)1 << width) - 1);
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
    for (; k < count; k++)
        out[k] = grb_side_get(p->bits, p->end, i + k, width);
    /* No branch asks about each: most are elsewhere. */
    uint32_t inside = 0;
    for (uint32_t e = 0; e < p->exceptions; e++)
        inside |= (uint32_t)(p->places[e] - i < count) << e;
    for (; inside; inside &= inside - 1) {
        uint32_t e = (uint32_t)__builtin_ctz(inside);
        out[p->places[e] - i] |=
            grb_side_get(p->high, p->end, e, p->high_width) << width;
    }
    return true;
}

bool grb_numbers_get(grb_numbers *p, uint64_t at, uint32_t count,
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

/* Numbers of a chunk of at least GRB_NUMBERS_PLAIN, all of them. */
static inline const uint8_t *chunk_all(const uint8_t *at, const uint8_t *end,
                                       uint32_t count, uint32_t *out,
                                       bool *patched) {
    if (end - at < 2 && (at == end || *at & PATCHED)) return NULL;
    uint32_t head = *at++, width = head & ~PATCHED, size;
    uint32_t exceptions = 0, high_width = 0;
    if (head & PATCHED) {
        exceptions = (uint32_t)(*at >> 5) + 1;
        high_width = *at++ & 31;
    }
    const uint8_t *places = at, *high = at + exceptions;
    size = exceptions + grb_side_size(exceptions, high_width);
    const uint8_t *bits = at + size;
    size += grb_side_size(count, width);
    if (width > 32 || size > (size_t)(end - at)) return NULL;
    uint32_t mask = (uint32_t)(((uint64_t)1 << width) - 1), i = 0, bit = 0;
    uint32_t whole = (uint32_t)(end - at) >= size + 8 ? count : 0;
    if (whole == 0 && end - bits >= 8 && width)
        whole = GRB_MIN(count, (uint32_t)(end - bits - 8) * 8 / width);
    for (; i < whole; i++, bit += width) {
        uint64_t word;
        memcpy(&word, bits + (bit >> 3), sizeof word);
        out[i] = (uint32_t)(word >> (bit & 7)) & mask;
    }
    for (; i < count; i++) out[i] = grb_side_get(bits, end, i, width);
    for (uint32_t e = 0; e < exceptions; e++) {
        if (places[e] >= count) return NULL;
        out[places[e]] |= grb_side_get(high, end, e, high_width) << width;
    }
    *patched |= exceptions > 0;
    return at + size;
}

const uint8_t *grb_numbers_all(const uint8_t *at, const uint8_t *end,
                               uint32_t count, uint32_t *out, bool *patched) {
    *patched = false;
    while (count >= GRB_NUMBERS_PLAIN && at) {
        uint32_t part = GRB_MIN(count, GRB_NUMBERS_CHUNK);
        at = chunk_all(at, end, part, out, patched);
        out += part;
        count -= part;
    }
    for (; count && at; count--) at = varint_get(at, end, out++);
    return at;
}
