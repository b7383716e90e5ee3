/* store/region.c - immutable files of a folder, mapped or read.
 *
 * A mapping costs no copy and no descriptor. Where the kernel has no more
 * mappings to give (ENOMEM; 65,530 a process by default) or the medium may
 * fail under a mapping, the file is read into the caller's arena instead: no
 * cache of our own, the kernel has one, and so no lock either.
 *
 * Invariant: what is asked for lies inside the size the file had when it was
 * opened; a region never looks at its directory again, so searchers may
 * outlive the index.
 * Threads: any number of readers of one region.
 * Owns: the mapping, or the descriptor of a read region.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/folder.h"

typedef struct folder_region {
    grb_region region;
    int fd; /* -1: mapped or empty */
} folder_region;

static const uint8_t nothing[8]; /* `bytes` of an empty file */

static grebe_status bounds_check(const grb_region *r, uint64_t at, size_t size,
                                 grebe_error *err) {
    if (at <= r->size && size <= r->size - at) return GREBE_OK;
    return grb_error_corrupt(err, r->name, at,
                             "%zu bytes wanted, the file has %llu", size,
                             (unsigned long long)r->size);
}

static grebe_status mapped_read(grb_region *r, uint64_t at, size_t size,
                                grb_arena *arena, const uint8_t **out,
                                grebe_error *err) {
    grebe_status status = bounds_check(r, at, size, err);
    if (status == GREBE_OK) *out = r->bytes + at;
    return status;
}

static void mapped_forget(grb_region *r) {
    if (r->size)
        (void)madvise((void *)(uintptr_t)r->bytes, (size_t)r->size,
                      MADV_DONTNEED);
}

static void mapped_close(grb_region *r) {
    if (r->size) munmap((void *)(uintptr_t)r->bytes, (size_t)r->size);
    grb_free(r->allocator, r, sizeof(folder_region));
}

static grebe_status pread_read(grb_region *r, uint64_t at, size_t size,
                               grb_arena *arena, const uint8_t **out,
                               grebe_error *err) {
    grebe_status status = bounds_check(r, at, size, err);
    if (status != GREBE_OK) return status;
    size_t got = 0;
    void *bytes = grb_arena_alloc(arena, size ? size : 1);
    if (!bytes) return grb_error_memory(err, size);
    int os_error =
        grb_fd_read(((folder_region *)r)->fd, at, bytes, size, &got);
    if (os_error)
        return grb_folder_error(err, os_error, r->name, "read", false);
    if (got != size)
        return grb_error_corrupt(err, r->name, at + got,
                                 "the file ends here, it had %llu bytes",
                                 (unsigned long long)r->size);
    *out = bytes;
    return GREBE_OK;
}

static void pread_close(grb_region *r) {
    close(((folder_region *)r)->fd);
    grb_free(r->allocator, r, sizeof(folder_region));
}

static const grb_region_ops mapped_ops = {
    .read = mapped_read, .forget = mapped_forget, .close = mapped_close};
static const grb_region_ops pread_ops = {.read = pread_read,
                                         .close = pread_close};

/* Maps `fd` or keeps it; closes it in every other case. */
static int region_attach(folder_region *r, int fd, bool mapped) {
    struct stat st;
    r->fd = -1;
    if (fstat(fd, &st) != 0) {
        int os_error = errno;
        close(fd);
        return os_error;
    }
    r->region.size = (uint64_t)st.st_size;
    r->region.ops = &mapped_ops;
    r->region.bytes = nothing;
    if (r->region.size && mapped) {
        void *bytes =
            mmap(NULL, (size_t)r->region.size, PROT_READ, MAP_SHARED, fd, 0);
        mapped = bytes != MAP_FAILED;
        if (mapped)
            r->region.bytes = bytes;
        else if (errno != ENOMEM && errno != ENODEV) {
            int os_error = errno;
            close(fd);
            return os_error;
        }
    }
    if (r->region.size == 0 || mapped) {
        close(fd);
        return 0;
    }
    r->region.ops = &pread_ops;
    r->region.bytes = NULL;
    r->fd = fd;
    return 0;
}

grebe_status grb_folder_region_open(grb_directory *d, const char *name,
                                    grb_region **out, grebe_error *err) {
    grebe_status status = GREBE_OK;
    char path[GRB_FOLDER_PATH_SIZE];
    folder_region *r = NULL;
    GRB_TRY(grb_folder_path(d, name, path, err));
    r = grb_alloc_zero(d->allocator, sizeof *r);
    if (!r) return grb_error_memory(err, sizeof *r);
    r->region.allocator = d->allocator;
    memcpy(r->region.name, name, strlen(name) + 1);
    int fd = grb_fd_open(path, O_RDONLY);
    int os_error =
        fd < 0 ? errno : region_attach(r, fd, ((grb_folder *)d)->mapped);
    if (os_error) {
        status = grb_folder_error(err, os_error, name, "open", false);
        goto done;
    }
    *out = &r->region;
done:
    if (status != GREBE_OK && r) grb_free(d->allocator, r, sizeof *r);
    return status;
}
