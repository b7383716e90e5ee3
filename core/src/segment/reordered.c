/* segment/reordered.c - a segment whose documents are given in another order.
 *
 * A merge that orders documents writes a segment of which document i is
 * document order[i] of the one it reads. Everything kept by document is
 * fetched where it lies; a list of postings is read whole and sorted by its
 * new ids.
 *
 * Invariant: each document of the segment stands in the order once.
 * Threads: one; it is read by one writer, front to back, one list at a time.
 * Owns: the inverse of the order, one list of postings, lengths of one field:
 *   5 bytes a document, 24 a posting and 4 a position of the longest list.
 */
#include <stdlib.h>

#include "segment/write.h"

typedef struct reordered {
    grb_segment base;
    grb_segment *inner;
    grb_bounds bounds;
    const uint32_t *order; /* old ids by new ones; borrowed */
    uint32_t *places;      /* new ids by old ones */
    uint8_t *codes;        /* lengths of `codes_field` by new ids */
    uint32_t codes_field;
    bool codes_any;
    /* the list of postings at hand, as it is read */
    grb_buf docs, freqs, gaps;
    grb_buf keys, other; /* u64 new id << 32 | place in the list; sorted */
    grb_buf starts;      /* u64 first gap of each posting */
    grb_buf picked;      /* gaps that were asked for */
} reordered;

static uint32_t *buf_words(const grb_buf *buf) {
    return (uint32_t *)(void *)buf->bytes;
}

static uint64_t *buf_longs(const grb_buf *buf) {
    return (uint64_t *)(void *)buf->bytes;
}

/* ---- postings ---- */

typedef struct list_cursor {
    grb_postings base;
    reordered *r;
    uint32_t at, count; /* first posting of the block; of all */
    uint32_t docs[GRB_BLOCK + 16], freqs[GRB_BLOCK];
} list_cursor;

static uint32_t key_posting(const list_cursor *c, uint32_t i) {
    return (uint32_t)buf_longs(&c->r->keys)[c->at + i];
}

static grebe_status list_next(grb_postings *p, uint32_t min_doc,
                              grebe_error *err) {
    list_cursor *c = (list_cursor *)p;
    const uint64_t *keys = buf_longs(&c->r->keys);
    uint32_t n = 0;
    (void)err;
    c->at += p->block.count;
    while (c->at < c->count && keys[c->at] >> 32 < min_doc) c->at++;
    for (; n < GRB_BLOCK && c->at + n < c->count; n++)
        c->docs[n] = (uint32_t)(keys[c->at + n] >> 32);
    memset(&p->block, 0, sizeof p->block);
    if (n == 0) return GREBE_OK;
    for (uint32_t i = n; i < n + 16; i++) c->docs[i] = c->docs[n - 1];
    p->block.kind = GRB_BLOCK_DOCS;
    p->block.docs = c->docs;
    p->block.count = n;
    p->block.first = c->docs[0];
    p->block.last = c->docs[n - 1];
    return GREBE_OK;
}

static grebe_status list_freqs(grb_postings *p, const uint32_t **out,
                               grebe_error *err) {
    list_cursor *c = (list_cursor *)p;
    (void)err;
    for (uint32_t i = 0; i < p->block.count; i++)
        c->freqs[i] = buf_words(&c->r->freqs)[key_posting(c, i)];
    *out = c->freqs;
    return GREBE_OK;
}

static grebe_status list_gaps(grb_postings *p, uint32_t from, uint32_t to,
                              const uint32_t **out, uint32_t *count,
                              grebe_error *err) {
    list_cursor *c = (list_cursor *)p;
    reordered *r = c->r;
    grb_buf_rewind(&r->picked);
    for (uint32_t i = from; i < to; i++) {
        uint32_t posting = key_posting(c, i);
        grb_buf_put(&r->picked,
                    buf_words(&r->gaps) + buf_longs(&r->starts)[posting],
                    buf_words(&r->freqs)[posting] * sizeof(uint32_t));
    }
    if (r->picked.failed) return grb_error_memory(err, r->picked.size);
    *out = buf_words(&r->picked);
    *count = (uint32_t)(r->picked.size / sizeof(uint32_t));
    return GREBE_OK;
}

static const grb_postings_ops list_ops = {
    .next_block = list_next, .freqs = list_freqs, .gaps = list_gaps};

