/* tests/vectors/writing.c - verbs that change an index.
 *
 * A verb returns the status of its call; what the call gave is compared only
 * if it was OK.
 */
#include <stdlib.h>
#include <string.h>

#include "runner.h"

static grebe_status index_of(world *w, json_t *step, grebe_index **out) {
    *out = thing_of(w, step)->index;
    if (!*out) vector_fail(w, "there is no index of that name");
    return GREBE_OK;
}

static int overwrite_of(json_t *step) {
    json_t *value = json_object_get(step, "overwrite");
    return !value || json_is_true(value);
}

/* Adds to the index, or, where a step has threads, through a loader. */
typedef struct adding {
    grebe_index *index;
    grebe_loader *loader;
    int overwrite;
} adding;

static grebe_status adding_begin(world *w, json_t *step, adding *to,
                                 grebe_error *err) {
    json_t *threads = json_object_get(step, "threads");
    *to = (adding){.overwrite = overwrite_of(step)};
    index_of(w, step, &to->index);
    if (!threads) return GREBE_OK;
    return grebe_loader_new(to->index, (uint32_t)json_integer_value(threads),
                            to->overwrite, &to->loader, err);
}

static grebe_status document_add(const adding *to, json_t *json,
                                 grebe_error *err) {
    grebe_schema *schema;
    grebe_document *document = NULL;
    grebe_status status = grebe_index_schema(to->index, &schema, err);
    if (status) return status;
    status = document_build(schema, json, &document, err);
    if (!status)
        status = to->loader
                     ? grebe_loader_add(to->loader, document, err)
                     : grebe_index_add(to->index, document, to->overwrite, err);
    grebe_document_free(document);
    grebe_schema_release(schema);
    return status;
}

static json_t *failure_of(size_t place, const grebe_error *err) {
    return json_pack("[iss]", (int)place, err->field,
                     grebe_status_word(err->status));
}

/* Ends a loader. Documents that a vector's loader refuses were all given to
 * it: their numbers are their places. */
static grebe_status adding_end(adding *to, json_t *failures,
                               grebe_error *err) {
    uint64_t place;
    grebe_document *document;
    if (!to->loader) return GREBE_OK;
    grebe_status status = grebe_loader_finish(to->loader, NULL, err);
    while (!status &&
           grebe_loader_refused(to->loader, &place, &document, err)) {
        grebe_document_free(document);
        if (!failures) status = err->status;
        else json_array_append_new(failures, failure_of((size_t)place, err));
    }
    grebe_loader_free(to->loader);
    return status;
}

static grebe_status add_run(world *w, json_t *step, json_t *argument,
                            grebe_error *err) {
    adding to = {.overwrite = overwrite_of(step)};
    index_of(w, step, &to.index);
    return document_add(&to, argument, err);
}

/* {"add_many": [...], "failures": [[place, key or null, word], ...]} */
static grebe_status add_many_run(world *w, json_t *step, json_t *argument,
                                 grebe_error *err) {
    json_t *document, *failures, *wanted = json_object_get(step, "failures");
    adding to;
    size_t i;
    grebe_status status = adding_begin(w, step, &to, err);
    if (status) return status;
    failures = json_array();
    json_array_foreach(argument, i, document) {
        if (document_add(&to, document, err))
            json_array_append_new(failures, failure_of(i, err));
    }
    status = adding_end(&to, failures, err);
    json_t *none = json_array();
    vector_same(w, "failures", wanted ? wanted : none, failures, 0);
    json_decref(none);
    return status;
}

/* {"fill": [from, to, document]} */
static grebe_status fill_run(world *w, json_t *step, json_t *argument,
                             grebe_error *err) {
    json_int_t i = json_integer_value(json_array_get(argument, 0));
    json_int_t to = json_integer_value(json_array_get(argument, 1));
    adding adds;
    grebe_status status = adding_begin(w, step, &adds, err);
    for (; i < to && !status; i++) {
        json_t *document = json_filled(json_array_get(argument, 2), i);
        status = document_add(&adds, document, err);
        json_decref(document);
    }
    grebe_status end = adding_end(&adds, NULL, err);
    return status ? status : end;
}

