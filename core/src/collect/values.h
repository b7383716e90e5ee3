/* collect/values.h - values with their counts, and the best few of them. */
#ifndef GRB_COLLECT_VALUES_H
#define GRB_COLLECT_VALUES_H

#include "collect/collect.h"

/* One value while it is counted, or a candidate for the list: numbers by
 * `word`, keywords by `bytes` or, within one segment, by `word`, a rank. */
typedef struct grb_counted {
    uint64_t count;
    int64_t word;
    const uint8_t *bytes; /* NULL: not resolved */
    uint32_t size;
    uint32_t ord;
    uint64_t stamp; /* last document counted for it */
} grb_counted;

/* Values joined across segments (collect/values.c). */
typedef struct grb_values {
    const grebe_allocator *allocator;
    grb_arena bytes;
    grb_counted *items;
    size_t count, capacity;
    uint32_t *slots; /* item + 1; 0 free */
    size_t slot_count;
} grb_values;

void grb_values_init(grb_values *v, const grebe_allocator *a);
void grb_values_deinit(grb_values *v);
/* The item of a number, or of bytes (copied when new). NULL with
 * LIMIT above GRB_FACET_VALUES_MAX, or MEMORY. */
grb_counted *grb_values_number(grb_values *v, int64_t word, grebe_error *err);
grb_counted *grb_values_bytes(grb_values *v, const uint8_t *bytes,
                              uint32_t size, grebe_error *err);
grebe_status grb_values_full(grebe_error *err);

/* Best `keep` of candidates offered one by one. */
typedef struct grb_listing {
    const grebe_allocator *allocator;
    bool by_value;
    grb_counted *items;
    size_t count, capacity, keep;
} grb_listing;
void grb_listing_init(grb_listing *l, const grebe_allocator *a,
                      grebe_facet_sort sort, uint64_t keep);
void grb_listing_deinit(grb_listing *l);
grebe_status grb_listing_offer(grb_listing *l, const grb_counted *item,
                               grebe_error *err);
void grb_listing_sort(grb_listing *l);

#endif
