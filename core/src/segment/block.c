/* segment/block.c - one block of up to 256 postings as bytes and back.
 *
 * Bytes of a block (covered by the page checksums of its section):
 *
 *   u8      bits 0-1 encoding, bit 2 frequencies follow, bits 3-5 pairs
 *   pairs   varint tf, u8 length code; rising tf
 *   docs    run: nothing (last document and count say all)
 *           bitmap: u8 first word in the window, u8 words - 1, u64 words
 *           for: packed gaps - 1 (below), a block of 256 only
 *           tail: the same of fewer, their bits side by side (below)
 *   freqs   tf - 1 packed in a block of 256; else a bit a posting that tells
 *           where tf > 1, and of those varints of tf - 2
 *
 * Packed: u8 width, u8 exceptions, 32 * width bytes, u8 places of exceptions,
 * varints of the bits above `width`. The patched frame of reference follows
 * Zukowski et al., "Super-scalar RAM-CPU cache compression" (2006), with the
 * exceptions apart instead of chained.
 * Tail: u8 width (64 more: u8 exceptions follows), count * width bits, the low
 * ones first, then places and varints of exceptions as above.
 *
 * Invariant: decoding stays inside [at, end) and gives rising documents below
 * max_doc whose last one is the one promised, or false.
 * Threads: any; no state.
 */
#include "segment/block.h"

#include "segment/kernel.h"

#define TAIL_EXCEPTIONS 64u

static inline uint32_t bit_count(uint32_t v) {
    return v ? 32u - (uint32_t)__builtin_clz(v) : 0;
}

/* ---- encoding ---- */

#define EXCEPTIONS_MAX 64u
#define PLAIN_MAX 8u /* so few numbers take the width of the widest */

/* Cheapest width for up to 256 numbers, exceptions included. */
static uint32_t width_choose(const uint32_t *v, uint32_t count,
                             uint32_t *size) {
    uint32_t with[33] = {0}, all = 0, least = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++) all |= v[i];
    uint32_t top = bit_count(all), best = top, exceptions = 0;
    *size = 2 + (count * top + 7) / 8;
    if (count <= PLAIN_MAX) return top;
    for (uint32_t i = 0; i < count; i++) with[bit_count(v[i])]++;
    /* Narrower and narrower, until too many stand out. */
    for (uint32_t width = top + 1; width-- > 0;) {
        uint32_t cost = 2 + (count * width + 7) / 8;
        if (width < top) exceptions += with[width + 1];
        if (exceptions >= EXCEPTIONS_MAX) break;
        for (uint32_t bits = width + 1; bits <= top; bits++)
            cost += with[bits] * (1 + (bits - width + 6) / 7);
        if (cost > least) continue;
        least = cost;
        best = width;
    }
    *size = least;
    return best;
}

static void packed_put(const uint32_t *v, uint32_t width, grb_buf *out) {
    uint8_t bytes[2 + 32 * 32 + 64], places[64];
    uint32_t exceptions = 0;
    for (uint32_t i = 0; i < GRB_BLOCK; i++)
        if (bit_count(v[i]) > width) places[exceptions++] = (uint8_t)i;
    bytes[0] = (uint8_t)width;
    bytes[1] = (uint8_t)exceptions;
    grb_pack(v, width, bytes + 2);
    memcpy(bytes + 2 + 32 * width, places, exceptions);
    grb_buf_put(out, bytes, 2 + 32 * width + exceptions);
    for (uint32_t i = 0; i < exceptions; i++)
        grb_buf_varint(out, v[places[i]] >> width);
}

/* `count` numbers side by side, the low bits first. */
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
    memcpy(out, &held, (bits + 7) / 8);
    return out + (bits + 7) / 8;
}

