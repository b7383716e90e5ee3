/* api/index.c - grebe/index.h: arguments checked, one room called.
 *
 * Each call enters the handle (FORKED, CLOSED), calls, and leaves.
 * Invariant: nothing is decided here. Threads: any. Owns: nothing.
 */
#include "analysis/analysis.h"
#include "engine/container.h"
#include "engine/engine.h"
#include "result/result.h"

static grebe_status argument_missing(grebe_error *err) {
    return grb_error(err, GREBE_ARGUMENT, "a required argument is NULL");
}

/* ---- opening and closing ---- */

static grebe_status options_check(const grebe_open_options *o,
                                  grebe_error *err) {
    if (!o) return GREBE_OK;
    if ((unsigned)o->mode > GREBE_READ ||
        (unsigned)o->durability > GREBE_DURABILITY_NONE ||
        (unsigned)o->store > GREBE_STORE_RAM ||
        (unsigned)o->verify > GREBE_VERIFY_NEVER ||
        (unsigned)o->merging > GREBE_MERGE_MANUAL)
        return grb_error(err, GREBE_ARGUMENT,
                         "an open option has none of its values");
    if (o->memory_max && o->memory_max < (64u << 10))
        return grb_error(err, GREBE_ARGUMENT,
                         "memory_max is %llu bytes, at least 65536 is needed",
                         (unsigned long long)o->memory_max);
    if (o->filter_cache && o->filter_cache != GREBE_FILTER_CACHE_NONE &&
        (o->filter_cache < GRB_FILTER_CACHE_LEAST ||
         o->filter_cache > GRB_FILTER_CACHE_MOST))
        return grb_error(err, GREBE_ARGUMENT,
                         "filter_cache is %llu bytes, %llu to %llu are "
                         "allowed",
                         (unsigned long long)o->filter_cache,
                         (unsigned long long)GRB_FILTER_CACHE_LEAST,
                         (unsigned long long)GRB_FILTER_CACHE_MOST);
    if (o->docs_max > UINT32_MAX / 2)
        return grb_error(err, GREBE_ARGUMENT,
                         "docs_max is %llu, at most 2147483647 is allowed",
                         (unsigned long long)o->docs_max);
    return GREBE_OK;
}

grebe_status grebe_index_open(const char *path, grebe_schema *schema,
                              const grebe_open_options *options,
                              grebe_index **out, grebe_error *err) {
    grebe_status status;
    grb_engine *engine = NULL;
    if (!out) return argument_missing(err);
    *out = NULL;
    GRB_TRY(options_check(options, err));
    GRB_TRY(grb_engine_open(path, schema, options, NULL, &engine, err));
    GRB_TRY(grb_index_new(engine, out, err));
done:
    grb_engine_release(engine);
    return status;
}

grebe_status grebe_index_close(grebe_index *index, int commit,
                               grebe_error *err) {
    if (!index) return argument_missing(err);
    grebe_status status = grb_index_close(index, commit, err);
    if (status == GREBE_OK) grb_container_forget(index);
    return status;
}

void grebe_index_free(grebe_index *index) {
    if (!index) return;
    grb_handle_died();
    /* In a forked child locks may be held for ever and files are the
     * parent's: the memory is left to the end of the process. */
    if (!grb_index_foreign(index)) grb_index_free(index);
}

int grebe_index_closed(const grebe_index *index) {
    return !index || grb_index_closed(index);
}

const char *grebe_index_path(const grebe_index *index) {
    return index ? index->path : "";
}

/* ---- writing ---- */

/* Enters, calls, leaves. */
#define INDEX_CALL(index, call)                                  \
    do {                                                         \
        grebe_status index_status = grb_index_enter(index, err); \
        if (index_status != GREBE_OK) return index_status;       \
        index_status = (call);                                   \
        grb_index_leave(index);                                  \
        return index_status;                                     \
    } while (0)

grebe_status grebe_index_schema(grebe_index *index, grebe_schema **out,
                                grebe_error *err) {
    if (!out) return argument_missing(err);
    INDEX_CALL(index, grb_writer_schema(index->writer, out, err));
}

grebe_status grebe_index_add_fields(grebe_index *index,
                                    const grebe_schema *schema,
                                    grebe_error *err) {
    if (!schema) return argument_missing(err);
    INDEX_CALL(index, grb_writer_add_fields(index->writer, schema, err));
}

grebe_status grebe_index_add(grebe_index *index,
                             const grebe_document *document, int overwrite,
                             grebe_error *err) {
    if (!document) return argument_missing(err);
    INDEX_CALL(index,
               grb_writer_add(index->writer, document, overwrite != 0, err));
}

