/* store/ram.c - a directory in memory: the file paths without a disk.
 *
 * Tests of log and files use it, and so does the public "ram" store. The files
 * live as long as the directory object: whoever opens an index on it again
 * finds them.
 *
 * Invariant: bytes that a region shows never change and never move: a write to
 * a file whose bytes a region shares goes to a copy.
 * Threads: any; one mutex around names and bytes, none in regions.
 * Owns: the files' bytes, counted, so that regions outlive the directory.
 */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "store/store.h"

typedef struct ram_bytes {
    _Atomic uint64_t refs;
    const grebe_allocator *allocator;
    size_t capacity;
    uint8_t bytes[];
} ram_bytes;

typedef struct ram_node {
    struct ram_node *next;
    uint32_t opens; /* handles; a removed node lives until the last closes */
    bool removed;
    char name[64];
    uint64_t size;
    ram_bytes *data; /* NULL: empty */
} ram_node;

typedef struct ram_directory {
    grb_directory directory;
    pthread_mutex_t mutex;
    bool locked;
    ram_node *nodes;
    _Atomic uint64_t signal;
} ram_directory;

typedef struct ram_file {
    grb_file file;
    ram_node *node;
} ram_file;

typedef struct ram_region {
    grb_region region;
    ram_bytes *data;
} ram_region;

static ram_directory *ram_enter(grb_directory *d) {
    ram_directory *ram = (ram_directory *)d;
    pthread_mutex_lock(&ram->mutex);
    return ram;
}

static void ram_leave(ram_directory *ram) {
    pthread_mutex_unlock(&ram->mutex);
}

static void bytes_release(ram_bytes *data) {
    if (data && atomic_fetch_sub(&data->refs, 1) == 1)
        grb_free(data->allocator, data, sizeof *data + data->capacity);
}

static void node_free(const grebe_allocator *a, ram_node *node) {
    bytes_release(node->data);
    grb_free(a, node, sizeof *node);
}

static ram_node **node_find(ram_directory *ram, const char *name) {
    ram_node **at = &ram->nodes;
    while (*at && strcmp((*at)->name, name) != 0) at = &(*at)->next;
    return at;
}

/* Takes the node at `at` out of the names. */
static void node_unlink(ram_directory *ram, ram_node **at) {
    ram_node *node = *at;
    *at = node->next;
    node->removed = true;
    if (node->opens == 0) node_free(ram->directory.allocator, node);
}

/* Room for `size` bytes that nobody else sees; zero above the old size. */
static bool node_reserve(const grebe_allocator *a, ram_node *node,
                         uint64_t size) {
    ram_bytes *old = node->data;
    if (old && atomic_load(&old->refs) == 1 && old->capacity >= size)
        return true;
    size_t capacity = old ? old->capacity : 512;
    while (capacity < size) {
        if (capacity > SIZE_MAX / 4) return false;
        capacity *= 2;
    }
    ram_bytes *data = grb_alloc(a, sizeof *data + capacity);
    if (!data) return false;
    atomic_init(&data->refs, 1);
    data->allocator = a;
    data->capacity = capacity;
    if (old) memcpy(data->bytes, old->bytes, (size_t)node->size);
    memset(data->bytes + node->size, 0, capacity - (size_t)node->size);
    bytes_release(old);
    node->data = data;
    return true;
}

/* ---- files ---- */

static grebe_status ram_file_open(grb_directory *d, const char *name,
                                  bool create, bool writable, grb_file **out,
                                  grebe_error *err) {
    grebe_status status = GREBE_OK;
    size_t size = strlen(name);
    ram_node *made = NULL;
    ram_file *f = grb_alloc_zero(d->allocator, sizeof *f);
    if (!f) return grb_error_memory(err, sizeof *f);
    ram_directory *ram = ram_enter(d);
    ram_node *node = *node_find(ram, name);
    if (size >= sizeof node->name)
        status = grb_error(err, GREBE_LIMIT, "a file name of %zu bytes", size);
    else if (create && node)
        status = grb_error_storage(err, EEXIST, name, "open");
    else if (!create && !node)
        status = grb_error(err, GREBE_NOT_FOUND, "no file %s", name);
    else if (create && !(made = grb_alloc_zero(d->allocator, sizeof *made)))
        status = grb_error_memory(err, sizeof *made);
    if (status == GREBE_OK && made) {
        memcpy(made->name, name, size + 1);
        made->next = ram->nodes;
        ram->nodes = node = made;
    }
    if (status == GREBE_OK) {
        f->file.directory = d;
        memcpy(f->file.name, name, size + 1);
        f->node = node;
        node->opens++;
        *out = &f->file;
    }
    ram_leave(ram);
    if (status != GREBE_OK) grb_free(d->allocator, f, sizeof *f);
    return status;
}