static void tail_put(const uint32_t *v, uint32_t count, uint32_t width,
                     grb_buf *out) {
    uint8_t bytes[2 + GRB_BLOCK * 4 + EXCEPTIONS_MAX], places[EXCEPTIONS_MAX];
    uint32_t exceptions = 0;
    uint8_t *at = bytes;
    for (uint32_t i = 0; i < count && count > PLAIN_MAX; i++)
        if (bit_count(v[i]) > width) places[exceptions++] = (uint8_t)i;
    *at++ = (uint8_t)(width | (exceptions ? TAIL_EXCEPTIONS : 0));
    if (exceptions) *at++ = (uint8_t)exceptions;
    at = bits_put(v, count, width, at);
    memcpy(at, places, exceptions);
    grb_buf_put(out, bytes, (size_t)(at - bytes) + exceptions);
    for (uint32_t i = 0; i < exceptions; i++)
        grb_buf_varint(out, v[places[i]] >> width);
}

/* Most frequencies of a tail are 1: a bit each says which are not. */
static void marked_put(const uint32_t *less, uint32_t count, grb_buf *out) {
    uint8_t bytes[GRB_BLOCK / 8] = {0};
    for (uint32_t i = 0; i < count; i++)
        if (less[i]) bytes[i / 8] |= (uint8_t)(1u << i % 8);
    grb_buf_put(out, bytes, (count + 7) / 8);
    for (uint32_t i = 0; i < count; i++)
        if (less[i]) grb_buf_varint(out, less[i] - 1);
}

static void bitmap_put(const uint32_t *docs, uint32_t count, grb_buf *out) {
    uint64_t words[GRB_WINDOW_WORDS] = {0};
    uint32_t from = docs[0] % GRB_WINDOW / 64;
    uint32_t to = docs[count - 1] % GRB_WINDOW / 64;
    for (uint32_t i = 0; i < count; i++)
        grb_bit_set(words, docs[i] % GRB_WINDOW);
    grb_buf_u8(out, (uint8_t)from);
    grb_buf_u8(out, (uint8_t)(to - from));
    grb_buf_put(out, words + from, (size_t)(to - from + 1) * 8);
}

static void freqs_put(const uint32_t *freqs, uint32_t count, grb_buf *out) {
    uint32_t less[GRB_BLOCK], size;
    for (uint32_t i = 0; i < count; i++) less[i] = freqs[i] - 1;
    if (count == GRB_BLOCK)
        packed_put(less, width_choose(less, count, &size), out);
    else
        marked_put(less, count, out);
}

grb_block_encoding grb_block_encode(const uint32_t *docs,
                                    const uint32_t *freqs, uint32_t count,
                                    uint32_t base, const grb_impact *impacts,
                                    uint32_t impact_count, grb_buf *out) {
    uint32_t gaps[GRB_BLOCK], size, width = 0, first = docs[0];
    uint32_t last = docs[count - 1], more = 0;
    grb_block_encoding encoding = GRB_ENCODING_TAIL;
    for (uint32_t i = 0; i < count; i++) {
        gaps[i] = docs[i] - base - 1;
        base = docs[i];
    }
    for (uint32_t i = 0; freqs && i < count; i++) more |= freqs[i] - 1;
    if (last - first == count - 1) {
        encoding = GRB_ENCODING_RUN;
    } else {
        if (count == GRB_BLOCK) encoding = GRB_ENCODING_FOR;
        width = width_choose(gaps, count, &size);
        if (first / GRB_WINDOW == last / GRB_WINDOW &&
            2 + (last / 64 - first / 64 + 1) * 8 <= size)
            encoding = GRB_ENCODING_BITMAP;
    }
    grb_buf_u8(out, (uint8_t)(encoding | (more ? 4u : 0) | impact_count << 3));
    for (uint32_t i = 0; i < impact_count; i++) {
        grb_buf_varint(out, impacts[i].tf);
        grb_buf_u8(out, impacts[i].length);
    }
    if (encoding == GRB_ENCODING_BITMAP) bitmap_put(docs, count, out);
    if (encoding == GRB_ENCODING_FOR) packed_put(gaps, width, out);
    if (encoding == GRB_ENCODING_TAIL) tail_put(gaps, count, width, out);
    if (more) freqs_put(freqs, count, out);
    return encoding;
}

