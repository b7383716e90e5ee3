/* engine/container.c - named cores, each call a handle of its own.
 *
 * A core's engine is shared by its handles. In a folder it closes with its
 * last handle; in memory the container keeps it, or its content would go.
 *
 * Invariant: every handle given and not yet closed is in its core's list.
 * Threads: one mutex a container; never held while a search runs.
 * Owns: the cores and, in memory, their engines; one pool for all.
 */
#include "engine/container.h"

#include "store/folders.h"
#include <stdio.h>

typedef struct core {
    struct core *next;
    grb_engine *engine;
    grebe_index *handles;
    char name[GREBE_CORE_NAME_MAX + 1];
} core;

struct grebe_container {
    const grebe_allocator *allocator;
    grebe_open_options options;
    pthread_mutex_t mutex;
    grb_pool *pool;
    core *cores;
    bool closed;
    uint32_t mark;         /* of the process that opened it */
    _Atomic uint64_t refs; /* the handle and each open index */
    char path[900];        /* "" in memory */
};

static bool name_valid(const char *name) {
    size_t size = name ? strlen(name) : 0;
    if (size == 0 || size > GREBE_CORE_NAME_MAX) return false;
    for (size_t i = 0; i < size; i++) {
        char c = name[i];
        bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                    (c >= '0' && c <= '9') || c == '_';
        if (!word && (i == 0 || (c != '.' && c != '-'))) return false;
    }
    return true;
}

static grebe_status name_check(const char *name, grebe_error *err) {
    if (name_valid(name)) return GREBE_OK;
    return grb_error(err, GREBE_ARGUMENT,
                     "a core's name is 1 to 64 of A-Z a-z 0-9 _ . - and does "
                     "not begin with . or -: \"%.80s\"",
                     name ? name : "");
}

grebe_status grb_container_open(const char *path,
                                const grebe_open_options *options,
                                grebe_container **out, grebe_error *err) {
    grebe_status status;
    const grebe_allocator *a = options && options->allocator
                                   ? options->allocator
                                   : &grb_allocator_malloc;
    bool memory = !path || strcmp(path, ":memory:") == 0;
    if (!memory && (!path[0] || strlen(path) >= sizeof(*out)->path))
        return grb_error(err, GREBE_ARGUMENT,
                         "the path is empty or longer than 899 bytes");
    grebe_container *c = grb_alloc_zero(a, sizeof *c);
    if (!c) return grb_error_memory(err, sizeof *c);
    c->allocator = a;
    if (options) c->options = *options;
    GRB_TRY(grb_pool_new(a, &c->pool, err));
    if (!memory) {
        if (c->options.mode == GREBE_WRITE)
            GRB_TRY(grb_folder_make(path, err));
        snprintf(c->path, sizeof c->path, "%s", path);
    }
    c->mark = grb_process_mark();
    atomic_init(&c->refs, 1);
    pthread_mutex_init(&c->mutex, NULL);
    grb_handle_born();
    *out = c;
    return GREBE_OK;
done:
    grb_pool_release(c->pool);
    grb_free(a, c, sizeof *c);
    return status;
}

bool grb_container_foreign(const grebe_container *c) {
    return c->mark != grb_process_mark();
}

/* ---- cores ---- */

static core *core_find(grebe_container *c, const char *name) {
    core *k = c->cores;
    while (k && strcmp(k->name, name) != 0) k = k->next;
    return k;
}

static void core_path(const grebe_container *c, const char *name,
                      char out[1024]) {
    snprintf(out, 1024, "%s/%s", c->path, name);
}

static void core_remove(grebe_container *c, core *gone) {
    core **link = &c->cores;
    while (*link != gone) link = &(*link)->next;
    *link = gone->next;
    grb_engine_release(gone->engine);
    grb_free(c->allocator, gone, sizeof *gone);
}

static void container_unref(grebe_container *c) {
    if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1)
        return;
    while (c->cores) core_remove(c, c->cores);
    pthread_mutex_destroy(&c->mutex);
    grb_pool_release(c->pool);
    grb_free(c->allocator, c, sizeof *c);
}

