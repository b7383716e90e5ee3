/* grebe/search.h - searchers, searches and their hits.
 *
 * A searcher is a fixed point in time; hits hold it, so stored fields can be
 * read after the index has been closed. Both are immutable: any thread, any
 * number at once.
 */
#ifndef GREBE_SEARCH_H
#define GREBE_SEARCH_H

#include "grebe/index.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grebe_searcher grebe_searcher;
typedef struct grebe_hits grebe_hits;
typedef struct grebe_cancel grebe_cancel;

#define GREBE_LIMIT_ALL UINT64_MAX
#define GREBE_WINDOW_MAX 10000000u /* offset + limit */
#define GREBE_TOTAL_EXACT 0

typedef enum grebe_facet_sort {
    GREBE_FACET_BY_COUNT = 0, /* count desc, then value */
    GREBE_FACET_BY_VALUE = 1
} grebe_facet_sort;

/* Counts of a column's values among all matches. */
typedef struct grebe_facet_request {
    const char *field;
    uint64_t limit; /* 0: 10; GREBE_LIMIT_ALL: all */
    uint64_t offset;
    uint64_t mincount; /* least count listed; 0: 1 */
    grebe_facet_sort sort;
    const char *prefix; /* NULL: all values */
    size_t prefix_size;
    int missing; /* nonzero: count documents without a value too */
} grebe_facet_request;

typedef enum grebe_encoder {
    GREBE_ENCODE_NONE = 0,
    GREBE_ENCODE_HTML = 1
} grebe_encoder;

/* Passages of a stored text field. */
typedef struct grebe_highlight_request {
    const char *field;
    const char *pre;   /* NULL: "<em>" */
    const char *post;  /* NULL: "</em>" */
    uint32_t size;     /* characters; 0: 200 */
    uint32_t snippets; /* 0: 1 */
    grebe_encoder encoder;
} grebe_highlight_request;

/* What to search for; zero everywhere is all documents, best ten. All
 * pointers are borrowed for the call. */
typedef struct grebe_search_request {
    const grebe_query *query;          /* NULL: all documents */
    const grebe_query *const *filters; /* all must match; do not score */
    size_t filter_count;
    const char *sort; /* "year desc missing first, title"; NULL: score */
    uint64_t limit;   /* 0: none, only counts; GREBE_LIMIT_ALL */
    uint64_t offset;
    const char *after; /* cursor of the page before */
    const grebe_facet_request *facets;
    size_t facet_count;
    const grebe_highlight_request *highlights;
    size_t highlight_count;
    uint64_t total_max;   /* count to there; GREBE_TOTAL_EXACT: all */
    uint64_t timeout_ns;  /* 0: none */
    int partial;          /* a passed deadline gives what was found */
    uint64_t work_max;    /* postings and terms looked at; 0: no bound */
    grebe_cancel *cancel; /* may be NULL */
    int plan; /* nonzero: hits say how they were found, grebe_hits_plan_size */
} grebe_search_request;

/* A searcher on the last commit; `since` waits for nothing: CONFLICT if that
 * commit number is not yet visible (0: any). In READ mode it looks for a
 * newer hard commit first. Wait-free. */
GREBE_API grebe_status grebe_index_searcher(grebe_index *index, uint64_t since,
                                            grebe_searcher **out,
                                            grebe_error *err);

/* A searcher on everything added so far, committed or not; later work does
 * not appear in it. READ_ONLY in READ mode. */
GREBE_API grebe_status grebe_index_searcher_uncommitted(grebe_index *index,
                                                        grebe_searcher **out,
                                                        grebe_error *err);

/* Number of live documents it sees. O(1). */
GREBE_API uint64_t grebe_searcher_count(const grebe_searcher *searcher);

/* Number of the commit it shows. */
GREBE_API uint64_t grebe_searcher_number(const grebe_searcher *searcher);

/* A new reference to the schema it was made with. */
GREBE_API grebe_schema *grebe_searcher_schema(const grebe_searcher *searcher);