/* Pairs beyond the limit are joined with their neighbours: the greater tf and
 * the lesser length bound both. Of all neighbours those go first whose joint
 * pair scores least, about as BM25 has it (b = 0.75, the block's own average
 * length), so that the best pair of a block is joined last. */
static uint32_t impacts_join(grb_impact *all, uint32_t count, double average,
                             grb_impact *out) {
    double joint[256]; /* of pair i and the one behind it */
    for (uint32_t i = 0; i + 1 < count; i++)
        joint[i] = (double)all[i + 1].tf /
                   (average + 3.0 * grb_length_decode[all[i].length]);
    while (count > GRB_IMPACTS_MAX) {
        uint32_t least = 0;
        for (uint32_t i = 1; i + 1 < count; i++)
            if (joint[i] < joint[least]) least = i;
        all[least].tf = all[least + 1].tf;
        count--;
        for (uint32_t i = least + 1; i < count; i++) {
            all[i] = all[i + 1];
            joint[i - 1] = joint[i];
        }
        for (uint32_t i = least ? least - 1 : 0; i <= least && i + 1 < count;
             i++)
            joint[i] = (double)all[i + 1].tf /
                       (average + 3.0 * grb_length_decode[all[i].length]);
    }
    memcpy(out, all, count * sizeof *out);
    return count;
}

uint32_t grb_impacts_make(const uint32_t *freqs, const uint8_t *lengths,
                          uint32_t count, grb_impact *out) {
    /* most[l]: greatest tf among documents with length code l. */
    uint32_t most[256], made = 0, seen = 0;
    uint32_t codes[256 / 32] = {0}, tf_max = 0;
    uint8_t length_min = UINT8_MAX;
    grb_impact all[256];
    for (uint32_t i = 0; i < count; i++) {
        tf_max = GRB_MAX(tf_max, freqs[i]);
        length_min = GRB_MIN(length_min, lengths[i]);
    }
    /* Most often one document dominates all: it is the only pair. */
    for (uint32_t i = 0; i < count; i++) {
        if (freqs[i] != tf_max || lengths[i] != length_min) continue;
        out[0] = (grb_impact){tf_max, length_min};
        return 1;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint8_t code = lengths[i];
        if (!(codes[code / 32] >> (code % 32) & 1)) {
            codes[code / 32] |= (uint32_t)1 << (code % 32);
            most[code] = 0;
        }
        most[code] = GRB_MAX(most[code], freqs[i]);
    }
    /* Rising length: a pair counts only if its tf is above all before. */
    for (uint32_t word = 0; word < 8; word++) {
        for (uint32_t w = codes[word]; w; w &= w - 1) {
            uint32_t code = word * 32 + (uint32_t)__builtin_ctz(w);
            if (most[code] <= seen) continue;
            seen = most[code];
            all[made].tf = seen;
            all[made++].length = (uint8_t)code;
        }
    }
    double total = 0;
    for (uint32_t i = 0; made > GRB_IMPACTS_MAX && i < count; i++)
        total += grb_length_decode[lengths[i]];
    return impacts_join(all, made, total / count, out);
}

/* ---- decoding ---- */

static const uint8_t *varint32(const uint8_t *at, const uint8_t *end,
                               uint32_t *out) {
    uint32_t v = 0;
    for (uint32_t shift = 0; shift < 35 && at < end; shift += 7) {
        uint8_t byte = *at++;
        v |= (uint32_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out = v;
            return at;
        }
    }
    return NULL;
}

/* The high bits of `exceptions` numbers of `count`, whose places are at `at`.
 */
static const uint8_t *exceptions_get(const uint8_t *at, const uint8_t *end,
                                     uint32_t exceptions, uint32_t count,
                                     uint32_t width, uint32_t *out) {
    const uint8_t *places = at;
    at += exceptions;
    for (uint32_t i = 0; i < exceptions; i++) {
        uint32_t high;
        at = varint32(at, end, &high);
        if (!at || width == 32 || places[i] >= count) return NULL;
        out[places[i]] |= high << width;
    }
    return at;
}

