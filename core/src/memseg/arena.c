/* memseg/arena.c - memory of one segment: a bump pointer over pooled chunks,
 * page directories, and what readers add.
 *
 * Chunks start at 4 KiB and double to 256 KiB, so that a segment of one small
 * document costs little and a large one few chunks. Nothing is zeroed or
 * touched ahead of its use.
 *
 * Invariant: memory handed out never moves and lives until the segment goes.
 * Threads: the writer; grb_memseg_make and its kin are any reader's.
 */
#include "memseg/parts.h"

static inline size_t room_left(const grb_room *room) {
    return (size_t)(room->end - room->at);
}

/* A new chunk becomes the present room; of the two before, the one with more
 * left is kept as the spare. */
static bool chunk_add(grb_memseg *s, size_t size) {
    grb_chunk *chunk = grb_pool_take(s->pool, GRB_MAX(size, s->chunk_next));
    if (!chunk) return false;
    chunk->next = s->chunks;
    s->chunks = chunk;
    if (room_left(&s->room) > room_left(&s->spare)) s->spare = s->room;
    s->room.at = (char *)(chunk + 1);
    s->room.end = s->room.at + chunk->size;
    if (s->chunk_next < GRB_MEM_CHUNK_MAX) s->chunk_next *= 2;
    atomic_fetch_add_explicit(&s->bytes, chunk->size + sizeof *chunk,
                              memory_order_relaxed);
    return true;
}

static void rooms_swap(grb_memseg *s) {
    grb_room room = s->room;
    s->room = s->spare;
    s->spare = room;
}

bool grb_memseg_ensure(grb_memseg *s, size_t size) {
    if (GRB_LIKELY(room_left(&s->room) >= size)) return true;
    if (room_left(&s->spare) >= size) {
        rooms_swap(s);
        return true;
    }
    return chunk_add(s, size);
}

/* Bytes up to the next line. */
static inline size_t room_shift(const grb_room *room, size_t line) {
    return -(uintptr_t)room->at & (line - 1);
}

static inline bool room_fits(const grb_room *room, size_t size, size_t line) {
    return room_left(room) >= size + room_shift(room, line);
}

static void *block_alloc(grb_memseg *s, size_t size, size_t line) {
    size = grb_mem_pad(size, line);
    if (!room_fits(&s->room, size, line)) {
        if (room_fits(&s->spare, size, line))
            rooms_swap(s);
        else if (!chunk_add(s, size)) /* a chunk begins at a line */
            return NULL;
    }
    char *at = s->room.at + room_shift(&s->room, line);
    s->room.at = at + size;
    /* Go on where more is left. */
    if (room_left(&s->spare) > room_left(&s->room)) rooms_swap(s);
    return at;
}

void *grb_memseg_alloc(grb_memseg *s, size_t size) {
    return block_alloc(s, size, 8);
}

void *grb_memseg_alloc_line(grb_memseg *s, size_t size) {
    return block_alloc(s, size, 64);
}

bool grb_memseg_dir(grb_memseg *s, grb_paged *p, uint32_t page) {
    grb_dir *old = atomic_load_explicit(&p->dir, memory_order_relaxed);
    if (old && page < old->capacity) return true;
    uint32_t capacity = old ? old->capacity * 2 : 7;
    while (capacity <= page) capacity *= 2;
    grb_dir *dir =
        grb_memseg_alloc(s, sizeof *dir + capacity * sizeof dir->pages[0]);
    if (!dir) return false;
    dir->capacity = capacity;
    for (uint32_t i = 0; i < capacity; i++) {
        void *kept = NULL;
        if (old && i < old->capacity)
            kept = atomic_load_explicit(&old->pages[i], memory_order_relaxed);
        atomic_init(&dir->pages[i], kept);
    }
    atomic_store_explicit(&p->dir, dir, memory_order_release);
    return true;
}

void *grb_memseg_page(grb_memseg *s, grb_paged *p, uint32_t page, size_t size,
                      size_t zero) {
    void *made = grb_paged_page(p, page);
    if (GRB_LIKELY(made != NULL)) return made;
    if (!grb_memseg_dir(s, p, page)) return NULL;
    made =
        size < 64 ? grb_memseg_alloc(s, size) : grb_memseg_alloc_line(s, size);
    if (!made) return NULL;
    if (zero) memset(made, 0, zero);
    grb_dir *dir = atomic_load_explicit(&p->dir, memory_order_relaxed);
    atomic_store_explicit(&dir->pages[page], made, memory_order_release);
    return made;
}

/* ---- what readers make ---- */

void *grb_memseg_make(grb_memseg *s, size_t size) {
    grb_made *made = grb_alloc(s->core.allocator, sizeof *made + size);
    if (!made) return NULL;
    made->size = sizeof *made + size;
    return made + 1;
}

void grb_memseg_unmake(grb_memseg *s, void *block) {
    if (!block) return;
    grb_made *made = (grb_made *)block - 1;
    grb_free(s->core.allocator, made, made->size);
}

void grb_memseg_keep(grb_memseg *s, void *block) {
    grb_made *made = (grb_made *)block - 1;
    grb_made *top = atomic_load_explicit(&s->made, memory_order_relaxed);
    do {
        made->next = top;
    } while (!atomic_compare_exchange_weak_explicit(
        &s->made, &top, made, memory_order_acq_rel, memory_order_relaxed));
    atomic_fetch_add_explicit(&s->bytes, made->size, memory_order_relaxed);
}
