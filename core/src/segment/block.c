/* segment/block.c - one block of up to 256 postings as bytes and back.
 *
 * Bytes of a block (covered by the page checksums of its section):
 *
 *   u8      bits 0-1 encoding, bit 2 frequencies follow, bits 3-5 pairs
 *   pairs   the first: varint tf (1 if no frequencies follow: then there is
 *           one pair and no tf), u8 length code; each other rises in both:
 *           u8 bits 0-4 length - the one before - 1 (31: u8 length follows),
 *           bits 5-7 tf - the one before - 1 (7: varint of what is above 7)
 *   docs    run: nothing (last document and count say all)
 *           bitmap: u8 first word in the window, u8 words - 1, u64 words
 *           for: packed gaps - 1 (below), a block of 256 only
 *           tail: the same of fewer, as numbers (numbers.c)
 *   freqs   tf - 1 packed in a block of 256; else planes (below)
 *
 * Packed: u8 width, u8 exceptions, u8 width of their high bits (only if there
 * are any), u8 places of exceptions, high bits side by side, 32 * width bytes.
 * The patched frame of reference follows Zukowski et al., "Super-scalar
 * RAM-CPU cache compression" (2006), with the exceptions apart instead of
 * chained.
 * Planes: a bit a posting, set where tf > 1; a bit for each of these, set
 * where tf > 2; so on until none is set, or up to tf > 7; then, from the next
 * byte on, varints of tf - 8 of those set last. Most frequencies are 1, and
 * most others 2.
 *
 * Invariant: decoding stays inside [at, end) and gives rising documents below
 * max_doc whose last one is the one promised, or false.
 * Threads: any; no state.
 */
#include "segment/block.h"

#include "segment/kernel.h"
#include "segment/numbers.h"

#define EXCEPTIONS_MAX 64u
/* An exception costs time as well: it must save so many bytes more. */
#define FEE 1u
#define PLANES 7u
/* Escapes of a pair's distances. */
#define LENGTH_FAR 31u
#define TF_FAR 7u

/* ---- encoding ---- */

static void packed_put(const uint32_t *v, uint32_t width, uint32_t top,
                       grb_buf *out) {
    uint8_t bytes[3 + 32 * 32 + EXCEPTIONS_MAX * 5 + 8], *at = bytes;
    uint8_t places[EXCEPTIONS_MAX];
    uint32_t high[EXCEPTIONS_MAX], exceptions = 0;
    for (uint32_t i = 0; i < GRB_BLOCK && width < top; i++) {
        if (v[i] >> width == 0) continue;
        places[exceptions] = (uint8_t)i;
        high[exceptions++] = v[i] >> width;
    }
    *at++ = (uint8_t)width;
    *at++ = (uint8_t)exceptions;
    if (exceptions) *at++ = (uint8_t)(top - width);
    memcpy(at, places, exceptions);
    at = grb_side_put(high, exceptions, top - width, at + exceptions);
    grb_pack(v, width, at);
    at += 32 * width;
    grb_buf_put(out, bytes, (size_t)(at - bytes));
}

/* Tells which of the numbers are above 0, of those which are above 1, ... */
static void planes_put(const uint32_t *less, uint32_t count, grb_buf *out) {
    uint8_t bytes[GRB_BLOCK * PLANES / 8] = {0};
    uint32_t left[GRB_BLOCK], bit = 0;
    memcpy(left, less, count * sizeof *left);
    for (uint32_t plane = 0; plane < PLANES && count; plane++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < count; i++, bit++) {
            if (left[i] == 0) continue;
            bytes[bit / 8] |= (uint8_t)(1u << bit % 8);
            left[n++] = left[i] - 1;
        }
        count = n;
    }
    grb_buf_put(out, bytes, (bit + 7) / 8);
    for (uint32_t i = 0; i < count; i++) grb_buf_varint(out, left[i]);
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
    uint32_t less[GRB_BLOCK], top;
    for (uint32_t i = 0; i < count; i++) less[i] = freqs[i] - 1;
    if (count == GRB_BLOCK) {
        uint32_t size, width = grb_width_choose(less, count, EXCEPTIONS_MAX,
                                                FEE, &top, &size);
        packed_put(less, width, top, out);
    } else {
        planes_put(less, count, out);
    }
}

