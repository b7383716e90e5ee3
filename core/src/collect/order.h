/* collect/order.h - insertion order of documents, wherever they lie. */
#ifndef GRB_COLLECT_ORDER_H
#define GRB_COLLECT_ORDER_H

#include "snapshot/snapshot.h"

/* Numbers of a leaf's documents that rise in insertion order, over all leaves
 * of a snapshot. Where documents lie in that order they need no look. */
typedef struct grb_order {
    const grb_leaf *leaf;
    uint64_t first; /* sequence of document 0 */
    bool scattered; /* the leaf's documents lie in another order */
} grb_order;
void grb_order_init(grb_order *o, const grb_leaf *leaf);
static inline uint64_t grb_order_of(const grb_order *o, uint32_t doc) {
    grb_segment *segment = o->leaf->segment;
    return o->scattered ? segment->ops->sequence(segment, doc)
                        : o->first + doc;
}
/* The least that a document added after `sequence` can have. */
uint64_t grb_order_after(const grb_order *o, uint64_t sequence);

#endif
