/* engine/index.c - opening an index, and the life of its handles.
 *
 * Opening a folder: lock, root and state, schema compared, log replayed.
 * Anything that fails gives the lock back and leaves the folder as it was.
 *
 * Invariant: a handle's calls are counted; closing succeeds only when none
 * runs, so nothing that a call uses can go away under it.
 * Threads: any. Owns: an engine owns its writer and counters.
 */
#include "engine/engine.h"

/* ---- counters ---- */

grb_counters *grb_counters_new(const grebe_allocator *a,
                               grb_filter_cache *filters) {
    grb_counters *c = grb_alloc_zero(a, sizeof *c);
    if (!c) return NULL;
    atomic_init(&c->refs, 1);
    c->allocator = a;
    c->filters = grb_filter_cache_acquire(filters);
    return c;
}

grb_counters *grb_counters_acquire(grb_counters *c) {
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    return c;
}

void grb_counters_release(grb_counters *c) {
    if (!c ||
        atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1)
        return;
    grb_filter_cache_release(c->filters);
    grb_free(c->allocator, c, sizeof *c);
}

/* ---- opening ---- */

/* Everything an open gathers; what was not handed on is undone. */
typedef struct opening {
    const grebe_allocator *allocator;
    const grebe_open_options *options;
    grb_directory *directory;
    grb_durable *durable;
    bool fresh;           /* just created */
    grebe_schema *schema; /* the index's: stored fields first */
    grb_pool *pool;
    grb_filter_cache *filters;
} opening;

static grebe_status stored_schema_take(opening *o, grebe_error *err) {
    grebe_schema *stored = grb_durable_state(o->durable)->schema;
    o->schema = grb_schema_acquire(stored);
    return grb_stored_schema_settle(stored, err);
}

static grebe_status durable_create(opening *o, const char *path,
                                   grebe_schema *schema, grebe_error *err) {
    if (!schema || o->options->mode == GREBE_READ)
        return grb_error(err, GREBE_NOT_FOUND, "no index in %s%s", path,
                         schema ? "" : ", and no schema to make one");
    grb_state state = {.next_sequence = 1, .unique = true, .schema = schema};
    o->schema = grb_schema_acquire(schema);
    o->fresh = true;
    return grb_durable_create(o->directory, &state, &o->durable, err);
}

static grebe_status folder_open(opening *o, const char *path,
                                grebe_schema *schema, grebe_error *err) {
    grebe_status status;
    bool writing = o->options->mode == GREBE_WRITE, exists;
    if (o->options->store == GREBE_STORE_RAM)
        GRB_TRY(grb_directory_open_ram(o->allocator, &o->directory, err));
    else
        GRB_TRY(grb_directory_open_folder(o->allocator, path,
                                          o->options->store, writing && schema,
                                          &o->directory, err));
    o->directory->sync_off = o->options->durability == GREBE_DURABILITY_NONE;
    /* Without a schema nothing may be made, not even the lock's file. */
    if (writing && schema) GRB_TRY(o->directory->ops->lock(o->directory, err));
    GRB_TRY(grb_durable_exists(o->directory, &exists, err));
    if (writing && !schema && exists)
        GRB_TRY(o->directory->ops->lock(o->directory, err));
    if (!exists) return durable_create(o, path, schema, err);
    GRB_TRY(grb_durable_open(o->directory, writing, &o->durable, err));
    GRB_TRY(stored_schema_take(o, err));
done:
    return status;
}

static void opening_undo(opening *o) {
    if (o->durable) grb_durable_close(o->durable);
    if (o->directory) grb_directory_close(o->directory);
}

static bool path_is_memory(const char *path) {
    return !path || strcmp(path, ":memory:") == 0;
}

grebe_status grb_engine_wrap(const grebe_allocator *a, grb_writer *writer,
                             const char *path, grb_filter_cache *filters,
                             grb_engine **out, grebe_error *err) {
    size_t size = sizeof(grb_engine) + strlen(path) + 1;
    grb_engine *e = grb_alloc_zero(a, size);
    if (!e) return grb_error_memory(err, size);
    e->counters = grb_counters_new(a, filters);
    if (!e->counters) {
        grb_free(a, e, size);
        return grb_error_memory(err, sizeof *e->counters);
    }
    atomic_init(&e->refs, 1);
    e->writer = writer;
    e->size = size;
    memcpy(e->path, path, strlen(path) + 1);
    *out = e;
    return GREBE_OK;
}