static grebe_status core_open(grebe_container *c, const char *name,
                              grebe_schema *schema, core **out,
                              grebe_error *err) {
    char path[1024];
    core *k = grb_alloc_zero(c->allocator, sizeof *k);
    if (!k) return grb_error_memory(err, sizeof *k);
    core_path(c, name, path);
    grebe_status status =
        grb_engine_open(c->path[0] ? path : NULL, schema, &c->options, c->pool,
                        &k->engine, err);
    if (status != GREBE_OK) {
        grb_free(c->allocator, k, sizeof *k);
        return status;
    }
    snprintf(k->name, sizeof k->name, "%s", name);
    k->next = c->cores;
    c->cores = k;
    *out = k;
    return GREBE_OK;
}

static grebe_status closed_check(const grebe_container *c, grebe_error *err) {
    return c->closed ? grb_error(err, GREBE_CLOSED, "the container is closed")
                     : GREBE_OK;
}

/* A handle of a core, which is opened if it is not; `known`: it was. */
static grebe_status core_handle(grebe_container *c, const char *name,
                                grebe_schema *schema, bool *known,
                                grebe_index **out, grebe_error *err) {
    grebe_status status;
    GRB_TRY(closed_check(c, err));
    GRB_TRY(name_check(name, err));
    core *k = core_find(c, name);
    *known = k != NULL;
    if (!k) GRB_TRY(core_open(c, name, schema, &k, err));
    status = grb_index_new(k->engine, out, err);
    if (status != GREBE_OK) {
        if (!*known) core_remove(c, k);
        return status;
    }
    atomic_fetch_add(&c->refs, 1);
    (*out)->container = c;
    (*out)->next = k->handles;
    (*out)->link = &k->handles;
    if (k->handles) k->handles->link = &(*out)->next;
    k->handles = *out;
done:
    return status;
}

grebe_status grb_container_core(grebe_container *c, const char *name,
                                grebe_schema *schema, grebe_index **out,
                                grebe_error *err) {
    bool known = false;
    grebe_index *index;
    pthread_mutex_lock(&c->mutex);
    grebe_status status = core_handle(c, name, schema, &known, &index, err);
    pthread_mutex_unlock(&c->mutex);
    if (status != GREBE_OK) return status;
    /* Adding fields waits for another thread's batch: not with the mutex. */
    if (known && schema)
        status = grb_writer_ask_schema(index->writer, schema,
                                       c->options.add_fields != 0, err);
    if (status == GREBE_OK) {
        *out = index;
        return status;
    }
    grb_handle_died();
    grb_index_free(index);
    return status;
}

/* Takes a handle off its core; the mutex is held. */
static void handle_unlink(grebe_index *index) {
    *index->link = index->next;
    if (index->next) index->next->link = index->link;
    index->link = NULL;
}

void grb_container_forget(grebe_index *index) {
    grebe_container *c = index->container;
    if (!c) return;
    pthread_mutex_lock(&c->mutex);
    if (index->link) handle_unlink(index);
    for (core *k = c->cores, *next; k; k = next) {
        next = k->next;
        if (!k->handles && c->path[0]) core_remove(c, k);
    }
    pthread_mutex_unlock(&c->mutex);
}

void grb_container_release(grebe_container *c) {
    if (c) container_unref(c);
}

/* ---- names ---- */

typedef struct names {
    const grebe_container *container;
    grb_buf buf; /* pointers to copies, sorted at the end */
    grb_arena arena;
    grebe_error *err;
} names;

static grebe_status name_add(void *context, const char *name) {
    names *n = context;
    char *copy = grb_arena_copy(&n->arena, name, strlen(name) + 1);
    if (!copy) return grb_error_memory(n->err, strlen(name) + 1);
    grb_buf_put(&n->buf, &copy, sizeof copy);
    return n->buf.failed ? grb_error_memory(n->err, n->buf.size) : GREBE_OK;
}

