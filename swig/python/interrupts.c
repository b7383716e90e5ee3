/* python/interrupts.c - Ctrl-C ends a long search.
 *
 * Python's own SIGINT handler only leaves a note that the interpreter reads
 * between two bytecodes, and a search is inside one. So for the time of a
 * search that may be long, in the main thread, a handler stands in front of
 * Python's: it sets the flag that the search looks at and then calls the
 * other. A search too small to last is not armed and pays nothing.
 *
 * Invariant: outside arm and disarm the process has the handler it had.
 * Threads: arm and disarm in the main thread alone; the handler anywhere.
 * Owns: one cancel flag, kept for the life of the process.
 */
#define _GNU_SOURCE
#include "binding.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif

static grebe_cancel *own;
static grebe_cancel *volatile looked_at;
static volatile sig_atomic_t interrupted;
static struct sigaction before;

static int thread_is_main(void) {
#if defined(__linux__)
    return syscall(SYS_gettid) == getpid();
#elif defined(__APPLE__)
    return pthread_main_np();
#else
    return 0;
#endif
}

static void interrupt_take(int number, siginfo_t *info, void *context) {
    grebe_cancel *cancel = looked_at;
    interrupted = 1;
    if (cancel) grebe_cancel_set(cancel);
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(number, info, context);
    else
        before.sa_handler(number);
}

int grb_py_interrupt_arm(grb_py_interrupt *self, grebe_cancel *given) {
    struct sigaction action;
    self->armed = 0;
    self->given = given;
    self->cancel = given;
    if (looked_at || !thread_is_main()) return 0;
    if (sigaction(SIGINT, NULL, &before)) return 0;
    if (!(before.sa_flags & SA_SIGINFO) &&
        (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN))
        return 0;
    if (!given && !own && grebe_cancel_new(&own, NULL)) {
        PyErr_NoMemory();
        return -1;
    }
    if (!given) {
        grebe_cancel_clear(own);
        self->cancel = own;
    }
    interrupted = 0;
    looked_at = self->cancel;
    action = before;
    action.sa_flags |= SA_SIGINFO;
    action.sa_sigaction = interrupt_take;
    self->armed = sigaction(SIGINT, &action, NULL) == 0;
    if (!self->armed) looked_at = NULL;
    return 0;
}

int grb_py_interrupt_disarm(grb_py_interrupt *self) {
    if (!self->armed) return 0;
    sigaction(SIGINT, &before, NULL);
    looked_at = NULL;
    self->armed = 0;
    if (!interrupted) return 0;
    if (self->given) grebe_cancel_clear(self->given);
    return 1;
}
