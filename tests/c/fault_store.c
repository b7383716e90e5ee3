/* fault_store.c - see fault_store.h. Uses malloc: it is a test's. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "fault_store.h"

enum { SECTOR_CLEAN, SECTOR_PENDING, SECTOR_LOST };

typedef struct fault_directory {
    grb_directory directory;
    fault_disk *disk;
} fault_directory;
typedef struct fault_handle {
    grb_file file;
    fault_file *data;
} fault_handle;
typedef struct fault_region {
    grb_region region;
    uint8_t *copy;
} fault_region;

uint64_t fault_random(fault_disk *disk, uint64_t below) {
    uint64_t x = (disk->seed += 0x9e3779b97f4a7c15u);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return below ? (x ^ (x >> 31)) % below : x;
}

/* ---- files ---- */

static fault_file *data_new(void) {
    return calloc(1, sizeof(fault_file));
}

static void data_release(fault_file *f) {
    if (!f || --f->refs) return;
    free(f->bytes);
    free(f->durable);
    free(f->state);
    free(f);
}

static void data_reserve(fault_file *f, uint64_t size) {
    if (size <= f->capacity) return;
    size_t old = f->capacity, now = old ? old : 4096;
    while (now < size) now *= 2;
    f->bytes = realloc(f->bytes, now);
    f->durable = realloc(f->durable, now);
    f->state = realloc(f->state, now / FAULT_SECTOR);
    memset(f->bytes + old, 0, now - old);
    memset(f->durable + old, 0, now - old);
    memset(f->state + old / FAULT_SECTOR, 0, (now - old) / FAULT_SECTOR);
    f->capacity = now;
}

/* A sector whose bytes are those of the device already is not pending: a torn
 * write of equal bytes changes nothing. */
static void data_touch(fault_file *f, uint64_t from, uint64_t to) {
    for (uint64_t s = from / FAULT_SECTOR; s * FAULT_SECTOR < to; s++) {
        uint64_t at = s * FAULT_SECTOR;
        bool equal = memcmp(f->bytes + at, f->durable + at, FAULT_SECTOR) == 0;
        f->state[s] = equal && at + FAULT_SECTOR <= f->durable_size
                          ? SECTOR_CLEAN
                          : SECTOR_PENDING;
    }
}

static void data_sync(fault_file *f) {
    for (uint64_t s = 0; s < f->capacity / FAULT_SECTOR; s++)
        if (f->state[s] == SECTOR_PENDING) {
            memcpy(f->durable + s * FAULT_SECTOR, f->bytes + s * FAULT_SECTOR,
                   FAULT_SECTOR);
            f->state[s] = SECTOR_CLEAN;
        }
    f->durable_size = f->size;
}

static void data_sync_fail(fault_file *f) {
    for (uint64_t s = 0; s < f->capacity / FAULT_SECTOR; s++)
        if (f->state[s] == SECTOR_PENDING) f->state[s] = SECTOR_LOST;
}

void fault_file_resize(fault_file *f, uint64_t size) {
    data_reserve(f, size);
    f->size = f->durable_size = size;
}

static void data_crash(fault_disk *disk, fault_file *f) {
    uint64_t low = GRB_MIN(f->size, f->durable_size);
    uint64_t high = GRB_MAX(f->size, f->durable_size);
    for (uint64_t s = 0; s < f->capacity / FAULT_SECTOR; s++) {
        uint8_t *now = f->bytes + s * FAULT_SECTOR;
        uint8_t *was = f->durable + s * FAULT_SECTOR;
        uint64_t chance = fault_random(disk, 5);
        if (f->state[s] == SECTOR_CLEAN) continue;
        if (chance < 2)
            memcpy(now, was, FAULT_SECTOR);
        else if (chance == 2)
            for (size_t i = 0; i < FAULT_SECTOR; i++)
                now[i] = (uint8_t)fault_random(disk, 256);
        memcpy(was, now, FAULT_SECTOR);
        f->state[s] = SECTOR_CLEAN;
    }
    if (high > low) {
        uint64_t pick = fault_random(disk, 3);
        uint64_t between = low + fault_random(disk, high - low);
        f->size = pick == 0 ? low : pick == 1 ? high : between;
        f->durable_size = f->size;
        memset(f->bytes + f->size, 0, f->capacity - f->size);
        memset(f->durable + f->size, 0, f->capacity - f->size);
    }
}

/* ---- names ---- */

static fault_name *names_find(fault_names *names, const char *name) {
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->at[i].name, name) == 0) return &names->at[i];
    return NULL;
}

static void names_drop(fault_names *names, const char *name) {
    fault_name *n = names_find(names, name);
    if (!n) return;
    data_release(n->file);
    *n = names->at[--names->count];
}

