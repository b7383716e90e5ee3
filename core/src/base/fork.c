/* base/fork.c - knowing a forked child without a system call.
 *
 * Locks, log and files of an index belong to the process that opened it. A
 * child of fork must notice before it touches any of them, at every entry;
 * getpid costs 140 ns, reading one word of a page that fork wipes 0.3 ns.
 * Where the kernel cannot wipe, a pthread_atfork handler clears the word.
 *
 * Invariant: the word is 1 in the process that loaded the library, 0 in a
 *   child of fork until somebody asks, then a number that no ancestor had.
 * Threads: any.
 * Owns: one page.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/base.h"

static atomic_uint mark_fallback = 1;
static atomic_uint *mark = &mark_fallback;
static atomic_uint mark_last = 1; /* a child starts from its parent's */

static void child_mark(void) {
    atomic_store(&mark_fallback, 0);
}

__attribute__((constructor)) static void mark_map(void) {
#ifdef MADV_WIPEONFORK
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED) {
        if (madvise(page, size, MADV_WIPEONFORK) == 0) {
            mark = page;
            atomic_store(mark, 1);
            return;
        }
        munmap(page, size);
    }
#endif
    pthread_atfork(NULL, NULL, child_mark);
}

/* Two threads of a child may both come here: the first one's number wins. */
static uint32_t mark_renew(void) {
    unsigned none = 0, next = atomic_fetch_add(&mark_last, 1) + 1;
    return atomic_compare_exchange_strong(mark, &none, next) ? next : none;
}

uint32_t grb_process_mark(void) {
    uint32_t now = atomic_load_explicit(mark, memory_order_relaxed);
    return GRB_LIKELY(now != 0) ? now : mark_renew();
}
