/* result/result.h - the page of a search, and what is read through it. */
#ifndef GRB_RESULT_H
#define GRB_RESULT_H

#include "collect/collect.h"
#include "grebe/search.h"

#define GRB_HIGHLIGHT_TEXT_MAX (1u << 20) /* bytes of a document's field */
#define GRB_SNIPPETS_MAX 100u

/* What hits need of whoever made them and this room does not know. */
typedef struct grb_hits_owner {
    void *object; /* one reference, given back with the last of the hits */
    void (*release)(void *object);
    const grebe_allocator *allocator; /* lives as long as `object` */
    _Atomic uint64_t *stored_blocks;  /* counter that fetches add to */
} grb_hits_owner;

typedef struct grb_hit {
    uint32_t leaf, doc;
} grb_hit;

typedef struct grb_passage {
    const char *bytes;
    size_t size;
} grb_passage;
typedef struct grb_passages {
    grb_passage *items;
    uint32_t count;
} grb_passages;

typedef struct grb_hits_text {
    size_t size; /* of the allocation */
    uint32_t length;
    char bytes[];
} grb_hits_text;

enum { GRB_CURSOR_NONE, GRB_CURSOR_WRITING, GRB_CURSOR_WRITTEN };

/* One allocation, `size` bytes: this struct, scores, hits, the cells of the
 * last hit and their bytes, room for the cursor. Facets and passages lie in
 * `arena`. Immutable once handed out, but for the caches that are published by
 * compare-and-swap (whoever loses frees its own). */
struct grebe_hits {
    _Atomic uint64_t refs;
    grb_hits_owner owner;
    grb_snapshot *snapshot;
    size_t size;
    uint64_t count, total, took_ns;
    bool total_exact, partial;
    bool more;          /* there is a next page */
    uint64_t signature; /* of the order, for the cursor */
    uint32_t cell_count;
    grb_sort_cell *cells;
    float *scores;
    grb_hit *hits;
    grb_arena arena;
    size_t facet_count;
    grb_facet_result *facets;
    size_t plan_count;
    struct grb_plan_page *plan; /* steps; in `arena` as their operators */
    size_t highlight_count;
    grb_passages *passages;   /* by hit, then by request */
    char *cursor;             /* room for its text */
    _Atomic int cursor_state; /* GRB_CURSOR_... */
    _Atomic(int64_t *) int_keys;
    _Atomic(_Atomic(grb_hits_text *) *) keys; /* where a key had to be read */
};

/* A page of what the collector kept, from `offset` on. Takes over the owner's
 * reference and the snapshot's on success alone. */
grebe_status grb_hits_new(const grb_hits_owner *owner, grb_snapshot *snapshot,
                          const grb_collector *c, uint64_t offset,
                          grebe_hits **out, grebe_error *err);
void grb_hits_free(grebe_hits *hits);

/* What grebe_searcher_search does behind its checks; for whoever has counters
 * and a snapshot. The hits take references of their own. (api/search.c) */
grebe_status grb_search(grebe_searcher *searcher,
                        const grebe_search_request *request, grebe_hits **out,
                        grebe_error *err);

/* result/plan.c: copies the plan of the search into the hits. */
struct grb_plan;
grebe_status grb_hits_plan_take(grebe_hits *hits, const struct grb_plan *plan,
                                grebe_error *err);
grebe_status grb_hits_plan_read(const grebe_hits *hits, uint64_t i,
                                grebe_plan_step *out, grebe_error *err);
grebe_status grb_hits_plan_operator_read(const grebe_hits *hits, uint64_t i,
                                         uint64_t j, grebe_plan_operator *out,
                                         grebe_error *err);

/* result/fetch.c */

/* Reads a stored record into `document`, which is cleared first. */
grebe_status grb_stored_read(grb_segment *segment, uint32_t doc,
                             grb_buf *scratch, grebe_document *document,
                             grebe_error *err);
/* The same for hit i; counts the blocks. */
grebe_status grb_hits_fetch(const grebe_hits *hits, uint64_t i,
                            grebe_document *document, grebe_error *err);
grebe_status grb_hits_key_read(const grebe_hits *hits, uint64_t i,
                               grebe_value *out, grebe_error *err);
const int64_t *grb_hits_int_keys_read(const grebe_hits *hits);
/* NULL at the end. Allocates nothing. */
const char *grb_hits_cursor_read(const grebe_hits *hits);

/* result/highlight.c */

/* SCHEMA: unknown, unstored or not a text field. LIMIT: snippets. */
grebe_status grb_highlight_check(const grebe_schema *schema,
                                 const grebe_highlight_request *requests,
                                 size_t count, grebe_error *err);
/* Fills the passages of every hit; `weight` NULL: none. */
grebe_status grb_highlight_page(grebe_hits *hits, grb_search_context *c,
                                const grb_weight *weight,
                                const grebe_highlight_request *requests,
                                size_t count, grebe_error *err);

#endif
