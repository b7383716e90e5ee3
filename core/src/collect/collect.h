/* collect/collect.h - from windows of matches to ordered places and counts.
 *
 * One collector a search: it counts, keeps the best `keep` documents in the
 * order of a sort plan and counts facet values. Work memory is the search's
 * arena, or the allocator where it grows with the number of hits.
 */
#ifndef GRB_COLLECT_H
#define GRB_COLLECT_H

#include "collect/insertion.h"
#include "grebe/search.h"
#include "search/search.h"

#define GRB_SORT_KEYS_MAX 16u
#define GRB_FACET_VALUES_MAX 1000000u

/* ---- sort plans (collect/plan.c) ---- */

typedef enum grb_sort_source {
    GRB_SORT_COLUMN,
    GRB_SORT_SCORE,
    GRB_SORT_ORDER /* insertion order */
} grb_sort_source;

typedef struct grb_sort_key {
    grb_sort_source source;
    uint32_t field; /* columns only, as kind and missing_first */
    grebe_kind kind;
    bool keyword; /* of ordinals: compared by bytes across segments */
    bool desc;
    bool missing_first;
} grb_sort_key;

/* Insertion order is the last key of every plan and not listed, so that a
 * plan of no keys is insertion order alone. */
typedef struct grb_sort_plan {
    uint32_t count;
    bool plain;         /* falling score and nothing else */
    bool scored;        /* some key is the score */
    bool keyword;       /* some key is a keyword */
    uint64_t signature; /* equal for equal orders: cursors carry it */
    grb_sort_key keys[GRB_SORT_KEYS_MAX];
} grb_sort_plan;

/* Reads "year desc missing first, title"; NULL: by score. SYNTAX with the
 * position; SCHEMA for an unknown field or one without a column; LIMIT. */
grebe_status grb_sort_parse(const grebe_schema *schema, const char *text,
                            grb_sort_plan *out, grebe_error *err);

/* The value of a key, made so that the smaller (state, word) comes first
 * whatever the direction. Keywords: inside a segment `word` is twice the rank
 * and `size` the ordinal; across segments `bytes` decide. */
typedef struct grb_sort_cell {
    int64_t word;
    const uint8_t *bytes;
    uint32_t size;
    uint8_t state;
} grb_sort_cell;
enum { GRB_CELL_FIRST = 0, GRB_CELL_VALUE = 1, GRB_CELL_LAST = 2 };

/* ---- cursors of search-after (collect/after.c) ---- */

typedef struct grb_after {
    uint64_t sequence;
    grb_sort_cell cells[GRB_SORT_KEYS_MAX];
} grb_after;

/* Writes the cursor of the document with these cells into memory of
 * grb_after_size bytes; NUL-terminated. Allocates nothing. */
size_t grb_after_size(const grb_sort_cell *cells, uint32_t count);
void grb_after_write(uint64_t signature, const grb_sort_cell *cells,
                     uint32_t count, uint64_t sequence, char *out);
/* SYNTAX: not a cursor. ARGUMENT: one of another order. Bytes of keywords
 * are put into `arena`. */
grebe_status grb_after_parse(const grb_sort_plan *plan, const char *text,
                             grb_arena *arena, grb_after *out,
                             grebe_error *err);

/* ---- the best by score (collect/top.c) ---- */

typedef struct grb_place {
    float score;
    uint32_t leaf, doc;
    uint64_t order; /* grb_insertion_of */
} grb_place;

/* Invariant: the best places so far, in order where `keep` is small. Else all
 * of them until there are `keep`, and then a heap whose root is the worst:
 * least score, among equals the latest. */
typedef struct grb_top {
    const grebe_allocator *allocator;
    grb_place *items;
    size_t count, capacity;
    size_t keep;
    bool owned; /* items are the allocator's, not the arena's */
    bool more;  /* a match of this page's range had to be left out */
    const grb_after *after; /* NULL: from the beginning */
    uint32_t leaf_ord;
    grb_insertion order;  /* of the present leaf */
    uint64_t after_order; /* equal scores before it were on earlier pages */
    uint64_t passed;      /* matches of earlier pages */
} grb_top;

grebe_status grb_top_init(grb_top *t, grb_search_context *c,
                          const grebe_allocator *a, size_t keep,
                          const grb_after *after, grebe_error *err);
