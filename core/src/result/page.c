/* result/page.c - the immutable page that a search hands out.
 *
 * A page is read by many threads and outlives searcher and index, so it holds
 * its snapshot and copies all else. It is one allocation: a search of ten
 * hits should not pay for more.
 *
 * Invariant: nothing of a page changes after it was handed out but the caches
 * of keys, which go from NULL to a value, and the cursor, written once.
 * Threads: any number after it was handed out.
 * Owns: the page, its arena, the caches; references to snapshot and owner.
 */
#include "result/result.h"

static size_t size_align(size_t size) {
    return (size + 15) & ~(size_t)15;
}

/* Copies the cells of the last hit behind the page's arrays. */
static void cells_copy(grebe_hits *h, const grb_sort_cell *cells,
                       char *space) {
    h->cells = (grb_sort_cell *)(void *)space;
    memcpy(h->cells, cells, h->cell_count * sizeof *cells);
    char *bytes = space + h->cell_count * sizeof *cells;
    for (uint32_t i = 0; i < h->cell_count; i++) {
        if (!cells[i].bytes || cells[i].state != GRB_CELL_VALUE) continue;
        memcpy(bytes, cells[i].bytes, cells[i].size);
        h->cells[i].bytes = (const uint8_t *)bytes;
        bytes += cells[i].size;
    }
}

grebe_status grb_hits_new(const grb_hits_owner *owner, grb_snapshot *snapshot,
                          const grb_collector *c, uint64_t offset,
                          grebe_hits **out, grebe_error *err) {
    grb_sort_cell cells[GRB_SORT_KEYS_MAX];
    const grb_sort_plan *plan = c->request.plan;
    size_t kept = grb_collector_count(c);
    size_t count = offset < kept ? kept - (size_t)offset : 0;
    size_t scores_at = size_align(sizeof(grebe_hits));
    size_t hits_at = size_align(scores_at + count * sizeof(float));
    size_t cells_at = size_align(hits_at + count * sizeof(grb_hit));
    size_t size = cells_at + plan->count * sizeof *cells;
    size_t cursor_at = 0;
    bool more = count > 0 && grb_collector_more(c);
    if (more) {
        grb_collector_cells(c, kept - 1, cells);
        for (uint32_t i = 0; i < plan->count; i++)
            if (cells[i].bytes && cells[i].state == GRB_CELL_VALUE)
                size += cells[i].size;
        cursor_at = size;
        size += grb_after_size(cells, plan->count);
    }
    grebe_hits *h = grb_alloc(owner->allocator, size);
    if (!h) return grb_error_memory(err, size);
    memset(h, 0, sizeof *h);
    atomic_init(&h->refs, 1);
    h->owner = *owner;
    h->snapshot = snapshot;
    h->size = size;
    h->count = count;
    h->more = more;
    h->signature = plan->signature;
    h->scores = (float *)(void *)((char *)h + scores_at);
    h->hits = (grb_hit *)(void *)((char *)h + hits_at);
    grb_arena_init(&h->arena, owner->allocator, 0);
    for (size_t i = 0; i < count; i++) {
        grb_place place;
        grb_collector_place(c, (size_t)offset + i, &place);
        h->scores[i] = place.score;
        h->hits[i] = (grb_hit){place.leaf, place.doc};
    }
    if (more) {
        h->cell_count = plan->count;
        cells_copy(h, cells, (char *)h + cells_at);
        h->cursor = (char *)h + cursor_at;
    }
    *out = h;
    return GREBE_OK;
}

static void text_free(const grebe_allocator *a, grb_hits_text *text) {
    if (text) grb_free(a, text, text->size);
}

static void keys_free(grebe_hits *h) {
    _Atomic(grb_hits_text *) *keys = atomic_load(&h->keys);
    if (!keys) return;
    for (uint64_t i = 0; i < h->count; i++)
        text_free(h->owner.allocator, atomic_load(&keys[i]));
    grb_free(h->owner.allocator, keys, h->count * sizeof *keys);
}

void grb_hits_free(grebe_hits *hits) {
    grb_hits_owner owner = hits->owner;
    keys_free(hits);
    int64_t *int_keys = atomic_load(&hits->int_keys);
    if (int_keys)
        grb_free(owner.allocator, int_keys, hits->count * sizeof *int_keys);
    grb_arena_deinit(&hits->arena);
    grb_snapshot_release(hits->snapshot);
    grb_free(owner.allocator, hits, hits->size);
    owner.release(owner.object);
}
