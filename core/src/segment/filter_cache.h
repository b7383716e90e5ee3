/* segment/filter_cache.h - answers of filters, kept with immutable segments.
 *
 * A filter is known by its bytes (search makes them). Its documents in a
 * segment do not change, whatever is deleted or committed, so that an answer
 * lives as long as the segment, unless room is needed.
 */
#ifndef GRB_SEGMENT_FILTER_CACHE_H
#define GRB_SEGMENT_FILTER_CACHE_H

#include "segment/docset.h"
#include "segment/reader.h"

#define GRB_FILTER_CACHE_DEFAULT ((uint64_t)32 << 20)
#define GRB_FILTER_CACHE_LEAST ((uint64_t)64 << 10)
#define GRB_FILTER_CACHE_MOST ((uint64_t)1 << 40)

/* One an index and its branches, counted. */
typedef struct grb_filter_cache grb_filter_cache;
typedef struct grb_filter_entry grb_filter_entry;

typedef struct grb_filter_id {
    const uint8_t *bytes;
    uint32_t size;
    uint64_t hash; /* of the bytes */
} grb_filter_id;

typedef struct grb_filter_counts {
    uint64_t hits, misses, evictions, bytes;
} grb_filter_counts;

/* NULL: no memory. At most `bytes_max` bytes of sets and names are held. */
grb_filter_cache *grb_filter_cache_new(const grebe_allocator *a,
                                       uint64_t bytes_max);
grb_filter_cache *grb_filter_cache_acquire(grb_filter_cache *c); /* NULL-safe
                                                                  both */
void grb_filter_cache_release(grb_filter_cache *c);

/* Whether a filter was used before, lately; it is from now on. */
bool grb_filter_cache_seen(grb_filter_cache *c, uint64_t hash);
/* The kept answer for the first `max_doc` documents, a reference; NULL: none.
 * Counts a hit or a miss. */
grb_docset *grb_filter_cache_find(grb_filter_cache *c, const grb_segment *s,
                                  uint32_t max_doc, const grb_filter_id *id);
/* Keeps an answer (takes a reference of its own) if there is room for it. */
void grb_filter_cache_put(grb_filter_cache *c, grb_segment *s,
                          const grb_filter_id *id, grb_docset *set);
void grb_filter_cache_counts(grb_filter_cache *c, grb_filter_counts *out);

#endif
