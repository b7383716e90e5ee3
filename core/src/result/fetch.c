/* result/fetch.c - keys, stored fields and the cursor of a page, on demand.
 *
 * Most callers want keys, some stored fields, few the cursor: each is read
 * when it is asked for. A key is nearly always in memory of its segment,
 * which the page keeps alive, and is then handed out as it lies there; only
 * what a segment had to read into memory of ours is kept with the page.
 *
 * Invariant: a cache pointer is published once, by compare-and-swap; a thread
 * that comes second frees its own and takes the first one's. The cursor has
 * its room in the page: a NULL would read as the end.
 * Threads: any number.
 * Owns: nothing beyond the page.
 */
#include <sched.h>

#include "result/result.h"

grebe_status grb_stored_read(grb_segment *segment, uint32_t doc,
                             grb_buf *scratch, grebe_document *document,
                             grebe_error *err) {
    grebe_status status;
    grb_cursor in;
    grebe_document_clear(document);
    grb_buf_clear(scratch);
    GRB_TRY(segment->ops->stored(segment, doc, scratch, err));
    if (scratch->failed) return grb_error_memory(err, scratch->size);
    if (scratch->size == 0) return GREBE_OK;
    grb_cursor_init(&in, scratch->bytes, scratch->size);
    GRB_TRY(grb_document_decode(&in, document, err));
done:
    if (status != GREBE_OK) grebe_document_clear(document);
    return status;
}

grebe_status grb_hits_fetch(const grebe_hits *hits, uint64_t i,
                            grebe_document *document, grebe_error *err) {
    grb_leaf leaf;
    grb_buf scratch;
    grb_snapshot_leaf(hits->snapshot, hits->hits[i].leaf, &leaf);
    grb_buf_init(&scratch, hits->owner.allocator, 0);
    uint64_t before = atomic_load_explicit(&leaf.segment->stored_blocks,
                                           memory_order_relaxed);
    grebe_status status = grb_stored_read(leaf.segment, hits->hits[i].doc,
                                          &scratch, document, err);
    uint64_t read = atomic_load_explicit(&leaf.segment->stored_blocks,
                                         memory_order_relaxed) -
                    before;
    if (read > 0 && hits->owner.stored_blocks)
        atomic_fetch_add_explicit(hits->owner.stored_blocks, read,
                                  memory_order_relaxed);
    grb_buf_deinit(&scratch);
    return status;
}

/* Integer keys are 8 bytes, big endian, with the sign bit flipped. */
static int64_t int_key(const uint8_t *bytes) {
    uint64_t v = 0;
    for (uint32_t i = 0; i < 8; i++) v = v << 8 | bytes[i];
    return (int64_t)(v ^ (uint64_t)1 << 63);
}

static grebe_status key_bytes(const grebe_hits *hits, uint64_t i,
                              grb_arena *arena, const uint8_t **bytes,
                              uint32_t *size, grebe_error *err) {
    grb_leaf leaf;
    grb_snapshot_leaf(hits->snapshot, hits->hits[i].leaf, &leaf);
    return leaf.segment->ops->key_bytes(leaf.segment, hits->hits[i].doc, arena,
                                        bytes, size, err);
}

/* Keeps bytes for as long as the page lives; the kept ones, or NULL. */
static const grb_hits_text *text_publish(const grebe_hits *hits,
                                         _Atomic(grb_hits_text *) *place,
                                         const void *bytes, size_t length) {
    const grebe_allocator *a = hits->owner.allocator;
    size_t size = sizeof(grb_hits_text) + length + 1;
    grb_hits_text *text = grb_alloc(a, size), *first = NULL;
    if (!text) return NULL;
    text->size = size;
    text->length = (uint32_t)length;
    if (length) memcpy(text->bytes, bytes, length);
    text->bytes[length] = 0;
    if (atomic_compare_exchange_strong(place, &first, text)) return text;
    grb_free(a, text, size);
    return first;
}

/* The page's table of keys that had to be read. */
static _Atomic(grb_hits_text *) *keys_table(const grebe_hits *hits) {
    grebe_hits *h = (grebe_hits *)hits; /* a cache: see the invariant */
    _Atomic(grb_hits_text *) *keys = atomic_load(&h->keys), *first = NULL;
    if (keys) return keys;
    size_t size = h->count * sizeof *keys;
    keys = grb_alloc_zero(h->owner.allocator, size);
    if (!keys) return NULL;
    if (atomic_compare_exchange_strong(&h->keys, &first, keys)) return keys;
    grb_free(h->owner.allocator, keys, size);
    return first;
}

