/* store/lock.c - one writer a folder.
 *
 * Between processes: an open-file-description lock on `write.lock`. It goes
 * with its descriptor, so a dead process leaves none, and unlike a record lock
 * it does not fall when some other descriptor of the file is closed. Inside
 * the process: a table by device and inode of the folder, because the same
 * folder may be named by several paths. The text in the file only serves the
 * message: process, its start time and host (ids repeat between containers).
 *
 * Invariant: lock_fd >= 0 if and only if the handle is in the table. The file
 * is never removed: removing it would let two processes lock two files.
 * Threads: any; one mutex around the table, never held across a blocking call
 * and taken around fork, so that a child finds it free.
 * Owns: lock_fd; `write.lock`:
 *   "pid N\nstart N\nhost NAME\n", blanks up to 128 bytes, not durable, not
 *   trusted; of one size, because cutting a file costs a flush on ext4.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "store/folder.h"

#define LOCK_NAME "write.lock"
#define LOCK_TEXT_SIZE 256
#define LOCK_FILE_SIZE 128
#define OWNER_WAIT_COUNT 20 /* ms for an owner to write its name */

typedef struct lock_owner {
    int64_t pid; /* 0: unknown */
    uint64_t start;
    char host[65];
} lock_owner;

static pthread_mutex_t table_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t table_once = PTHREAD_ONCE_INIT;
static grb_folder *table;

static void table_enter(void) {
    pthread_mutex_lock(&table_mutex);
}
static void table_leave(void) {
    pthread_mutex_unlock(&table_mutex);
}
static void table_prepare(void) {
    pthread_atfork(table_enter, table_leave, table_leave);
}

/* ---- who ---- */

/* Field 22 of /proc/PID/stat, behind the name in parentheses; 0: no such
 * process or no /proc. */
static uint64_t process_start(int64_t pid) {
    char path[40], text[1024];
    size_t got = 0;
    snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
    int fd = grb_fd_open(path, O_RDONLY);
    if (fd < 0) return 0;
    if (grb_fd_read(fd, 0, text, sizeof text - 1, &got) != 0) got = 0;
    close(fd);
    text[got] = 0;
    const char *at = strrchr(text, ')');
    for (int field = 2; at && field < 22; field++) {
        at = strchr(at, ' ');
        if (at) at++;
    }
    return at ? strtoull(at, NULL, 10) : 0;
}

static void owner_self(lock_owner *owner) {
    memset(owner, 0, sizeof *owner);
    owner->pid = getpid();
    owner->start = process_start(owner->pid);
    if (gethostname(owner->host, sizeof owner->host - 1) != 0)
        owner->host[0] = 0;
}

static void owner_read(int fd, lock_owner *owner) {
    char text[LOCK_TEXT_SIZE];
    size_t got = 0;
    memset(owner, 0, sizeof *owner);
    if (grb_fd_read(fd, 0, text, sizeof text - 1, &got) != 0) return;
    text[got] = 0;
    if (sscanf(text, "pid %" SCNd64 " start %" SCNu64 " host %64s",
               &owner->pid, &owner->start, owner->host) < 2)
        memset(owner, 0, sizeof *owner);
}

/* This process's line for the file, made once a process. */
static void owner_text(char text[LOCK_TEXT_SIZE]) {
    static char kept[LOCK_TEXT_SIZE];
    static pid_t kept_pid;
    lock_owner self;
    table_enter();
    if (kept_pid != getpid()) {
        owner_self(&self);
        memset(kept, ' ', sizeof kept);
        int size = snprintf(kept, sizeof kept,
                            "pid %" PRId64 "\nstart %" PRIu64 "\nhost %s\n",
                            self.pid, self.start, self.host);
        kept[size] = ' ';
        kept_pid = getpid();
    }
    memcpy(text, kept, LOCK_TEXT_SIZE);
    table_leave();
}

/* Only a message hangs on this, so a full disk does not keep anyone out. A
 * process that opens the folder again finds its own name there. */
static void owner_write(int fd) {
    char text[LOCK_TEXT_SIZE], old[LOCK_FILE_SIZE];
    size_t got = 0;
    owner_text(text);
    if (grb_fd_read(fd, 0, old, sizeof old, &got) == 0 && got == sizeof old &&
        memcmp(old, text, sizeof old) == 0)
        return;
    ssize_t put = pwrite(fd, text, LOCK_FILE_SIZE, 0);
    (void)put;
}

/* ---- messages ---- */

static grebe_status locked_here(grebe_error *err) {
    grebe_status status = grb_error(
        err, GREBE_LOCKED,
        "the folder is already open in this process (%ld) for writing",
        (long)getpid());
    if (err) err->pid = getpid();
    return status;
}

/* The owner writes its name just after it locks: wait for that as long as the
 * name there is of a process that has ended. */
