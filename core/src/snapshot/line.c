/* snapshot/line.c - publishing and acquiring snapshots with a split count.
 *
 * `published` is one word {slot:16, acquires:48}. Acquire is one fetch_add on
 * it: the count in the word is a promise of references that publish hands
 * over to the header (its `refs` begin with a bias of 2^62, so that they
 * cannot reach 0 while the header is published). Whoever brings the count to
 * 0 releases the segments at once and pushes the slot on a stack that the
 * writer empties by one exchange.
 *
 * Invariant: a header is filled before the exchange that publishes it and
 * unchanged until its count is 0.
 * Threads: slot, publish and private belong to the writer (under its mutex);
 * acquire and release to anyone, wait-free.
 * Owns: the table of headers. A line lives while its index or any snapshot
 * does: each slot in use holds one reference.
 */
#include "snapshot/snapshot.h"

#define SLOT_COUNT_MAX 65532u /* 14 chunks; 0xffff means nothing */
#define SLOT_NONE UINT32_MAX
#define SLOT_CHUNK_FIRST 4u
#define SLOT_CHUNKS 15u
#define REFS_BIAS (1ull << 62)
#define COUNT_BITS 48
#define COUNT_MASK ((1ull << COUNT_BITS) - 1)
#define COUNT_FOLD (1ull << 47) /* fold the count into refs from here on */
#define NOTHING_PUBLISHED (0xffffull << COUNT_BITS)

typedef struct slot {
    grb_snapshot snapshot; /* first: a snapshot is its slot */
    uint32_t next_free;    /* stack of freed slots */
} slot;

struct grb_line {
    _Atomic uint64_t published;
    _Atomic uint64_t refs;
    _Atomic uint32_t freed; /* stack of slots given back by anyone */
    uint32_t free;          /* the writer's own stack */
    uint32_t slot_count;
    uint32_t mark; /* of the process that made it */
    const grebe_allocator *allocator;
    slot *chunks[SLOT_CHUNKS];
};

/* Chunk c holds 4 << c slots, the first of which is 4 * (2^c - 1). */
static slot *line_slot(const grb_line *line, uint32_t id) {
    uint32_t chunk = 29u - (uint32_t)__builtin_clz(id + SLOT_CHUNK_FIRST);
    return &line->chunks[chunk]
                        [id + SLOT_CHUNK_FIRST - (SLOT_CHUNK_FIRST << chunk)];
}

grebe_status grb_line_new(const grebe_allocator *a, grb_line **out,
                          grebe_error *err) {
    grb_line *line = grb_alloc_zero(a, sizeof *line);
    if (!line) return grb_error_memory(err, sizeof *line);
    atomic_init(&line->published, NOTHING_PUBLISHED);
    atomic_init(&line->refs, 1);
    atomic_init(&line->freed, SLOT_NONE);
    line->free = SLOT_NONE;
    line->mark = grb_process_mark();
    line->allocator = a;
    *out = line;
    return GREBE_OK;
}

grb_line *grb_line_acquire(grb_line *line) {
    atomic_fetch_add_explicit(&line->refs, 1, memory_order_relaxed);
    return line;
}