static grebe_status name_add_folder(void *context, const char *name) {
    names *n = context;
    char path[1024];
    core_path(n->container, name, path);
    if (!name_valid(name) || !grb_index_exists(path)) return GREBE_OK;
    return name_add(context, name);
}

static void names_sort(char **items, size_t count) {
    for (size_t i = 1; i < count; i++)
        for (size_t j = i; j > 0 && strcmp(items[j], items[j - 1]) < 0; j--) {
            char *swap = items[j];
            items[j] = items[j - 1];
            items[j - 1] = swap;
        }
}

grebe_status grb_container_names(grebe_container *c, grebe_name_visit visit,
                                 void *context, grebe_error *err) {
    grebe_status status;
    names n = {.container = c, .err = err};
    grb_arena_init(&n.arena, c->allocator, 0);
    grb_buf_init(&n.buf, c->allocator, 0);
    pthread_mutex_lock(&c->mutex);
    status = closed_check(c, err);
    if (status == GREBE_OK && c->path[0])
        status = grb_folder_list(c->path, name_add_folder, &n, err);
    for (core *k = c->cores; status == GREBE_OK && !c->path[0] && k;
         k = k->next)
        status = name_add(&n, k->name);
    pthread_mutex_unlock(&c->mutex);
    size_t count = n.buf.size / sizeof(char *);
    if (status == GREBE_OK && count) {
        char **items = (char **)(void *)n.buf.bytes;
        names_sort(items, count);
        for (size_t i = 0; i < count; i++) visit(context, items[i]);
    }
    grb_buf_deinit(&n.buf);
    grb_arena_deinit(&n.arena);
    return status;
}

bool grb_container_has(grebe_container *c, const char *name) {
    char path[1024];
    if (!name_valid(name)) return false;
    pthread_mutex_lock(&c->mutex);
    core_path(c, name, path);
    bool has = !c->closed &&
               (core_find(c, name) || (c->path[0] && grb_index_exists(path)));
    pthread_mutex_unlock(&c->mutex);
    return has;
}

/* ---- closing and dropping ---- */

/* Closes the handles of a core. */
static grebe_status core_close(core *k, int commit, grebe_error *err) {
    while (k->handles) {
        grebe_index *index = k->handles;
        grebe_status status = grb_index_close(index, commit, err);
        if (status != GREBE_OK) return status;
        handle_unlink(index);
    }
    return GREBE_OK;
}

grebe_status grb_container_drop(grebe_container *c, const char *name,
                                grebe_error *err) {
    grebe_status status;
    char path[1024];
    pthread_mutex_lock(&c->mutex);
    GRB_TRY(closed_check(c, err));
    GRB_TRY(name_check(name, err));
    core *k = core_find(c, name);
    core_path(c, name, path);
    if (!k && !(c->path[0] && grb_index_exists(path))) {
        status = grb_error(err, GREBE_NOT_FOUND, "no core \"%s\"", name);
        goto done;
    }
    if (k) {
        GRB_TRY(core_close(k, 0, err));
        core_remove(c, k);
    }
    if (c->path[0]) status = grb_folder_drop(path, err);
done:
    pthread_mutex_unlock(&c->mutex);
    return status;
}

grebe_status grb_container_close(grebe_container *c, int commit,
                                 grebe_error *err) {
    grebe_status status = GREBE_OK;
    pthread_mutex_lock(&c->mutex);
    while (!c->closed && c->cores) {
        core *k = c->cores;
        GRB_TRY(core_close(k, commit, err));
        if (commit && c->options.mode == GREBE_WRITE)
            GRB_TRY(
                grb_writer_commit(k->engine->writer, GREBE_HARD, NULL, err));
        core_remove(c, k);
    }
    c->closed = true;
done:
    pthread_mutex_unlock(&c->mutex);
    return status;
}

/* A handle in use keeps its core for as long as it is; nothing else does. */
void grb_container_free(grebe_container *c) {
    if (grb_container_close(c, 0, NULL) != GREBE_OK) {
        pthread_mutex_lock(&c->mutex);
        c->closed = true;
        pthread_mutex_unlock(&c->mutex);
    }
    grb_handle_died();
    container_unref(c);
}