/* Frequencies and positions of the block at hand. */
static grebe_status block_places(reordered *r, grb_postings *p, uint32_t count,
                                 grebe_error *err) {
    grebe_status status;
    const uint32_t *freqs, *gaps;
    uint32_t gap_count;
    uint64_t at = r->gaps.size / sizeof *gaps, first = at;
    GRB_TRY(p->ops->freqs(p, &freqs, err));
    grb_buf_put(&r->freqs, freqs, count * sizeof *freqs);
    for (uint32_t i = 0; i < count; at += freqs[i++])
        grb_buf_u64(&r->starts, at);
    GRB_TRY(p->ops->gaps(p, 0, count, &gaps, &gap_count, err));
    if (at - first != gap_count)
        return grb_error(err, GREBE_INTERNAL, "%u positions for %llu",
                         gap_count, (unsigned long long)(at - first));
    grb_buf_put(&r->gaps, gaps, gap_count * sizeof *gaps);
done:
    return status;
}

static grebe_status list_read(reordered *r, const grb_term *term, int wanted,
                              grb_arena *arena, grebe_error *err) {
    grebe_status status;
    grb_postings *p;
    grb_buf *all[] = {&r->docs, &r->freqs, &r->gaps, &r->starts};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        grb_buf_clear(all[i]);
    GRB_TRY(r->inner->ops->postings_open(r->inner, &r->bounds, term, wanted,
                                         arena, &p, err));
    for (uint32_t min_doc = 0;; min_doc = p->block.last + 1) {
        GRB_TRY(p->ops->next_block(p, min_doc, err));
        if (p->block.kind == GRB_BLOCK_END) break;
        const grb_block *b = &p->block;
        uint32_t room = GRB_MAX(b->count, b->last - b->first + 1), count;
        if (!grb_buf_reserve(&r->docs, (size_t)room * sizeof(uint32_t)))
            return grb_error_memory(err, room);
        count = grb_block_list(
            b, (uint32_t *)(void *)(r->docs.bytes + r->docs.size));
        r->docs.size += count * sizeof(uint32_t);
        if (wanted == GRB_POSTINGS_POSITIONS)
            GRB_TRY(block_places(r, p, count, err));
    }
    if (r->freqs.failed || r->gaps.failed || r->starts.failed)
        return grb_error_memory(err, r->gaps.size);
done:
    return status;
}

