/* store/folder.h - private to the room: a directory that is a folder. */
#ifndef GRB_FOLDER_H
#define GRB_FOLDER_H

#include <sys/types.h>

#include "store/store.h"

#define GRB_FOLDER_PATH_SIZE (1024 + 1 + 64)

typedef struct grb_folder grb_folder;
struct grb_folder {
    grb_directory directory;
    bool mapped;     /* regions are mapped, else read */
    int lock_fd;     /* -1: not locked by this handle */
    pid_t lock_pid;  /* the process that locked: a forked child must not
                        unlock for its parent */
    uint64_t device; /* of the folder: its name in the process's table */
    uint64_t inode;
    grb_folder *next; /* in that table */
    void *signal;     /* mapping of `signal`, NULL: none */
    bool signal_writable;
};

/* "folder/name" into `out`; LIMIT if the name does not fit a grb_file. */
grebe_status grb_folder_path(const grb_directory *d, const char *name,
                             char out[GRB_FOLDER_PATH_SIZE], grebe_error *err);
/* open(2) without EINTR, close-on-exec, and never descriptor 0, 1 or 2: a host
 * that closed these would write its output into an index. -1 with errno. */
int grb_fd_open(const char *path, int flags);
/* The status of a failed system call: ENOENT is NOT_FOUND; a refusal to write
 * is READ_ONLY if `writing`; the rest is STORAGE. */
grebe_status grb_folder_error(grebe_error *err, int os_error, const char *name,
                              const char *what, bool writing);
/* Reads up to `size` bytes, fewer only at the end of the file. Returns errno,
 * 0 for success. */
int grb_fd_read(int fd, uint64_t at, void *out, size_t size, size_t *got);

grebe_status grb_folder_region_open(grb_directory *d, const char *name,
                                    grb_region **out, grebe_error *err);
grebe_status grb_folder_lock(grb_directory *d, grebe_error *err);
void grb_folder_unlock(grb_directory *d);
grebe_status grb_folder_lock_check(grb_directory *d, grebe_error *err);
_Atomic uint64_t *grb_folder_signal(grb_directory *d, bool writable);
void grb_folder_signal_close(grb_folder *folder);

#endif
