/* memseg/order.c - terms in byte order, sorted only when somebody asks.
 *
 * The first searcher that needs order sorts the term ids that are new since
 * the last one did, in memory of its own, joins the result with older runs
 * that are not twice as large, and publishes the list by compare-and-swap;
 * the loser frees its own and looks again.
 *
 * Invariant: runs cover ids from 0 on without a gap; sizes halve at least from
 *   run to run, so there are at most 32. A published list or run is immutable
 *   and lives as long as the segment.
 * Threads: any reader; the writer does nothing here.
 */
#include "memseg/parts.h"

/* What is sorted: the first 8 bytes as a number decide most comparisons. */
typedef struct sort_item {
    uint64_t prefix;
    uint32_t field;
    uint32_t id;
} sort_item;

static inline uint64_t prefix_of(const grb_record *r) {
    return __builtin_bswap64(r->key[0]);
}

static int bytes_compare(const uint8_t *a, uint32_t a_size, const uint8_t *b,
                         uint32_t b_size) {
    uint32_t size = GRB_MIN(a_size, b_size);
    int order = size ? memcmp(a, b, size) : 0;
    if (order) return order;
    return (a_size > b_size) - (a_size < b_size);
}

static int item_compare(const grb_memseg *s, const sort_item *a,
                        const sort_item *b) {
    if (a->field != b->field) return a->field < b->field ? -1 : 1;
    if (a->prefix != b->prefix) return a->prefix < b->prefix ? -1 : 1;
    const grb_record *x = grb_memseg_record(s, a->id);
    const grb_record *y = grb_memseg_record(s, b->id);
    return bytes_compare(grb_record_bytes(x), x->size, grb_record_bytes(y),
                         y->size);
}

static void item_fill(const grb_memseg *s, uint32_t id, sort_item *out) {
    const grb_record *r = grb_memseg_record(s, id);
    out->prefix = prefix_of(r);
    out->field = r->field;
    out->id = id;
}

/* Joins from[low..mid) and from[mid..high) into `to`. */
static void items_join(const grb_memseg *s, const sort_item *from,
                       sort_item *to, uint32_t low, uint32_t mid,
                       uint32_t high) {
    uint32_t a = low, b = mid, at = low;
    while (a < mid && b < high)
        to[at++] =
            item_compare(s, &from[a], &from[b]) <= 0 ? from[a++] : from[b++];
    while (a < mid) to[at++] = from[a++];
    while (b < high) to[at++] = from[b++];
}

static void items_insert(const grb_memseg *s, sort_item *items, uint32_t low,
                         uint32_t high) {
    for (uint32_t i = low + 1; i < high; i++) {
        sort_item item = items[i];
        uint32_t at = i;
        while (at > low && item_compare(s, &items[at - 1], &item) > 0) {
            items[at] = items[at - 1];
            at--;
        }
        items[at] = item;
    }
}

#define INSERT_SIZE 8u

/* Sorts by merging; true if the result lies in `other` (as many items). */
static bool items_merge(const grb_memseg *s, sort_item *items,
                        sort_item *other, uint32_t count) {
    sort_item *from = items, *to = other;
    for (uint32_t low = 0; low < count; low += INSERT_SIZE)
        items_insert(s, items, low, GRB_MIN(low + INSERT_SIZE, count));
    for (uint64_t width = INSERT_SIZE; width < count; width *= 2) {
        for (uint64_t low = 0; low < count; low += 2 * width)
            items_join(s, from, to, (uint32_t)low,
                       (uint32_t)GRB_MIN(low + width, count),
                       (uint32_t)GRB_MIN(low + 2 * width, count));
        sort_item *swap = from;
        from = to;
        to = swap;
    }
    return from != items;
}

/* Digits of eight bits, the least significant first: the prefix, then the
 * field. */
#define DIGITS 10u
static inline uint32_t item_digit(const sort_item *item, uint32_t digit) {
    uint64_t word = digit < 8 ? item->prefix : item->field;
    return (uint32_t)(word >> (digit % 8 * 8)) & 0xff;
}

/* Sorts by field and prefix alone, digit by digit; digits that are the same
 * in all items cost one look. True: the result lies in `other`. */
static bool items_radix(sort_item *items, sort_item *other, uint32_t count) {
    static const uint32_t zero[256];
    uint32_t counts[DIGITS][256];
    sort_item *from = items, *to = other;
    for (uint32_t d = 0; d < DIGITS; d++) memcpy(counts[d], zero, sizeof zero);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t d = 0; d < DIGITS; d++)
            counts[d][item_digit(&items[i], d)]++;
    for (uint32_t d = 0; d < DIGITS; d++) {
        uint32_t *places = counts[d], at = 0;
        if (places[item_digit(&items[0], d)] == count) continue;
        for (uint32_t v = 0; v < 256; v++) {
            uint32_t n = places[v];
            places[v] = at;
            at += n;
        }
        for (uint32_t i = 0; i < count; i++)
            to[places[item_digit(&from[i], d)]++] = from[i];
        sort_item *swap = from;
        from = to;
        to = swap;
    }
    return from != items;
}