grebe_status grebe_index_delete(grebe_index *index, const grebe_value *key,
                                uint64_t *count, grebe_error *err) {
    if (!key) return argument_missing(err);
    INDEX_CALL(index, grb_writer_delete(index->writer, key, count, err));
}

grebe_status grebe_index_delete_by_query(grebe_index *index,
                                         const grebe_query *query,
                                         uint64_t *count, grebe_error *err) {
    if (!query) return argument_missing(err);
    INDEX_CALL(index,
               grb_writer_delete_by_query(index->writer, query, count, err));
}

grebe_status grebe_index_commit(grebe_index *index, grebe_commit_kind kind,
                                grebe_commit_info *info, grebe_error *err) {
    if ((unsigned)kind > GREBE_HARD_UNSEEN)
        return grb_error(err, GREBE_ARGUMENT, "no such kind of commit: %d",
                         (int)kind);
    INDEX_CALL(index, grb_writer_commit(index->writer, kind, info, err));
}

grebe_status grebe_index_rollback(grebe_index *index, grebe_error *err) {
    INDEX_CALL(index, grb_writer_rollback(index->writer, err));
}

grebe_status grebe_index_batch_begin(grebe_index *index, grebe_error *err) {
    INDEX_CALL(index, grb_writer_batch_begin(index->writer, index, err));
}

grebe_status grebe_index_batch_end(grebe_index *index, grebe_commit_kind kind,
                                   grebe_commit_info *info, grebe_error *err) {
    if ((unsigned)kind > GREBE_HARD)
        return grb_error(err, GREBE_ARGUMENT,
                         "a batch ends with a soft or a hard commit");
    INDEX_CALL(index, grb_writer_batch_end(index->writer, kind, info, err));
}

grebe_status grebe_index_batch_undo(grebe_index *index, grebe_error *err) {
    INDEX_CALL(index, grb_writer_batch_undo(index->writer, err));
}

grebe_status grebe_index_merge(grebe_index *index, grebe_error *err) {
    INDEX_CALL(index, grb_writer_merge(index->writer, NULL, 0, err));
}

grebe_status grebe_index_merge_ordered(grebe_index *index, const char *order,
                                       uint64_t memory_max, grebe_error *err) {
    if (!order) return argument_missing(err);
    INDEX_CALL(index, grb_writer_merge(index->writer, order, memory_max, err));
}

/* ---- going back ---- */

grebe_status grebe_index_snapshot(grebe_index *index, grebe_snapshot **out,
                                  grebe_error *err) {
    if (!out) return argument_missing(err);
    *out = NULL;
    INDEX_CALL(index, grb_writer_snapshot(index->writer, out, err));
}

void grebe_snapshot_free(grebe_snapshot *snapshot) {
    if (!snapshot) return;
    grb_handle_died();
    if (!grb_snapshot_foreign(snapshot->snapshot))
        grb_writer_snapshot_free(snapshot);
}

grebe_status grebe_index_restore(grebe_index *index, grebe_snapshot *snapshot,
                                 grebe_error *err) {
    if (!snapshot) return argument_missing(err);
    INDEX_CALL(index, grb_writer_restore(index->writer, snapshot, err));
}

grebe_status grebe_index_branch(grebe_index *index, grebe_index **out,
                                grebe_error *err) {
    if (!out) return argument_missing(err);
    *out = NULL;
    INDEX_CALL(index, grb_index_branch(index, out, err));
}

/* ---- looking ---- */

static grebe_status get(grebe_index *index, const grebe_value *key,
                        grebe_document *document, int *found,
                        grebe_error *err) {
    bool changed;
    grebe_status status = grb_index_refresh(index, &changed, err);
    if (status != GREBE_OK) return status;
    return grb_writer_get(index->writer, key, document, found, err);
}

grebe_status grebe_index_get(grebe_index *index, const grebe_value *key,
                             grebe_document *document, int *found,
                             grebe_error *err) {
    if (!key || !found) return argument_missing(err);
    INDEX_CALL(index, get(index, key, document, found, err));
}

static grebe_status numbers_read(grebe_index *index, uint64_t *count,
                                 uint64_t *number, grebe_error *err) {
    grb_snapshot *s;
    grebe_status status = grb_index_view(index, &s, err);
    if (status != GREBE_OK) return status;
    if (count) *count = s->live;
    if (number) *number = s->number;
    grb_snapshot_release(s);
    return GREBE_OK;
}