/* One more reference; returns its argument. */
GREBE_API grebe_searcher *grebe_searcher_acquire(grebe_searcher *searcher);

/* Gives a reference back. NULL is allowed. */
GREBE_API void grebe_searcher_release(grebe_searcher *searcher);

/* Runs a search. SCHEMA: unknown field (the nearest is named), a sort or
 * facet without a column, a value of another kind, a highlight of an unstored
 * field. SYNTAX: sort text or cursor. ARGUMENT: `after` with `offset`, a
 * cursor of another sort. LIMIT. DEADLINE, CANCELLED. MEMORY. */
GREBE_API grebe_status grebe_searcher_search(
    grebe_searcher *searcher, const grebe_search_request *request,
    grebe_hits **out, grebe_error *err);

/* grebe_index_searcher, search and release in one call. */
GREBE_API grebe_status grebe_index_search(grebe_index *index,
                                          const grebe_search_request *request,
                                          grebe_hits **out, grebe_error *err);

/* As grebe_index_get on what the searcher sees. */
GREBE_API grebe_status grebe_searcher_get(grebe_searcher *searcher,
                                          const grebe_value *key,
                                          grebe_document *document, int *found,
                                          grebe_error *err);

/* Says in words how the score of the document with this key comes about, into
 * `buffer` (NUL-terminated); `size_needed` (may be NULL) gets the whole
 * length. MISSING_KEY. */
GREBE_API grebe_status grebe_searcher_explain(
    grebe_searcher *searcher, const grebe_query *query, const grebe_value *key,
    char *buffer, size_t size, size_t *size_needed, grebe_error *err);

typedef grebe_status (*grebe_document_visit)(void *context,
                                             const grebe_document *document);

/* Hands each live document that `filter` (NULL: all) matches to `visit`, in
 * insertion order; stored fields only. `visit` stops the run by returning
 * anything but GREBE_OK (passed on). */
GREBE_API grebe_status grebe_searcher_scan(grebe_searcher *searcher,
                                           const grebe_query *filter,
                                           grebe_document_visit visit,
                                           void *context, grebe_error *err);

/* Hits of this page; documents matched; whether that number is exact; whether
 * a deadline cut the search short; nanoseconds taken. */
GREBE_API uint64_t grebe_hits_count(const grebe_hits *hits);
GREBE_API uint64_t grebe_hits_total(const grebe_hits *hits);
GREBE_API int grebe_hits_total_is_exact(const grebe_hits *hits);
GREBE_API int grebe_hits_partial(const grebe_hits *hits);
GREBE_API uint64_t grebe_hits_took_ns(const grebe_hits *hits);

/* Scores of the page, grebe_hits_count floats; borrowed from the hits. NaN
 * where the sort does not need scores. */
GREBE_API const float *grebe_hits_scores(const grebe_hits *hits);

/* Key of hit i; borrowed from the hits. SCHEMA without a key field, ARGUMENT
 * if i is out of range. */
GREBE_API grebe_status grebe_hits_key(const grebe_hits *hits, uint64_t i,
                                      grebe_value *out, grebe_error *err);

/* Keys of the page at once: int64 for an integer key (borrowed, NULL
 * otherwise). */
GREBE_API const int64_t *grebe_hits_int_keys(const grebe_hits *hits);

/* Reads the stored fields of hit i into `document` (made with the searcher's
 * or the index's schema; cleared first). */
GREBE_API grebe_status grebe_hits_document(const grebe_hits *hits, uint64_t i,
                                           grebe_document *document,
                                           grebe_error *err);

/* Number of passages of hit i in highlight request `request`, and the j-th;
 * borrowed from the hits. */
GREBE_API uint32_t grebe_hits_passage_count(const grebe_hits *hits, uint64_t i,
                                            size_t request);
GREBE_API const char *grebe_hits_passage(const grebe_hits *hits, uint64_t i,
                                         size_t request, uint32_t j,
                                         size_t *size);

