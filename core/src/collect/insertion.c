/* collect/insertion.c - insertion order of documents, wherever they lie.
 *
 * In most segments documents lie in the order of insertion. Where a merge put
 * them into another one, ties and cursors go by their sequence.
 *
 * Invariant: leaves are in insertion order, so numbers of a later leaf are
 * greater: of a leaf that lies in order a document has at most its sequence.
 * Threads: one search, one thread.
 * Owns: nothing.
 */
#include "collect/insertion.h"

void grb_insertion_init(grb_insertion *o, const grb_leaf *leaf) {
    o->leaf = leaf;
    o->scattered = leaf->segment->scattered;
    o->first = leaf->segment->ops->sequence(leaf->segment, 0);
}

uint64_t grb_insertion_after(const grb_insertion *o, uint64_t sequence) {
    grb_segment *segment = o->leaf->segment;
    if (o->scattered) return sequence + 1;
    uint32_t low = 0, high = o->leaf->bounds.max_doc;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (segment->ops->sequence(segment, middle) > sequence)
            high = middle;
        else
            low = middle + 1;
    }
    return o->first + low;
}
