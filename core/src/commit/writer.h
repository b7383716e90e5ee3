/* commit/writer.h - the writing side of an index: one object, one mutex.
 *
 * Holds the live list (what the next commit will show), the growing segment,
 * the pending log records and `hard`, the snapshot of the last hard commit.
 * Everything that goes back (rollback, batch, restore, branch) is one
 * mechanism: a new list over the leaves of an older snapshot.
 */
#ifndef GRB_WRITER_H
#define GRB_WRITER_H

#include <pthread.h>

#include "commit/durable.h"
#include "grebe/index.h"
#include "memseg/memseg.h"
#include "segment/segfile.h"
#include "snapshot/snapshot.h"

#define GRB_MEMORY_MAX_DEFAULT (32ull << 20)
#define GRB_DOCS_MAX_DEFAULT (1ull << 18)
#define GRB_MEMORY_LEAVES_MAX 32u /* more: packed into one */

typedef struct grb_writer grb_writer;

/* A pinned state, in the writer's list of them. */
struct grebe_snapshot {
    grb_writer *writer;
    grb_snapshot *snapshot;
    uint64_t next_sequence;
    struct grebe_snapshot *next, **link;
};

/* A document to be killed: leaf of the live list and id. */
typedef struct grb_victim {
    uint32_t leaf, doc;
} grb_victim;

/* The writer as it was, to go back to; see publish.c. */
typedef struct grb_mark {
    grb_snapshot *snapshot;
    size_t pending_size;
    uint64_t next_ordinal, next_sequence;
    bool checkpoint_due, unpublished, undurable;
    uint64_t added, deleted;
} grb_mark;

struct grb_writer {
    _Atomic uint64_t refs;
    const grebe_allocator *allocator;
    grebe_open_options options;
    pthread_mutex_t mutex;
    pthread_cond_t batch_over;
    bool in_batch;
    pthread_t batch_owner;
    const void *batch_handle; /* that began it */
    grb_mark batch;
    bool ended; /* closed: every writing call says so */
    bool lost;  /* a dropped batch could not be undone */

    grb_directory *directory; /* NULL in memory until the first freeze */
    grb_durable *durable;     /* NULL in memory */
    uint8_t uuid[16];
    uint64_t next_file; /* in memory */
    grb_pool *pool;
    grb_line *line;

    grebe_schema *schema;
    grb_list *list;
    grb_segment *growing; /* the last leaf's segment, or NULL; borrowed */
    uint64_t epoch;       /* of the work going on: later than any published */
    uint64_t number;      /* of the last commit */
    uint64_t live, next_sequence;
    bool unique;
    bool unpublished, undurable; /* changes since the last of either */
    bool replaying;

    grb_buf pending;       /* log records since the last hard commit */
    uint64_t next_ordinal; /* adds in the log since the root */
    _Atomic bool log_open; /* whether the last add went there */
    bool checkpoint_due;   /* the next hard commit cannot use the log */
    grb_mark hard;         /* at the last hard commit */
    struct grebe_snapshot *pins;
    struct grb_join *joins; /* begun and not ended */

    _Atomic(grb_inverted *) spare; /* one kept for the next add */
    _Atomic uint32_t turn;         /* of adds, to time one in sixteen */
    grb_arena scratch;
    grb_victim *victims;
    uint32_t victim_count, victim_capacity;
    uint64_t freeze_at, freeze_docs_at; /* later after a failed freeze */
    uint64_t sealed_bytes, sealed_docs; /* of sealed memory segments */
    uint64_t added, deleted;            /* since the last commit of any kind */
    grebe_index_stats stats;            /* the writer's part of the counters */
};

/* ---- writer.c: life, entering, the live list ---- */

typedef struct grb_writer_setup {
    const grebe_allocator *allocator;
    const grebe_open_options *options;
    grb_directory *directory; /* taken on success; NULL in memory */
    grb_durable *durable;     /* taken on success; NULL in memory */
    bool fresh;               /* just created: there is nothing to load */
    grebe_schema *schema;     /* borrowed */
    grb_pool *pool;           /* borrowed */
} grb_writer_setup;

/* A writer over a folder's durable state (replayed) or an empty index. */
grebe_status grb_writer_new(const grb_writer_setup *setup, grb_writer **out,
                            grebe_error *err);
grb_writer *grb_writer_acquire(grb_writer *w);
void grb_writer_release(grb_writer *w);
/* Ends it: nothing published any more, directory and lock given back.
 * Snapshots taken before live on. */
void grb_writer_end(grb_writer *w);

