/* collect/insertion.h - insertion order of documents, wherever they lie. */
#ifndef GRB_COLLECT_INSERTION_H
#define GRB_COLLECT_INSERTION_H

#include "snapshot/snapshot.h"

/* Numbers of a leaf's documents that rise in insertion order, over all leaves
 * of a snapshot. Where documents lie in that order they need no look. */
typedef struct grb_insertion {
    const grb_leaf *leaf;
    uint64_t first; /* sequence of document 0 */
    bool scattered; /* the leaf's documents lie in another order */
} grb_insertion;
void grb_insertion_init(grb_insertion *o, const grb_leaf *leaf);
static inline uint64_t grb_insertion_of(const grb_insertion *o, uint32_t doc) {
    grb_segment *segment = o->leaf->segment;
    return o->scattered ? segment->ops->sequence(segment, doc)
                        : o->first + doc;
}
/* The least that a document added after `sequence` can have. */
uint64_t grb_insertion_after(const grb_insertion *o, uint64_t sequence);

#endif