static int key_order(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

#define RADIX_BITS 11u
#define RADIX_MIN 1024u /* fewer are sorted by comparing */

/* One pass by `shift`, from one array into the other. */
static void keys_pass(const uint64_t *from, uint64_t *to, size_t count,
                      uint32_t shift) {
    uint32_t starts[(1u << RADIX_BITS) + 1] = {0};
    uint64_t mask = (1u << RADIX_BITS) - 1;
    for (size_t i = 0; i < count; i++) starts[(from[i] >> shift & mask) + 1]++;
    for (uint32_t i = 0; i < mask; i++) starts[i + 1] += starts[i];
    for (size_t i = 0; i < count; i++)
        to[starts[from[i] >> shift & mask]++] = from[i];
}

static void keys_sort(reordered *r, size_t count) {
    uint64_t *keys = buf_longs(&r->keys);
    if (count < RADIX_MIN) {
        qsort(keys, count, sizeof *keys, key_order);
        return;
    }
    for (uint32_t bit = 0; bit < 32 && r->bounds.max_doc >> bit;
         bit += RADIX_BITS) {
        keys_pass(buf_longs(&r->keys), buf_longs(&r->other), count, 32 + bit);
        grb_buf swap = r->keys;
        r->keys = r->other;
        r->other = swap;
    }
}

static grebe_status reordered_postings(grb_segment *s, const grb_bounds *b,
                                       const grb_term *term, int wanted,
                                       grb_arena *arena, grb_postings **out,
                                       grebe_error *err) {
    grebe_status status;
    reordered *r = (reordered *)s;
    (void)b;
    list_cursor *c = grb_arena_zero(arena, sizeof *c);
    if (!c) return grb_error_memory(err, sizeof *c);
    GRB_TRY(list_read(r, term, wanted, arena, err));
    size_t count = r->docs.size / sizeof(uint32_t);
    grb_buf_clear(&r->keys);
    grb_buf_clear(&r->other);
    if (!grb_buf_reserve(&r->keys, count * sizeof(uint64_t)) ||
        (count >= RADIX_MIN &&
         !grb_buf_reserve(&r->other, count * sizeof(uint64_t))))
        return grb_error_memory(err, count * sizeof(uint64_t));
    for (size_t i = 0; i < count; i++)
        buf_longs(&r->keys)[i] =
            (uint64_t)r->places[buf_words(&r->docs)[i]] << 32 | i;
    keys_sort(r, count);
    c->base.ops = &list_ops;
    c->r = r;
    c->count = (uint32_t)count;
    *out = &c->base;
done:
    return status;
}

/* ---- what is kept by document ---- */

static void reordered_totals(const grb_segment *s, const grb_bounds *b,
                             uint32_t field, grb_field_totals *out) {
    const reordered *r = (const reordered *)s;
    (void)b;
    r->inner->ops->totals(r->inner, &r->bounds, field, out);
}

static grebe_status reordered_terms(grb_segment *s, const grb_bounds *b,
                                    uint32_t field, grb_arena *arena,
                                    grb_terms **out, grebe_error *err) {
    reordered *r = (reordered *)s;
    (void)b;
    return r->inner->ops->terms_open(r->inner, &r->bounds, field, arena, out,
                                     err);
}

/* All lengths of a field by new ids. */
static grebe_status codes_read(reordered *r, uint32_t field,
                               grebe_error *err) {
    grebe_status status = GREBE_OK;
    uint8_t scratch[GRB_WINDOW];
    uint32_t max_doc = r->bounds.max_doc;
    r->codes_any = false;
    for (uint32_t base = 0; base < max_doc; base += GRB_WINDOW) {
        const uint8_t *codes;
        uint32_t count = GRB_MIN(GRB_WINDOW, max_doc - base);
        GRB_TRY(r->inner->ops->lengths(r->inner, &r->bounds, field, base,
                                       scratch, &codes, err));
        r->codes_any |= codes != NULL;
        for (uint32_t i = 0; codes && i < count; i++)
            r->codes[r->places[base + i]] = codes[i];
    }
    r->codes_field = field;
done:
    return status;
}

static grebe_status reordered_lengths(grb_segment *s, const grb_bounds *b,
                                      uint32_t field, uint32_t base,
                                      uint8_t *scratch, const uint8_t **out,
                                      grebe_error *err) {
    grebe_status status = GREBE_OK;
    reordered *r = (reordered *)s;
    (void)b;
    (void)scratch;
    if (r->codes_field != field) GRB_TRY(codes_read(r, field, err));
    *out = r->codes_any ? r->codes + base : NULL;
done:
    return status;
}

typedef struct fetched_column {
    grb_column base;
    grb_column *inner;
    const reordered *r;
    uint64_t present[GRB_WINDOW_WORDS];
    uint32_t offsets[GRB_WINDOW + 1];
    int64_t *values;
    size_t capacity;
    grb_arena *arena;
} fetched_column;

/* Room for `count` values; the old ones are kept. */
static bool values_room(fetched_column *c, size_t count) {
    if (count <= c->capacity) return true;
    size_t capacity = GRB_MAX(count, c->capacity * 2);
    int64_t *values = grb_arena_alloc(c->arena, capacity * sizeof *values);
    if (!values) return false;
    if (c->capacity) memcpy(values, c->values, c->capacity * sizeof *values);
    c->values = values;
    c->capacity = capacity;
    return true;
}

static grebe_status column_fetch(grb_column *base, uint32_t first,
                                 bool values_wanted, grb_column_window *out,
                                 grebe_error *err) {
    grebe_status status = GREBE_OK;
    fetched_column *c = (fetched_column *)base;
    uint32_t size = GRB_MIN(GRB_WINDOW, c->r->bounds.max_doc - first), at = 0;
    (void)values_wanted;
    memset(c->present, 0, sizeof c->present);
    memset(out, 0, sizeof *out);
    out->all = true;
    for (uint32_t i = 0; i < size; i++) {
        const int64_t *values;
        uint32_t count;
        GRB_TRY(c->inner->get(c->inner, c->r->order[first + i], &values,
                              &count, err));
        if (!c->base.many) at = i;
        if (!values_room(c, (size_t)at + GRB_MAX(count, 1u)))
            return grb_error_memory(err, (size_t)at * 16);
        c->offsets[i] = at;
        c->values[at] = 0;
        if (count) grb_bit_set(c->present, i);
        for (uint32_t k = 0; k < count; k++) c->values[at + k] = values[k];
        at += count;
        out->any |= count > 0;
        out->all &= count > 0;
    }
    c->offsets[size] = at;
    out->base = first;
    out->count = size;
    out->present = c->present;
    out->values = c->values;
    out->offsets = c->base.many ? c->offsets : NULL;
done:
    return status;
}

static grebe_status column_bytes(grb_column *base, uint32_t ord,
                                 const uint8_t **bytes, uint32_t *size,
                                 grebe_error *err) {
    fetched_column *c = (fetched_column *)base;
    return c->inner->ord_bytes(c->inner, ord, bytes, size, err);
}

static grebe_status column_ranks(grb_column *base, const uint32_t **ranks,
                                 grebe_error *err) {
    fetched_column *c = (fetched_column *)base;
    return c->inner->ord_ranks(c->inner, ranks, err);
}

static grebe_status reordered_column(grb_segment *s, const grb_bounds *b,
                                     uint32_t field, grb_arena *arena,
                                     grb_column **out, grebe_error *err) {
    grebe_status status;
    reordered *r = (reordered *)s;
    grb_column *inner;
    (void)b;
    *out = NULL;
    GRB_TRY(r->inner->ops->column_open(r->inner, &r->bounds, field, arena,
                                       &inner, err));
    if (!inner) return GREBE_OK;
    fetched_column *c = grb_arena_zero(arena, sizeof *c);
    if (!c) return grb_error_memory(err, sizeof *c);
    c->base.kind = inner->kind;
    c->base.many = inner->many;
    c->base.ord_count = inner->ord_count;
    c->base.ords_ranked = inner->ords_ranked;
    c->base.window = column_fetch;
    c->base.ord_bytes = column_bytes;
    c->base.ord_ranks = column_ranks;
    c->inner = inner;
    c->r = r;
    c->arena = arena;
    *out = &c->base;
done:
    return status;
}

static grebe_status reordered_stored(grb_segment *s, uint32_t doc,
                                     grb_buf *out, grebe_error *err) {
    reordered *r = (reordered *)s;
    return r->inner->ops->stored(r->inner, r->order[doc], out, err);
}

static grebe_status reordered_key(grb_segment *s, uint32_t doc,
                                  grb_arena *arena, const uint8_t **bytes,
                                  uint32_t *size, grebe_error *err) {
    reordered *r = (reordered *)s;
    return r->inner->ops->key_bytes(r->inner, r->order[doc], arena, bytes,
                                    size, err);
}

static uint64_t reordered_sequence(grb_segment *s, uint32_t doc) {
    reordered *r = (reordered *)s;
    return r->inner->ops->sequence(r->inner, r->order[doc]);
}

/* ---- the segment ---- */

static void reordered_destroy(grb_segment *s) {
    reordered *r = (reordered *)s;
    const grebe_allocator *a = s->allocator;
    size_t max_doc = r->bounds.max_doc;
    grb_buf *all[] = {&r->docs,  &r->freqs,  &r->gaps,  &r->keys,
                      &r->other, &r->starts, &r->picked};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        grb_buf_deinit(all[i]);
    if (r->places) grb_free(a, r->places, (max_doc + 1) * sizeof *r->places);
    if (r->codes) grb_free(a, r->codes, max_doc + GRB_WINDOW);
    grb_free(a, r, sizeof *r);
}

static const grb_segment_ops reordered_ops = {
    .destroy = reordered_destroy,
    .totals = reordered_totals,
    .terms_open = reordered_terms,
    .postings_open = reordered_postings,
    .lengths = reordered_lengths,
    .column_open = reordered_column,
    .stored = reordered_stored,
    .key_bytes = reordered_key,
    .sequence = reordered_sequence,
};

grebe_status grb_reordered_new(const grebe_allocator *a, grb_segment *segment,
                               const grb_bounds *bounds, const uint32_t *order,
                               grb_segment **out, grebe_error *err) {
    reordered *r = grb_alloc_zero(a, sizeof *r);
    if (!r) return grb_error_memory(err, sizeof *r);
    size_t max_doc = bounds->max_doc;
    grb_buf *all[] = {&r->docs,  &r->freqs,  &r->gaps,  &r->keys,
                      &r->other, &r->starts, &r->picked};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        grb_buf_init(all[i], a, 0);
    r->base.ops = &reordered_ops;
    r->base.allocator = a;
    atomic_init(&r->base.refs, 1);
    r->base.scattered = true;
    r->inner = segment;
    r->bounds = *bounds;
    r->order = order;
    r->codes_field = UINT32_MAX;
    r->places = grb_alloc(a, (max_doc + 1) * sizeof *r->places);
    r->codes = grb_alloc_zero(a, max_doc + GRB_WINDOW);
    if (!r->places || !r->codes) {
        reordered_destroy(&r->base);
        return grb_error_memory(err, max_doc * 5);
    }
    for (uint32_t i = 0; i < bounds->max_doc; i++) r->places[order[i]] = i;
    *out = &r->base;
    return GREBE_OK;
}