grebe_status grb_writer_ask_schema(grb_writer *w, const grebe_schema *asked,
                                   bool add_fields, grebe_error *err) {
    grebe_schema *present = NULL, *merged = NULL;
    grebe_status status;
    GRB_TRY(grb_writer_schema(w, &present, err));
    if (asked == present) goto done;
    GRB_TRY(grb_schema_merge(present, asked, add_fields, &merged, err));
    if (merged->field_count > present->field_count)
        GRB_TRY(grb_writer_add_fields(w, asked, err));
done:
    grb_schema_release(merged);
    grb_schema_release(present);
    return status;
}

/* The schema is compared last: the log may have added fields to it. */
static grebe_status writer_open(opening *o, const grebe_schema *asked,
                                grb_writer **writer, grebe_error *err) {
    grb_writer_setup setup = {.allocator = o->allocator,
                              .options = o->options,
                              .directory = o->directory,
                              .durable = o->durable,
                              .fresh = o->fresh,
                              .schema = o->schema,
                              .pool = o->pool};
    grebe_status status = grb_writer_new(&setup, writer, err);
    if (status != GREBE_OK) return status;
    o->directory = NULL;
    o->durable = NULL;
    if (!asked) return status;
    return grb_writer_ask_schema(*writer, asked, o->options->add_fields != 0,
                                 err);
}

static grebe_status path_check(const char *path, grebe_error *err) {
    if (path_is_memory(path) || (path[0] && strlen(path) < 1000))
        return GREBE_OK;
    return grb_error(err, GREBE_ARGUMENT,
                     path[0] ? "the path is longer than 999 bytes"
                             : "the path is empty");
}

static grebe_status filters_open(opening *o, grebe_error *err) {
    uint64_t most = o->options->filter_cache;
    if (most == GREBE_FILTER_CACHE_NONE) return GREBE_OK;
    if (most == 0) most = GRB_FILTER_CACHE_DEFAULT;
    o->filters = grb_filter_cache_new(o->allocator, most);
    return o->filters ? GREBE_OK : grb_error_memory(err, sizeof(void *));
}

static grebe_status engine_open_once(const char *path, grebe_schema *schema,
                                     const grebe_open_options *options,
                                     grb_pool *pool, grb_engine **out,
                                     bool *again, grebe_error *err) {
    grebe_status status;
    static const grebe_open_options defaults;
    grb_writer *writer = NULL;
    opening o = {.options = options ? options : &defaults};
    bool memory = path_is_memory(path);
    o.allocator =
        o.options->allocator ? o.options->allocator : &grb_allocator_malloc;
    GRB_TRY(path_check(path, err));
    if (schema) grb_schema_freeze(schema);
    if (pool)
        o.pool = grb_pool_acquire(pool);
    else
        GRB_TRY(grb_pool_new(o.allocator, &o.pool, err));
    if (!memory || o.options->store == GREBE_STORE_RAM)
        GRB_TRY(folder_open(&o, memory ? ":memory:" : path, schema, err));
    else if (schema)
        o.schema = grb_schema_acquire(schema);
    else
        GRB_TRY(grb_error(err, GREBE_NOT_FOUND,
                          "an index in memory needs a schema"));
    GRB_TRY(filters_open(&o, err));
    GRB_TRY(writer_open(&o, schema, &writer, err));
    GRB_TRY(grb_engine_wrap(o.allocator, writer, memory ? "" : path, o.filters,
                            out, err));
done:
    if (status != GREBE_OK && writer) {
        grb_writer_end(writer);
        grb_writer_release(writer);
    }
    *again = status != GREBE_OK && o.durable &&
             o.options->mode == GREBE_READ &&
             grb_reader_overtaken(o.durable, status);
    opening_undo(&o);
    grb_schema_release(o.schema);
    grb_pool_release(o.pool);
    grb_filter_cache_release(o.filters);
    return status;
}

grebe_status grb_engine_open(const char *path, grebe_schema *schema,
                             const grebe_open_options *options, grb_pool *pool,
                             grb_engine **out, grebe_error *err) {
    grebe_status status = GREBE_OK;
    bool again = true;
    for (int i = 0; again && i < GRB_READER_TRIES; i++)
        status =
            engine_open_once(path, schema, options, pool, out, &again, err);
    return status;
}

grb_engine *grb_engine_acquire(grb_engine *e) {
    atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
    return e;
}

void grb_engine_release(grb_engine *e) {
    if (!e ||
        atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) != 1)
        return;
    grb_counters *counters = e->counters;
    grb_writer_end(e->writer);
    grb_writer_release(e->writer);
    grb_free(counters->allocator, e, e->size);
    grb_counters_release(counters);
}

/* ---- handles ---- */

