/* search_fixture.h - a snapshot over model segments, and searches in it. */
#ifndef SEARCH_FIXTURE_H
#define SEARCH_FIXTURE_H

#include "grebe/query.h"
#include "model_segment.h"
#include "search/search.h"

#define FIXTURE_LEAVES 16

typedef struct fixture {
    grebe_schema *schema;
    model_segment *leaves[FIXTURE_LEAVES];
    uint32_t leaf_count;
    grb_list *list;
    grb_snapshot snapshot;
    grb_arena arena;
    grb_search_context context;
} fixture;

static inline void fixture_init(fixture *f) {
    memset(f, 0, sizeof *f);
    if (grebe_schema_new(&f->schema, NULL)) abort();
    grb_arena_init(&f->arena, &grb_allocator_malloc, 0);
}

static inline uint32_t fixture_field(fixture *f, const char *name,
                                     grebe_kind kind, uint32_t flags,
                                     const char *analyzer) {
    grebe_field field = {name, kind, flags, analyzer, NULL};
    if (grebe_schema_add(f->schema, &field, NULL)) abort();
    return grebe_schema_count(f->schema) - 1;
}

static inline model_segment *fixture_leaf(fixture *f, uint32_t block_size) {
    model_segment *m = model_new(&grb_allocator_malloc, block_size);
    f->leaves[f->leaf_count++] = m;
    return m;
}

/* After all documents are added; views may be set in f->list afterwards. */
static inline void fixture_seal(fixture *f) {
    f->list = (grb_list *)calloc(1, sizeof *f->list +
                                        f->leaf_count * sizeof(grb_leaf));
    if (!f->list) abort();
    f->list->count = f->leaf_count;
    for (uint32_t i = 0; i < f->leaf_count; i++) {
        f->list->leaves[i].segment = &f->leaves[i]->segment;
        model_bounds(f->leaves[i], &f->list->leaves[i].bounds);
    }
    f->snapshot.list = f->list;
    f->snapshot.schema = f->schema;
    f->snapshot.epoch = 1;
}

/* A context for one search; forgets the one before. */
static inline grb_search_context *fixture_context(fixture *f) {
    grb_arena_reset(&f->arena);
    memset(&f->context, 0, sizeof f->context);
    f->context.snapshot = &f->snapshot;
    f->context.schema = f->schema;
    f->context.arena = &f->arena;
    return &f->context;
}

static inline void fixture_deinit(fixture *f) {
    for (uint32_t i = 0; i < f->leaf_count; i++) {
        if (f->list && f->list->leaves[i].view)
            grb_view_release(f->list->leaves[i].view);
        grb_segment_release(&f->leaves[i]->segment);
    }
    free(f->list);
    grebe_schema_release(f->schema);
    grb_arena_deinit(&f->arena);
}

/* ---- all matches in order ---- */

typedef struct fixture_hits {
    uint64_t *places; /* leaf << 32 | doc */
    float *scores;
    size_t count, capacity;
} fixture_hits;

static inline grebe_status
fixture_window(void *context, const grb_match_window *w, grebe_error *err) {
    fixture_hits *h = (fixture_hits *)context;
    uint32_t seen = 0;
    for (uint32_t i = 0; i < GRB_WINDOW; i++) {
        if (!grb_bit(w->bits, i)) continue;
        seen++;
        if (h->count == h->capacity) {
            h->capacity = h->capacity ? h->capacity * 2 : 64;
            h->places = (uint64_t *)realloc(h->places, h->capacity * 8);
            h->scores = (float *)realloc(h->scores, h->capacity * 4);
            if (!h->places || !h->scores) abort();
        }
        h->places[h->count] = (uint64_t)w->leaf_ord << 32 | (w->base + i);
        h->scores[h->count++] = w->scores ? w->scores[i] : 0;
    }
    return seen && seen == w->count
               ? GREBE_OK
               : grb_error(err, GREBE_INTERNAL, "the window's count is wrong");
}

/* Runs a query (already a weight's worth of context) and lists its hits. */
static inline grebe_status fixture_search(fixture *f, const grebe_query *q,
                                          const grb_bm25 *bm25, bool scored,
                                          fixture_hits *hits,
                                          grebe_error *err) {
    grb_search_context *c = fixture_context(f);
    grb_visitor visitor = {.context = hits, .window = fixture_window};
    grb_weight *w;
    c->bm25 = bm25;
    hits->count = 0;
    grebe_status status = grb_weight_new(c, q, scored, &w, err);
    if (status) return status;
    return grb_search_run(c, w, NULL, 0, scored, &visitor, err);
}

static inline void fixture_hits_free(fixture_hits *hits) {
    free(hits->places);
    free(hits->scores);
}

#endif
