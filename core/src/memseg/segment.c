/* memseg/segment.c - the growing segment as a whole: made, shown, given up.
 *
 * The segment itself lies in its first chunk, so that one that holds nothing
 * is 4 KiB from a warm pool, and making it a lock and a few stores.
 *
 * Invariant: bounds only grow; they show documents wholly appended.
 * Threads: one writer at a time; readers need a reference and bounds.
 */
#include "memseg/parts.h"

static void segment_destroy(grb_segment *core) {
    grb_memseg *s = (grb_memseg *)core;
    grb_pool *pool = s->pool;
    const grebe_allocator *a = core->allocator;
    grb_made *made = atomic_load_explicit(&s->made, memory_order_acquire);
    grb_segment_release(core->twin);
    for (grb_made *next; made; made = next) {
        next = made->next;
        grb_free(a, made, made->size);
    }
    grb_totals_release(s->totals);
    grb_schema_release(s->schema);
    grb_pool_give(pool, s->chunks); /* and with it the segment */
    grb_pool_release(pool);
}

static void segment_totals(const grb_segment *core, const grb_bounds *b,
                           uint32_t field, grb_field_totals *out) {
    uint32_t page = field / GRB_TOTALS_PAGE;
    *out = (grb_field_totals){0, 0};
    if (!b->totals || page >= b->totals->page_count) return;
    const grb_totals_page *p = b->totals->pages[page];
    if (p) *out = p->fields[field % GRB_TOTALS_PAGE];
}

static uint64_t segment_memory(const grb_segment *core) {
    return grb_memseg_bytes(core);
}

static const grb_segment_ops segment_ops = {
    .destroy = segment_destroy,
    .totals = segment_totals,
    .term_find = grb_memseg_term_find,
    .terms_open = grb_memseg_terms,
    .postings_open = grb_memseg_postings,
    .lengths = grb_memseg_lengths,
    .column_open = grb_memseg_column,
    .stored = grb_memseg_stored,
    .key_newest = grb_memseg_key_newest,
    .key_older = grb_memseg_key_older,
    .key_bytes = grb_memseg_key_bytes,
    .sequence = grb_memseg_sequence,
    .memory = segment_memory,
};

grebe_status grb_memseg_new(grb_pool *pool, grebe_schema *schema,
                            grb_segment **out, grebe_error *err) {
    grb_chunk *chunk = grb_pool_take(pool, GRB_MEM_CHUNK_MIN);
    if (!chunk) return grb_error_memory(err, GRB_MEM_CHUNK_MIN);
    grb_memseg *s = (grb_memseg *)(chunk + 1);
    memset(s, 0, sizeof *s);
    s->core.ops = &segment_ops;
    s->core.allocator = grb_pool_allocator(pool);
    atomic_init(&s->core.refs, 1);
    s->core.id = grb_segment_id_next();
    s->core.growing = true;
    s->pool = grb_pool_acquire(pool);
    s->schema = grb_schema_acquire(schema);
    s->chunks = chunk;
    s->room.at = (char *)s + grb_mem_pad(sizeof *s, 64);
    s->room.end = (char *)s + chunk->size;
    s->chunk_next = 2 * GRB_MEM_CHUNK_MIN;
    atomic_init(&s->bytes, chunk->size + sizeof *chunk);
    *out = &s->core;
    return GREBE_OK;
}

void grb_memseg_set_base(grb_segment *core, uint64_t base) {
    ((grb_memseg *)core)->sequence_base = base;
}

void grb_memseg_peek(grb_segment *core, grb_bounds *out) {
    const grb_memseg *s = (const grb_memseg *)core;
    out->max_doc = s->max_doc;
    out->term_count = s->term_count;
    out->totals = s->totals;
}

void grb_memseg_bounds(grb_segment *core, grb_bounds *out) {
    grb_memseg_peek(core, out);
    grb_totals_acquire(out->totals);
}

uint64_t grb_memseg_bytes(const grb_segment *core) {
    const grb_memseg *s = (const grb_memseg *)core;
    return atomic_load_explicit(&s->bytes, memory_order_relaxed);
}
