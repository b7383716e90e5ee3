/* store/folder.c - a directory that is a folder of the operating system.
 *
 * Files are opened by path each time, so that an idle index holds no
 * descriptor but its lock. The path is made absolute when the folder is
 * opened: a host that changes its working directory must not move an index.
 *
 * Invariant: every descriptor is close-on-exec and above 2; interrupted and
 * short calls are carried on; an error names the file and has errno.
 * Threads: any, on different files; one file by one thread at a time.
 * Owns: descriptors of files; the lock is in lock.c, mappings in region.c and
 * signal.c.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/folder.h"

#define SIGNED_SIZE_MAX ((size_t)1 << 30) /* of one read or write call */

typedef struct folder_file {
    grb_file file;
    int fd;
} folder_file;

static int file_fd(const grb_file *f) {
    return ((const folder_file *)f)->fd;
}

/* ---- helpers of the room ---- */

grebe_status grb_folder_path(const grb_directory *d, const char *name,
                             char out[GRB_FOLDER_PATH_SIZE],
                             grebe_error *err) {
    size_t size = strlen(name), folder = strlen(d->path);
    if (size >= sizeof(((grb_file *)0)->name))
        return grb_error(err, GREBE_LIMIT,
                         "a file name of %zu bytes, the limit is %zu", size,
                         sizeof(((grb_file *)0)->name) - 1);
    memcpy(out, d->path, folder);
    out[folder] = '/';
    memcpy(out + folder + 1, name, size + 1);
    return GREBE_OK;
}

int grb_fd_open(const char *path, int flags) {
    int fd;
    do fd = open(path, flags | O_CLOEXEC, 0666);
    while (fd < 0 && errno == EINTR);
    if (fd < 0 || fd > 2) return fd;
    int high = fcntl(fd, F_DUPFD_CLOEXEC, 3), saved = errno;
    close(fd);
    errno = saved;
    return high;
}

grebe_status grb_folder_error(grebe_error *err, int os_error, const char *name,
                              const char *what, bool writing) {
    grebe_status status = grb_error_storage(err, os_error, name, what);
    if (os_error == ENOENT)
        status = GREBE_NOT_FOUND;
    else if (writing &&
             (os_error == EROFS || os_error == EACCES || os_error == EPERM))
        status = GREBE_READ_ONLY;
    if (err) err->status = status;
    return status;
}

