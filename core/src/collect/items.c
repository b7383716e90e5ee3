/* collect/items.c - documents with their sort values, compared and sorted.
 *
 * Items of one plan have one size, so that they lie in one block and move by
 * copying. Two orders are needed: by words, which is what a segment's own
 * ranks allow, and by the bytes of keywords, which hold across segments.
 *
 * Invariant: both orders end with insertion order, so no two items are equal.
 * Threads: one search, one thread.
 * Owns: the block of items.
 */
#include "collect/collect.h"

#define ITEMS_RUN 16u /* runs that insertion sorts before merging */

void grb_items_init(grb_items *items, const grebe_allocator *a,
                    const grb_sort_plan *plan) {
    memset(items, 0, sizeof *items);
    items->allocator = a;
    items->plan = plan;
    items->stride = sizeof(grb_item) + plan->count * sizeof(grb_sort_cell);
}

void grb_items_deinit(grb_items *items) {
    grb_free(items->allocator, items->bytes, items->capacity * items->stride);
    items->bytes = NULL;
    items->count = items->capacity = 0;
}

grebe_status grb_items_reserve(grb_items *items, size_t count,
                               grebe_error *err) {
    if (count <= items->capacity) return GREBE_OK;
    size_t size = count * items->stride;
    char *bytes = grb_resize(items->allocator, items->bytes,
                             items->capacity * items->stride, size);
    if (!bytes) return grb_error_memory(err, size);
    items->bytes = bytes;
    items->capacity = count;
    return GREBE_OK;
}

static int bytes_compare(const grb_sort_cell *a, const grb_sort_cell *b,
                         bool desc) {
    uint32_t least = GRB_MIN(a->size, b->size);
    int order = least ? memcmp(a->bytes, b->bytes, least) : 0;
    if (order == 0) order = (a->size > b->size) - (a->size < b->size);
    return desc ? -order : order;
}

int grb_item_compare(const grb_sort_plan *plan, const grb_item *a,
                     const grb_item *b, bool by_bytes) {
    for (uint32_t i = 0; i < plan->count; i++) {
        const grb_sort_cell *x = &a->cells[i], *y = &b->cells[i];
        if (x->state != y->state) return x->state < y->state ? -1 : 1;
        if (x->state != GRB_CELL_VALUE) continue;
        if (by_bytes && plan->keys[i].keyword) {
            int order = bytes_compare(x, y, plan->keys[i].desc);
            if (order != 0) return order;
        } else if (x->word != y->word) {
            return x->word < y->word ? -1 : 1;
        }
    }
    if (a->leaf != b->leaf) return a->leaf < b->leaf ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

static int items_compare(const grb_items *items, size_t i, size_t j) {
    return grb_item_compare(items->plan, grb_items_at(items, i),
                            grb_items_at(items, j), false);
}

typedef union item_space {
    grb_item item;
    char bytes[sizeof(grb_item) + GRB_SORT_KEYS_MAX * sizeof(grb_sort_cell)];
} item_space;

void grb_items_sift(grb_items *items, size_t at) {
    const grb_sort_plan *plan = items->plan;
    item_space moved;
    grb_item_copy(&moved.item, grb_items_at(items, at), items->stride);
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= items->count) break;
        if (child + 1 < items->count &&
            items_compare(items, child, child + 1) < 0)
            child++;
        const grb_item *worse = grb_items_at(items, child);
        if (grb_item_compare(plan, &moved.item, worse, false) >= 0) break;
        grb_item_copy(grb_items_at(items, at), worse, items->stride);
        at = child;
    }
    grb_item_copy(grb_items_at(items, at), &moved.item, items->stride);
}

void grb_items_heapify(grb_items *items) {
    for (size_t i = items->count / 2; i-- > 0;) grb_items_sift(items, i);
}

static void run_sort(grb_items *items, size_t from, size_t to) {
    item_space moved;
    for (size_t i = from + 1; i < to; i++) {
        size_t at = i;
        if (items_compare(items, i - 1, i) < 0) continue;
        grb_item_copy(&moved.item, grb_items_at(items, i), items->stride);
        for (; at > from; at--) {
            const grb_item *before = grb_items_at(items, at - 1);
            if (grb_item_compare(items->plan, before, &moved.item, false) < 0)
                break;
            grb_item_copy(grb_items_at(items, at), before, items->stride);
        }
        grb_item_copy(grb_items_at(items, at), &moved.item, items->stride);
    }
}

static void run_merge(const grb_items *from, size_t at, size_t middle,
                      size_t end, char *to) {
    size_t stride = from->stride, a = at, b = middle;
    while (a < middle && b < end) {
        size_t next = items_compare(from, b, a) < 0 ? b++ : a++;
        grb_item_copy((grb_item *)(void *)to, grb_items_at(from, next),
                      stride);
        to += stride;
    }
    memcpy(to, grb_items_at(from, a), (middle - a) * stride);
    to += (middle - a) * stride;
    memcpy(to, grb_items_at(from, b), (end - b) * stride);
}

/* Sorts by merging from one block to the other; the items end in their own or
 * in *other, which then has the one they left. */
static grebe_status items_merge(grb_items *items, char **other,
                                grb_budget *budget, grebe_error *err) {
    grebe_status status = GREBE_OK;
    size_t stride = items->stride, count = items->count, done = 0;
    for (size_t at = 0; at < count; at += ITEMS_RUN) {
        size_t end = GRB_MIN(at + ITEMS_RUN, count);
        GRB_TRY(grb_budget_poll(budget, &done, end - at, err));
        run_sort(items, at, end);
    }
    for (size_t run = ITEMS_RUN; run < count; run *= 2) {
        for (size_t at = 0; at < count; at += 2 * run) {
            size_t end = GRB_MIN(at + 2 * run, count);
            GRB_TRY(grb_budget_poll(budget, &done, end - at, err));
            run_merge(items, at, GRB_MIN(at + run, end), end,
                      *other + at * stride);
        }
        char *swap = items->bytes;
        items->bytes = *other;
        *other = swap;
    }
done:
    return status;
}

grebe_status grb_items_sort(grb_items *items, grb_budget *budget,
                            grebe_error *err) {
    size_t sorted = 1;
    while (sorted < items->count &&
           items_compare(items, sorted - 1, sorted) < 0)
        sorted++;
    if (sorted >= items->count) return GREBE_OK;
    size_t size = items->capacity * items->stride;
    char *other = NULL;
    if (items->count > ITEMS_RUN) {
        other = grb_alloc(items->allocator, size);
        if (!other) return grb_error_memory(err, size);
    }
    grebe_status status = items_merge(items, &other, budget, err);
    grb_free(items->allocator, other, other ? size : 0);
    return status;
}
