/* base/clock.c - monotonic time for deadlines and timings.
 *
 * Invariant: never goes backwards.
 * Threads: any.
 * Owns: nothing.
 */
#include <time.h>

#include "base/base.h"

uint64_t grb_clock_ns(void) {
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
