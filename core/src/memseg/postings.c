/* memseg/postings.c - a cursor over one term's postings at a bound.
 *
 * With df postings to show, the blocks are known by arithmetic: the first 255,
 * then 256 each. The documents of full blocks of 256 are handed out where they
 * lie; the first block (one record, small slices), the growing tail and
 * frequencies are copied.
 *
 * Invariant: only the first df postings are ever read; every document of them
 *   is below max_doc.
 * Threads: a cursor belongs to one; any number beside the writer.
 */
#include "memseg/parts.h"

#define FIRST_SLICES 7u /* 2, 4, ... 128 */

typedef struct mem_postings {
    grb_postings p;
    const grb_memseg *s;
    const grb_record *record;
    const grb_blocks *blocks;
    grb_arena *arena;
    uint32_t df, block_count, max_doc;
    bool text;
    bool loaded;            /* p.block is block `at` */
    bool freqs_set;         /* `freqs` is that of block `at` */
    uint32_t at;            /* present block */
    uint32_t *docs, *freqs; /* copies */
    const uint32_t *freqs_out;
    const grb_slice *slice;               /* of block `at` if at > 0 */
    const grb_slice *first[FIRST_SLICES]; /* of block 0 */
    grb_impact tail_bound;
    uint32_t *positions;
    uint32_t position_capacity;
} mem_postings;

static const uint32_t *ones(void) {
#define ONES8 1, 1, 1, 1, 1, 1, 1, 1
#define ONES64 ONES8, ONES8, ONES8, ONES8, ONES8, ONES8, ONES8, ONES8
    static const uint32_t list[GRB_BLOCK] = {ONES64, ONES64, ONES64, ONES64};
    return list;
}

static inline uint32_t block_start(uint32_t block) {
    return block ? GRB_FIRST_BLOCK + (block - 1) * GRB_BLOCK : 0;
}

static inline uint32_t block_size(const mem_postings *c, uint32_t block) {
    uint32_t start = block_start(block);
    return GRB_MIN(c->df - start, block ? GRB_BLOCK : GRB_FIRST_BLOCK);
}

/* The directory's entry of a full block, NULL if it is not full yet. */
static const grb_sealed *block_entry(const mem_postings *c, uint32_t block) {
    if (!c->blocks || block >= c->blocks->capacity) return NULL;
    const grb_sealed *entry = &c->blocks->items[block];
    return atomic_load_explicit(&entry->last, memory_order_acquire) ==
                   UINT32_MAX
               ? NULL
               : entry;
}

static const grb_slice *block_slice(const mem_postings *c, uint32_t block) {
    return atomic_load_explicit(&c->blocks->items[block - 1].slice->next,
                                memory_order_acquire);
}

static inline uint32_t doc_load(const grb_slice *slice, uint32_t i) {
    return atomic_load_explicit(&slice->docs[i], memory_order_relaxed);
}

/* Slice and place in it of posting i of block 0, i > 0. */
static inline uint32_t first_place(uint32_t i, uint32_t *k) {
    uint32_t top = 31u - (uint32_t)__builtin_clz(i + 1);
    *k = top - 1;
    return i + 1 - (1u << top);
}

static void first_slices(mem_postings *c) {
    const grb_slice *slice =
        atomic_load_explicit(&c->record->slices, memory_order_acquire);
    for (uint32_t k = 0; k < FIRST_SLICES && slice; k++) {
        c->first[k] = slice;
        slice = atomic_load_explicit(&slice->next, memory_order_acquire);
    }
}

/* The last document shown of a block. */
static uint32_t block_last(const mem_postings *c, uint32_t block) {
    if (block + 1 < c->block_count)
        return atomic_load_explicit(&c->blocks->items[block].last,
                                    memory_order_relaxed);
    uint32_t count = block_size(c, block), k;
    if (block) return doc_load(block_slice(c, block), count - 1);
    if (count == 1) return c->record->first_doc;
    uint32_t place = first_place(count - 1, &k);
    return doc_load(c->first[k], place);
}

