/* memseg/rows.c - what the segment keeps of each document: length codes,
 * stored record, key, sequence.
 *
 * Invariant: a key's slot holds its newest document; `prev` leads to older
 *   ones. Both may lead through documents a reader must not see: those have
 *   ids >= max_doc and are passed over.
 * Threads: any reader.
 */
#include "memseg/parts.h"

uint32_t grb_memseg_key_doc(const grb_memseg *s, const grb_table *table,
                            const uint8_t *bytes, uint32_t size, uint32_t hash,
                            uint32_t *slot_at) {
    uint32_t at = hash & table->mask, doc = GRB_NO_DOC;
    for (uint64_t slot; (slot = atomic_load_explicit(
                             &table->slots[at], memory_order_acquire)) != 0;
         at = (at + 1) & table->mask) {
        if (slot >> 32 != hash) continue;
        uint32_t candidate = (uint32_t)slot - 1;
        const grb_row *row = grb_memseg_row(s, candidate);
        if (row->key_size == size && memcmp(row->bytes, bytes, size) == 0) {
            doc = candidate;
            break;
        }
    }
    *slot_at = at;
    return doc;
}

grebe_status grb_memseg_key_newest(grb_segment *core, const grb_bounds *b,
                                   const grb_key *key, uint32_t *doc,
                                   grebe_error *err) {
    const grb_memseg *s = (const grb_memseg *)core;
    *doc = GRB_NO_DOC;
    if (b->max_doc == 0 || !key->bytes) return GREBE_OK;
    const grb_table *table =
        atomic_load_explicit(&s->keys, memory_order_acquire);
    if (!table) return GREBE_OK;
    uint32_t slot;
    uint32_t found =
        grb_memseg_key_doc(s, table, key->bytes, key->size,
                           grb_term_hash_key(key->bytes, key->size), &slot);
    while (found != GRB_NO_DOC && found >= b->max_doc)
        found = grb_memseg_row(s, found)->prev;
    *doc = found;
    return GREBE_OK;
}

grebe_status grb_memseg_key_older(grb_segment *core, uint32_t doc,
                                  uint32_t *older, grebe_error *err) {
    *older = grb_memseg_row((const grb_memseg *)core, doc)->prev;
    return GREBE_OK;
}

grebe_status grb_memseg_key_bytes(grb_segment *core, uint32_t doc,
                                  grb_arena *arena, const uint8_t **bytes,
                                  uint32_t *size, grebe_error *err) {
    const grb_row *row = grb_memseg_row((const grb_memseg *)core, doc);
    bool has_key = row->key_size != GRB_NO_KEY;
    *bytes = has_key ? row->bytes : NULL;
    *size = has_key ? row->key_size : 0;
    return GREBE_OK;
}

grebe_status grb_memseg_stored(grb_segment *core, uint32_t doc, grb_buf *out,
                               grebe_error *err) {
    const grb_row *row = grb_memseg_row((const grb_memseg *)core, doc);
    uint32_t skip = row->key_size == GRB_NO_KEY ? 0 : row->key_size;
    grb_buf_put(out, row->bytes + skip, row->stored_size);
    return out->failed ? grb_error_memory(err, row->stored_size) : GREBE_OK;
}

uint64_t grb_memseg_sequence(grb_segment *core, uint32_t doc) {
    const grb_memseg *s = (const grb_memseg *)core;
    return s->sequence_base + grb_memseg_row(s, doc)->sequence;
}

grebe_status grb_memseg_lengths(grb_segment *core, const grb_bounds *b,
                                uint32_t field, uint32_t base,
                                uint8_t *scratch, const uint8_t **out,
                                grebe_error *err) {
    const grb_memseg *s = (const grb_memseg *)core;
    const grb_mem_field *f = grb_memseg_field(s, field);
    *out = NULL;
    if (!f || base >= b->max_doc ||
        !atomic_load_explicit(&f->lengths.dir, memory_order_acquire))
        return GREBE_OK;
    uint32_t place, end = GRB_MIN(b->max_doc - base, GRB_WINDOW) + base;
    *out = scratch;
    for (uint32_t doc = base, next; doc < end; doc = next) {
        uint32_t page = grb_page_of(doc, &place);
        uint32_t size = grb_page_size(page);
        const uint8_t *codes = grb_paged_page(&f->lengths, page);
        next = doc + size;
        /* A page with nothing still to be written is handed out itself. */
        if (codes && size == GRB_WINDOW && next <= end) {
            *out = codes;
            return GREBE_OK;
        }
        uint32_t count = GRB_MIN(size, end - doc);
        if (codes)
            memcpy(scratch + (doc - base), codes, count);
        else
            memset(scratch + (doc - base), 0, count);
    }
    uint32_t count = end - base;
    memset(scratch + count, 0, grb_mem_pad(count, 64) - count);
    return GREBE_OK;
}
