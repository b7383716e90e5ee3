/* snapshot/view.c - which documents of a segment are dead, and since when.
 *
 * A view belongs to one line of history over one segment. Below lies what was
 * dead when the view began: an immutable bitmap, or another view read at a
 * fixed epoch. Above lies the overlay: a stamp a document, 0 while it lives,
 * else 1 + the epoch of its death relative to base_epoch. A reader at epoch E
 * takes a document for dead if its stamp is not 0 and not later than E, so a
 * stamp set after E reads the same as none and old searchers see old states.
 *
 * Invariant: a stamp is written once, where base and overlay are clear. The
 * base of a base is never a view (branching flattens), so a look-up goes two
 * levels down at most.
 * Threads: one writer; readers take no lock. Pages and directories are
 * published by release stores and live as long as the view.
 * Owns: its pages and directories; references to its base.
 */
#include "snapshot/snapshot.h"

#define STAMP_MAX (UINT32_MAX - 1)

typedef struct stamp_directory {
    struct stamp_directory *older; /* replaced ones, freed with the view */
    uint32_t capacity;
    _Atomic(uint32_t *) pages[];
} stamp_directory;

struct grb_view {
    _Atomic uint64_t refs;
    const grebe_allocator *allocator;
    uint64_t base_epoch;
    grb_bitmap *dead; /* base: a bitmap, or NULL */
    grb_view *base;   /* base: a view as of base_at, or NULL */
    uint64_t base_at;
    _Atomic(stamp_directory *) directory;
    _Atomic uint64_t first_epoch, last_epoch; /* of stamps; 0: none yet */
    /* The writer's: dead when it began plus stamps; and the count of a past
     * epoch, kept because going back asks for the same one again. */
    uint32_t dead_total, counted;
    uint64_t counted_at;
};

/* ---- bitmaps ---- */

static size_t bitmap_size(uint32_t word_count) {
    return sizeof(grb_bitmap) + (size_t)word_count * 8;
}

grb_bitmap *grb_bitmap_new(const grebe_allocator *a, uint32_t doc_count) {
    uint32_t word_count = (uint32_t)(((uint64_t)doc_count + 63) / 64);
    grb_bitmap *b = grb_alloc_zero(a, bitmap_size(word_count));
    if (!b) return NULL;
    atomic_init(&b->refs, 1);
    b->allocator = a;
    b->word_count = word_count;
    return b;
}

grb_bitmap *grb_bitmap_acquire(grb_bitmap *b) {
    if (b) atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
    return b;
}

void grb_bitmap_release(grb_bitmap *b) {
    if (b && atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) == 1)
        grb_free(b->allocator, b, bitmap_size(b->word_count));
}

/* ---- life of a view ---- */

grb_view *grb_view_new(const grebe_allocator *a, uint64_t base_epoch,
                       grb_bitmap *dead) {
    grb_view *v = grb_alloc_zero(a, sizeof *v);
    if (!v) return NULL;
    atomic_init(&v->refs, 1);
    v->allocator = a;
    v->base_epoch = base_epoch;
    v->dead = grb_bitmap_acquire(dead);
    v->dead_total = dead ? dead->set_count : 0;
    return v;
}

static size_t directory_size(uint32_t capacity) {
    return sizeof(stamp_directory) + capacity * sizeof(_Atomic(uint32_t *));
}

static void overlay_free(grb_view *v) {
    stamp_directory *dir =
        atomic_load_explicit(&v->directory, memory_order_relaxed);
    for (uint32_t i = 0; dir && i < dir->capacity; i++) {
        uint32_t *page =
            atomic_load_explicit(&dir->pages[i], memory_order_relaxed);
        if (page) grb_free(v->allocator, page, grb_page_size(i) * 4);
    }
    while (dir) {
        stamp_directory *older = dir->older;
        grb_free(v->allocator, dir, directory_size(dir->capacity));
        dir = older;
    }
}

grb_view *grb_view_acquire(grb_view *v) {
    if (v) atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
    return v;
}

void grb_view_release(grb_view *v) {
    while (v &&
           atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel) == 1) {
        grb_view *base = v->base;
        overlay_free(v);
        grb_bitmap_release(v->dead);
        grb_free(v->allocator, v, sizeof *v);
        v = base;
    }
}

/* Whether any stamp counts at `epoch`. */
static bool overlay_any(const grb_view *v, uint64_t epoch) {
    uint64_t first =
        atomic_load_explicit(&v->first_epoch, memory_order_relaxed);
    return first != 0 && first <= epoch;
}

