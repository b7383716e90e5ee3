/* memseg/memseg.h - the growing memory segment.
 *
 * One writer at a time, any number of lock-free readers; no reader ever waits
 * for the writer. Arenas come from a pool and go back to it.
 */
#ifndef GRB_MEMSEG_H
#define GRB_MEMSEG_H

#include "invert/invert.h"

/* Arena chunks kept warm between segments; counted, shared by an index, its
 * branches and its container. Ceiling 64 MiB. Any thread. */
typedef struct grb_pool grb_pool;
grebe_status grb_pool_new(const grebe_allocator *a, grb_pool **out,
                          grebe_error *err);
grb_pool *grb_pool_acquire(grb_pool *pool);
void grb_pool_release(grb_pool *pool);

/* An empty growing segment that holds a reference to the pool. The fixed cost
 * is small (< 4 KiB taken from a warm pool): 498 wipes must cost nothing. */
grebe_status grb_memseg_new(grb_pool *pool, grebe_schema *schema,
                            grb_segment **out, grebe_error *err);

/* Phase two: reserves all memory the document may need (MEMORY or LIMIT: the
 * segment is as it was), then appends, which cannot fail. `sequence` must
 * rise. `doc` gets the new id. Writer only. */
grebe_status grb_memseg_append(grb_segment *s, const grb_inverted *inv,
                               uint64_t sequence, uint32_t *doc,
                               grebe_error *err);

/* The sequences of all its documents begin at `base` instead of 0: a segment
 * that was filled before its place was known. Writer only, before anybody else
 * sees it. */
void grb_memseg_set_base(grb_segment *s, uint64_t base);

/* What the writer sees now; a snapshot keeps a copy. `totals` is acquired for
 * the caller (grb_totals_release). No allocation, no lock, O(1) beyond
 * counting pages that changed. */
void grb_memseg_bounds(grb_segment *s, grb_bounds *out);
/* A writer's uncounted look (totals valid until the next append). */
void grb_memseg_peek(grb_segment *s, grb_bounds *out);

/* Bytes of arenas and tables (checked against memory_max). */
uint64_t grb_memseg_bytes(const grb_segment *s);

#endif