#define RADIX_MIN 256u /* below, clearing the counts costs more */

/* The items in order, in `items` or in `other`. */
static sort_item *items_sort(const grb_memseg *s, sort_item *items,
                             sort_item *other, uint32_t count) {
    if (count < RADIX_MIN)
        return items_merge(s, items, other, count) ? other : items;
    bool moved = items_radix(items, other, count);
    sort_item *done = moved ? other : items, *room = moved ? items : other;
    for (uint32_t low = 0, high; low < count; low = high) {
        for (high = low + 1; high < count; high++)
            if (done[high].prefix != done[low].prefix ||
                done[high].field != done[low].field)
                break;
        if (high - low > 1 && items_merge(s, done + low, room, high - low))
            memcpy(done + low, room, (high - low) * sizeof *room);
    }
    return done;
}

/* A run of the ids [first, first + count); NULL: no memory. */
static grb_run *run_sort(grb_memseg *s, uint32_t first, uint32_t count) {
    const grebe_allocator *a = s->core.allocator;
    size_t size = (size_t)count * sizeof(sort_item);
    grb_run *run =
        grb_memseg_make(s, sizeof *run + (size_t)count * sizeof run->ids[0]);
    sort_item *items = grb_alloc(a, 2 * size);
    if (!run || !items) goto failed;
    for (uint32_t i = 0; i < count; i++) item_fill(s, first + i, &items[i]);
    const sort_item *sorted = items_sort(s, items, items + count, count);
    run->first = first;
    run->count = count;
    for (uint32_t i = 0; i < count; i++) run->ids[i] = sorted[i].id;
    grb_free(a, items, 2 * size);
    return run;
failed:
    grb_free(a, items, 2 * size);
    grb_memseg_unmake(s, run);
    return NULL;
}

static grb_run *run_join(grb_memseg *s, const grb_run *a, const grb_run *b) {
    uint32_t count = a->count + b->count;
    grb_run *run =
        grb_memseg_make(s, sizeof *run + (size_t)count * sizeof run->ids[0]);
    if (!run) return NULL;
    run->first = a->first;
    run->count = count;
    uint32_t i = 0, j = 0, at = 0;
    sort_item x, y;
    item_fill(s, a->ids[0], &x);
    item_fill(s, b->ids[0], &y);
    while (i < a->count && j < b->count) {
        if (item_compare(s, &x, &y) <= 0) {
            run->ids[at++] = a->ids[i++];
            if (i < a->count) item_fill(s, a->ids[i], &x);
        } else {
            run->ids[at++] = b->ids[j++];
            if (j < b->count) item_fill(s, b->ids[j], &y);
        }
    }
    while (i < a->count) run->ids[at++] = a->ids[i++];
    while (j < b->count) run->ids[at++] = b->ids[j++];
    return run;
}

static uint32_t runs_covered(const grb_runs *list) {
    if (!list || list->count == 0) return 0;
    const grb_run *last = list->runs[list->count - 1];
    return last->first + last->count;
}

/* A list that goes on behind `old` up to term_count. *added is its last run.
 * NULL: no memory. */
static grb_runs *runs_extend(grb_memseg *s, const grb_runs *old,
                             uint32_t term_count, grb_run **added) {
    uint32_t covered = runs_covered(old);
    grb_runs *list = grb_memseg_make(s, sizeof *list);
    grb_run *run = run_sort(s, covered, term_count - covered);
    if (!list || !run) goto failed;
    list->count = old ? old->count : 0;
    for (uint32_t i = 0; i < list->count; i++) list->runs[i] = old->runs[i];
    while (list->count) {
        const grb_run *before = list->runs[list->count - 1];
        if (before->count / 2 >= run->count) break;
        grb_run *joined = run_join(s, before, run);
        if (!joined) goto failed;
        grb_memseg_unmake(s, run);
        run = joined;
        list->count--;
    }
    list->runs[list->count++] = run;
    *added = run;
    return list;
failed:
    grb_memseg_unmake(s, run);
    grb_memseg_unmake(s, list);
    return NULL;
}

/* The list that covers every id < term_count. */
static grebe_status runs_get(grb_memseg *s, uint32_t term_count,
                             const grb_runs **out, grebe_error *err) {
    grb_runs *list = atomic_load_explicit(&s->runs, memory_order_acquire);
    while (runs_covered(list) < term_count) {
        grb_run *added;
        grb_runs *wider = runs_extend(s, list, term_count, &added);
        if (!wider)
            return grb_error_memory(err,
                                    (size_t)term_count * sizeof(sort_item));
        if (atomic_compare_exchange_strong_explicit(&s->runs, &list, wider,
                                                    memory_order_acq_rel,
                                                    memory_order_acquire)) {
            grb_memseg_keep(s, added);
            grb_memseg_keep(s, wider);
            list = wider;
        } else {
            grb_memseg_unmake(s, added);
            grb_memseg_unmake(s, wider);
        }
    }
    *out = list;
    return GREBE_OK;
}

/* ---- the walk over all runs ---- */