static grebe_status locked_elsewhere(int fd, grebe_error *err) {
    lock_owner self, owner;
    bool alive = false;
    owner_self(&self);
    for (int i = 0; i < OWNER_WAIT_COUNT; i++) {
        owner_read(fd, &owner);
        if (owner.pid && strcmp(owner.host, self.host) != 0) break;
        alive = owner.pid && process_start(owner.pid) == owner.start;
        if (alive) break;
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    bool other_host = owner.pid && strcmp(owner.host, self.host) != 0;
    grebe_status status;
    if (!owner.pid)
        status = grb_error(err, GREBE_LOCKED,
                           "the folder is locked by another process");
    else
        status = grb_error(
            err, GREBE_LOCKED,
            "the folder is locked by process %" PRId64 " on %s%s", owner.pid,
            owner.host[0] ? owner.host : "this host",
            alive || other_host ? "" : " (ended; a child of it still runs)");
    if (err) err->pid = owner.pid;
    return status;
}

/* ---- the lock ---- */

static bool path_names_fd(const char *path, int fd) {
    struct stat by_path, by_fd;
    return stat(path, &by_path) == 0 && fstat(fd, &by_fd) == 0 &&
           by_path.st_dev == by_fd.st_dev && by_path.st_ino == by_fd.st_ino;
}

/* Opens and locks; again if the file was replaced in between. */
static grebe_status lock_take(grb_folder *folder, const char *path,
                              grebe_error *err) {
    for (int i = 0; i < 8; i++) {
        int fd = grb_fd_open(path, O_RDWR | O_CREAT);
        if (fd < 0)
            return grb_folder_error(err, errno, LOCK_NAME, "open", true);
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        int rc;
        do rc = fcntl(fd, F_OFD_SETLK, &lock);
        while (rc != 0 && errno == EINTR);
        if (rc == 0 && path_names_fd(path, fd)) {
            folder->lock_fd = fd;
            folder->lock_pid = getpid();
            owner_write(fd);
            return GREBE_OK;
        }
        grebe_status status = GREBE_OK;
        if (rc != 0 && (errno == EAGAIN || errno == EACCES))
            status = locked_elsewhere(fd, err);
        else if (rc != 0)
            status = grb_error_storage(err, errno, LOCK_NAME, "lock");
        close(fd);
        if (status != GREBE_OK) return status;
    }
    return grb_error_storage(err, EBUSY, LOCK_NAME, "lock");
}

static void table_remove(grb_folder *folder) {
    grb_folder **at = &table;
    while (*at && *at != folder) at = &(*at)->next;
    if (*at) *at = folder->next;
}

/* Enters the table first: the place in it is reserved while the file is
 * locked without the mutex. An entry of before a fork is the parent's; the
 * file's lock speaks for it. */
grebe_status grb_folder_lock(grb_directory *d, grebe_error *err) {
    grb_folder *folder = (grb_folder *)d;
    char path[GRB_FOLDER_PATH_SIZE];
    grebe_status status = grb_folder_path(d, LOCK_NAME, path, err);
    if (status != GREBE_OK) return status;
    pthread_once(&table_once, table_prepare);
    pid_t self = getpid();
    bool taken = false;
    table_enter();
    for (grb_folder *f = table; f && !taken; f = f->next)
        taken = f->device == folder->device && f->inode == folder->inode &&
                f->lock_pid == self;
    if (!taken) {
        folder->lock_pid = self;
        folder->next = table;
        table = folder;
    }
    table_leave();
    if (taken) return locked_here(err);
    status = lock_take(folder, path, err);
    if (status != GREBE_OK) {
        table_enter();
        table_remove(folder);
        table_leave();
    }
    return status;
}

/* A forked child holds the parent's lock through its copy of the descriptor:
 * it may close that, but an explicit unlock would free it for both. */
void grb_folder_unlock(grb_directory *d) {
    grb_folder *folder = (grb_folder *)d;
    if (folder->lock_fd < 0) return;
    if (folder->lock_pid == getpid()) {
        struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
        (void)fcntl(folder->lock_fd, F_OFD_SETLK, &lock);
    }
    close(folder->lock_fd);
    folder->lock_fd = -1;
    table_enter();
    table_remove(folder);
    table_leave();
}

grebe_status grb_folder_lock_check(grb_directory *d, grebe_error *err) {
    grb_folder *folder = (grb_folder *)d;
    char path[GRB_FOLDER_PATH_SIZE];
    grebe_status status = grb_folder_path(d, LOCK_NAME, path, err);
    if (status != GREBE_OK) return status;
    if (folder->lock_fd < 0)
        return grb_error(err, GREBE_STATE, "the folder is not locked");
    if (folder->lock_pid != getpid())
        return grb_error(err, GREBE_FORKED, "the lock belongs to process %ld",
                         (long)folder->lock_pid);
    if (path_names_fd(path, folder->lock_fd)) return GREBE_OK;
    return grb_error(err, GREBE_LOCKED,
                     "%s was removed or replaced: another process may be "
                     "writing",
                     LOCK_NAME);
}
