/* strict_allocator.h - counts what is held; aborts on a size that is not the
 * one the block was taken with. Any thread. */
#ifndef STRICT_ALLOCATOR_H
#define STRICT_ALLOCATOR_H

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "grebe/grebe.h"

static _Atomic int64_t strict_held; /* bytes */

static void *strict_resize(void *context, void *block, size_t old_size,
                           size_t new_size) {
    enum { HEAD = 64 }; /* keeps the alignment that malloc gives */
    char *raw = block ? (char *)block - HEAD : NULL;
    (void)context;
    if (raw ? *(size_t *)(void *)raw != old_size : old_size != 0) {
        fprintf(stderr, "a block of %zu bytes given back as %zu\n",
                raw ? *(size_t *)(void *)raw : (size_t)0, old_size);
        abort();
    }
    strict_held += (int64_t)new_size - (int64_t)old_size;
    if (new_size == 0) {
        free(raw);
        return NULL;
    }
    raw = realloc(raw, new_size + HEAD);
    if (!raw) abort();
    *(size_t *)(void *)raw = new_size;
    return raw + HEAD;
}

/* 0 if nothing is held; else says how much. */
static inline int strict_allocator_left(void) {
    if (strict_held == 0) return 0;
    fprintf(stderr, "%lld bytes were not given back\n",
            (long long)strict_held);
    return 1;
}

static const grebe_allocator strict_allocator = {.resize = strict_resize};

#endif
