/* memseg/terms.c - finding a term, and its document frequency at a bound.
 *
 * df at a snapshot is the rank of its max_doc in the list of documents, so no
 * count is kept per snapshot and every snapshot, however old, is exact.
 *
 * Invariant: a record is looked at only if its id is below term_count.
 * Threads: any reader.
 */
#include "memseg/parts.h"

uint32_t grb_memseg_id(const grb_memseg *s, uint32_t term_count,
                       uint32_t field, const grb_term_key *key) {
    const grb_table *table =
        atomic_load_explicit(&s->table, memory_order_acquire);
    if (!table || term_count == 0) return UINT32_MAX;
    uint32_t at = key->hash & table->mask;
    for (uint64_t slot; (slot = atomic_load_explicit(
                             &table->slots[at], memory_order_acquire)) != 0;
         at = (at + 1) & table->mask) {
        uint32_t id = (uint32_t)slot - 1;
        if (slot >> 32 == key->hash && id < term_count &&
            grb_record_is(grb_memseg_record(s, id), field, key))
            return id;
    }
    return UINT32_MAX;
}

/* Documents of the slice below max_doc; words not written are greater. */
static uint32_t slice_rank(const grb_slice *slice, uint32_t capacity,
                           uint32_t max_doc) {
    uint32_t low = 0, high = capacity;
    while (low < high) {
        uint32_t mid = (low + high) / 2;
        if (atomic_load_explicit(&slice->docs[mid], memory_order_relaxed) <
            max_doc)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static uint32_t first_block_rank(const grb_record *r, uint32_t max_doc) {
    uint32_t rank = 1; /* the posting in the record */
    const grb_slice *slice =
        atomic_load_explicit(&r->slices, memory_order_acquire);
    for (uint32_t n = GRB_SLICE_FIRST; slice && n < GRB_BLOCK; n *= 2) {
        uint32_t below = slice_rank(slice, n, max_doc);
        rank += below;
        if (below < n) break;
        slice = atomic_load_explicit(&slice->next, memory_order_acquire);
    }
    return rank;
}

uint32_t grb_record_rank(const grb_memseg *s, const grb_record *r,
                         uint32_t max_doc) {
    uint64_t count_last =
        atomic_load_explicit(&r->count_last, memory_order_relaxed);
    if ((uint32_t)(count_last >> 32) == 0) return 0;
    if ((uint32_t)count_last < max_doc) return (uint32_t)(count_last >> 32);
    if (r->first_doc >= max_doc) return 0;
    const grb_blocks *blocks =
        atomic_load_explicit(&r->blocks, memory_order_acquire);
    uint32_t low = 0, high = blocks ? blocks->capacity : 0;
    while (low < high) {
        uint32_t mid = (low + high) / 2;
        if (atomic_load_explicit(&blocks->items[mid].last,
                                 memory_order_acquire) < max_doc)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == 0) return first_block_rank(r, max_doc);
    uint32_t rank = GRB_FIRST_BLOCK + (low - 1) * GRB_BLOCK;
    const grb_slice *slice = atomic_load_explicit(
        &blocks->items[low - 1].slice->next, memory_order_acquire);
    return slice ? rank + slice_rank(slice, GRB_BLOCK, max_doc) : rank;
}

void grb_memseg_term(const grb_memseg *s, const grb_bounds *b, uint32_t id,
                     grb_term *out) {
    const grb_record *r = grb_memseg_record(s, id);
    out->df = grb_record_rank(s, r, b->max_doc);
    out->field = r->field;
    out->word[0] = id;
    out->word[1] = out->word[2] = 0;
}

grebe_status grb_memseg_term_find(grb_segment *core, const grb_bounds *b,
                                  uint32_t field, const void *bytes,
                                  size_t size, grb_term *out,
                                  grebe_error *err) {
    const grb_memseg *s = (const grb_memseg *)core;
    memset(out, 0, sizeof *out);
    out->field = field;
    if (size > GREBE_TERM_SIZE_MAX || b->term_count == 0) return GREBE_OK;
    grb_term_key key;
    grb_term_key_make(bytes, (uint32_t)size, field, &key);
    uint32_t id = grb_memseg_id(s, b->term_count, field, &key);
    if (id != UINT32_MAX) grb_memseg_term(s, b, id, out);
    return GREBE_OK;
}