int grb_fd_read(int fd, uint64_t at, void *out, size_t size, size_t *got) {
    size_t done = 0;
    while (done < size) {
        size_t part = GRB_MIN(size - done, SIGNED_SIZE_MAX);
        ssize_t n = pread(fd, (char *)out + done, part, (off_t)(at + done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno;
        if (n == 0) break;
        done += (size_t)n;
    }
    *got = done;
    return 0;
}

/* ---- files ---- */

static grebe_status file_open(grb_directory *d, const char *name, bool create,
                              bool writable, grb_file **out,
                              grebe_error *err) {
    grebe_status status = GREBE_OK;
    char path[GRB_FOLDER_PATH_SIZE];
    folder_file *f = NULL;
    GRB_TRY(grb_folder_path(d, name, path, err));
    f = grb_alloc_zero(d->allocator, sizeof *f);
    if (!f) return grb_error_memory(err, sizeof *f);
    int flags = writable || create ? O_RDWR : O_RDONLY;
    f->fd = grb_fd_open(path, create ? flags | O_CREAT | O_EXCL : flags);
    if (f->fd < 0) {
        status = grb_folder_error(err, errno, name, "open", writable);
        goto done;
    }
    f->file.directory = d;
    memcpy(f->file.name, name, strlen(name) + 1);
    *out = &f->file;
done:
    if (status != GREBE_OK && f) grb_free(d->allocator, f, sizeof *f);
    return status;
}

static grebe_status file_read(grb_file *f, uint64_t at, void *out, size_t size,
                              size_t *got, grebe_error *err) {
    int os_error = grb_fd_read(file_fd(f), at, out, size, got);
    if (!os_error) return GREBE_OK;
    return grb_folder_error(err, os_error, f->name, "read", false);
}

static grebe_status file_write(grb_file *f, uint64_t at, const void *bytes,
                               size_t size, grebe_error *err) {
    size_t done = 0;
    while (done < size) {
        size_t part = GRB_MIN(size - done, SIGNED_SIZE_MAX);
        ssize_t n = pwrite(file_fd(f), (const char *)bytes + done, part,
                           (off_t)(at + done));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0)
            return grb_folder_error(err, n ? errno : EIO, f->name, "write",
                                    true);
        done += (size_t)n;
    }
    atomic_fetch_add_explicit(&f->directory->bytes_written, size,
                              memory_order_relaxed);
    return GREBE_OK;
}

static grebe_status file_size(grb_file *f, uint64_t *size, grebe_error *err) {
    struct stat st;
    if (fstat(file_fd(f), &st) != 0)
        return grb_folder_error(err, errno, f->name, "stat", false);
    *size = (uint64_t)st.st_size;
    return GREBE_OK;
}

static grebe_status file_truncate(grb_file *f, uint64_t size,
                                  grebe_error *err) {
    int rc;
    do rc = ftruncate(file_fd(f), (off_t)size);
    while (rc != 0 && errno == EINTR);
    if (rc == 0) return GREBE_OK;
    return grb_folder_error(err, errno, f->name, "truncate", true);
}

/* EINTR means that the wait ended early, not that a write failed: only that
 * is asked again, a failed sync never. */
static grebe_status file_sync(grb_file *f, grebe_error *err) {
    int rc;
    do rc = fdatasync(file_fd(f));
    while (rc != 0 && errno == EINTR);
    if (rc == 0) return GREBE_OK;
    return grb_error_storage(err, errno, f->name, "sync");
}

static void file_close(grb_file *f) {
    const grebe_allocator *a = f->directory->allocator;
    close(file_fd(f));
    grb_free(a, f, sizeof(folder_file));
}

/* ---- the folder itself ---- */

static grebe_status folder_remove(grb_directory *d, const char *name,
                                  grebe_error *err) {
    grebe_status status = GREBE_OK;
    char path[GRB_FOLDER_PATH_SIZE];
    GRB_TRY(grb_folder_path(d, name, path, err));
    if (unlink(path) != 0)
        status = grb_folder_error(err, errno, name, "remove", true);
done:
    return status;
}

static grebe_status folder_rename(grb_directory *d, const char *from,
                                  const char *to, grebe_error *err) {
    grebe_status status = GREBE_OK;
    char path[GRB_FOLDER_PATH_SIZE], target[GRB_FOLDER_PATH_SIZE];
    GRB_TRY(grb_folder_path(d, from, path, err));
    GRB_TRY(grb_folder_path(d, to, target, err));
    if (rename(path, target) != 0)
        status = grb_folder_error(err, errno, from, "rename", true);
done:
    return status;
}

static grebe_status folder_list(grb_directory *d,
                                void (*visit)(void *context, const char *name),
                                void *context, grebe_error *err) {
    int fd = grb_fd_open(d->path, O_RDONLY | O_DIRECTORY);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        int os_error = errno;
        if (fd >= 0) close(fd);
        return grb_folder_error(err, os_error, d->path, "list", false);
    }
    struct dirent *entry;
    while ((void)(errno = 0), (entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0) continue;
        if (strcmp(entry->d_name, "..") == 0) continue;
        visit(context, entry->d_name);
    }
    int os_error = errno;
    closedir(dir);
    if (!os_error) return GREBE_OK;
    return grb_folder_error(err, os_error, d->path, "list", false);
}

/* File systems that cannot sync a folder say EINVAL; they keep names by
 * themselves. */