static void is_compare(world *w, json_t *step, uint64_t count) {
    json_t *wanted = json_object_get(step, "is");
    if (wanted)
        vector_same(w, "count", wanted, json_integer((json_int_t)count), 0);
}

static grebe_status delete_run(world *w, json_t *step, json_t *argument,
                               grebe_error *err) {
    grebe_index *index;
    grebe_value key;
    uint64_t count = 0;
    char *room;
    index_of(w, step, &index);
    if (!value_read(argument, 0, &key, &room)) abort();
    grebe_status status = grebe_index_delete(index, &key, &count, err);
    free(room);
    if (!status) is_compare(w, step, count);
    return status;
}

static grebe_status delete_query_run(world *w, json_t *step, json_t *argument,
                                     grebe_error *err) {
    grebe_index *index;
    grebe_schema *schema;
    grebe_query *query = NULL;
    uint64_t count = 0;
    index_of(w, step, &index);
    grebe_status status = grebe_index_schema(index, &schema, err);
    if (status) return status;
    status = query_build(w, schema, argument, false, &query, err);
    if (!status)
        status = grebe_index_delete_by_query(index, query, &count, err);
    if (!status) is_compare(w, step, count);
    grebe_query_release(query);
    grebe_schema_release(schema);
    return status;
}

static grebe_commit_kind commit_kind(world *w, json_t *word) {
    const char *text = json_string_value(word);
    if (text && strcmp(text, "soft") == 0) return GREBE_SOFT;
    if (text && strcmp(text, "hard") == 0) return GREBE_HARD;
    if (text && strcmp(text, "unseen") == 0) return GREBE_HARD_UNSEEN;
    return w->layout->commit;
}

static void info_compare(world *w, json_t *step, const grebe_commit_info *info,
                         uint64_t before) {
    json_t *wanted = json_object_get(step, "info");
    if (info->changed ? info->number <= before : info->number < before)
        vector_fail(w, "the commit number went from %llu to %llu",
                    (unsigned long long)before,
                    (unsigned long long)info->number);
    if (!wanted) return;
    json_t *got =
        json_pack("{s:I,s:I,s:I,s:b}", "added", (json_int_t)info->added,
                  "deleted", (json_int_t)info->deleted, "syncs",
                  (json_int_t)info->syncs, "changed", info->changed != 0);
    vector_subset(w, "info", wanted, got);
}

/* Merges with an order that turns documents about: falling by the first
 * field that has one, else by their terms. */
static grebe_status layout_order(grebe_index *index, grebe_error *err) {
    char order[GREBE_FIELD_NAME_MAX + 2] = "graph";
    grebe_schema *schema;
    grebe_status status = grebe_index_schema(index, &schema, err);
    if (status) return status;
    for (uint32_t i = 0; i < grebe_schema_count(schema); i++) {
        grebe_field field;
        if (grebe_schema_field(schema, i, &field, NULL) ||
            !(field.flags & GREBE_COLUMN) || (field.flags & GREBE_MANY))
            continue;
        snprintf(order, sizeof order, "-%s", field.name);
        break;
    }
    grebe_schema_release(schema);
    return grebe_index_merge_ordered(index, order, 0, err);
}

/* In the merged layouts everything is one segment before anybody looks. */
static grebe_status layout_merge(world *w, grebe_index *index,
                                 grebe_error *err) {
    grebe_index_stats stats;
    if (w->layout->spread < SPREAD_MERGED || w->in_batch) return GREBE_OK;
    grebe_status status = grebe_index_stats_read(index, &stats, err);
    if (status || !stats.pending) return status;
    return w->layout->spread == SPREAD_ORDERED ? layout_order(index, err)
                                               : grebe_index_merge(index, err);
}

