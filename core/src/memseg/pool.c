/* memseg/pool.c - chunks that stay warm between segments.
 *
 * A fresh 64 KiB costs 36 us of page faults and unmapping 32 MiB costs 2 ms;
 * a pooled chunk costs one lock. Chunks come in sizes of 4 KiB to 1 MiB by
 * powers of two; larger ones are not kept.
 *
 * Invariant: what the pool holds is at most GRB_POOL_MAX; only what is above
 *   goes back to the allocator while the pool lives.
 * Threads: any; one mutex, held for a few stores.
 * Owns: the ceiling of warm memory.
 */
#include <pthread.h>

#include "memseg/parts.h"

#define POOL_MAX ((size_t)64 << 20)
#define CLASSES 9u /* 4 KiB << 0 .. 8 */

struct grb_pool {
    _Atomic uint64_t refs;
    const grebe_allocator *allocator;
    pthread_mutex_t mutex;
    size_t held;
    grb_chunk *free[CLASSES];
};

grebe_status grb_pool_new(const grebe_allocator *a, grb_pool **out,
                          grebe_error *err) {
    grb_pool *pool = grb_alloc_zero(a, sizeof *pool);
    if (!pool) return grb_error_memory(err, sizeof *pool);
    if (pthread_mutex_init(&pool->mutex, NULL) != 0) {
        grb_free(a, pool, sizeof *pool);
        return grb_error_memory(err, sizeof *pool);
    }
    atomic_init(&pool->refs, 1);
    pool->allocator = a;
    *out = pool;
    return GREBE_OK;
}

grb_pool *grb_pool_acquire(grb_pool *pool) {
    atomic_fetch_add_explicit(&pool->refs, 1, memory_order_relaxed);
    return pool;
}

static void chunk_free(const grebe_allocator *a, grb_chunk *chunk) {
    grb_free_line(a, chunk, sizeof *chunk + chunk->size);
}

void grb_pool_release(grb_pool *pool) {
    if (!pool ||
        atomic_fetch_sub_explicit(&pool->refs, 1, memory_order_acq_rel) != 1)
        return;
    const grebe_allocator *a = pool->allocator;
    for (uint32_t i = 0; i < CLASSES; i++)
        for (grb_chunk *chunk = pool->free[i], *next; chunk; chunk = next) {
            next = chunk->next;
            chunk_free(a, chunk);
        }
    pthread_mutex_destroy(&pool->mutex);
    grb_free(a, pool, sizeof *pool);
}

const grebe_allocator *grb_pool_allocator(const grb_pool *pool) {
    return pool->allocator;
}

/* The class of chunks of at least `size` bytes; CLASSES: none. */
static uint32_t class_of(size_t size) {
    uint32_t class = 0;
    while (class < CLASSES && GRB_MEM_CHUNK_MIN << class < size) class ++;
    return class;
}

grb_chunk *grb_pool_take(grb_pool *pool, size_t size) {
    uint32_t class = class_of(size);
    grb_chunk *chunk = NULL;
    if (class < CLASSES) {
        size = GRB_MEM_CHUNK_MIN << class;
        pthread_mutex_lock(&pool->mutex);
        chunk = pool->free[class];
        if (chunk) {
            pool->free[class] = chunk->next;
            pool->held -= size;
        }
        pthread_mutex_unlock(&pool->mutex);
    } else if (size > SIZE_MAX - sizeof *chunk - 4096) {
        return NULL;
    }
    if (!chunk) {
        chunk = grb_alloc_line(pool->allocator, sizeof *chunk + size);
        if (!chunk) return NULL;
        chunk->size = size;
    }
    chunk->next = NULL;
    return chunk;
}

void grb_pool_give(grb_pool *pool, grb_chunk *chunks) {
    grb_chunk *above = NULL;
    pthread_mutex_lock(&pool->mutex);
    for (grb_chunk *chunk = chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        uint32_t class = class_of(chunk->size);
        if (class < CLASSES && pool->held + chunk->size <= POOL_MAX) {
            chunk->next = pool->free[class];
            pool->free[class] = chunk;
            pool->held += chunk->size;
        } else {
            chunk->next = above;
            above = chunk;
        }
    }
    pthread_mutex_unlock(&pool->mutex);
    for (grb_chunk *next; above; above = next) {
        next = above->next;
        chunk_free(pool->allocator, above);
    }
}
