/* snapshot/snapshot.h - segment lists, views (deletes), acquire and release.
 *
 * A snapshot is a fixed point in time: an epoch, a list of (segment, view)
 * and the bounds of the growing segment. Acquire and publish take no lock,
 * allocate nothing and loop over nothing.
 */
#ifndef GRB_SNAPSHOT_H
#define GRB_SNAPSHOT_H

#include "doc/doc.h"
#include "segment/reader.h"

/* ---- views: who is dead, and since when ---- */

/* Immutable counted bitmap of dead documents. */
typedef struct grb_bitmap {
    _Atomic uint64_t refs;
    const grebe_allocator *allocator;
    uint32_t word_count;
    uint32_t set_count;
    uint64_t words[];
} grb_bitmap;
grb_bitmap *grb_bitmap_new(const grebe_allocator *a, uint32_t doc_count);
grb_bitmap *grb_bitmap_acquire(grb_bitmap *b);
void grb_bitmap_release(grb_bitmap *b);

typedef struct grb_view grb_view;

/* A view with no overlay over `dead` (may be NULL; a reference is taken). */
grb_view *grb_view_new(const grebe_allocator *a, uint64_t base_epoch,
                       grb_bitmap *dead);
/* A new view that begins as `old` was at epoch `at`. NULL: no memory. */
grb_view *grb_view_branch(grb_view *old, uint64_t at, uint64_t base_epoch,
                          uint32_t doc_count);
grb_view *grb_view_acquire(grb_view *v);
void grb_view_release(grb_view *v);

/* Makes room for a stamp of `doc`; then grb_view_kill cannot fail. */
bool grb_view_reserve(grb_view *v, uint32_t doc);
/* Stamps a live document as dead from `epoch` on. Writer only. */
void grb_view_kill(grb_view *v, uint32_t doc, uint64_t epoch);
bool grb_view_dead(const grb_view *v, uint32_t doc, uint64_t epoch);
/* Live bits of documents base .. base + 4,095 at `epoch`, those >= max_doc
 * clear. Returns false, leaving `live` alone, if nothing in the window is
 * dead. */
bool grb_view_window(const grb_view *v, uint64_t epoch, uint32_t base,
                     uint32_t max_doc, uint64_t live[GRB_WINDOW_WORDS]);
/* Whether it is known at once that nothing was dead at `epoch`. O(1). */
bool grb_view_clean(const grb_view *v, uint64_t epoch);
/* Everything dead at `at` among the first `doc_count` documents, as one
 * bitmap. NULL: no memory. */
grb_bitmap *grb_view_flatten(const grb_view *v, uint64_t at,
                             uint32_t doc_count);
/* Dead documents < max_doc at `epoch`. O(1) if none was ever stamped. */
uint32_t grb_view_dead_count(const grb_view *v, uint64_t epoch,
                             uint32_t max_doc);
/* Greatest epoch ever stamped, 0 if none. */
uint64_t grb_view_last_epoch(const grb_view *v);

/* The writer's count of all dead documents, and where its stamps begin. O(1).
 */
uint32_t grb_view_dead_total(const grb_view *v);
uint64_t grb_view_base_epoch(const grb_view *v);

/* ---- snapshots ---- */

/* A segment as a snapshot shows it. */
typedef struct grb_leaf {
    grb_segment *segment;
    grb_view *view;
    grb_bounds bounds;
} grb_leaf;

/* Shared and counted; changes only at freeze, merge, seal and restore. */
typedef struct grb_list {
    _Atomic uint64_t refs;
    const grebe_allocator *allocator;
    uint32_t count;
    bool growing; /* the last leaf is the growing segment: its bounds are the
                     snapshot's */
    grb_leaf leaves[];
} grb_list;

typedef struct grb_line grb_line;
typedef struct grb_snapshot grb_snapshot;
struct grb_snapshot {
    _Atomic uint64_t refs;
    grb_line *line;
    uint32_t slot;
    uint64_t epoch;
    uint64_t number; /* of the commit */
    uint64_t live;   /* documents alive */
    bool unique;     /* no two live documents share a key */
    grb_list *list;
    grb_bounds growing;
    grebe_schema *schema;
};

/* Leaves in insertion order; `out` is borrowed from the snapshot. */
static inline uint32_t grb_snapshot_leaf_count(const grb_snapshot *s) {
    return s->list->count;
}
static inline void grb_snapshot_leaf(const grb_snapshot *s, uint32_t i,
                                     grb_leaf *out) {
    *out = s->list->leaves[i];
    if (s->list->growing && i + 1 == s->list->count) out->bounds = s->growing;
}

grb_snapshot *grb_snapshot_acquire(grb_snapshot *s); /* one more reference */
void grb_snapshot_release(grb_snapshot *s);
/* Made by a process that this one was forked from: look at nothing else. */
bool grb_snapshot_foreign(const grb_snapshot *s);

/* Newest live document with the key: which leaf and document, GRB_NO_DOC if
 * there is none. */
grebe_status grb_snapshot_key(const grb_snapshot *s, const grb_key *key,
                              uint32_t *leaf, uint32_t *doc, grebe_error *err);

/* Newest document of leaf i with the key, dead or alive; key_older goes on.
 * For walks from the last leaf to the first: leaves to come are asked for
 * ahead of their turn. */
grebe_status grb_snapshot_key_newest(const grb_snapshot *s, uint32_t i,
                                     const grb_key *key, uint32_t *doc,
                                     grebe_error *err);

/* A leaf's live window; see grb_view_window. */
static inline bool grb_leaf_window(const grb_leaf *leaf, uint64_t epoch,
                                   uint32_t base,
                                   uint64_t live[GRB_WINDOW_WORDS]) {
    return leaf->view && grb_view_window(leaf->view, epoch, base,
                                         leaf->bounds.max_doc, live);
}

/* ---- the line: what is published ---- */

/* The publishing side of an index: one word, and a table of snapshot headers
 * that lives as long as any snapshot does. */
grebe_status grb_line_new(const grebe_allocator *a, grb_line **out,
                          grebe_error *err);
grb_line *grb_line_acquire(grb_line *line);
void grb_line_release(grb_line *line);
/* A header to fill (refs are the line's business); NULL: no memory, or the
 * line is full. Writer only. */
grb_snapshot *grb_line_slot(grb_line *line);
/* As many snapshots live as there may be. Writer only. */
bool grb_line_full(const grb_line *line);
/* Publishes a filled header; the one before loses the line's reference. */
void grb_line_publish(grb_line *line, grb_snapshot *s);
/* A filled header that is published to nobody: one reference, the caller's. */
void grb_line_private(grb_line *line, grb_snapshot *s);
/* Takes the published snapshot away (closing). Writer only. */
void grb_line_unpublish(grb_line *line);
/* Gives back a header that is not going to be published. */
void grb_line_discard(grb_line *line, grb_snapshot *s);
/* The published snapshot, one more reference. Wait-free, any thread; something
 * must be published. */
grb_snapshot *grb_line_snapshot(grb_line *line);

grb_list *grb_list_new(const grebe_allocator *a, uint32_t count);
grb_list *grb_list_acquire(grb_list *list);
void grb_list_release(grb_list *list); /* releases segments, views, totals */

#endif