/* The block with the first document >= min_doc, block_count if none. */
static uint32_t block_find(const mem_postings *c, uint32_t min_doc) {
    uint32_t low = c->at, high = c->block_count;
    if (min_doc >= c->max_doc) return high;
    /* Most often it is the present one or the next. */
    for (int i = 0; i < 2 && low < high; i++, low++)
        if (block_last(c, low) >= min_doc) return low;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (block_last(c, mid) < min_doc)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static void block_impacts(mem_postings *c, uint32_t block, grb_block *out) {
    static const grb_impact one = {1, 1};
    if (!c->text) {
        out->impacts = &one;
        out->impact_count = 1;
        return;
    }
    const grb_sealed *entry = block_entry(c, block);
    if (entry) {
        out->impacts = entry->impacts;
        out->impact_count = entry->impact_count;
        return;
    }
    c->tail_bound.tf =
        atomic_load_explicit(&c->record->tf_max, memory_order_relaxed);
    c->tail_bound.length = (uint8_t)atomic_load_explicit(
        &c->record->length_min, memory_order_relaxed);
    out->impacts = &c->tail_bound;
    out->impact_count = 1;
}

/* ---- copies ---- */

static grebe_status copy_room(mem_postings *c, uint32_t **copy,
                              grebe_error *err) {
    if (*copy) return GREBE_OK;
    uint32_t room = GRB_MIN(c->df, GRB_BLOCK);
    *copy = grb_arena_line(c->arena, grb_mem_pad(room, 16) * 4);
    return *copy ? GREBE_OK : grb_error_memory(err, room * 4);
}

static void first_docs(mem_postings *c, uint32_t count) {
    uint32_t *out = c->docs, at = 0;
    out[at++] = c->record->first_doc;
    for (uint32_t k = 0; at < count; k++) {
        uint32_t n = GRB_MIN(GRB_SLICE_FIRST << k, count - at);
        for (uint32_t i = 0; i < n; i++) out[at++] = doc_load(c->first[k], i);
    }
}

static void pairs_freqs(const grb_pair *pairs, uint32_t count, uint32_t *out) {
    for (uint32_t i = 0; i < count; i++) out[i] = pairs[i].tf;
}

static void first_freqs(mem_postings *c, uint32_t count) {
    uint32_t at = 0;
    c->freqs[at++] = c->record->first_tf;
    for (uint32_t k = 0; at < count; k++) {
        uint32_t size = GRB_SLICE_FIRST << k;
        uint32_t n = GRB_MIN(size, count - at);
        pairs_freqs(grb_slice_pairs(c->first[k], size), n, c->freqs + at);
        at += n;
    }
}

static grebe_status block_load(mem_postings *c, uint32_t block,
                               grebe_error *err) {
    grebe_status status = GREBE_OK;
    uint32_t count = block_size(c, block);
    grb_block *out = &c->p.block;
    if (block) c->slice = block_slice(c, block);
    if (block && block_entry(c, block)) {
        out->docs = (const uint32_t *)c->slice->docs;
    } else {
        GRB_TRY(copy_room(c, &c->docs, err));
        if (block)
            for (uint32_t i = 0; i < count; i++)
                c->docs[i] = doc_load(c->slice, i);
        else
            first_docs(c, count);
        /* Kernels read whole groups of 16. */
        for (uint32_t i = count; i % 16; i++) c->docs[i] = GRB_NO_DOC;
        out->docs = c->docs;
    }
    out->kind = GRB_BLOCK_DOCS;
    out->count = count;
    out->first = out->docs[0];
    out->last = out->docs[count - 1];
    block_impacts(c, block, out);
    c->at = block;
    c->loaded = true;
    c->freqs_set = false;
    c->p.blocks_decoded++;
done:
    return status;
}

/* ---- the calls ---- */

static grebe_status postings_next_block(grb_postings *p, uint32_t min_doc,
                                        grebe_error *err) {
    mem_postings *c = (mem_postings *)p;
    if (c->loaded && p->block.last >= min_doc) return GREBE_OK;
    uint32_t block = block_find(c, min_doc);
    if (block < c->block_count) return block_load(c, block, err);
    p->block.kind = GRB_BLOCK_END;
    p->block.count = 0;
    p->block.first = p->block.last = GRB_NO_DOC;
    c->loaded = false;
    c->at = c->block_count;
    return GREBE_OK;
}

static grebe_status postings_shallow(grb_postings *p, uint32_t min_doc,
                                     grb_block *out, grebe_error *err) {
    mem_postings *c = (mem_postings *)p;
    memset(out, 0, sizeof *out);
    uint32_t block = block_find(c, min_doc);
    if (block == c->block_count) {
        out->kind = GRB_BLOCK_END;
        out->first = out->last = GRB_NO_DOC;
        return GREBE_OK;
    }
    out->kind = GRB_BLOCK_DOCS;
    out->count = block_size(c, block);
    out->last = block_last(c, block);
    block_impacts(c, block, out);
    return GREBE_OK;
}

static grebe_status postings_freqs(grb_postings *p, const uint32_t **out,
                                   grebe_error *err) {
    grebe_status status = GREBE_OK;
    mem_postings *c = (mem_postings *)p;
    if (!c->freqs_set && c->loaded) {
        uint32_t count = p->block.count;
        if (!c->text) {
            c->freqs_out = ones();
        } else {
            GRB_TRY(copy_room(c, &c->freqs, err));
            if (c->at)
                pairs_freqs(grb_slice_pairs(c->slice, GRB_BLOCK), count,
                            c->freqs);
            else
                first_freqs(c, count);
            for (uint32_t i = count; i % 16; i++) c->freqs[i] = 0;
            c->freqs_out = c->freqs;
        }
        c->freqs_set = true;
    }
    *out = c->freqs_out;
done:
    return status;
}

/* Frequency and position word of posting i of the present block. */
static grb_pair posting_pair(const mem_postings *c, uint32_t i) {
    if (c->at) return grb_slice_pairs(c->slice, GRB_BLOCK)[i];
    if (i == 0)
        return (grb_pair){c->record->first_tf, c->record->first_position};
    uint32_t k, place = first_place(i, &k);
    return grb_slice_pairs(c->first[k], GRB_SLICE_FIRST << k)[place];
}

static grebe_status positions_room(mem_postings *c, uint32_t count,
                                   grebe_error *err) {
    if (GRB_LIKELY(count <= c->position_capacity)) return GREBE_OK;
    uint32_t capacity = GRB_MAX(8u, c->position_capacity);
    while (capacity < count) capacity *= 2;
    uint32_t *room = grb_arena_alloc(c->arena, (size_t)capacity * 4);
    if (!room) return grb_error_memory(err, (size_t)capacity * 4);
    c->positions = room;
    c->position_capacity = capacity;
    return GREBE_OK;
}

static grebe_status postings_positions(grb_postings *p, uint32_t i,
                                       const uint32_t **out, uint32_t *count,
                                       grebe_error *err) {
    mem_postings *c = (mem_postings *)p;
    *out = NULL;
    *count = 0;
    if (!c->text || !c->loaded || i >= p->block.count) return GREBE_OK;
    grb_pair pair = posting_pair(c, i);
    uint32_t tf = pair.tf;
    grebe_status status = positions_room(c, tf, err);
    if (status != GREBE_OK) return status;
    if (tf == 1) {
        c->positions[0] = pair.position;
    } else {
        const uint8_t *at = grb_memseg_position(c->s, pair.position);
        uint32_t position = 0, step;
        for (uint32_t n = 0; n < tf; n++) {
            at = grb_varint_get32(at, &step);
            c->positions[n] = position += step;
        }
    }
    *out = c->positions;
    *count = tf;
    return GREBE_OK;
}

/* Positions of `count` postings that lie side by side. */
static uint32_t *pairs_gaps(const mem_postings *c, const grb_pair *pairs,
                            uint32_t count, uint32_t *out) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t tf = pairs[i].tf;
        if (tf == 1) {
            *out++ = pairs[i].position;
            continue;
        }
        const uint8_t *at = grb_memseg_position(c->s, pairs[i].position);
        for (; tf; tf--) at = grb_varint_get32(at, out++);
    }
    return out;
}