static grebe_status folder_sync(grb_directory *d, grebe_error *err) {
    int fd = grb_fd_open(d->path, O_RDONLY | O_DIRECTORY), rc;
    if (fd < 0)
        return grb_folder_error(err, errno, d->path, "open folder", false);
    do rc = fsync(fd);
    while (rc != 0 && errno == EINTR);
    int os_error = rc == 0 || errno == EINVAL ? 0 : errno;
    close(fd);
    if (!os_error) return GREBE_OK;
    return grb_error_storage(err, os_error, d->path, "sync folder");
}

static void folder_destroy(grb_directory *d) {
    grb_folder_signal_close((grb_folder *)d);
    grb_free(d->allocator, d, sizeof(grb_folder));
}

static const grb_directory_ops folder_ops = {
    .destroy = folder_destroy,
    .file_open = file_open,
    .file_read = file_read,
    .file_write = file_write,
    .file_size = file_size,
    .file_truncate = file_truncate,
    .file_sync = file_sync,
    .file_close = file_close,
    .region_open = grb_folder_region_open,
    .remove = folder_remove,
    .rename = folder_rename,
    .list = folder_list,
    .sync = folder_sync,
    .lock = grb_folder_lock,
    .unlock = grb_folder_unlock,
    .lock_check = grb_folder_lock_check,
    .signal = grb_folder_signal,
};

/* A folder just made is made durable in its parent by that parent's sync;
 * otherwise the first hard commit could vanish with its folder. */
static grebe_status parent_sync(const char *path, grebe_error *err) {
    char parent[PATH_MAX];
    size_t size = strlen(path);
    while (size > 1 && path[size - 1] != '/') size--;
    if (size > 1) size--;
    memcpy(parent, path, size);
    parent[size] = 0;
    int fd = grb_fd_open(parent, O_RDONLY | O_DIRECTORY);
    if (fd < 0) return GREBE_OK; /* not ours to read: nothing to be done */
    int rc = fsync(fd), os_error = errno;
    close(fd);
    if (rc == 0 || os_error == EINVAL || os_error == EROFS) return GREBE_OK;
    return grb_error_storage(err, os_error, parent, "sync folder");
}

static grebe_status folder_resolve(const char *path, bool create,
                                   grb_folder *folder, grebe_error *err) {
    char absolute[PATH_MAX];
    struct stat st;
    bool made = false;
    if (create && mkdir(path, 0777) == 0)
        made = true;
    else if (create && errno != EEXIST)
        return grb_folder_error(err, errno, path, "make folder", true);
    if (!realpath(path, absolute) || stat(absolute, &st) != 0)
        return grb_folder_error(err, errno, path, "open folder", false);
    if (!S_ISDIR(st.st_mode))
        return grb_error_storage(err, ENOTDIR, path, "open folder");
    if (strlen(absolute) >= sizeof folder->directory.path)
        return grb_error(err, GREBE_LIMIT,
                         "a path of %zu bytes, the limit is %zu",
                         strlen(absolute), sizeof folder->directory.path - 1);
    memcpy(folder->directory.path, absolute, strlen(absolute) + 1);
    folder->device = (uint64_t)st.st_dev;
    folder->inode = (uint64_t)st.st_ino;
    return made ? parent_sync(absolute, err) : GREBE_OK;
}

grebe_status grb_directory_open_folder(const grebe_allocator *a,
                                       const char *path, grebe_store_kind kind,
                                       bool create, grb_directory **out,
                                       grebe_error *err) {
    if (!path || !*path || kind == GREBE_STORE_RAM)
        return grb_error(err, GREBE_ARGUMENT, "a folder needs a path");
    grb_folder *folder = grb_alloc_zero(a, sizeof *folder);
    if (!folder) return grb_error_memory(err, sizeof *folder);
    folder->directory.ops = &folder_ops;
    folder->directory.allocator = a;
    folder->mapped = kind == GREBE_STORE_MMAP;
    folder->lock_fd = -1;
    grebe_status status = folder_resolve(path, create, folder, err);
    if (status != GREBE_OK) {
        grb_free(a, folder, sizeof *folder);
        return status;
    }
    *out = &folder->directory;
    return GREBE_OK;
}
