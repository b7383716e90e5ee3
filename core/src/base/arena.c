/* base/arena.c - bump allocation freed as one.
 *
 * A batch, a query or a handle allocates hundreds of small things that die
 * together: one pointer is moved per allocation and a few chunks are freed at
 * the end. Chunks double up to 1 MiB, so that their number stays small and a
 * small arena stays small. A request too large for half a chunk gets a chunk
 * of its own behind the open one, whose rest stays usable.
 *
 * Invariant: `chunk` heads the list of all chunks; `at`..`end` is the free
 *   rest of the head; `size` is the sum of all chunks and never above
 *   `size_max` if that is set. Blocks never move.
 * Threads: one at a time; blocks may be read by others once published.
 * Owns: its chunks.
 */
#include "base/base.h"

#define CHUNK_SIZE_MIN ((size_t)1 << 10)
#define CHUNK_SIZE_MAX ((size_t)1 << 20)

struct grb_arena_chunk {
    grb_arena_chunk *next;
    size_t size; /* header included */
};

void grb_arena_init(grb_arena *arena, const grebe_allocator *a,
                    size_t size_max) {
    *arena = (grb_arena){.allocator = a, .size_max = size_max};
}

static grb_arena_chunk *chunk_new(grb_arena *arena, size_t size) {
    if (arena->size_max && size > arena->size_max - arena->size) return NULL;
    grb_arena_chunk *chunk = grb_alloc(arena->allocator, size);
    if (!chunk) return NULL;
    chunk->size = size;
    arena->size += size;
    return chunk;
}

static void chunk_open(grb_arena *arena, grb_arena_chunk *chunk) {
    arena->chunk = chunk;
    arena->at = (char *)(chunk + 1);
    arena->end = (char *)chunk + chunk->size;
}

static char *align_up(char *at, size_t align) {
    return at + (-(uintptr_t)at & (align - 1));
}

/* A chunk for a request that the open one cannot serve. */
static void *arena_alloc_slow(grb_arena *arena, size_t size, size_t align) {
    if (size > SIZE_MAX / 4) return NULL;
    size_t need = sizeof(grb_arena_chunk) + size + align;
    size_t next = arena->size < CHUNK_SIZE_MIN
                      ? CHUNK_SIZE_MIN
                      : GRB_MIN(arena->size, CHUNK_SIZE_MAX);
    if (arena->chunk && need > next / 2) {
        grb_arena_chunk *own = chunk_new(arena, need);
        if (!own) return NULL;
        own->next = arena->chunk->next;
        arena->chunk->next = own;
        return align_up((char *)(own + 1), align);
    }
    grb_arena_chunk *chunk = chunk_new(arena, GRB_MAX(need, next));
    /* Near the ceiling, or short of memory: exactly what is needed. */
    if (!chunk && need < next) chunk = chunk_new(arena, need);
    if (!chunk) return NULL;
    chunk->next = arena->chunk;
    chunk_open(arena, chunk);
    char *block = align_up(arena->at, align);
    arena->at = block + size;
    return block;
}

static inline void *arena_alloc(grb_arena *arena, size_t size, size_t align) {
    size_t pad = -(uintptr_t)arena->at & (align - 1);
    size_t left = (size_t)(arena->end - arena->at);
    if (GRB_UNLIKELY(!arena->at || left < pad || left - pad < size))
        return arena_alloc_slow(arena, size, align);
    char *block = arena->at + pad;
    arena->at = block + size;
    return block;
}

void *grb_arena_alloc(grb_arena *arena, size_t size) {
    return arena_alloc(arena, size, 16);
}

void *grb_arena_zero(grb_arena *arena, size_t size) {
    void *block = arena_alloc(arena, size, 16);
    if (block) memset(block, 0, size);
    return block;
}

void *grb_arena_line(grb_arena *arena, size_t size) {
    return arena_alloc(arena, size, 64);
}

void *grb_arena_copy(grb_arena *arena, const void *bytes, size_t size) {
    void *block = arena_alloc(arena, size, 16);
    if (block && size) memcpy(block, bytes, size);
    return block;
}

void grb_arena_reset(grb_arena *arena) {
    grb_arena_chunk *kept = arena->chunk;
    if (!kept) return;
    for (grb_arena_chunk *c = kept->next; c; c = c->next)
        if (c->size > kept->size) kept = c;
    for (grb_arena_chunk *c = arena->chunk, *next; c; c = next) {
        next = c->next;
        if (c != kept) grb_free(arena->allocator, c, c->size);
    }
    kept->next = NULL;
    arena->size = kept->size;
    chunk_open(arena, kept);
}

void grb_arena_deinit(grb_arena *arena) {
    for (grb_arena_chunk *c = arena->chunk, *next; c; c = next) {
        next = c->next;
        grb_free(arena->allocator, c, c->size);
    }
    arena->chunk = NULL;
    arena->at = arena->end = NULL;
    arena->size = 0;
}