static void names_put(fault_names *names, const char *name, fault_file *f) {
    f->refs++;
    names_drop(names, name);
    if (names->count == FAULT_NAMES_MAX) abort();
    fault_name *n = &names->at[names->count++];
    snprintf(n->name, sizeof n->name, "%s", name);
    n->file = f;
}

static void names_clear(fault_names *names) {
    while (names->count) names_drop(names, names->at[0].name);
}

static void names_copy(fault_names *to, fault_names *from) {
    names_clear(to);
    for (size_t i = 0; i < from->count; i++)
        names_put(to, from->at[i].name, from->at[i].file);
}

static void step_apply(fault_names *names, const fault_step *step) {
    fault_name *n = names_find(names, step->name);
    if (step->kind == STEP_CREATE) names_put(names, step->name, step->file);
    if (step->kind == STEP_REMOVE) names_drop(names, step->name);
    if (step->kind == STEP_RENAME && n) {
        fault_file *f = n->file;
        f->refs++;
        names_drop(names, step->name);
        names_put(names, step->to, f);
        data_release(f);
    }
}

static void steps_clear(fault_disk *disk) {
    for (size_t i = 0; i < disk->step_count; i++)
        data_release(disk->steps[i].file);
    disk->step_count = 0;
}

static void step_push(fault_disk *disk, int kind, const char *name,
                      const char *to, fault_file *f) {
    if (disk->step_count == FAULT_STEPS_MAX) abort();
    fault_step *step = &disk->steps[disk->step_count++];
    memset(step, 0, sizeof *step);
    step->kind = kind;
    snprintf(step->name, sizeof step->name, "%s", name);
    snprintf(step->to, sizeof step->to, "%s", to ? to : "");
    step->file = f;
    if (f) f->refs++;
    step_apply(&disk->names, step);
}

/* ---- the disk ---- */

fault_disk *fault_disk_new(uint64_t seed) {
    fault_disk *disk = calloc(1, sizeof *disk);
    disk->seed = seed;
    return disk;
}

void fault_disk_free(fault_disk *disk) {
    names_clear(&disk->names);
    names_clear(&disk->durable);
    steps_clear(disk);
    free(disk);
}

void fault_disk_crash(fault_disk *disk) {
    for (size_t i = 0; i < disk->step_count; i++)
        if (fault_random(disk, 2)) step_apply(&disk->durable, &disk->steps[i]);
    names_copy(&disk->names, &disk->durable);
    steps_clear(disk);
    for (size_t i = 0; i < disk->names.count; i++)
        data_crash(disk, disk->names.at[i].file);
    disk->locked = false;
    disk->fail_at = disk->calls = 0;
    disk->stop_at = disk->sticky = false;
    atomic_store(&disk->signal, 0);
}

fault_file *fault_disk_find(fault_disk *disk, const char *name) {
    fault_name *n = names_find(&disk->names, name);
    return n ? n->file : NULL;
}

fault_disk *fault_disk_copy(const fault_disk *disk) {
    fault_disk *copy = fault_disk_new(disk->seed);
    for (size_t i = 0; i < disk->names.count; i++) {
        const fault_file *from = disk->names.at[i].file;
        fault_file *f = data_new();
        data_reserve(f, from->size);
        memcpy(f->bytes, from->bytes, from->size);
        memcpy(f->durable, from->bytes, from->size);
        f->size = f->durable_size = from->size;
        names_put(&copy->names, disk->names.at[i].name, f);
        names_put(&copy->durable, disk->names.at[i].name, f);
    }
    return copy;
}

/* ---- failing ---- */

/* 0: go on; else the errno to fail with. `stopped` true: the machine is off,
 * calls say OK or EIO as they like, nothing is done. */
static int call_fails(fault_disk *disk, bool writes, bool reads) {
    if (reads && !disk->count_reads) return 0;
    disk->calls++;
    if (!disk->fail_at || disk->calls < disk->fail_at) return 0;
    if (disk->stop_at) return EIO;
    if (disk->calls > disk->fail_at && !disk->sticky) return 0;
    if (disk->kind == FAULT_EIO) return EIO;
    return writes ? ENOSPC : 0;
}

static fault_disk *disk_of(grb_directory *d) {
    return ((fault_directory *)d)->disk;
}

/* ---- the table ---- */