void grb_top_deinit(grb_top *t);
void grb_top_leaf(grb_top *t, uint32_t leaf_ord, const grb_leaf *leaf);
grebe_status grb_top_window(grb_top *t, const grb_match_window *w,
                            grebe_error *err);
grebe_status grb_top_list(grb_top *t, const grb_match_list *l,
                          grebe_error *err);
/* The greatest score that surely does not enter a full page any more, from
 * the present leaf on; GRB_FLOOR_NONE before. */
float grb_top_floor(const grb_top *t);
/* Whether a match of the present leaf may displace an equal score. */
bool grb_top_loose(const grb_top *t);
/* Puts the places in order: score falling, then insertion order. */
grebe_status grb_top_finish(grb_top *t, grb_budget *budget, grebe_error *err);

/* ---- the best by columns (collect/ranked.c, collect/items.c) ---- */

typedef struct grb_item {
    uint32_t leaf, doc;
    uint64_t order; /* grb_insertion_of */
    grb_sort_cell cells[];
} grb_item;

/* Items of one plan, `stride` bytes each. */
typedef struct grb_items {
    const grebe_allocator *allocator;
    const grb_sort_plan *plan;
    char *bytes;
    size_t count, capacity, stride;
} grb_items;

void grb_items_init(grb_items *items, const grebe_allocator *a,
                    const grb_sort_plan *plan);
void grb_items_deinit(grb_items *items);
grebe_status grb_items_reserve(grb_items *items, size_t count,
                               grebe_error *err);
static inline grb_item *grb_items_at(const grb_items *items, size_t i) {
    return (grb_item *)(items->bytes + i * items->stride);
}
/* Copies an item: a few words, for which a call would cost more. */
typedef uint64_t __attribute__((may_alias)) grb_item_word;
static inline void grb_item_copy(grb_item *to, const grb_item *from,
                                 size_t stride) {
    grb_item_word *restrict t = (grb_item_word *)to;
    const grb_item_word *restrict f = (const grb_item_word *)from;
    for (size_t i = 0; i < stride / sizeof *t; i++) t[i] = f[i];
}
/* Order by words (one segment, or no keywords) and by bytes. */
int grb_item_compare(const grb_sort_plan *plan, const grb_item *a,
                     const grb_item *b, bool by_bytes);
/* Makes the items a heap with the worst at its root; restores it after the
 * root was changed. */
void grb_items_heapify(grb_items *items);
void grb_items_sift(grb_items *items, size_t at);
/* Sorts by words. */
grebe_status grb_items_sort(grb_items *items, grb_budget *budget,
                            grebe_error *err);

typedef struct grb_ranked_source {
    grb_column *column;    /* NULL: no document of the leaf has a value */
    const uint32_t *ranks; /* NULL: ordinals are ranks, or no keyword */
    uint32_t *by_rank;     /* ordinals in byte order, made when needed */
    bool ready;            /* `window` is the current one, with values */
    grb_column_window window;
    grb_sort_cell after; /* the cursor in this leaf's words */
} grb_ranked_source;

typedef struct grb_ranked {
    grb_search_context *context;
    const grb_sort_plan *plan;
    const grb_after *after;
    size_t keep;
    grb_items pool;   /* the heap; without keywords of all leaves */
    grb_items merged; /* keywords: best of the leaves before, by bytes */
    grb_items spare;
    grb_arena bytes; /* of keywords; as many as places, so not the search's */
    bool more;
    uint32_t leaf_ord;
    grb_insertion order;  /* of the present leaf */
    uint64_t after_order; /* equal keys before it were on earlier pages */
    bool bounded;         /* `bound`: the first key of the worst kept */
    bool heaped;          /* `pool` is a heap */
    grb_sort_cell bound;
    uint64_t wanted[GRB_WINDOW_WORDS]; /* matches that can still enter */
    grb_ranked_source sources[GRB_SORT_KEYS_MAX];
} grb_ranked;

grebe_status grb_ranked_init(grb_ranked *r, grb_search_context *c,
                             const grebe_allocator *a,
                             const grb_sort_plan *plan, size_t keep,
                             const grb_after *after, grebe_error *err);