/* Everything dead at `at` as one bitmap. */
grb_bitmap *grb_view_flatten(const grb_view *v, uint64_t at,
                             uint32_t doc_count) {
    grb_bitmap *flat = grb_bitmap_new(v->allocator, doc_count);
    uint64_t live[GRB_WINDOW_WORDS];
    if (!flat) return NULL;
    for (uint64_t base = 0; base < doc_count; base += GRB_WINDOW) {
        uint32_t at_word = (uint32_t)(base / 64);
        if (!grb_view_window(v, at, (uint32_t)base, doc_count, live)) continue;
        for (uint32_t i = 0; i < GRB_WINDOW_WORDS; i++) {
            uint64_t docs_left = doc_count - base, word_first = i * 64ull;
            if (word_first >= docs_left) break;
            uint64_t valid = docs_left - word_first >= 64
                                 ? ~0ull
                                 : (1ull << (docs_left - word_first)) - 1;
            flat->words[at_word + i] = ~live[i] & valid;
            flat->set_count += grb_popcount64(flat->words[at_word + i]);
        }
    }
    return flat;
}

grb_view *grb_view_branch(grb_view *old, uint64_t at, uint64_t base_epoch,
                          uint32_t doc_count) {
    grb_view *v = grb_view_new(old->allocator, base_epoch, NULL);
    if (!v) return NULL;
    if (old->counted_at != at || at == 0) {
        old->counted = grb_view_dead_count(old, at, doc_count);
        old->counted_at = at;
    }
    v->dead_total = old->counted;
    if (!overlay_any(old, at)) {
        v->dead = grb_bitmap_acquire(old->dead);
        v->base = grb_view_acquire(old->base);
        v->base_at = old->base_at;
    } else if (old->base) {
        v->dead = grb_view_flatten(old, at, doc_count);
        if (!v->dead) {
            grb_view_release(v);
            return NULL;
        }
    } else {
        v->base = grb_view_acquire(old);
        v->base_at = at;
    }
    return v;
}

/* ---- stamping ---- */

static stamp_directory *directory_grow(grb_view *v, stamp_directory *old,
                                       uint32_t page) {
    uint32_t capacity = old ? old->capacity * 2 : 4;
    while (capacity <= page) capacity *= 2;
    stamp_directory *dir =
        grb_alloc_zero(v->allocator, directory_size(capacity));
    if (!dir) return NULL;
    dir->capacity = capacity;
    dir->older = old;
    for (uint32_t i = 0; old && i < old->capacity; i++)
        atomic_init(&dir->pages[i], atomic_load_explicit(
                                        &old->pages[i], memory_order_relaxed));
    atomic_store_explicit(&v->directory, dir, memory_order_release);
    return dir;
}

bool grb_view_reserve(grb_view *v, uint32_t doc) {
    uint32_t place, page = grb_page_of(doc, &place);
    stamp_directory *dir =
        atomic_load_explicit(&v->directory, memory_order_relaxed);
    if (!dir || page >= dir->capacity) {
        dir = directory_grow(v, dir, page);
        if (!dir) return false;
    }
    if (atomic_load_explicit(&dir->pages[page], memory_order_relaxed))
        return true;
    uint32_t *stamps = grb_alloc_zero(v->allocator, grb_page_size(page) * 4);
    if (!stamps) return false;
    atomic_store_explicit(&dir->pages[page], stamps, memory_order_release);
    return true;
}

static uint32_t *overlay_page(const grb_view *v, uint32_t page) {
    stamp_directory *dir = atomic_load_explicit(&((grb_view *)v)->directory,
                                                memory_order_acquire);
    if (!dir || page >= dir->capacity) return NULL;
    return atomic_load_explicit(&dir->pages[page], memory_order_acquire);
}

/* A stamp s counts at limit l if s - 1 < l; 0 wraps to the greatest. */
static uint32_t stamp_limit(const grb_view *v, uint64_t epoch) {
    uint64_t limit = epoch - v->base_epoch + 1;
    return epoch < v->base_epoch ? 0
           : limit > STAMP_MAX   ? STAMP_MAX
                                 : (uint32_t)limit;
}

void grb_view_kill(grb_view *v, uint32_t doc, uint64_t epoch) {
    uint32_t place, page = grb_page_of(doc, &place);
    _Atomic uint32_t *stamp =
        (_Atomic uint32_t *)&overlay_page(v, page)[place];
    atomic_store_explicit(stamp, stamp_limit(v, epoch), memory_order_relaxed);
    if (!atomic_load_explicit(&v->first_epoch, memory_order_relaxed))
        atomic_store_explicit(&v->first_epoch, epoch, memory_order_relaxed);
    atomic_store_explicit(&v->last_epoch, epoch, memory_order_relaxed);
    v->dead_total++;
}

uint32_t grb_view_dead_total(const grb_view *v) {
    return v->dead_total;
}

uint64_t grb_view_base_epoch(const grb_view *v) {
    return v->base_epoch;
}

/* ---- reading ---- */

static bool bitmap_has(const grb_bitmap *b, uint32_t doc) {
    return b && doc / 64 < b->word_count && grb_bit(b->words, doc);
}