grebe_status grb_index_new(grb_engine *engine, grebe_index **out,
                           grebe_error *err) {
    const grebe_allocator *a = engine->counters->allocator;
    size_t size = sizeof(grebe_index) + strlen(engine->path) + 1;
    grebe_index *index = grb_alloc_zero(a, size);
    if (!index) return grb_error_memory(err, size);
    index->engine = grb_engine_acquire(engine);
    index->writer = engine->writer;
    index->mark = grb_process_mark();
    index->allocator = a;
    index->size = size;
    memcpy(index->path, engine->path, strlen(engine->path) + 1);
    grb_handle_born();
    *out = index;
    return GREBE_OK;
}

/* Nothing runs on the handle, nothing will. */
static void index_free_now(grebe_index *index) {
    if (index->engine) grb_writer_batch_drop(index->writer, index);
    grb_engine_release(index->engine);
    grb_container_release(index->container);
    grb_free(index->allocator, index, index->size);
}

void grb_index_free(grebe_index *index) {
    grb_container_forget(index);
    if (index->engine) grb_writer_batch_drop(index->writer, index);
    uint32_t before =
        atomic_fetch_or(&index->calls, GRB_HANDLE_CLOSED | GRB_HANDLE_FREED);
    if ((before & ~GRB_HANDLE_CLOSED) == 0) index_free_now(index);
}

bool grb_index_closed(const grebe_index *index) {
    return atomic_load(&((grebe_index *)index)->calls) & GRB_HANDLE_CLOSED;
}

bool grb_index_foreign(const grebe_index *index) {
    return index->mark != grb_process_mark();
}

grebe_status grb_index_enter(grebe_index *index, grebe_error *err) {
    if (!index) return grb_error(err, GREBE_ARGUMENT, "the index is NULL");
    if (GRB_UNLIKELY(grb_index_foreign(index)))
        return grb_error(err, GREBE_FORKED,
                         "the index was opened before the process forked: "
                         "open it in the child");
    uint32_t before = atomic_fetch_add(&index->calls, 1);
    if (GRB_LIKELY(!(before & GRB_HANDLE_CLOSED))) return GREBE_OK;
    grb_index_leave(index);
    return grb_error(err, GREBE_CLOSED, "the index is closed");
}

void grb_index_leave(grebe_index *index) {
    uint32_t before = atomic_fetch_sub(&index->calls, 1);
    if (GRB_UNLIKELY(before == (GRB_HANDLE_CLOSED | GRB_HANDLE_FREED | 1)))
        index_free_now(index);
}

static bool writer_in_batch(grb_writer *w) {
    pthread_mutex_lock(&w->mutex);
    bool in_batch = w->in_batch;
    pthread_mutex_unlock(&w->mutex);
    return in_batch;
}

/* The closing call is the only one that runs when the flag is set. */
static grebe_status close_entered(grebe_index *index, int commit,
                                  grebe_error *err) {
    grebe_status status = GREBE_OK;
    grb_writer *w = index->writer;
    uint32_t alone = 1;
    if (writer_in_batch(w))
        return grb_error(err, GREBE_STATE, "close inside a batch");
    if (commit && w->options.mode == GREBE_WRITE)
        status = grb_writer_commit(w, GREBE_HARD, NULL, err);
    if (status != GREBE_OK) return status;
    if (!atomic_compare_exchange_strong(&index->calls, &alone,
                                        GRB_HANDLE_CLOSED | 1))
        return grb_error(err, GREBE_STATE,
                         "close while another call on this index runs");
    grb_engine_release(index->engine);
    index->engine = NULL;
    return GREBE_OK;
}

grebe_status grb_index_close(grebe_index *index, int commit,
                             grebe_error *err) {
    if (!grb_index_foreign(index) && grb_index_closed(index)) return GREBE_OK;
    grebe_status status = grb_index_enter(index, err);
    if (status == GREBE_CLOSED) return GREBE_OK; /* by another thread, now */
    if (status != GREBE_OK) return status;
    status = close_entered(index, commit, err);
    grb_index_leave(index);
    return status;
}

grebe_status grb_searcher_new(grb_counters *counters, grb_snapshot *snapshot,
                              grebe_searcher **out, grebe_error *err) {
    grebe_searcher *s = grb_alloc(counters->allocator, sizeof *s);
    if (!s) return grb_error_memory(err, sizeof *s);
    atomic_init(&s->refs, 1);
    s->counters = grb_counters_acquire(counters);
    s->snapshot = snapshot;
    grb_handle_born();
    *out = s;
    return GREBE_OK;
}