static grebe_status key_keep(const grebe_hits *hits, uint64_t i,
                             const uint8_t **bytes, uint32_t size,
                             grebe_error *err) {
    _Atomic(grb_hits_text *) *keys = keys_table(hits);
    const grb_hits_text *text =
        keys ? text_publish(hits, &keys[i], *bytes, size) : NULL;
    if (!text) return grb_error_memory(err, size);
    *bytes = (const uint8_t *)text->bytes;
    return GREBE_OK;
}

grebe_status grb_hits_key_read(const grebe_hits *hits, uint64_t i,
                               grebe_value *out, grebe_error *err) {
    const grebe_schema *schema = hits->snapshot->schema;
    const uint8_t *bytes = NULL;
    uint32_t size = 0;
    grebe_status status;
    grb_arena arena;
    grb_arena_init(&arena, hits->owner.allocator, 0);
    _Atomic(grb_hits_text *) *keys = atomic_load(&hits->keys);
    const grb_hits_text *kept = keys ? atomic_load(&keys[i]) : NULL;
    out->kind = schema->fields[schema->key].kind;
    if (kept) {
        out->as.text.bytes = kept->bytes;
        out->as.text.size = kept->length;
        return GREBE_OK;
    }
    GRB_TRY(key_bytes(hits, i, &arena, &bytes, &size, err));
    if (out->kind == GREBE_INT) {
        out->as.integer = size == 8 ? int_key(bytes) : 0;
        goto done;
    }
    if (arena.size > 0) GRB_TRY(key_keep(hits, i, &bytes, size, err));
    out->as.text.bytes = bytes ? (const char *)bytes : "";
    out->as.text.size = size;
done:
    grb_arena_deinit(&arena);
    return status;
}

const int64_t *grb_hits_int_keys_read(const grebe_hits *hits) {
    grebe_hits *h = (grebe_hits *)hits; /* a cache: see the invariant */
    int64_t *keys = atomic_load(&h->int_keys), *first = NULL;
    if (keys || h->count == 0) return keys;
    size_t size = h->count * sizeof *keys;
    keys = grb_alloc(h->owner.allocator, size);
    if (!keys) return NULL;
    grb_arena arena;
    grb_arena_init(&arena, h->owner.allocator, 0);
    grebe_status status = GREBE_OK;
    for (uint64_t i = 0; i < h->count && status == GREBE_OK; i++) {
        const uint8_t *bytes;
        uint32_t length;
        status = key_bytes(h, i, &arena, &bytes, &length, NULL);
        if (status == GREBE_OK) keys[i] = length == 8 ? int_key(bytes) : 0;
        grb_arena_reset(&arena);
    }
    grb_arena_deinit(&arena);
    if (status == GREBE_OK &&
        atomic_compare_exchange_strong(&h->int_keys, &first, keys))
        return keys;
    grb_free(h->owner.allocator, keys, size);
    return status == GREBE_OK ? first : NULL;
}

const char *grb_hits_cursor_read(const grebe_hits *hits) {
    grebe_hits *h = (grebe_hits *)hits; /* a cache: see the invariant */
    int state = GRB_CURSOR_NONE;
    if (!h->more) return NULL;
    if (atomic_load(&h->cursor_state) == GRB_CURSOR_WRITTEN) return h->cursor;
    if (!atomic_compare_exchange_strong(&h->cursor_state, &state,
                                        GRB_CURSOR_WRITING)) {
        /* Another thread is at it, which takes less than a microsecond. */
        while (atomic_load(&h->cursor_state) != GRB_CURSOR_WRITTEN)
            sched_yield();
        return h->cursor;
    }
    grb_leaf leaf;
    const grb_hit *last = &h->hits[h->count - 1];
    grb_snapshot_leaf(h->snapshot, last->leaf, &leaf);
    grb_after_write(h->signature, h->cells, h->cell_count,
                    leaf.segment->ops->sequence(leaf.segment, last->doc),
                    h->cursor);
    atomic_store(&h->cursor_state, GRB_CURSOR_WRITTEN);
    return h->cursor;
}
