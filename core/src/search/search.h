/* search/search.h - a query bound to a snapshot, evaluated by windows.
 *
 * weight = query + snapshot: names and types bound, text analysed, statistics
 * and weights computed once. matcher = weight + leaf: answers windows of 4,096
 * documents. Everything lives in the context's arena.
 */
#ifndef GRB_SEARCH_H
#define GRB_SEARCH_H

#include "analysis/analysis.h"
#include "query/tree.h"
#include "search/bm25.h"
#include "segment/filter_cache.h"
#include "snapshot/snapshot.h"

/* What a search may spend; checked every 1,024 postings or term visits. */
typedef struct grb_budget {
    uint64_t deadline_ns;      /* grb_clock_ns; 0: none */
    const _Atomic int *cancel; /* NULL: none */
    uint64_t work, work_max;   /* postings, terms, documents; 0: none */
    uint64_t next_check;       /* of `work` */
} grb_budget;
grebe_status grb_budget_check_now(grb_budget *b, grebe_error *err);
/* Counts n units; DEADLINE, CANCELLED or LIMIT when the time has come. */
static inline grebe_status grb_budget_spend(grb_budget *b, uint64_t n,
                                            grebe_error *err) {
    b->work += n;
    return b->work < b->next_check ? GREBE_OK : grb_budget_check_now(b, err);
}
/* For work that counts for no limit, such as sorting what was found: looks at
 * cancel flag and clock whenever *done has come to 8,192 units. */
static inline grebe_status grb_budget_poll(grb_budget *b, size_t *done,
                                           size_t n, grebe_error *err) {
    *done += n;
    if (*done < 8192) return GREBE_OK;
    *done = 0;
    return grb_budget_check_now(b, err);
}

/* Statistics from elsewhere, in place of the snapshot's totals. Each call
 * returns false for what it does not know: then the snapshot is asked. */
typedef struct grb_statistics {
    void *context;
    bool (*field)(void *context, const grb_field *field,
                  grb_field_totals *out);
    bool (*term)(void *context, const grb_field *field, const void *bytes,
                 size_t size, uint64_t *df);
} grb_statistics;

/* What makes searches faster and never changes an answer; tests turn each off
 * by a bit of the context's `off` and compare. */
enum {
    GRB_OFF_PRUNING = 1,  /* leaving out what cannot enter a full page */
    GRB_OFF_LISTS = 2,    /* one term's blocks handed on without windows */
    GRB_OFF_COUNTS = 4,   /* totals from statistics */
    GRB_OFF_COSTS = 8,    /* exhaustive where that is cheaper; filters kept
                             only where that pays */
    GRB_OFF_COLUMNS = 16, /* columns looked at in part, zones, their order */
    GRB_OFF_FILTERS = 32  /* filters kept with their segments */
};

typedef struct grb_filter_use grb_filter_use;

/* Fill the first five and leave the rest zero. */
typedef struct grb_search_context {
    const grb_snapshot *snapshot;
    const grebe_schema *schema; /* the snapshot's */
    grb_arena *arena;
    grb_budget budget;
    uint64_t blocks_decoded;          /* filled while searching, as windows */
    uint64_t windows, positions;      /* evaluated; lists read */
    const grb_bm25 *bm25;             /* NULL: grb_bm25_default */
    const grb_statistics *statistics; /* NULL: the snapshot's own */
    struct grb_scratch *scratch;      /* search's own */
    uint32_t off;                     /* GRB_OFF_... */
    grb_filter_cache *filters;        /* NULL: none is kept */
    grb_filter_use *filter_uses;      /* search's own */
    struct grb_plan *plan;            /* NULL: nobody asked for one */
} grb_search_context;

/* Gives back what a search with `filters` held; matchers end with it. */
void grb_search_context_end(grb_search_context *c);

typedef struct grb_weight grb_weight;
typedef struct grb_matcher grb_matcher;

/* Binds. SCHEMA for an unknown or unindexed field (nearest named) and a value
 * of another kind. `scored` false: scores will never be asked for. */