static void line_unref(grb_line *line) {
    if (atomic_fetch_sub_explicit(&line->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (uint32_t c = 0; c < SLOT_CHUNKS; c++)
        if (line->chunks[c])
            grb_free(line->allocator, line->chunks[c],
                     (size_t)(SLOT_CHUNK_FIRST << c) * sizeof(slot));
    grb_free(line->allocator, line, sizeof *line);
}

void grb_line_release(grb_line *line) {
    if (line) line_unref(line);
}

/* ---- slots ---- */

static bool slots_grow(grb_line *line) {
    uint32_t chunk = 0;
    while (chunk < SLOT_CHUNKS && line->chunks[chunk]) chunk++;
    uint32_t count = SLOT_CHUNK_FIRST << chunk;
    if (chunk == SLOT_CHUNKS || line->slot_count + count > SLOT_COUNT_MAX)
        return false;
    slot *slots = grb_alloc_zero(line->allocator, count * sizeof *slots);
    if (!slots) return false;
    line->chunks[chunk] = slots;
    for (uint32_t i = count; i-- > 0;) {
        slots[i].snapshot.slot = line->slot_count + i;
        slots[i].next_free = line->free;
        line->free = line->slot_count + i;
    }
    line->slot_count += count;
    return true;
}

bool grb_line_full(const grb_line *line) {
    return line->free == SLOT_NONE && line->slot_count == SLOT_COUNT_MAX;
}

grb_snapshot *grb_line_slot(grb_line *line) {
    if (line->free == SLOT_NONE)
        line->free = atomic_exchange_explicit(&line->freed, SLOT_NONE,
                                              memory_order_acquire);
    if (line->free == SLOT_NONE && !slots_grow(line)) return NULL;
    slot *s = line_slot(line, line->free);
    line->free = s->next_free;
    uint32_t id = s->snapshot.slot;
    memset(&s->snapshot, 0, sizeof s->snapshot);
    s->snapshot.slot = id;
    s->snapshot.line = grb_line_acquire(line);
    atomic_init(&s->snapshot.refs, REFS_BIAS);
    return &s->snapshot;
}

static void slot_free(grb_snapshot *s) {
    grb_line *line = s->line;
    slot *freed = (slot *)s;
    grb_list_release(s->list);
    grb_totals_release(s->growing.totals);
    grb_schema_release(s->schema);
    uint32_t head = atomic_load_explicit(&line->freed, memory_order_relaxed);
    do {
        freed->next_free = head;
    } while (!atomic_compare_exchange_weak_explicit(
        &line->freed, &head, s->slot, memory_order_release,
        memory_order_relaxed));
    line_unref(line);
}

static void refs_add(grb_snapshot *s, uint64_t change) {
    uint64_t before =
        atomic_fetch_add_explicit(&s->refs, change, memory_order_acq_rel);
    if (before + change == 0) slot_free(s);
}

/* ---- publish, acquire, release ---- */

static void word_drain(grb_line *line, uint64_t word) {
    if (word >> COUNT_BITS == 0xffff) return;
    grb_snapshot *old =
        &line_slot(line, (uint32_t)(word >> COUNT_BITS))->snapshot;
    refs_add(old, (word & COUNT_MASK) - REFS_BIAS);
}

void grb_line_publish(grb_line *line, grb_snapshot *s) {
    uint64_t word = (uint64_t)s->slot << COUNT_BITS;
    word_drain(line, atomic_exchange_explicit(&line->published, word,
                                              memory_order_acq_rel));
}

void grb_line_unpublish(grb_line *line) {
    word_drain(line,
               atomic_exchange_explicit(&line->published, NOTHING_PUBLISHED,
                                        memory_order_acq_rel));
}

void grb_line_private(grb_line *line, grb_snapshot *s) {
    (void)line;
    atomic_store_explicit(&s->refs, 1, memory_order_relaxed);
}

void grb_line_discard(grb_line *line, grb_snapshot *s) {
    grb_line_private(line, s);
    grb_snapshot_release(s);
}

/* A count near its end is handed over early, by a thread whose own reference
 * is in `word`. The header has it before the word loses it, so that a publish
 * in between finds too many and not too few. */
static void count_fold(grb_line *line, grb_snapshot *s, uint64_t word) {
    uint64_t count = word & COUNT_MASK;
    refs_add(s, count);
    if (!atomic_compare_exchange_strong(&line->published, &word,
                                        word & ~COUNT_MASK))
        refs_add(s, 0 - count);
}

grb_snapshot *grb_line_snapshot(grb_line *line) {
    uint64_t word =
        atomic_fetch_add_explicit(&line->published, 1, memory_order_acquire);
    grb_snapshot *s =
        &line_slot(line, (uint32_t)(word >> COUNT_BITS))->snapshot;
    if (GRB_UNLIKELY((word & COUNT_MASK) >= COUNT_FOLD))
        count_fold(line, s, word + 1);
    return s;
}

grb_snapshot *grb_snapshot_acquire(grb_snapshot *s) {
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

bool grb_snapshot_foreign(const grb_snapshot *s) {
    return s->line->mark != grb_process_mark();
}

void grb_snapshot_release(grb_snapshot *s) {
    if (s) refs_add(s, (uint64_t)-1);
}