/* Values listed by facet request `facet`: how many, the i-th with its count
 * (borrowed from the hits), and the documents without a value. */
GREBE_API uint64_t grebe_hits_facet_size(const grebe_hits *hits, size_t facet);
GREBE_API grebe_status grebe_hits_facet(const grebe_hits *hits, size_t facet,
                                        uint64_t i, grebe_value *value,
                                        uint64_t *count, grebe_error *err);
GREBE_API uint64_t grebe_hits_facet_missing(const grebe_hits *hits,
                                            size_t facet);

/* Cursor of the next page, a printable string borrowed from the hits; NULL at
 * the end. */
GREBE_API const char *grebe_hits_cursor(const grebe_hits *hits);

/* What one pass of a search did in one segment. Names may be added; texts in
 * words may change. All of it is borrowed from the hits.
 * pass: "all" (every match is looked at), "places" (only those that may enter
 * the page), "total", "facets" (these and the total).
 * method: "block-max term", "maxscore" (clauses of which any may match),
 * "block-max and", "bounds" (other queries): what cannot enter the page is
 * passed over; "exhaustive": all matches are scored; "bitmaps": documents
 * without scores; "list", "term list", "list through filters": rare queries,
 * document by document; "df", "kept count": a number that was known; "none":
 * nothing matches here; "skipped": the search had ended. */
typedef struct grebe_plan_step {
    const char *pass;
    const char *pass_reason; /* why there is this pass */
    const char *method;
    const char *reason;      /* why this method, with the costs compared */
    uint64_t segment;        /* its place, from 0 */
    uint64_t docs;           /* it has, dead ones too */
    uint64_t windows;        /* of 4,096 documents that were evaluated */
    uint64_t blocks;         /* of postings that were decoded */
    uint64_t matched;        /* live documents that were handed on */
    uint64_t scored;         /* of these, with a score */
    uint64_t positions;      /* lists of positions that were read */
    uint64_t work;           /* as `work_max` counts it */
    uint64_t operator_count; /* see grebe_hits_plan_operator */
} grebe_plan_step;

/* The query and its filters in a segment, in the order in which they are
 * asked; then filters inside of them.
 * role: "query", "filter". kind: "term", "phrase", "terms" (a prefix, or a
 * range of words), "range", "exists", "key", "bool", "dismax", "constant",
 * "all". kept, of filters: "hit" (its answer was kept), "built" (it is from
 * now on), "first use", "not worth it" (as fast without), "off"; else "". */
typedef struct grebe_plan_operator {
    const char *role;
    const char *kind;
    const char *field; /* "" where there is none */
    const char *kept;
    uint64_t docs; /* about how many match; it decides the order */
} grebe_plan_operator;

/* How many steps there are, 0 unless `plan` was asked for; the i-th; an
 * operator of it. ARGUMENT out of range. */
GREBE_API uint64_t grebe_hits_plan_size(const grebe_hits *hits);
GREBE_API grebe_status grebe_hits_plan(const grebe_hits *hits, uint64_t i,
                                       grebe_plan_step *out, grebe_error *err);
GREBE_API grebe_status grebe_hits_plan_operator(const grebe_hits *hits,
                                                uint64_t i, uint64_t j,
                                                grebe_plan_operator *out,
                                                grebe_error *err);

/* One more reference; returns its argument. */
GREBE_API grebe_hits *grebe_hits_acquire(grebe_hits *hits);

/* Gives a reference back. NULL is allowed. */
GREBE_API void grebe_hits_release(grebe_hits *hits);

/* A flag that another thread may set to end searches. */
GREBE_API grebe_status grebe_cancel_new(grebe_cancel **out, grebe_error *err);
GREBE_API void grebe_cancel_set(grebe_cancel *cancel);
GREBE_API void grebe_cancel_clear(grebe_cancel *cancel);
GREBE_API int grebe_cancel_is_set(const grebe_cancel *cancel);
GREBE_API void grebe_cancel_free(grebe_cancel *cancel);

#ifdef __cplusplus
}
#endif
#endif