grebe_status grebe_index_count(grebe_index *index, uint64_t *count,
                               grebe_error *err) {
    if (!count) return argument_missing(err);
    INDEX_CALL(index, numbers_read(index, count, NULL, err));
}

grebe_status grebe_index_commit_number(grebe_index *index, uint64_t *number,
                                       grebe_error *err) {
    if (!number) return argument_missing(err);
    INDEX_CALL(index, numbers_read(index, NULL, number, err));
}

static grebe_status refresh(grebe_index *index, int *changed,
                            grebe_error *err) {
    bool any = false;
    grebe_status status = grb_index_refresh(index, &any, err);
    if (changed) *changed = any;
    return status;
}

grebe_status grebe_index_refresh(grebe_index *index, int *changed,
                                 grebe_error *err) {
    INDEX_CALL(index, refresh(index, changed, err));
}

grebe_status grebe_index_stats_read(grebe_index *index, grebe_index_stats *out,
                                    grebe_error *err) {
    if (!out) return argument_missing(err);
    INDEX_CALL(index, grb_index_stats(index, out, err));
}

grebe_status grebe_index_analyze(grebe_index *index, const char *field,
                                 const char *text, size_t size,
                                 grebe_token_visit visit, void *context,
                                 grebe_error *err) {
    if (!field || (!text && size) || !visit) return argument_missing(err);
    grb_analysis_request request = {field, text ? text : "", size, visit,
                                    context};
    INDEX_CALL(index, grb_index_analyze(index, &request, err));
}

grebe_status grebe_index_terms(grebe_index *index, const char *field,
                               const char *prefix, size_t size, uint64_t limit,
                               grebe_term_visit visit, void *context,
                               grebe_error *err) {
    if (!field || !visit || (!prefix && size)) return argument_missing(err);
    grb_terms_request request = {field, prefix, size, limit, visit, context};
    INDEX_CALL(index, grb_index_terms(index, &request, err));
}

/* ---- searching ---- */

static grebe_status searcher_new(grebe_index *index, uint64_t since,
                                 grebe_searcher **out, grebe_error *err) {
    grb_snapshot *s;
    grebe_status status = grb_index_view(index, &s, err);
    if (status != GREBE_OK) return status;
    if (s->number < since)
        status = grb_error(err, GREBE_CONFLICT,
                           "commit %llu is not visible yet, the last is %llu",
                           (unsigned long long)since,
                           (unsigned long long)s->number);
    if (status == GREBE_OK)
        status = grb_searcher_new(index->engine->counters, s, out, err);
    if (status != GREBE_OK) grb_snapshot_release(s);
    return status;
}

grebe_status grebe_index_searcher(grebe_index *index, uint64_t since,
                                  grebe_searcher **out, grebe_error *err) {
    if (!out) return argument_missing(err);
    *out = NULL;
    INDEX_CALL(index, searcher_new(index, since, out, err));
}

static grebe_status searcher_uncommitted(grebe_index *index,
                                         grebe_searcher **out,
                                         grebe_error *err) {
    grb_snapshot *s;
    grebe_status status = grb_writer_private(index->writer, &s, err);
    if (status != GREBE_OK) return status;
    status = grb_searcher_new(index->engine->counters, s, out, err);
    if (status != GREBE_OK) grb_snapshot_release(s);
    return status;
}

grebe_status grebe_index_searcher_uncommitted(grebe_index *index,
                                              grebe_searcher **out,
                                              grebe_error *err) {
    if (!out) return argument_missing(err);
    *out = NULL;
    INDEX_CALL(index, searcher_uncommitted(index, out, err));
}

static grebe_status index_search(grebe_index *index,
                                 const grebe_search_request *request,
                                 grebe_hits **out, grebe_error *err) {
    grebe_searcher searcher = {.counters = index->engine->counters};
    grebe_status status = grb_index_view(index, &searcher.snapshot, err);
    if (status != GREBE_OK) return status;
    status = grb_search(&searcher, request, out, err);
    grb_snapshot_release(searcher.snapshot);
    return status;
}

grebe_status grebe_index_search(grebe_index *index,
                                const grebe_search_request *request,
                                grebe_hits **out, grebe_error *err) {
    if (!request || !out) return argument_missing(err);
    *out = NULL;
    INDEX_CALL(index, index_search(index, request, out, err));
}

/* ---- folders ---- */

grebe_status grebe_check(const char *path, grebe_line_visit visit,
                         void *context, grebe_error *err) {
    if (!path) return argument_missing(err);
    return grb_index_check(path, visit, context, err);
}

int grebe_exists(const char *path) {
    return path && grb_index_exists(path);
}