/* Takes the mutex for a writing call: waits for another thread's batch;
 * CLOSED, READ_ONLY, POISONED. */
grebe_status grb_writer_enter(grb_writer *w, grebe_error *err);
/* Takes the mutex for looking only. CLOSED. */
grebe_status grb_writer_look(grb_writer *w, grebe_error *err);
void grb_writer_leave(grb_writer *w);

/* A reference to the present schema. */
grebe_status grb_writer_schema(grb_writer *w, grebe_schema **out,
                               grebe_error *err);

/* What the writer sees now, as a snapshot on the caller's stack; borrows. */
void grb_writer_now(grb_writer *w, grb_snapshot *out);

/* Replaces leaves [at, at + removed) of the live list by `inserted` (their
 * references are taken over on success). Seals nothing. */
grebe_status grb_writer_splice(grb_writer *w, uint32_t at, uint32_t removed,
                               const grb_leaf *inserted, uint32_t count,
                               grebe_error *err);
/* The growing segment takes no more documents. */
grebe_status grb_writer_seal(grb_writer *w, grebe_error *err);
/* Recounts the bytes and documents of sealed memory segments. */
void grb_writer_recount(grb_writer *w);
/* Makes sure that there is a growing segment. */
grebe_status grb_writer_grow(grb_writer *w, grebe_error *err);

/* ---- update.c: adds and deletes ---- */

grebe_status grb_writer_add(grb_writer *w, const grebe_document *document,
                            bool overwrite, grebe_error *err);
grebe_status grb_writer_delete(grb_writer *w, const grebe_value *key,
                               uint64_t *count, grebe_error *err);
grebe_status grb_writer_delete_by_query(grb_writer *w,
                                        const grebe_query *query,
                                        uint64_t *count, grebe_error *err);
grebe_status grb_writer_get(grb_writer *w, const grebe_value *key,
                            grebe_document *document, int *found,
                            grebe_error *err);
grebe_status grb_writer_add_fields(grb_writer *w, const grebe_schema *schema,
                                   grebe_error *err);
/* Under the mutex; for replay too. */
grebe_status grb_update_add(grb_writer *w, grb_inverted *inv, bool overwrite,
                            grebe_error *err);
grebe_status grb_update_delete_key(grb_writer *w, const grb_key *key,
                                   grebe_error *err);
/* Kills the victims gathered by grb_update_victim; cannot fail. */
void grb_update_kill(grb_writer *w);
/* The same for victims that are replaced: they are not counted as deleted. */
void grb_update_replace(grb_writer *w);
/* Gathers the live documents with the key; the first is enough where keys are
 * unique. */
grebe_status grb_update_victims(grb_writer *w, const grb_key *key,
                                grebe_error *err);
/* Whether a live document has the key. */
grebe_status grb_update_key_used(grb_writer *w, const grb_key *key, bool *used,
                                 grebe_error *err);
/* Views whose stamps would leave 32 bits begin anew. */
grebe_status grb_update_rebase(grb_writer *w, grebe_error *err);
/* A document made for another schema (an older one of this index, or one of
 * the same names) is taken over field by field; the index's own defaults
 * apply to it. `own` must live as long as `inv` is used. */
grebe_status grb_update_rehome(grebe_schema *schema, const grebe_allocator *a,
                               grb_inverted *inv,
                               const grebe_document *document,
                               grebe_document **own, grebe_error *err);
grebe_status grb_update_victim(grb_writer *w, uint32_t leaf, uint32_t doc,
                               grebe_error *err);
grebe_status grb_update_wipe(grb_writer *w, grebe_error *err);
grebe_status grb_update_schema(grb_writer *w, grebe_schema *schema,
                               grebe_error *err);

/* ---- publish.c: commits that only publish, and going back ---- */

/* A header for what is about to be published. LIMIT. */
grebe_status grb_publish_reserve(grb_writer *w, grb_snapshot **out,
                                 grebe_error *err);
/* Fills it with the state of now under the next number, and publishes it if
 * it is to be seen; cannot fail. */
void grb_publish_slot(grb_writer *w, grb_snapshot *s, bool seen);
void grb_commit_info_fill(grb_writer *w, bool changed,
                          grebe_commit_info *info);
/* Publishes what there is; the epoch moves on. */
grebe_status grb_publish_soft(grb_writer *w, grebe_commit_info *info,
                              grebe_error *err);