grebe_status grb_weight_new(grb_search_context *c, const grebe_query *query,
                            bool scored, grb_weight **out, grebe_error *err);

/* Lower bound of the first match >= min_doc (GRB_NO_DOC: none left). */
grebe_status grb_matcher_next(grb_matcher *m, uint32_t min_doc, uint32_t *doc,
                              grebe_error *err);
/* A window of matches that are alive and pass the filters. */
typedef struct grb_match_window {
    uint32_t leaf_ord;
    const grb_leaf *leaf;
    uint32_t base;
    uint32_t count; /* set bits */
    const uint64_t *bits;
    const float *scores; /* NULL if not scored */
} grb_match_window;

/* Rising documents of one leaf with their scores (NULL if not scored): alive,
 * at most GRB_BLOCK. */
typedef struct grb_match_list {
    const uint32_t *docs;
    const float *scores;
    uint32_t count;
} grb_match_list;

/* Receives windows in insertion order; `stop` (checked after each call) ends
 * the search early. Any status but OK ends it and is returned. */
typedef struct grb_visitor {
    void *context;
    grebe_status (*leaf)(void *context, uint32_t leaf_ord,
                         const grb_leaf *leaf, grebe_error *err);
    grebe_status (*window)(void *context, const grb_match_window *w,
                           grebe_error *err);
    bool stop;
    /* NULL: windows only. Else matches may come as lists. */
    grebe_status (*list)(void *context, const grb_match_list *l,
                         grebe_error *err);
    /* Matches whose score is not above `floor` may be left out; the visitor
     * sets it, at first to GRB_FLOOR_NONE. Of a leaf that lies in insertion
     * order an equal score can be left out too; where it must not the visitor
     * sets a floor below it. */
    bool prune;
    float floor;
    /* NULL: every window is wanted. Else asked before a window is looked for:
     * whether that at `base` may be left out. */
    grebe_status (*skips)(void *context, uint32_t base, bool *skips,
                          grebe_error *err);
} grb_visitor;

#define GRB_FLOOR_NONE (-1.0f)

/* Runs `main` (NULL: all documents, score 1) under `filters`. The rarest of
 * them leads. */
grebe_status grb_search_run(grb_search_context *c, const grb_weight *main,
                            const grb_weight *const *filters,
                            size_t filter_count, bool scored,
                            grb_visitor *visitor, grebe_error *err);

/* Number of live matches, or more than `most` as soon as there are more: by
 * statistics where nothing is dead, else by bits alone. */
grebe_status grb_search_count(grb_search_context *c, const grb_weight *main,
                              const grb_weight *const *filters,
                              size_t filter_count, uint64_t most,
                              uint64_t *total, grebe_error *err);

/* About how many postings stand behind a query, and whether counting its
 * matches is much less work than scoring them. */
uint64_t grb_weight_postings(const grb_weight *w, bool *countable);
/* Whether all matches have one score. */
bool grb_weight_constant(const grb_weight *w);
bool grb_weight_is_term(const grb_weight *w);
/* Whether the number of matches is known without looking at each. */
bool grb_weight_counted(const grb_search_context *c, const grb_weight *w);

/* What share of all documents a filter matches, dead ones counted, if it can
 * be used over and over at little cost: one term, or kept with each segment.
 * Else -1. */
double grb_filter_ready(grb_search_context *c, const grb_weight *w);

/* Appends a sentence a line, indented, on how the score of a document comes
 * about; `matched` false and why, if it does not match. */
grebe_status grb_explain(grb_search_context *c, const grb_weight *w,
                         uint32_t leaf, uint32_t doc, bool *matched,
                         grb_buf *out, grebe_error *err);

/* Terms that a query looks for in a text field, for the highlighter: visited
 * once each, with the phrase they belong to (0: none). */
typedef struct grb_sought_term {
    const char *field;
    const char *bytes;
    uint32_t size;
    bool prefix; /* any term that begins with it */
    float weight;
} grb_sought_term;
grebe_status grb_weight_terms(
    const grb_weight *w,
    grebe_status (*visit)(void *context, const grb_sought_term *term),
    void *context);

#endif
