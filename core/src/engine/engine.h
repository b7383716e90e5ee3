/* engine/engine.h - index, searcher and container handles.
 *
 * An engine is an open index; an index handle is one of possibly several ways
 * to it (a container gives each caller a handle of its own).
 */
#ifndef GRB_ENGINE_H
#define GRB_ENGINE_H

#include "commit/writer.h"
#include "grebe/container.h"
#include "grebe/search.h"
#include "segment/filter_cache.h"
#include "snapshot/snapshot.h"

/* What an index and its searchers share, counted: counters that searches add
 * to, folded in once a search, and what is kept of filters. */
typedef struct grb_counters {
    _Atomic uint64_t refs;
    const grebe_allocator *allocator;
    grb_filter_cache *filters; /* a reference; NULL: none is kept */
    _Atomic uint64_t searches, search_ns, blocks_decoded, stored_blocks;
} grb_counters;
grb_counters *grb_counters_new(const grebe_allocator *a,
                               grb_filter_cache *filters);
grb_counters *grb_counters_acquire(grb_counters *c);
void grb_counters_release(grb_counters *c);

struct grebe_searcher {
    _Atomic uint64_t refs;
    grb_counters *counters; /* its allocator serves searcher and hits */
    grb_snapshot *snapshot;
};

typedef struct grb_engine {
    _Atomic uint64_t refs;  /* handles, and the container */
    grb_counters *counters; /* its allocator serves everything here */
    grb_writer *writer;
    size_t size; /* of this allocation */
    char path[]; /* "" in memory */
} grb_engine;

#define GRB_HANDLE_CLOSED (1u << 31) /* every further call is refused */
#define GRB_HANDLE_FREED (1u << 30)  /* the last call running frees it */

struct grebe_index {
    _Atomic uint32_t calls; /* running on this handle, and the flags below */
    uint32_t mark;          /* of the process that opened it */
    grb_engine *engine;
    grb_writer *writer;               /* engine's, borrowed */
    grebe_container *container;       /* a reference; NULL: opened by itself */
    struct grebe_index *next, **link; /* the core's list of handles */
    const grebe_allocator *allocator;
    size_t size; /* of this allocation */
    char path[];
};

/* Opens an engine: folder, or in memory for NULL and ":memory:". `pool` may
 * be NULL: one of its own. */
grebe_status grb_engine_open(const char *path, grebe_schema *schema,
                             const grebe_open_options *options, grb_pool *pool,
                             grb_engine **out, grebe_error *err);
/* The writer's schema must be the one asked for, or is widened to it. */
grebe_status grb_writer_ask_schema(grb_writer *w, const grebe_schema *asked,
                                   bool add_fields, grebe_error *err);
/* An engine around a writer (taken on success); filters are kept in `filters`
 * (may be NULL; it takes a reference of its own). */
grebe_status grb_engine_wrap(const grebe_allocator *a, grb_writer *writer,
                             const char *path, grb_filter_cache *filters,
                             grb_engine **out, grebe_error *err);
grb_engine *grb_engine_acquire(grb_engine *e);
/* The last release ends the writer. */
void grb_engine_release(grb_engine *e);

/* A handle holding a reference to the engine of its own. */
grebe_status grb_index_new(grb_engine *engine, grebe_index **out,
                           grebe_error *err);

/* Whether the handle belongs to a process that this one was forked from. */
bool grb_index_foreign(const grebe_index *index);

/* Each public call on a handle begins and ends with these: FORKED, CLOSED. */
grebe_status grb_index_enter(grebe_index *index, grebe_error *err);
void grb_index_leave(grebe_index *index);

bool grb_index_closed(const grebe_index *index);
/* Frees the handle; one still open is closed without a commit, its batch
 * undone. Calls that run on it in other threads end as they would have, and
 * the last of them frees. */
void grb_index_free(grebe_index *index);

/* ---- look.c: what handles answer without writing ---- */

/* The last commit's snapshot, a reference; in READ mode a newer hard commit
 * is taken in first. */
grebe_status grb_index_view(grebe_index *index, grb_snapshot **out,
                            grebe_error *err);
grebe_status grb_index_refresh(grebe_index *index, bool *changed,
                               grebe_error *err);
grebe_status grb_index_branch(grebe_index *index, grebe_index **out,
                              grebe_error *err);
grebe_status grb_index_stats(grebe_index *index, grebe_index_stats *out,
                             grebe_error *err);
typedef struct grb_analysis_request {
    const char *field, *text;
    size_t size;
    grebe_token_visit visit;
    void *context;
} grb_analysis_request;
grebe_status grb_index_analyze(grebe_index *index,
                               const grb_analysis_request *request,
                               grebe_error *err);
typedef struct grb_terms_request {
    const char *field, *prefix;
    size_t size;
    uint64_t limit;
    grebe_term_visit visit;
    void *context;
} grb_terms_request;
grebe_status grb_index_terms(grebe_index *index,
                             const grb_terms_request *request,
                             grebe_error *err);

/* Closes a handle without looking at the container. Twice: OK. */
grebe_status grb_index_close(grebe_index *index, int commit, grebe_error *err);

/* A searcher on a snapshot (its reference is taken on success). */
grebe_status grb_searcher_new(grb_counters *counters, grb_snapshot *snapshot,
                              grebe_searcher **out, grebe_error *err);

/* Takes a handle off its container's list; no-op without one. The handle's
 * reference to the container goes with its memory. */
void grb_container_forget(grebe_index *index);
void grb_container_release(grebe_container *container);

#endif