/* Publishes what is durable as it stands; it is what rollback returns to. */
grebe_status grb_publish_first(grb_writer *w, grebe_error *err);
/* A snapshot of now that nobody else sees; the epoch moves on. */
grebe_status grb_publish_private(grb_writer *w, grb_snapshot **out,
                                 grebe_error *err);
/* The same under the mutex taken here, for a reader of uncommitted work. */
grebe_status grb_writer_private(grb_writer *w, grb_snapshot **out,
                                grebe_error *err);
void grb_mark_take(grb_writer *w, grb_snapshot *snapshot, grb_mark *mark);
void grb_mark_drop(grb_mark *mark);
/* The live list becomes that of `snapshot`. */
grebe_status grb_writer_go_back(grb_writer *w, const grb_snapshot *snapshot,
                                grebe_error *err);
grebe_status grb_writer_rollback(grb_writer *w, grebe_error *err);
/* `handle` is what the caller holds: see grb_writer_batch_drop. */
grebe_status grb_writer_batch_begin(grb_writer *w, const void *handle,
                                    grebe_error *err);
grebe_status grb_writer_batch_end(grb_writer *w, grebe_commit_kind kind,
                                  grebe_commit_info *info, grebe_error *err);
grebe_status grb_writer_batch_undo(grb_writer *w, grebe_error *err);
/* The handle goes away: a batch begun through it is undone, from any thread,
 * so that nobody waits for its end for ever. */
void grb_writer_batch_drop(grb_writer *w, const void *handle);
grebe_status grb_writer_snapshot(grb_writer *w, grebe_snapshot **out,
                                 grebe_error *err);
void grb_writer_snapshot_free(grebe_snapshot *snapshot);
grebe_status grb_writer_restore(grb_writer *w, const grebe_snapshot *snapshot,
                                grebe_error *err);
grebe_status grb_writer_branch(grb_writer *w, grb_writer **out,
                               grebe_error *err);

/* ---- hard.c: hard commits ---- */

grebe_status grb_writer_commit(grb_writer *w, grebe_commit_kind kind,
                               grebe_commit_info *info, grebe_error *err);
/* Under the mutex, batch or not. */
grebe_status grb_commit_now(grb_writer *w, grebe_commit_kind kind,
                            grebe_commit_info *info, grebe_error *err);

/* ---- freeze.c: memory segments to files, files to fewer ---- */

/* Freezes all memory segments of the live list. */
grebe_status grb_writer_freeze(grb_writer *w, grebe_error *err);
/* Freezes and merges if the limits say so; failures are counted, and
 * returned only at twice the memory limit. */
grebe_status grb_writer_maintain(grb_writer *w, grebe_error *err);
/* The freeze of the last leaf, which is sealed, is begun for somebody to write
 * without the mutex. Other memory segments that nobody freezes go first, here
 * and now. *out NULL: there is nothing left to do. */
grebe_status grb_freeze_begin(grb_writer *w, struct grb_join **out,
                              grebe_error *err);
/* Begins the next merge that is due; *out NULL: none is. */
grebe_status grb_merge_begin(grb_writer *w, struct grb_join **out,
                             grebe_error *err);
/* Ends and frees what was begun as above and written with `written`; a failed
 * freeze or merge is counted as by grb_writer_maintain. */
grebe_status grb_maintain_end(grb_writer *w, struct grb_join *j,
                              grebe_status written, grebe_error *err);
/* `order` as grebe_index_merge_ordered has it; NULL: that of insertion. */
grebe_status grb_writer_merge(grb_writer *w, const char *order,
                              uint64_t memory_max, grebe_error *err);
/* Dead documents of a leaf at the present epoch; NULL in *out: none. */
grebe_status grb_leaf_dead(grb_writer *w, const grb_leaf *leaf,
                           grb_bitmap **out, grebe_error *err);

/* ---- replay.c: from the folder to the live list ---- */

/* A schema read from disk gets its analyzers. SCHEMA: one is unknown. */
grebe_status grb_stored_schema_settle(grebe_schema *schema, grebe_error *err);

/* Loads state and log into an empty writer, reusing open segments of `old`
 * (may be NULL). */
grebe_status grb_writer_load(grb_writer *w, const grb_list *old,
                             grebe_error *err);
/* Whether a reader's failure may come from a checkpoint that another process
 * made meanwhile: then it starts over, a bounded number of times. */
bool grb_reader_overtaken(grb_durable *d, grebe_status status);
#define GRB_READER_TRIES 100
/* A reading writer takes in a newer hard commit. */
grebe_status grb_writer_refresh(grb_writer *w, bool *changed,
                                grebe_error *err);

#endif
