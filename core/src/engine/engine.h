/* engine/engine.h - index, searcher and container handles. */
#ifndef GRB_ENGINE_H
#define GRB_ENGINE_H

#include "grebe/container.h"
#include "grebe/search.h"
#include "snapshot/snapshot.h"

/* Counters that searches add to, folded in once a search; shared by an index
 * and its searchers, counted. */
typedef struct grb_counters {
    _Atomic uint64_t refs;
    grebe_allocator allocator; /* the index's own copy */
    _Atomic uint64_t searches, search_ns, blocks_decoded, stored_blocks;
} grb_counters;
grb_counters *grb_counters_acquire(grb_counters *c);
void grb_counters_release(grb_counters *c);

struct grebe_searcher {
    _Atomic uint64_t refs;
    grb_counters *counters;  /* counters->allocator serves searcher and hits */
    grb_snapshot *snapshot;
};

#endif
