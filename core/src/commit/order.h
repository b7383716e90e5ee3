/* commit/order.h - the order in which a merge lays documents. */
#ifndef GRB_COMMIT_ORDER_H
#define GRB_COMMIT_ORDER_H

#include "segment/segfile.h"

#define GRB_ORDER_MEMORY_DEFAULT (1ull << 30)
#define GRB_ORDER_MEMORY_MIN (1ull << 20)

typedef struct grb_merge_order {
    bool graph;     /* similar documents together; else by a column */
    uint32_t field; /* the column's */
    bool desc;
    uint64_t memory_max;
} grb_merge_order;

/* Reads "graph", "field", "+field" or "-field". ARGUMENT: empty, a memory
 * limit out of range; SCHEMA: no such field, or one that gives no order. */
grebe_status grb_merge_order_parse(const grebe_schema *schema,
                                   const char *text, uint64_t memory_max,
                                   grb_merge_order *out, grebe_error *err);

/* The documents of a segment in the order wanted, in memory of
 * `bounds->max_doc` ids to be freed by the caller. Those of one key keep the
 * order of insertion among themselves, which look-ups by key rely on. LIMIT:
 * more memory would be needed. */
grebe_status grb_merge_order_make(const grebe_allocator *a,
                                  const grebe_schema *schema,
                                  grb_segment *segment,
                                  const grb_bounds *bounds,
                                  const grb_merge_order *wanted,
                                  uint32_t **out, grebe_error *err);

#endif