static bool overlay_dead(const grb_view *v, uint32_t doc, uint64_t epoch) {
    uint32_t place, page = grb_page_of(doc, &place);
    if (!overlay_any(v, epoch)) return false;
    uint32_t *stamps = overlay_page(v, page);
    if (!stamps) return false;
    uint32_t stamp = atomic_load_explicit((_Atomic uint32_t *)&stamps[place],
                                          memory_order_relaxed);
    return stamp - 1 < stamp_limit(v, epoch);
}

bool grb_view_dead(const grb_view *v, uint32_t doc, uint64_t epoch) {
    if (overlay_dead(v, doc, epoch) || bitmap_has(v->dead, doc)) return true;
    return v->base && (overlay_dead(v->base, doc, v->base_at) ||
                       bitmap_has(v->base->dead, doc));
}

/* The one kernel with racing plain loads: 64 stamps to a word of dead bits.
 * 0 and any stamp later than the reader's epoch give the same verdict. */
__attribute__((no_sanitize("thread"))) static uint64_t
stamps_dead(const uint32_t *stamps, uint32_t limit) {
    uint64_t dead = 0;
    for (uint32_t i = 0; i < 64; i += 16) {
        uint32_t any = 0;
        for (uint32_t j = 0; j < 16; j++) any |= stamps[i + j];
        if (!any) continue;
        for (uint32_t j = 0; j < 16; j++)
            dead |= (uint64_t)(stamps[i + j] - 1 < limit) << (i + j);
    }
    return dead;
}

/* Takes the overlay's dead of a window out of `live`; true if there were. */
static bool overlay_window(const grb_view *v, uint64_t epoch, uint32_t base,
                           uint32_t count, uint64_t *live) {
    if (!overlay_any(v, epoch)) return false;
    uint32_t limit = stamp_limit(v, epoch), place;
    bool any = false;
    for (uint32_t at = 0; at < count;) {
        uint32_t page = grb_page_of(base + at, &place);
        uint32_t size = grb_page_size(page);
        uint32_t *stamps = overlay_page(v, page);
        for (uint32_t i = 0; stamps && i < size && at + i < count; i += 64) {
            uint64_t dead =
                stamps_dead(stamps + i, limit) & live[(at + i) / 64];
            live[(at + i) / 64] ^= dead;
            any |= dead != 0;
        }
        at += size;
    }
    return any;
}

static bool bitmap_window(const grb_bitmap *b, uint32_t base, uint64_t *live) {
    bool any = false;
    uint32_t first = base / 64;
    for (uint32_t i = 0; b && i < GRB_WINDOW_WORDS; i++) {
        if (first + i >= b->word_count) break;
        uint64_t dead = b->words[first + i] & live[i];
        live[i] ^= dead;
        any |= dead != 0;
    }
    return any;
}

bool grb_view_window(const grb_view *v, uint64_t epoch, uint32_t base,
                     uint32_t max_doc, uint64_t live[GRB_WINDOW_WORDS]) {
    uint64_t words[GRB_WINDOW_WORDS] = {0};
    if (base >= max_doc || (!v->dead && !v->base && !overlay_any(v, epoch)))
        return false;
    uint32_t count = GRB_MIN(max_doc - base, GRB_WINDOW);
    memset(words, 0xff, (count / 64) * 8);
    if (count % 64) words[count / 64] = (1ull << (count % 64)) - 1;
    bool any = bitmap_window(v->dead, base, words);
    any |= overlay_window(v, epoch, base, count, words);
    if (v->base) {
        any |= bitmap_window(v->base->dead, base, words);
        any |= overlay_window(v->base, v->base_at, base, count, words);
    }
    if (any) memcpy(live, words, sizeof words);
    return any;
}

bool grb_view_clean(const grb_view *v, uint64_t epoch) {
    return !v->dead && !v->base && !overlay_any(v, epoch);
}

uint32_t grb_view_dead_count(const grb_view *v, uint64_t epoch,
                             uint32_t max_doc) {
    uint64_t live[GRB_WINDOW_WORDS];
    uint32_t dead = 0;
    if (grb_view_clean(v, epoch)) return 0;
    for (uint64_t base = 0; base < max_doc; base += GRB_WINDOW) {
        if (!grb_view_window(v, epoch, (uint32_t)base, max_doc, live))
            continue;
        dead += (uint32_t)GRB_MIN(max_doc - base, GRB_WINDOW);
        for (uint32_t i = 0; i < GRB_WINDOW_WORDS; i++)
            dead -= grb_popcount64(live[i]);
    }
    return dead;
}

uint64_t grb_view_last_epoch(const grb_view *v) {
    return atomic_load_explicit(&((grb_view *)v)->last_epoch,
                                memory_order_relaxed);
}