static grebe_status fault_file_open(grb_directory *d, const char *name,
                                    bool create, bool writable, grb_file **out,
                                    grebe_error *err) {
    fault_disk *disk = disk_of(d);
    int os_error = call_fails(disk, create, !create);
    if (os_error) return grb_error_storage(err, os_error, name, "open");
    fault_file *f = fault_disk_find(disk, name);
    if (create && f) return grb_error_storage(err, EEXIST, name, "open");
    if (!create && !f)
        return grb_error(err, GREBE_NOT_FOUND, "no file %s", name);
    if (create) step_push(disk, STEP_CREATE, name, NULL, f = data_new());
    fault_handle *h = grb_alloc_zero(d->allocator, sizeof *h);
    if (!h) return grb_error_memory(err, sizeof *h);
    h->file.directory = d;
    snprintf(h->file.name, sizeof h->file.name, "%s", name);
    h->data = f;
    f->refs++;
    *out = &h->file;
    return GREBE_OK;
}

static grebe_status fault_file_read(grb_file *file, uint64_t at, void *out,
                                    size_t size, size_t *got,
                                    grebe_error *err) {
    fault_file *f = ((fault_handle *)file)->data;
    int os_error = call_fails(disk_of(file->directory), false, true);
    if (os_error) return grb_error_storage(err, os_error, file->name, "read");
    uint64_t left = at < f->size ? f->size - at : 0;
    *got = (size_t)GRB_MIN((uint64_t)size, left);
    if (*got) memcpy(out, f->bytes + at, *got);
    return GREBE_OK;
}

static uint64_t disk_used(fault_disk *disk) {
    uint64_t used = 0;
    for (size_t i = 0; i < disk->names.count; i++)
        used += disk->names.at[i].file->size;
    return used;
}

static void data_write(fault_file *f, uint64_t at, const void *bytes,
                       size_t size) {
    data_reserve(f, at + size);
    memcpy(f->bytes + at, bytes, size);
    f->size = GRB_MAX(f->size, at + size);
    data_touch(f, at, at + size);
}

static grebe_status fault_file_write(grb_file *file, uint64_t at,
                                     const void *bytes, size_t size,
                                     grebe_error *err) {
    fault_file *f = ((fault_handle *)file)->data;
    fault_disk *disk = disk_of(file->directory);
    int os_error = call_fails(disk, true, false);
    /* A failing write may have done any part of it. */
    size_t part = os_error && disk->kind == FAULT_SHORT ? size / 2 : 0;
    if (os_error && disk->stop_at)
        part = fault_random(disk, 2) && disk->calls == disk->fail_at
                   ? fault_random(disk, size + 1)
                   : 0;
    if (!os_error && disk->capacity && at + size > f->size &&
        disk_used(disk) + (at + size - f->size) > disk->capacity)
        os_error = ENOSPC;
    if (!os_error) part = size;
    if (part) data_write(f, at, bytes, part);
    atomic_fetch_add(&file->directory->bytes_written, part);
    if (!os_error) return GREBE_OK;
    return grb_error_storage(err, os_error, file->name, "write");
}

static grebe_status fault_file_size(grb_file *file, uint64_t *size,
                                    grebe_error *err) {
    int os_error = call_fails(disk_of(file->directory), false, true);
    if (os_error) return grb_error_storage(err, os_error, file->name, "stat");
    *size = ((fault_handle *)file)->data->size;
    return GREBE_OK;
}

static grebe_status fault_file_truncate(grb_file *file, uint64_t size,
                                        grebe_error *err) {
    fault_file *f = ((fault_handle *)file)->data;
    int os_error = call_fails(disk_of(file->directory), false, false);
    if (os_error)
        return grb_error_storage(err, os_error, file->name, "truncate");
    data_reserve(f, size);
    if (size < f->size) {
        memset(f->bytes + size, 0, f->size - size);
        data_touch(f, size, f->size);
    }
    f->size = size;
    return GREBE_OK;
}

static grebe_status fault_file_sync(grb_file *file, grebe_error *err) {
    fault_file *f = ((fault_handle *)file)->data;
    fault_disk *disk = disk_of(file->directory);
    int os_error = call_fails(disk, false, false);
    if (os_error) {
        if (!disk->stop_at) data_sync_fail(f);
        return grb_error_storage(err, os_error, file->name, "sync");
    }
    if (!disk->sync_lies) data_sync(f);
    return GREBE_OK;
}

static void fault_file_close(grb_file *file) {
    const grebe_allocator *a = file->directory->allocator;
    data_release(((fault_handle *)file)->data);
    grb_free(a, file, sizeof(fault_handle));
}

static grebe_status fault_region_read(grb_region *r, uint64_t at, size_t size,
                                      grb_arena *arena, const uint8_t **out,
                                      grebe_error *err) {
    if (at > r->size || size > r->size - at)
        return grb_error_corrupt(err, r->name, at, "behind the end");
    *out = r->bytes + at;
    return GREBE_OK;
}