typedef struct mem_terms {
    grb_terms t;
    grb_memseg *s;
    grb_bounds bounds;
    const grb_runs *runs;
    uint32_t field;
    uint32_t at[GRB_RUNS_MAX];
} mem_terms;

static void walk_seek(mem_terms *w, const uint8_t *bytes, uint32_t size) {
    for (uint32_t n = 0; w->runs && n < w->runs->count; n++) {
        const grb_run *run = w->runs->runs[n];
        uint32_t low = 0, high = run->count;
        while (low < high) {
            uint32_t mid = low + (high - low) / 2;
            const grb_record *r = grb_memseg_record(w->s, run->ids[mid]);
            bool below =
                r->field < w->field ||
                (r->field == w->field &&
                 bytes_compare(grb_record_bytes(r), r->size, bytes, size) < 0);
            if (below)
                low = mid + 1;
            else
                high = mid;
        }
        w->at[n] = low;
    }
}

#define AHEAD 6u

/* Records in byte order lie anywhere: those to come are fetched early, and of
 * nearer ones, whose records are here by then, the first slices one by one. */
static inline void run_prefetch(const grb_memseg *s, const grb_run *run,
                                uint32_t at) {
    if (at + 4 * AHEAD >= run->count) return;
    __builtin_prefetch(grb_memseg_record(s, run->ids[at + 4 * AHEAD]));
    for (uint32_t n = 1; n <= 3; n++) {
        const grb_record *r =
            grb_memseg_record(s, run->ids[at + (4 - n) * AHEAD]);
        const grb_slice *slice =
            atomic_load_explicit(&r->slices, memory_order_acquire);
        for (uint32_t k = 1; k < n && slice; k++)
            slice = atomic_load_explicit(&slice->next, memory_order_acquire);
        if (!slice) continue;
        __builtin_prefetch(slice);
        __builtin_prefetch(&slice->docs[14]);
    }
}

/* The smallest term that is left, UINT32_MAX at the end; moves on. Runs of a
 * younger reader may hold ids that these bounds do not show. */
static uint32_t walk_next(mem_terms *w) {
    sort_item best = {0, 0, UINT32_MAX};
    uint32_t best_run = 0;
    for (uint32_t n = 0; w->runs && n < w->runs->count; n++) {
        const grb_run *run = w->runs->runs[n];
        while (w->at[n] < run->count &&
               run->ids[w->at[n]] >= w->bounds.term_count)
            w->at[n]++;
        if (w->at[n] == run->count) continue;
        sort_item item;
        run_prefetch(w->s, run, w->at[n]);
        item_fill(w->s, run->ids[w->at[n]], &item);
        if (item.field != w->field) continue;
        if (best.id == UINT32_MAX || item_compare(w->s, &item, &best) < 0) {
            best = item;
            best_run = n;
        }
    }
    if (best.id != UINT32_MAX) w->at[best_run]++;
    return best.id;
}

static grebe_status terms_seek(grb_terms *t, const void *bytes, size_t size,
                               grebe_error *err) {
    walk_seek((mem_terms *)t, bytes, (uint32_t)GRB_MIN(size, UINT32_MAX));
    return GREBE_OK;
}

static grebe_status terms_next(grb_terms *t, bool *found,
                               const uint8_t **bytes, uint32_t *size,
                               grb_term *term, grebe_error *err) {
    mem_terms *w = (mem_terms *)t;
    *found = false;
    for (uint32_t id; (id = walk_next(w)) != UINT32_MAX;) {
        grb_memseg_term(w->s, &w->bounds, id, term);
        if (term->df == 0) continue;
        const grb_record *r = grb_memseg_record(w->s, id);
        *bytes = grb_record_bytes(r);
        *size = r->size;
        *found = true;
        break;
    }
    return GREBE_OK;
}

grebe_status grb_memseg_terms(grb_segment *core, const grb_bounds *b,
                              uint32_t field, grb_arena *arena,
                              grb_terms **out, grebe_error *err) {
    grebe_status status = GREBE_OK;
    mem_terms *w = grb_arena_zero(arena, sizeof *w);
    if (!w) return grb_error_memory(err, sizeof *w);
    w->t.seek = terms_seek;
    w->t.next = terms_next;
    w->s = (grb_memseg *)core;
    w->bounds = *b;
    w->field = field;
    GRB_TRY(runs_get(w->s, b->term_count, &w->runs, err));
    walk_seek(w, NULL, 0);
    *out = &w->t;
done:
    return status;
}

grebe_status grb_memseg_ordered(grb_memseg *s, uint32_t term_count,
                                uint32_t field, uint32_t *ids, uint32_t room,
                                uint32_t *count, grebe_error *err) {
    grebe_status status = GREBE_OK;
    mem_terms w = {
        .s = s, .bounds = {.term_count = term_count}, .field = field};
    *count = 0;
    GRB_TRY(runs_get(s, term_count, &w.runs, err));
    walk_seek(&w, NULL, 0);
    for (uint32_t id; *count < room && (id = walk_next(&w)) != UINT32_MAX;)
        ids[(*count)++] = id;
done:
    return status;
}
