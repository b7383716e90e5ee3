/* base/alloc.c - the only caller of malloc, and the count of live handles.
 *
 * All memory goes through the allocator hook with exact sizes on both ends,
 * so that a host can meter it and a test can refuse the n-th request.
 *
 * Invariant: what was allocated with size n is freed with size n; a request
 *   of 0 bytes counts as 1, because the hook reads 0 as "free".
 * Threads: any; the hook must be thread-safe.
 * Owns: the process-wide handle count.
 */
#include <stdlib.h>

#include "base/base.h"

#define LINE 64u /* a cache line */

static void *malloc_resize(void *context, void *block, size_t old_size,
                           size_t new_size) {
    (void)context;
    (void)old_size;
    if (new_size == 0) {
        free(block);
        return NULL;
    }
    return realloc(block, new_size);
}

const grebe_allocator grb_allocator_malloc = {malloc_resize, NULL};

void *grb_alloc(const grebe_allocator *a, size_t size) {
    return a->resize(a->context, NULL, 0, size ? size : 1);
}

void *grb_alloc_zero(const grebe_allocator *a, size_t size) {
    void *block = grb_alloc(a, size);
    if (block) memset(block, 0, size);
    return block;
}

void *grb_resize(const grebe_allocator *a, void *block, size_t old_size,
                 size_t new_size) {
    if (!block) return grb_alloc(a, new_size);
    return a->resize(a->context, block, old_size ? old_size : 1,
                     new_size ? new_size : 1);
}

void grb_free(const grebe_allocator *a, void *block, size_t size) {
    if (block) a->resize(a->context, block, size ? size : 1, 0);
}

/* The distance back to the real block, 1 to 64, stands in the byte before the
 * aligned one. */
void *grb_alloc_line(const grebe_allocator *a, size_t size) {
    if (size > SIZE_MAX - LINE) return NULL;
    char *raw = grb_alloc(a, size + LINE);
    if (!raw) return NULL;
    size_t shift = LINE - ((uintptr_t)raw & (LINE - 1));
    raw[shift - 1] = (char)shift;
    return raw + shift;
}

void grb_free_line(const grebe_allocator *a, void *block, size_t size) {
    if (!block) return;
    char *line = block;
    grb_free(a, line - (unsigned char)line[-1], size + LINE);
}

static atomic_uint_fast64_t handles_live;

void grb_handle_born(void) {
    atomic_fetch_add_explicit(&handles_live, 1, memory_order_relaxed);
}

void grb_handle_died(void) {
    atomic_fetch_sub_explicit(&handles_live, 1, memory_order_relaxed);
}

GREBE_API uint64_t grebe_live_handles(void) {
    return atomic_load_explicit(&handles_live, memory_order_relaxed);
}