/* The same of postings [from, to) of block 0. */
static void first_gaps(const mem_postings *c, uint32_t from, uint32_t to,
                       uint32_t *out) {
    while (from < to) {
        uint32_t k, place, n = 1;
        grb_pair alone = {c->record->first_tf, c->record->first_position};
        const grb_pair *pairs = &alone;
        if (from) {
            place = first_place(from, &k);
            n = GRB_MIN((GRB_SLICE_FIRST << k) - place, to - from);
            pairs = grb_slice_pairs(c->first[k], GRB_SLICE_FIRST << k) + place;
        }
        out = pairs_gaps(c, pairs, n, out);
        from += n;
    }
}

static grebe_status postings_gaps(grb_postings *p, uint32_t from, uint32_t to,
                                  const uint32_t **out, uint32_t *count,
                                  grebe_error *err) {
    grebe_status status;
    mem_postings *c = (mem_postings *)p;
    const uint32_t *freqs;
    uint64_t total = 0;
    *out = NULL;
    *count = 0;
    if (!c->text || !c->loaded || to > p->block.count) return GREBE_OK;
    GRB_TRY(postings_freqs(p, &freqs, err));
    for (uint32_t i = from; i < to; i++) total += freqs[i];
    GRB_TRY(positions_room(c, (uint32_t)total, err));
    if (c->at)
        pairs_gaps(c, grb_slice_pairs(c->slice, GRB_BLOCK) + from, to - from,
                   c->positions);
    else
        first_gaps(c, from, to, c->positions);
    *out = c->positions;
    *count = (uint32_t)total;
done:
    return status;
}

static const grb_postings_ops postings_ops = {
    postings_next_block, postings_shallow, postings_freqs, postings_positions,
    postings_gaps};

grebe_status grb_memseg_postings(grb_segment *core, const grb_bounds *b,
                                 const grb_term *term, int wanted,
                                 grb_arena *arena, grb_postings **out,
                                 grebe_error *err) {
    const grb_memseg *s = (const grb_memseg *)core;
    mem_postings *c = grb_arena_zero(arena, sizeof *c);
    if (!c) return grb_error_memory(err, sizeof *c);
    c->p.ops = &postings_ops;
    c->s = s;
    c->arena = arena;
    c->max_doc = b->max_doc;
    *out = &c->p;
    if (term->df == 0 || term->word[0] >= b->term_count) return GREBE_OK;
    c->record = grb_memseg_record(s, (uint32_t)term->word[0]);
    c->df = grb_record_rank(s, c->record, b->max_doc);
    if (c->df == 0) return GREBE_OK;
    const grb_mem_field *f = grb_memseg_field(s, c->record->field);
    c->text = f->kind == GREBE_TEXT;
    c->blocks = atomic_load_explicit(&c->record->blocks, memory_order_acquire);
    c->block_count =
        c->df <= GRB_FIRST_BLOCK
            ? 1
            : 1 + (c->df - GRB_FIRST_BLOCK + GRB_BLOCK - 1) / GRB_BLOCK;
    first_slices(c);
    return GREBE_OK;
}