void grb_ranked_deinit(grb_ranked *r);
grebe_status grb_ranked_leaf(grb_ranked *r, uint32_t leaf_ord,
                             const grb_leaf *leaf, grebe_error *err);
grebe_status grb_ranked_window(grb_ranked *r, const grb_match_window *w,
                               grebe_error *err);
/* Whether a match of the present leaf may displace one with equal keys. */
bool grb_ranked_loose(const grb_ranked *r);
/* Whether the window at `base` of the present leaf can be left out unseen. */
grebe_status grb_ranked_skips(grb_ranked *r, uint32_t base, bool *skips,
                              grebe_error *err);
grebe_status grb_ranked_finish(grb_ranked *r, grebe_error *err);
/* The items in order, after grb_ranked_finish. */
const grb_items *grb_ranked_items(const grb_ranked *r);

/* ---- facets (collect/facet.c) ---- */

/* A facet's answer; values in an arena of the caller's. */
typedef struct grb_facet_value {
    grebe_value value;
    uint64_t count;
} grb_facet_value;
typedef struct grb_facet_result {
    grb_facet_value *values;
    uint64_t count;
    uint64_t missing;
} grb_facet_result;

typedef struct grb_facet grb_facet;

/* SCHEMA: unknown field, no column. ARGUMENT: prefix of a number. */
grebe_status grb_facet_new(grb_search_context *c, const grebe_allocator *a,
                           const grebe_facet_request *request, grb_facet **out,
                           grebe_error *err);
void grb_facet_free(grb_facet *f);
/* The next leaf, and its matches, for several facets. */
grebe_status grb_facets_leaf(grb_facet *const *facets, size_t count,
                             const grb_leaf *leaf, grebe_error *err);
grebe_status grb_facets_window(grb_facet *const *facets, size_t count,
                               const grb_match_window *w, grebe_error *err);
grebe_status grb_facet_finish(grb_facet *f, grb_arena *arena,
                              grb_facet_result *out, grebe_error *err);

/* ---- the collector (collect/collector.c) ---- */

typedef struct grb_collect_request {
    const grb_sort_plan *plan;
    const grb_after *after; /* may be NULL */
    uint64_t keep;          /* places wanted, at most the live documents */
    uint64_t total_max;     /* GREBE_TOTAL_EXACT: count all */
    bool total_known;       /* the caller knows it: no need to count */
    bool constant;          /* every score is 1: windows without scores */
    const grebe_facet_request *facets;
    size_t facet_count;
} grb_collect_request;

typedef struct grb_collector {
    grb_visitor visitor;
    grb_search_context *context;
    grb_collect_request request;
    bool by_score;   /* `top` holds the places, else `ranked` */
    bool in_order;   /* what is later in insertion order stays out */
    bool counted;    /* `total` was counted apart from the places */
    bool apart;      /* and will be: windows may be left out */
    bool best_alone; /* this pass is for the best places, not for facets */
    uint64_t total;
    grb_top top;
    grb_ranked *ranked;
    grb_facet **facets;
} grb_collector;

grebe_status grb_collector_init(grb_collector *c, grb_search_context *context,
                                const grebe_allocator *a,
                                const grb_collect_request *request,
                                grebe_error *err);
void grb_collector_deinit(grb_collector *c);
/* Runs the search: where not all matches need to be seen, the best places and
 * the total are looked for apart. */
grebe_status grb_collector_run(grb_collector *c, const grb_weight *main,
                               const grb_weight *const *filters,
                               size_t filter_count, grebe_error *err);
/* Puts what was kept in order (facets are finished one by one). */
grebe_status grb_collector_finish(grb_collector *c, grebe_error *err);
size_t grb_collector_count(const grb_collector *c);
/* The i-th place; its score is NaN where the order does not need it. */
void grb_collector_place(const grb_collector *c, size_t i, grb_place *out);
/* Cells of the i-th place for a cursor, into `out`; bytes are borrowed. */
void grb_collector_cells(const grb_collector *c, size_t i, grb_sort_cell *out);
bool grb_collector_more(const grb_collector *c);

/* SCHEMA with the nearest name; `use` says what the field was wanted for. */
grebe_status grb_field_unknown(const grebe_schema *schema, const char *name,
                               size_t size, const char *use, grebe_error *err);

#endif