static grebe_status ram_file_read(grb_file *f, uint64_t at, void *out,
                                  size_t size, size_t *got, grebe_error *err) {
    ram_directory *ram = ram_enter(f->directory);
    ram_node *node = ((ram_file *)f)->node;
    uint64_t left = at < node->size ? node->size - at : 0;
    *got = (size_t)GRB_MIN((uint64_t)size, left);
    if (*got) memcpy(out, node->data->bytes + at, *got);
    ram_leave(ram);
    return GREBE_OK;
}

static grebe_status ram_file_write(grb_file *f, uint64_t at, const void *bytes,
                                   size_t size, grebe_error *err) {
    grb_directory *d = f->directory;
    ram_directory *ram = ram_enter(d);
    ram_node *node = ((ram_file *)f)->node;
    uint64_t end = at + size;
    bool ok = end >= at &&
              node_reserve(d->allocator, node, GRB_MAX(end, node->size));
    if (ok && size) {
        memcpy(node->data->bytes + at, bytes, size);
        node->size = GRB_MAX(end, node->size);
        atomic_fetch_add(&d->bytes_written, size);
    }
    ram_leave(ram);
    return ok ? GREBE_OK : grb_error_memory(err, size);
}

static grebe_status ram_file_size(grb_file *f, uint64_t *size,
                                  grebe_error *err) {
    ram_directory *ram = ram_enter(f->directory);
    *size = ((ram_file *)f)->node->size;
    ram_leave(ram);
    return GREBE_OK;
}

static grebe_status ram_file_truncate(grb_file *f, uint64_t size,
                                      grebe_error *err) {
    grb_directory *d = f->directory;
    ram_directory *ram = ram_enter(d);
    ram_node *node = ((ram_file *)f)->node;
    bool ok = node_reserve(d->allocator, node, GRB_MAX(size, node->size));
    if (ok && size < node->size)
        memset(node->data->bytes + size, 0, (size_t)(node->size - size));
    if (ok) node->size = size;
    ram_leave(ram);
    return ok ? GREBE_OK : grb_error_memory(err, (size_t)size);
}

static grebe_status ram_file_sync(grb_file *f, grebe_error *err) {
    return GREBE_OK;
}

static void ram_file_close(grb_file *f) {
    grb_directory *d = f->directory;
    ram_directory *ram = ram_enter(d);
    ram_node *node = ((ram_file *)f)->node;
    if (--node->opens == 0 && node->removed) node_free(d->allocator, node);
    ram_leave(ram);
    grb_free(d->allocator, f, sizeof(ram_file));
}

/* ---- regions ---- */

static grebe_status region_read(grb_region *r, uint64_t at, size_t size,
                                grb_arena *arena, const uint8_t **out,
                                grebe_error *err) {
    if (at > r->size || size > r->size - at)
        return grb_error_corrupt(err, r->name, at,
                                 "%zu bytes wanted, the file has %llu", size,
                                 (unsigned long long)r->size);
    *out = r->bytes + at;
    return GREBE_OK;
}

static void region_close(grb_region *r) {
    bytes_release(((ram_region *)r)->data);
    grb_free(r->allocator, r, sizeof(ram_region));
}

static const grb_region_ops region_ops = {.read = region_read,
                                          .close = region_close};

static grebe_status ram_region_open(grb_directory *d, const char *name,
                                    grb_region **out, grebe_error *err) {
    static const uint8_t nothing[8];
    ram_region *r = grb_alloc_zero(d->allocator, sizeof *r);
    if (!r) return grb_error_memory(err, sizeof *r);
    ram_directory *ram = ram_enter(d);
    ram_node *node = *node_find(ram, name);
    if (node) {
        r->data = node->data;
        if (r->data) atomic_fetch_add(&r->data->refs, 1);
        r->region.ops = &region_ops;
        r->region.allocator = d->allocator;
        r->region.bytes = r->data ? r->data->bytes : nothing;
        r->region.size = node->size;
        memcpy(r->region.name, node->name, sizeof node->name);
    }
    ram_leave(ram);
    if (node) {
        *out = &r->region;
        return GREBE_OK;
    }
    grb_free(d->allocator, r, sizeof *r);
    return grb_error(err, GREBE_NOT_FOUND, "no file %s", name);
}

/* ---- names ---- */