static grebe_status commit_run(world *w, json_t *step, json_t *argument,
                               grebe_error *err) {
    grebe_commit_info info;
    grebe_index *index;
    uint64_t before = 0;
    index_of(w, step, &index);
    grebe_status status = layout_merge(w, index, err);
    if (!status) status = grebe_index_commit_number(index, &before, err);
    if (!status)
        status =
            grebe_index_commit(index, commit_kind(w, argument), &info, err);
    if (!status) info_compare(w, step, &info, before);
    return status;
}

static grebe_status rollback_run(world *w, json_t *step, json_t *argument,
                                 grebe_error *err) {
    grebe_index *index;
    index_of(w, step, &index);
    return grebe_index_rollback(index, err);
}

/* {"batch": [steps], "undo": true} or {"batch": [steps], "commit": "hard"} */
static grebe_status batch_run(world *w, json_t *step, json_t *argument,
                              grebe_error *err) {
    grebe_commit_info info;
    grebe_index *index;
    uint64_t before = 0;
    index_of(w, step, &index);
    grebe_status status = grebe_index_commit_number(index, &before, err);
    if (!status) status = grebe_index_batch_begin(index, err);
    if (status) return status;
    w->in_batch = true;
    steps_run(w, argument);
    w->in_batch = false;
    if (w->failed || json_is_true(json_object_get(step, "undo")))
        return grebe_index_batch_undo(index, err);
    status = grebe_index_batch_end(
        index, commit_kind(w, json_object_get(step, "commit")), &info, err);
    if (!status) info_compare(w, step, &info, before);
    return status;
}

static grebe_status snapshot_run(world *w, json_t *step, json_t *argument,
                                 grebe_error *err) {
    grebe_index *index;
    grebe_snapshot *made;
    index_of(w, step, &index);
    grebe_status status = grebe_index_snapshot(index, &made, err);
    if (status) return status;
    named *thing = thing_make(w, json_string_value(argument));
    grebe_snapshot_free(thing->snapshot);
    thing->snapshot = made;
    return GREBE_OK;
}

static grebe_status restore_run(world *w, json_t *step, json_t *argument,
                                grebe_error *err) {
    grebe_index *index;
    index_of(w, step, &index);
    named *thing = thing_find(w, json_string_value(argument));
    return grebe_index_restore(index, thing->snapshot, err);
}

static grebe_status branch_run(world *w, json_t *step, json_t *argument,
                               grebe_error *err) {
    grebe_index *index, *made;
    index_of(w, step, &index);
    grebe_status status = grebe_index_branch(index, &made, err);
    if (!status) thing_make(w, json_string_value(argument))->index = made;
    return status;
}

static grebe_status merge_run(world *w, json_t *step, json_t *argument,
                              grebe_error *err) {
    grebe_index *index;
    index_of(w, step, &index);
    if (json_is_string(argument))
        return grebe_index_merge_ordered(index, json_string_value(argument), 0,
                                         err);
    return grebe_index_merge(index, err);
}

static grebe_status add_fields_run(world *w, json_t *step, json_t *argument,
                                   grebe_error *err) {
    grebe_index *index;
    grebe_schema *schema;
    index_of(w, step, &index);
    grebe_status status = schema_build(argument, &schema, err);
    if (status) return status;
    status = grebe_index_add_fields(index, schema, err);
    grebe_schema_release(schema);
    return status;
}