static void fault_region_close(grb_region *r) {
    free(((fault_region *)r)->copy);
    grb_free(r->allocator, r, sizeof(fault_region));
}

static const grb_region_ops fault_region_ops = {
    .read = fault_region_read, .close = fault_region_close};

static grebe_status fault_region_open(grb_directory *d, const char *name,
                                      grb_region **out, grebe_error *err) {
    fault_disk *disk = disk_of(d);
    int os_error = call_fails(disk, false, true);
    if (os_error) return grb_error_storage(err, os_error, name, "open");
    fault_file *f = fault_disk_find(disk, name);
    if (!f) return grb_error(err, GREBE_NOT_FOUND, "no file %s", name);
    fault_region *r = grb_alloc_zero(d->allocator, sizeof *r);
    if (!r) return grb_error_memory(err, sizeof *r);
    r->copy = malloc(f->size + 1);
    if (f->size) memcpy(r->copy, f->bytes, f->size);
    r->region.ops = &fault_region_ops;
    r->region.allocator = d->allocator;
    r->region.bytes = r->copy;
    r->region.size = f->size;
    snprintf(r->region.name, sizeof r->region.name, "%s", name);
    *out = &r->region;
    return GREBE_OK;
}

static grebe_status fault_remove(grb_directory *d, const char *name,
                                 grebe_error *err) {
    fault_disk *disk = disk_of(d);
    int os_error = call_fails(disk, false, false);
    if (os_error) return grb_error_storage(err, os_error, name, "remove");
    if (!fault_disk_find(disk, name))
        return grb_error(err, GREBE_NOT_FOUND, "no file %s", name);
    step_push(disk, STEP_REMOVE, name, NULL, NULL);
    return GREBE_OK;
}

static grebe_status fault_rename(grb_directory *d, const char *from,
                                 const char *to, grebe_error *err) {
    fault_disk *disk = disk_of(d);
    int os_error = call_fails(disk, true, false);
    if (os_error) return grb_error_storage(err, os_error, from, "rename");
    if (!fault_disk_find(disk, from))
        return grb_error(err, GREBE_NOT_FOUND, "no file %s", from);
    step_push(disk, STEP_RENAME, from, to, NULL);
    return GREBE_OK;
}

static grebe_status fault_list(grb_directory *d,
                               void (*visit)(void *context, const char *name),
                               void *context, grebe_error *err) {
    fault_disk *disk = disk_of(d);
    int os_error = call_fails(disk, false, true);
    if (os_error) return grb_error_storage(err, os_error, "", "list");
    for (size_t i = 0; i < disk->names.count; i++)
        visit(context, disk->names.at[i].name);
    return GREBE_OK;
}

static grebe_status fault_sync(grb_directory *d, grebe_error *err) {
    fault_disk *disk = disk_of(d);
    int os_error = call_fails(disk, false, false);
    if (os_error) return grb_error_storage(err, os_error, "", "sync folder");
    if (disk->sync_lies) return GREBE_OK;
    names_copy(&disk->durable, &disk->names);
    steps_clear(disk);
    return GREBE_OK;
}

static grebe_status fault_lock(grb_directory *d, grebe_error *err) {
    if (disk_of(d)->locked) return grb_error(err, GREBE_LOCKED, "locked");
    disk_of(d)->locked = true;
    return GREBE_OK;
}
static void fault_unlock(grb_directory *d) {
    disk_of(d)->locked = false;
}
static grebe_status fault_lock_check(grb_directory *d, grebe_error *err) {
    return GREBE_OK;
}
static _Atomic uint64_t *fault_signal(grb_directory *d, bool writable) {
    return &disk_of(d)->signal;
}
static void fault_destroy(grb_directory *d) {
    grb_free(d->allocator, d, sizeof(fault_directory));
}

static const grb_directory_ops fault_ops = {
    .destroy = fault_destroy,
    .file_open = fault_file_open,
    .file_read = fault_file_read,
    .file_write = fault_file_write,
    .file_size = fault_file_size,
    .file_truncate = fault_file_truncate,
    .file_sync = fault_file_sync,
    .file_close = fault_file_close,
    .region_open = fault_region_open,
    .remove = fault_remove,
    .rename = fault_rename,
    .list = fault_list,
    .sync = fault_sync,
    .lock = fault_lock,
    .unlock = fault_unlock,
    .lock_check = fault_lock_check,
    .signal = fault_signal,
};

grb_directory *fault_directory_open(fault_disk *disk) {
    fault_directory *d = grb_alloc_zero(&grb_allocator_malloc, sizeof *d);
    d->directory.ops = &fault_ops;
    d->directory.allocator = &grb_allocator_malloc;
    d->disk = disk;
    return &d->directory;
}