static grebe_status ram_remove(grb_directory *d, const char *name,
                               grebe_error *err) {
    ram_directory *ram = ram_enter(d);
    ram_node **at = node_find(ram, name);
    bool found = *at != NULL;
    if (found) node_unlink(ram, at);
    ram_leave(ram);
    return found ? GREBE_OK
                 : grb_error(err, GREBE_NOT_FOUND, "no file %s", name);
}

static grebe_status ram_rename(grb_directory *d, const char *from,
                               const char *to, grebe_error *err) {
    grebe_status status = GREBE_OK;
    if (strlen(to) >= sizeof(((ram_node *)0)->name))
        return grb_error(err, GREBE_LIMIT, "a file name of %zu bytes",
                         strlen(to));
    ram_directory *ram = ram_enter(d);
    ram_node *node = *node_find(ram, from);
    if (!node) {
        status = grb_error(err, GREBE_NOT_FOUND, "no file %s", from);
    } else if (strcmp(from, to) != 0) {
        ram_node **target = node_find(ram, to);
        if (*target) node_unlink(ram, target);
        memcpy(node->name, to, strlen(to) + 1);
    }
    ram_leave(ram);
    return status;
}

/* The names are copied first: `visit` may call the directory. */
static grebe_status ram_list(grb_directory *d,
                             void (*visit)(void *context, const char *name),
                             void *context, grebe_error *err) {
    grb_buf names;
    grb_buf_init(&names, d->allocator, 0);
    ram_directory *ram = ram_enter(d);
    for (ram_node *node = ram->nodes; node; node = node->next)
        grb_buf_put(&names, node->name, strlen(node->name) + 1);
    ram_leave(ram);
    bool failed = names.failed;
    for (size_t at = 0; !failed && at < names.size;
         at += strlen((char *)names.bytes + at) + 1)
        visit(context, (char *)names.bytes + at);
    grb_buf_deinit(&names);
    return failed ? grb_error_memory(err, 0) : GREBE_OK;
}

static grebe_status ram_sync(grb_directory *d, grebe_error *err) {
    return GREBE_OK;
}

static grebe_status ram_lock(grb_directory *d, grebe_error *err) {
    ram_directory *ram = ram_enter(d);
    bool taken = ram->locked;
    ram->locked = true;
    ram_leave(ram);
    if (!taken) return GREBE_OK;
    grebe_status status = grb_error(
        err, GREBE_LOCKED,
        "the directory is already open in this process (%ld) for writing",
        (long)getpid());
    if (err) err->pid = getpid();
    return status;
}

static void ram_unlock(grb_directory *d) {
    ram_directory *ram = ram_enter(d);
    ram->locked = false;
    ram_leave(ram);
}

static grebe_status ram_lock_check(grb_directory *d, grebe_error *err) {
    ram_directory *ram = ram_enter(d);
    bool locked = ram->locked;
    ram_leave(ram);
    if (locked) return GREBE_OK;
    return grb_error(err, GREBE_STATE, "the directory is not locked");
}

static _Atomic uint64_t *ram_signal(grb_directory *d, bool writable) {
    return &((ram_directory *)d)->signal;
}

static void ram_destroy(grb_directory *d) {
    ram_directory *ram = (ram_directory *)d;
    while (ram->nodes) node_unlink(ram, &ram->nodes);
    pthread_mutex_destroy(&ram->mutex);
    grb_free(d->allocator, ram, sizeof *ram);
}

static const grb_directory_ops ram_ops = {
    .destroy = ram_destroy,
    .file_open = ram_file_open,
    .file_read = ram_file_read,
    .file_write = ram_file_write,
    .file_size = ram_file_size,
    .file_truncate = ram_file_truncate,
    .file_sync = ram_file_sync,
    .file_close = ram_file_close,
    .region_open = ram_region_open,
    .remove = ram_remove,
    .rename = ram_rename,
    .list = ram_list,
    .sync = ram_sync,
    .lock = ram_lock,
    .unlock = ram_unlock,
    .lock_check = ram_lock_check,
    .signal = ram_signal,
};

grebe_status grb_directory_open_ram(const grebe_allocator *a,
                                    grb_directory **out, grebe_error *err) {
    ram_directory *ram = grb_alloc_zero(a, sizeof *ram);
    if (!ram) return grb_error_memory(err, sizeof *ram);
    if (pthread_mutex_init(&ram->mutex, NULL) != 0) {
        grb_free(a, ram, sizeof *ram);
        return grb_error_memory(err, sizeof ram->mutex);
    }
    ram->directory.ops = &ram_ops;
    ram->directory.allocator = a;
    *out = &ram->directory;
    return GREBE_OK;
}