static void impacts_put(const grb_impact *impacts, uint32_t count, bool freqs,
                        grb_buf *out) {
    if (count == 0) return;
    if (freqs) grb_buf_varint(out, impacts[0].tf);
    grb_buf_u8(out, impacts[0].length);
    for (uint32_t i = 1; i < count; i++) {
        uint32_t tf = impacts[i].tf - impacts[i - 1].tf - 1;
        uint32_t length = impacts[i].length - impacts[i - 1].length - 1u;
        grb_buf_u8(out, (uint8_t)(GRB_MIN(length, LENGTH_FAR) |
                                  GRB_MIN(tf, TF_FAR) << 5));
        if (length >= LENGTH_FAR) grb_buf_u8(out, impacts[i].length);
        if (tf >= TF_FAR) grb_buf_varint(out, tf - TF_FAR);
    }
}

/* The cheapest encoding of the documents; width and top are of their gaps. */
static grb_block_encoding encoding_choose(const uint32_t *docs,
                                          const uint32_t *gaps, uint32_t count,
                                          uint32_t *width, uint32_t *top) {
    uint32_t first = docs[0], last = docs[count - 1];
    if (last - first == count - 1) return GRB_ENCODING_RUN;
    uint32_t size;
    *width = grb_width_choose(gaps, count, EXCEPTIONS_MAX, FEE, top, &size);
    if (first / GRB_WINDOW == last / GRB_WINDOW &&
        (last / 64 - first / 64 + 1) * 8 <= size + size / 8)
        return GRB_ENCODING_BITMAP;
    return count == GRB_BLOCK ? GRB_ENCODING_FOR : GRB_ENCODING_TAIL;
}