grebe_status index_start(world *w, json_t *schema_json, json_t *how,
                         grebe_error *err) {
    static const uint64_t docs_max[] = {0, 2, 3, 3};
    const char *mode = json_string_value(json_object_get(how, "mode"));
    grebe_schema *schema = NULL;
    bool one = w->layout->spread == SPREAD_ONE;
    grebe_open_options options = {
        .docs_max =
            !one && w->docs_max ? w->docs_max : docs_max[w->layout->spread],
        .merging = w->layout->spread == SPREAD_MANY ? GREBE_MERGE_MANUAL
                                                    : GREBE_MERGE_AUTO,
        .mode = mode && *mode == 'r' ? GREBE_READ : GREBE_WRITE,
        .add_fields = json_is_true(json_object_get(how, "add_fields"))};
    grebe_status status = GREBE_OK;
    w->things[0].index = NULL;
    if (json_is_object(schema_json))
        status = schema_build(schema_json, &schema, err);
    if (!status)
        status = grebe_index_open(w->layout->folder ? w->path : NULL, schema,
                                  &options, &w->things[0].index, err);
    grebe_schema_release(schema);
    return status;
}

/* {"reopen": {"commit": true, "schema": {...}, "add_fields": true}} */
static grebe_status reopen_run(world *w, json_t *step, json_t *argument,
                               grebe_error *err) {
    grebe_index **index = &w->things[0].index;
    json_t *commit = json_object_get(argument, "commit");
    if (*index) {
        grebe_status status =
            grebe_index_close(*index, !commit || json_is_true(commit), err);
        if (status) return status;
        grebe_index_free(*index);
    }
    return index_start(w, json_object_get(argument, "schema"), argument, err);
}

static grebe_status close_run(world *w, json_t *step, json_t *argument,
                              grebe_error *err) {
    grebe_index *index;
    index_of(w, step, &index);
    return grebe_index_close(index, json_is_true(argument), err);
}

static json_t *stats_json(const grebe_index_stats *now,
                          const grebe_index_stats *past) {
#define MEMBER(name)                 \
    json_object_set_new(made, #name, \
                        json_integer((json_int_t)(now->name - past->name)))
    json_t *made = json_object();
    MEMBER(docs);
    MEMBER(pending);
    MEMBER(adds);
    MEMBER(deletes);
    MEMBER(soft_commits);
    MEMBER(hard_commits);
    MEMBER(failures);
    MEMBER(syncs);
    MEMBER(tokens);
    MEMBER(terms_skipped);
    MEMBER(searches);
    MEMBER(stored_blocks);
    MEMBER(bytes_written);
    MEMBER(commit_number);
#undef MEMBER
    return made;
}

static grebe_status stats_run(world *w, json_t *step, json_t *argument,
                              grebe_error *err) {
    static const grebe_index_stats zero;
    grebe_index_stats stats;
    grebe_index *index;
    index_of(w, step, &index);
    grebe_status status = grebe_index_stats_read(index, &stats, err);
    if (!status)
        vector_subset(w, "stats", argument, stats_json(&stats, &zero));
    return status;
}

static grebe_status mark_run(world *w, json_t *step, json_t *argument,
                             grebe_error *err) {
    return grebe_index_stats_read(w->things[0].index, &w->mark, err);
}

static grebe_status delta_run(world *w, json_t *step, json_t *argument,
                              grebe_error *err) {
    grebe_index_stats stats;
    grebe_status status =
        grebe_index_stats_read(w->things[0].index, &stats, err);
    if (!status)
        vector_subset(w, "delta", argument, stats_json(&stats, &w->mark));
    return status;
}

const verb verbs_writing[] = {{"add", add_run},
                              {"add_many", add_many_run},
                              {"fill", fill_run},
                              {"delete", delete_run},
                              {"delete_query", delete_query_run},
                              {"commit", commit_run},
                              {"rollback", rollback_run},
                              {"batch", batch_run},
                              {"snapshot", snapshot_run},
                              {"restore", restore_run},
                              {"branch", branch_run},
                              {"merge", merge_run},
                              {"add_fields", add_fields_run},
                              {"reopen", reopen_run},
                              {"close", close_run},
                              {"stats", stats_run},
                              {"mark", mark_run},
                              {"delta", delta_run},
                              {NULL, NULL}};