static const uint8_t *packed_get(const uint8_t *at, const uint8_t *end,
                                 uint32_t *out) {
    if (end - at < 2) return NULL;
    uint32_t width = at[0], exceptions = at[1];
    at += 2;
    if (width > 32 || (size_t)(end - at) < 32 * width + exceptions)
        return NULL;
    grb_kernels_best.unpack(at, width, out);
    return exceptions_get(at + 32 * width, end, exceptions, GRB_BLOCK, width,
                          out);
}

static const uint8_t *tail_get(const uint8_t *at, const uint8_t *end,
                               uint32_t count, uint32_t *out) {
    uint8_t room[GRB_BLOCK * 4 + 8];
    if (at == end) return NULL;
    uint32_t head = *at++, width = head & 63, exceptions = 0;
    if (head & TAIL_EXCEPTIONS) {
        if (at == end) return NULL;
        exceptions = *at++;
    }
    size_t size = ((size_t)count * width + 7) / 8, left = (size_t)(end - at);
    if (head > (TAIL_EXCEPTIONS | 32) || width > 32 ||
        left < size + exceptions)
        return NULL;
    const uint8_t *bits = at;
    if (left < size + 8) {
        memcpy(room, at, size);
        memset(room + size, 0, 8);
        bits = room;
    }
    uint64_t mask = ((uint64_t)1 << width) - 1;
    for (uint32_t i = 0, bit = 0; i < count; i++, bit += width) {
        uint64_t word;
        memcpy(&word, bits + (bit >> 3), sizeof word);
        out[i] = (uint32_t)(word >> (bit & 7) & mask);
    }
    return exceptions_get(at + size, end, exceptions, count, width, out);
}

/* Frequencies - 1 of a tail. */
static const uint8_t *marked_get(const uint8_t *at, const uint8_t *end,
                                 uint32_t count, uint32_t *out) {
    const uint8_t *marks = at;
    uint32_t size = (count + 7) / 8;
    if ((size_t)(end - at) < size) return NULL;
    at += size;
    memset(out, 0, count * sizeof *out);
    for (uint32_t i = 0; i < size; i++)
        for (uint32_t bits = marks[i]; bits; bits &= bits - 1) {
            uint32_t place = i * 8 + (uint32_t)__builtin_ctz(bits), more;
            at = varint32(at, end, &more);
            if (!at || place >= count || more == UINT32_MAX) return NULL;
            out[place] = more + 1;
        }
    return at;
}

/* The head: encoding and pairs. Leaves the place of the documents. */
static const uint8_t *head_get(const grb_block_source *in,
                               grb_block_decoded *out, bool *freqs) {
    const uint8_t *at = in->at;
    if (at >= in->end) return NULL;
    uint8_t head = *at++;
    out->encoding = (grb_block_encoding)(head & 3);
    out->impact_count = head >> 3;
    *freqs = head & 4;
    if (out->impact_count > GRB_IMPACTS_MAX) return NULL;
    for (uint32_t i = 0; i < out->impact_count; i++) {
        if (in->end - at >= 2 && *at < 0x80) { /* nearly always */
            out->impacts[i] = (grb_impact){at[0], at[1]};
            at += 2;
            continue;
        }
        at = varint32(at, in->end, &out->impacts[i].tf);
        if (!at || at == in->end) return NULL;
        out->impacts[i].length = *at++;
    }
    return at;
}

bool grb_block_impacts(const grb_block_source *in, grb_block_decoded *out) {
    bool freqs;
    return head_get(in, out, &freqs) != NULL;
}

