/* store/signal.c - the word by which a writer tells reading processes.
 *
 * `signal` is a file of 8 KiB, mapped shared, never synced and never trusted:
 * its first 8 bytes say that something was committed. Readers compare it at
 * the begin of a search (1 ns) and read the root only when it moved.
 *
 * Invariant: mapped only where a mapping is coherent between processes (not
 * on network and user-space file systems) and where its bytes are written, so
 * that no full disk can end the process on a page fault.
 * Threads: the word is atomic; opening and closing is the owner's.
 * Owns: the mapping; no descriptor.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "store/folder.h"

#define SIGNAL_SIZE 8192u

static const uint32_t incoherent_magics[] = {
    0x6969u,     /* NFS */
    0xff534d42u, /* CIFS */
    0xfe534d42u, /* SMB2 */
    0x517bu,     /* SMB */
    0x65735546u, /* FUSE */
    0x01021997u, /* 9P */
    0x00c36400u, /* Ceph */
};

static bool fd_coherent(int fd) {
    struct statfs fs;
    if (fstatfs(fd, &fs) != 0) return false;
    for (size_t i = 0; i < GRB_COUNT(incoherent_magics); i++)
        if ((uint32_t)fs.f_type == incoherent_magics[i]) return false;
    return true;
}

/* Bytes really written, not a hole. */
static bool fd_fill(int fd) {
    static const char zeros[SIGNAL_SIZE];
    struct stat st;
    if (fstat(fd, &st) != 0) return false;
    uint64_t at = (uint64_t)st.st_size;
    while (at < SIGNAL_SIZE) {
        ssize_t n = pwrite(fd, zeros, SIGNAL_SIZE - (size_t)at, (off_t)at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += (uint64_t)n;
    }
    return true;
}

static void *signal_map(grb_directory *d, bool writable) {
    char path[GRB_FOLDER_PATH_SIZE];
    struct stat st;
    if (grb_folder_path(d, "signal", path, NULL) != GREBE_OK) return NULL;
    int fd = grb_fd_open(path, writable ? O_RDWR | O_CREAT : O_RDONLY);
    if (fd < 0) return NULL;
    void *map = MAP_FAILED;
    int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    if (fd_coherent(fd) && (!writable || fd_fill(fd)) && fstat(fd, &st) == 0 &&
        st.st_size >= (off_t)SIGNAL_SIZE)
        map = mmap(NULL, SIGNAL_SIZE, protection, MAP_SHARED, fd, 0);
    close(fd);
    return map == MAP_FAILED ? NULL : map;
}

_Atomic uint64_t *grb_folder_signal(grb_directory *d, bool writable) {
    grb_folder *folder = (grb_folder *)d;
    if (folder->signal && writable && !folder->signal_writable)
        grb_folder_signal_close(folder);
    if (!folder->signal) {
        folder->signal = signal_map(d, writable);
        folder->signal_writable = writable;
    }
    return folder->signal;
}

void grb_folder_signal_close(grb_folder *folder) {
    if (folder->signal) munmap(folder->signal, SIGNAL_SIZE);
    folder->signal = NULL;
}