grb_block_encoding grb_block_encode(const uint32_t *docs,
                                    const uint32_t *freqs, uint32_t count,
                                    uint32_t base, const grb_impact *impacts,
                                    uint32_t impact_count, grb_buf *out) {
    uint32_t gaps[GRB_BLOCK], width = 0, top = 0;
    bool more = impact_count > 1 || (impact_count && impacts[0].tf > 1);
    for (uint32_t i = 0; i < count; i++) {
        gaps[i] = docs[i] - base - 1;
        base = docs[i];
        more |= freqs && freqs[i] > 1;
    }
    grb_block_encoding encoding =
        encoding_choose(docs, gaps, count, &width, &top);
    /* Pairs say more than that all are 1: so do the frequencies. */
    uint32_t ones[GRB_BLOCK];
    if (more && !freqs) {
        for (uint32_t i = 0; i < count; i++) ones[i] = 1;
        freqs = ones;
    }
    grb_buf_u8(out, (uint8_t)(encoding | (more ? 4u : 0) | impact_count << 3));
    impacts_put(impacts, impact_count, more, out);
    if (encoding == GRB_ENCODING_BITMAP) bitmap_put(docs, count, out);
    if (encoding == GRB_ENCODING_FOR) packed_put(gaps, width, top, out);
    if (encoding == GRB_ENCODING_TAIL) grb_numbers_put(gaps, count, out);
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
    /* A short block is read as fast as more pairs are. */
    if (count <= GRB_IMPACTS_SHORT) {
        out[0] = (grb_impact){tf_max, length_min};
        return 1;
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

static const uint8_t *packed_get(const uint8_t *at, const uint8_t *end,
                                 uint32_t *out) {
    if (end - at < 3) return NULL;
    uint32_t width = *at++, exceptions = *at++, high_width = 0;
    if (exceptions) high_width = *at++;
    size_t size = 32 * (size_t)width + exceptions +
                  grb_side_size(exceptions, high_width);
    if (width > 32 || width + high_width > 32 || (size_t)(end - at) < size)
        return NULL;
    const uint8_t *places = at, *high = places + exceptions;
    grb_kernels_best.unpack(at + size - 32 * width, width, out);
    for (uint32_t e = 0; e < exceptions; e++)
        out[places[e]] |= grb_side_get(high, end, e, high_width) << width;
    return at + size;
}

/* Frequencies - 1 of a tail. */
static const uint8_t *planes_get(const uint8_t *at, const uint8_t *end,
                                 uint32_t count, uint32_t *out) {
    uint8_t left[GRB_BLOCK]; /* places of those that are not yet told */
    uint32_t bit = 0;
    memset(out, 0, count * sizeof *out);
    for (uint32_t i = 0; i < count; i++) left[i] = (uint8_t)i;
    for (uint32_t plane = 0; plane < PLANES && count; plane++) {
        uint32_t n = 0;
        if ((size_t)(end - at) < (bit + count + 7) / 8) return NULL;
        for (uint32_t i = 0; i < count; i += 32) {
            uint64_t word =
                grb_word_load(at + ((bit + i) >> 3), end) >> ((bit + i) & 7);
            if (count - i < 32) word &= ((uint64_t)1 << (count - i)) - 1;
            for (word &= UINT32_MAX; word; word &= word - 1) {
                uint8_t place = left[i + grb_ctz64(word)];
                out[place]++;
                left[n++] = place;
            }
        }
        bit += count;
        count = n;
    }
    at += (bit + 7) / 8;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t more;
        at = varint32(at, end, &more);
        if (!at || more >= UINT32_MAX - PLANES - 1) return NULL;
        out[left[i]] += more;
    }
    return at;
}

/* The pairs; NULL as everywhere here. */
static const uint8_t *impacts_get(const uint8_t *at, const uint8_t *end,
                                  bool freqs, grb_block_decoded *out) {
    uint64_t tf = 1;
    uint32_t length, count = out->impact_count, first = 1;
    if (count == 0) return at;
    if (freqs && at < end && *at < 0x80)
        first = *at++; /* nearly always */
    else if (freqs)
        at = varint32(at, end, &first);
    if (!at || at == end || first == 0 || (count > 1 && !freqs)) return NULL;
    length = *at++;
    tf = first;
    out->impacts[0] = (grb_impact){first, (uint8_t)length};
    for (uint32_t i = 1; i < count; i++) {
        uint32_t more = 0;
        if (at == end) return NULL;
        uint32_t near = *at & LENGTH_FAR, rise = *at >> 5;
        at++;
        length += near + 1;
        if (near == LENGTH_FAR) {
            if (at == end || *at < length) return NULL;
            length = *at++;
        }
        if (rise == TF_FAR) at = varint32(at, end, &more);
        tf += (uint64_t)rise + more + 1;
        if (!at || length > UINT8_MAX || tf > UINT32_MAX) return NULL;
        out->impacts[i] = (grb_impact){(uint32_t)tf, (uint8_t)length};
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
    return impacts_get(at, in->end, *freqs, out);
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
        at = grb_numbers_all(at, in->end, in->count, docs, &out->patched);
        if (!at) return false;
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
    const uint32_t count = in->count; /* `freqs` might be a part of *in */
    if (!b->freqs_at) {
        for (uint32_t i = 0; i < count; i++) freqs[i] = 1;
    } else {
        at = count == GRB_BLOCK
                 ? packed_get(b->freqs_at, in->end, freqs)
                 : planes_get(b->freqs_at, in->end, count, freqs);
        if (!at) return false;
        /* One less than 2^31 at most, also before one is added. */
        uint32_t all = 0;
        for (uint32_t i = 0; i < count; i++) {
            all |= freqs[i] | (freqs[i] + 1);
            freqs[i]++;
        }
        if (all >> 31) return false;
    }
    *after = at;
    return true;
}
