/* api/spare.c - arenas kept warm between searches.
 *
 * A search over a few documents takes a microsecond, but columns and windows
 * want some hundred KiB of scratch: to get that from the system and give it
 * back each time costs ten microseconds of page faults. So a few arenas stay,
 * for the whole process and not for each index, of which there may be ten
 * thousand. An index with an allocator of its own keeps to that.
 *
 * Invariant: a kept arena is empty, has one chunk of at most SPARE_SIZE_MAX
 *   bytes and is owned by exactly one place of the table or one search.
 * Threads: any; a place is taken and filled by one exchange. Threads begin at
 *   different places so as not to share a cache line.
 * Owns: at most SPARE_COUNT arenas.
 */
#include "api/spare.h"

#define SPARE_COUNT 4u
#define SPARE_SIZE_MAX ((size_t)512 << 10)
/* A term query with its window fits. */
#define SPARE_SIZE_MIN ((size_t)24 << 10)

typedef struct spare_place {
    _Alignas(64) _Atomic(char *) memory; /* a grb_arena at its beginning */
} spare_place;

static spare_place places[SPARE_COUNT];
static _Thread_local char thread_mark;

static spare_place *place_at(uint32_t i) {
    uintptr_t thread = (uintptr_t)&thread_mark;
    return &places[((thread >> 12) + i) % SPARE_COUNT];
}

/* An arena of one chunk of this size. */
static bool arena_make(grb_arena *arena, const grebe_allocator *a,
                       size_t size) {
    grb_arena_init(arena, a, 0);
    if (!grb_arena_alloc(arena, size)) return false;
    grb_arena_reset(arena);
    return true;
}

bool grb_spare_take(grb_arena *arena, const grebe_allocator *a,
                    size_t size_max) {
    bool shared = a->resize == grb_allocator_malloc.resize;
    for (uint32_t i = 0; shared && i < SPARE_COUNT; i++) {
        _Atomic(char *) *memory = &place_at(i)->memory;
        if (!atomic_load_explicit(memory, memory_order_relaxed)) continue;
        char *kept =
            atomic_exchange_explicit(memory, NULL, memory_order_acquire);
        if (!kept) continue;
        memcpy(arena, kept, sizeof *arena);
        grb_arena_reset(arena);
        arena->size_max = size_max;
        return true;
    }
    if (!arena_make(arena, shared ? &grb_allocator_malloc : a,
                    SPARE_SIZE_MIN)) {
        grb_arena_deinit(arena);
        return false;
    }
    arena->size_max = size_max;
    return true;
}

/* One chunk as large as all were together, so that the next search like this
 * one finds room at once. */
static bool arena_join(grb_arena *arena) {
    size_t used = arena->size;
    grb_arena_reset(arena);
    if (arena->size == used) return used <= SPARE_SIZE_MAX;
    grb_arena_deinit(arena);
    return arena_make(arena, arena->allocator,
                      GRB_MIN(used, SPARE_SIZE_MAX - 256));
}

void grb_spare_give(grb_arena *arena) {
    if (arena->allocator == &grb_allocator_malloc && arena_join(arena)) {
        /* The arena's own words lie in its memory while nobody has it. */
        char *memory = grb_arena_alloc(arena, sizeof *arena);
        if (memory) memcpy(memory, arena, sizeof *arena);
        for (uint32_t i = 0; memory && i < SPARE_COUNT; i++) {
            _Atomic(char *) *place = &place_at(i)->memory;
            char *none = NULL;
            if (atomic_load_explicit(place, memory_order_relaxed)) continue;
            if (atomic_compare_exchange_strong_explicit(place, &none, memory,
                                                        memory_order_release,
                                                        memory_order_relaxed))
                return;
        }
    }
    grb_arena_deinit(arena);
}
