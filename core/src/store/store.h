/* store/store.h - the one door to the operating system's files.
 *
 * A directory is flat: names come from the engine. mmap, pread, ram and the
 * tests' fault store stand behind this table. Immutable files are read through
 * grb_region; the log and the root through grb_file.
 */
#ifndef GRB_STORE_H
#define GRB_STORE_H

#include "base/base.h"
#include "grebe/index.h"

typedef struct grb_directory grb_directory;
typedef struct grb_file grb_file;     /* a file open for reading/writing */
typedef struct grb_region grb_region; /* an immutable file open for reading */

typedef struct grb_directory_ops {
    void (*destroy)(grb_directory *d);
    /* create: fails if it exists; otherwise it must exist. */
    grebe_status (*file_open)(grb_directory *d, const char *name, bool create,
                              bool writable, grb_file **out, grebe_error *err);
    grebe_status (*file_read)(grb_file *f, uint64_t at, void *out, size_t size,
                              size_t *got, grebe_error *err);
    grebe_status (*file_write)(grb_file *f, uint64_t at, const void *bytes,
                               size_t size, grebe_error *err);
    grebe_status (*file_size)(grb_file *f, uint64_t *size, grebe_error *err);
    grebe_status (*file_truncate)(grb_file *f, uint64_t size,
                                  grebe_error *err);
    grebe_status (*file_sync)(grb_file *f, grebe_error *err); /* fdatasync */
    void (*file_close)(grb_file *f);
    grebe_status (*region_open)(grb_directory *d, const char *name,
                                grb_region **out, grebe_error *err);
    grebe_status (*remove)(grb_directory *d, const char *name,
                           grebe_error *err);
    grebe_status (*rename)(grb_directory *d, const char *from, const char *to,
                           grebe_error *err);
    grebe_status (*list)(grb_directory *d,
                         void (*visit)(void *context, const char *name),
                         void *context, grebe_error *err);
    grebe_status (*sync)(grb_directory *d, grebe_error *err);
    /* LOCKED with the owner's pid if another process or this one has it. */
    grebe_status (*lock)(grb_directory *d, grebe_error *err);
    void (*unlock)(grb_directory *d);
    /* Still the file that was locked? (checked before hard commits) */
    grebe_status (*lock_check)(grb_directory *d, grebe_error *err);
    /* The shared, never synced 8-byte word of `signal`; NULL if it cannot be
     * mapped (then the root is read instead). */
    _Atomic uint64_t *(*signal)(grb_directory *d, bool writable);
} grb_directory_ops;

struct grb_directory {
    const grb_directory_ops *ops;
    const grebe_allocator *allocator;
    bool sync_off;          /* durability none: syncs do nothing */
    _Atomic uint64_t syncs; /* device syncs asked for (file and directory) */
    _Atomic uint64_t bytes_written;
    char path[1024]; /* "" for ram */
};
struct grb_file {
    grb_directory *directory;
    char name[64];
};

/* An immutable file. `bytes` is the whole file where it is mapped or in ram;
 * for pread it is NULL and grb_region_read copies pages through a small cache.
 */
struct grb_region {
    const struct grb_region_ops *ops;
    const grebe_allocator *allocator;
    const uint8_t *bytes;
    uint64_t size;
    char name[64];
};
typedef struct grb_region_ops {
    /* A pointer to [at, at+size), valid until the region closes (mmap, ram)
     * or, for pread, memory taken from `arena`. */
    grebe_status (*read)(grb_region *r, uint64_t at, size_t size,
                         grb_arena *arena, const uint8_t **out,
                         grebe_error *err);
    /* Gives the memory of pages touched so far back to the system; they are
     * still there. NULL: holds none. */
    void (*forget)(grb_region *r);
    void (*close)(grb_region *r);
} grb_region_ops;

/* Opens (creating the last path component if `create`) a folder. */
grebe_status grb_directory_open_folder(const grebe_allocator *a,
                                       const char *path, grebe_store_kind kind,
                                       bool create, grb_directory **out,
                                       grebe_error *err);
grebe_status grb_directory_open_ram(const grebe_allocator *a,
                                    grb_directory **out, grebe_error *err);
void grb_directory_close(grb_directory *d);

/* Counted and short-circuited by sync_off. */
grebe_status grb_file_sync(grb_file *f, grebe_error *err);
grebe_status grb_directory_sync(grb_directory *d, grebe_error *err);

#endif