static const uint8_t *bitmap_get(const grb_block_source *in,
                                 grb_block_decoded *out, const uint8_t *at,
                                 uint64_t *words) {
    uint32_t window = in->last & ~(GRB_WINDOW - 1), count = 0;
    if (in->end - at < 2) return NULL;
    uint32_t from = at[0];
    out->word_count = (uint32_t)at[1] + 1;
    at += 2;
    if (from + out->word_count > GRB_WINDOW_WORDS ||
        (size_t)(in->end - at) < out->word_count * 8)
        return NULL;
    memcpy(words, at, out->word_count * 8);
    out->first = window + from * 64;
    for (uint32_t i = 0; i < out->word_count; i++)
        count += grb_popcount64(words[i]);
    uint64_t top = words[out->word_count - 1];
    if (count != in->count || !words[0] || !top ||
        out->first + (out->word_count - 1) * 64 + 63 -
                (uint32_t)grb_clz64(top) !=
            in->last)
        return NULL;
    /* The first document must lie behind the block before. */
    uint32_t first = out->first + (uint32_t)grb_ctz64(words[0]);
    if (in->base != UINT32_MAX && first <= in->base) return NULL;
    return at + out->word_count * 8;
}

/* Gaps were added up modulo 2^32: rising and right at the end, or false. */
static bool docs_rise(const grb_block_source *in, const uint32_t *docs) {
    uint32_t bad = in->base != UINT32_MAX && docs[0] <= in->base;
    for (uint32_t i = 1; i < in->count; i++) bad |= docs[i] <= docs[i - 1];
    return !bad && docs[in->count - 1] == in->last;
}

/* Adds up the gaps of a block of 256. While none has more than 23 bits they
 * cannot come to 2^32 together, so that the last document tells. */
static bool gaps_sum(const grb_block_source *in, uint32_t *docs) {
    uint32_t all = 0;
    for (uint32_t i = 0; i < GRB_BLOCK; i++) all |= docs[i];
    grb_kernels_best.sum(docs, in->base);
    return all >> 23 ? docs_rise(in, docs) : docs[GRB_BLOCK - 1] == in->last;
}

bool grb_block_docs(const grb_block_source *in, grb_block_decoded *out,
                    uint32_t *docs, uint64_t *words) {
    bool freqs;
    const uint8_t *at = head_get(in, out, &freqs);
    if (!at || in->count == 0 || in->last >= in->max_doc ||
        (in->base != UINT32_MAX && in->last <= in->base))
        return false;
    out->word_count = 0;
    out->docs_at = at;
    out->patched = false;
    switch (out->encoding) {
    case GRB_ENCODING_RUN:
        if (in->count > in->last - in->base) return false;
        out->first = in->last - in->count + 1;
        break;
    case GRB_ENCODING_BITMAP:
        at = bitmap_get(in, out, at, words);
        break;
    case GRB_ENCODING_FOR:
        if (in->count != GRB_BLOCK) return false;
        at = packed_get(at, in->end, docs);
        if (!at) return false;
        out->patched = out->docs_at[1] > 0;
        if (!gaps_sum(in, docs)) return false;
        out->first = docs[0];
        break;
    default:
        at = tail_get(at, in->end, in->count, docs);
        if (!at) return false;
        out->patched = out->docs_at[0] & TAIL_EXCEPTIONS;
        for (uint32_t i = 0, base = in->base; i < in->count; i++)
            docs[i] = base += docs[i] + 1;
        if (!docs_rise(in, docs)) return false;
        out->first = docs[0];
    }
    out->freqs_at = freqs ? at : NULL;
    out->end = at;
    return at != NULL;
}

bool grb_block_freqs(const grb_block_source *in, const grb_block_decoded *b,
                     uint32_t *freqs, const uint8_t **after) {
    const uint8_t *at = b->end;
    if (!b->freqs_at) {
        for (uint32_t i = 0; i < in->count; i++) freqs[i] = 1;
    } else {
        at = in->count == GRB_BLOCK
                 ? packed_get(b->freqs_at, in->end, freqs)
                 : marked_get(b->freqs_at, in->end, in->count, freqs);
        if (!at) return false;
        /* One less than 2^31 at most, also before one is added. */
        uint32_t all = 0;
        for (uint32_t i = 0; i < in->count; i++) {
            all |= freqs[i] | (freqs[i] + 1);
            freqs[i]++;
        }
        if (all >> 31) return false;
    }
    *after = at;
    return true;
}
