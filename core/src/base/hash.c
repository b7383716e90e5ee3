/* base/hash.c - hashing and unpredictable numbers.
 *
 * Hash tables keyed by document text are seeded per index with grb_random, so
 * that nobody can prepare texts that collide.
 *
 * Invariant: grb_hash depends on bytes and seed alone, on every machine.
 * Threads: any.
 * Owns: nothing.
 */
#include <sys/random.h>
#include <time.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/base.h"

uint64_t grb_hash(const void *bytes, size_t size, uint64_t seed) {
    return XXH3_64bits_withSeed(bytes, size, seed);
}

uint64_t grb_random(void) {
    uint64_t out = 0;
    if (getrandom(&out, sizeof out, 0) == (ssize_t)sizeof out) return out;
    /* A sandbox without the call: clocks, a counter and the addresses that
     * the loader chose. */
    static atomic_uint_fast64_t calls;
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t parts[5] = {(uint64_t)now.tv_sec, (uint64_t)now.tv_nsec,
                         grb_clock_ns(), (uint64_t)(uintptr_t)&now,
                         atomic_fetch_add(&calls, 1)};
    return XXH3_64bits_withSeed(parts, sizeof parts,
                                (uint64_t)(uintptr_t)&calls);
}
