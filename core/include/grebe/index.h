/* grebe/index.h - an index: writing, committing, going back.
 *
 * Writing calls may come from any thread; one mutex an index orders them, and
 * analysis runs outside it. Searching calls never wait for a writer. After
 * grebe_index_close every call says CLOSED; searchers, hits and snapshots
 * taken before live on. In a forked child every call says FORKED.
 */
#ifndef GREBE_INDEX_H
#define GREBE_INDEX_H

#include "grebe/document.h"
#include "grebe/query.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grebe_index grebe_index;
typedef struct grebe_snapshot grebe_snapshot;

typedef enum grebe_mode { GREBE_WRITE = 0, GREBE_READ = 1 } grebe_mode;
typedef enum grebe_durability {
    GREBE_DURABILITY_FULL = 0, /* a hard commit is one device sync */
    GREBE_DURABILITY_NONE = 1  /* the same format and order, without syncs */
} grebe_durability;
typedef enum grebe_store_kind {
    GREBE_STORE_MMAP = 0,  /* the default; an I/O error ends the process */
    GREBE_STORE_PREAD = 1, /* where the medium may fail */
    GREBE_STORE_RAM = 2    /* log and files in memory, for tests of these */
} grebe_store_kind;
typedef enum grebe_verify {
    GREBE_VERIFY_TOUCH = 0, /* a page's checksum at its first use */
    GREBE_VERIFY_OPEN = 1,
    GREBE_VERIFY_NEVER = 2
} grebe_verify;
typedef enum grebe_merging {
    GREBE_MERGE_AUTO = 0,  /* paid for by the call that freezes */
    GREBE_MERGE_MANUAL = 1 /* grebe_index_merge alone */
} grebe_merging;

#define GREBE_FILTER_CACHE_NONE UINT64_MAX

/* How to open; zero everywhere is the default. */
typedef struct grebe_open_options {
    grebe_mode mode;
    grebe_durability durability;
    grebe_store_kind store;
    grebe_verify verify;
    grebe_merging merging;
    int add_fields;        /* append fields that the stored schema lacks */
    int deterministic;     /* same calls, same bytes of segments and state */
    uint64_t memory_max;   /* bytes of growing segment; 0: 32 MiB */
    uint64_t docs_max;     /* documents of growing segment; 0: 262,144 */
    uint64_t filter_cache; /* bytes that answers of filters may hold; 0: 32
                              MiB; GREBE_FILTER_CACHE_NONE: none is kept;
                              else 64 KiB to 1 TiB */
    uint64_t first_epoch;  /* for tests of the edges; 0: 1 */
    const grebe_allocator *allocator; /* NULL: malloc; borrowed, must outlive
                                         every handle made with it */
} grebe_open_options;

/* What a commit did. */
typedef struct grebe_commit_info {
    uint64_t number;     /* only rises, also across restore and rollback */
    uint64_t generation; /* of the root on disk; 0 in memory */
    uint64_t added;      /* documents since the commit before */
    uint64_t deleted;
    uint64_t bytes; /* written by this commit */
    uint64_t syncs; /* device syncs of this commit */
    uint64_t ns;
    uint64_t segments; /* in the view after it */
    int changed;       /* 0: there was nothing to commit */
} grebe_commit_info;

/* Counters since the index was opened, and its present size. */
typedef struct grebe_index_stats {
    uint64_t docs;         /* live, at the last commit */
    uint64_t docs_deleted; /* dead but not yet merged away */
    uint64_t segments;
    uint64_t memory_segments;
    uint64_t commit_number;
    uint64_t pending; /* adds and deletes since the last commit */
    uint64_t adds;
    uint64_t deletes;
    uint64_t soft_commits;
    uint64_t hard_commits;
    uint64_t freezes;
    uint64_t merges;
    uint64_t failures; /* of freeze, merge and pre-writing */
    uint64_t syncs;
    uint64_t bytes_written;
    uint64_t bytes_indexed; /* text taken in */
    uint64_t tokens;
    uint64_t terms_skipped; /* longer than GREBE_TERM_SIZE_MAX */
    uint64_t searches;
    uint64_t blocks_decoded;   /* posting blocks */
    uint64_t stored_blocks;    /* stored-field blocks read */
    uint64_t memory_bytes;     /* held by memory segments */
    uint64_t filter_hits;      /* filters found kept, one a segment */
    uint64_t filter_misses;    /* used before, but not kept */
    uint64_t filter_evictions; /* given up for others */
    uint64_t filter_bytes;     /* held by kept answers of filters */
    uint64_t analyse_ns;
    uint64_t append_ns;
    uint64_t soft_commit_ns;
    uint64_t hard_commit_ns;
    uint64_t freeze_ns;
    uint64_t merge_ns;
    uint64_t search_ns;
} grebe_index_stats;

/* Opens the folder `path`, or a new index in memory for NULL and ":memory:".
 * A missing folder is made, its parents are not. `schema` may be NULL where
 * the folder has an index; otherwise it must equal the stored one (SCHEMA,
 * each difference named) unless `add_fields`. `options` may be NULL.
 * NOT_FOUND: neither index nor schema, or mode READ without an index. LOCKED
 * with `pid`: another writer. CORRUPT, VERSION, STORAGE, READ_ONLY, MEMORY. */
GREBE_API grebe_status grebe_index_open(const char *path, grebe_schema *schema,
                                        const grebe_open_options *options,
                                        grebe_index **out, grebe_error *err);

/* Closes the index; `commit` nonzero makes a hard commit first, else what was
 * not hard-committed is dropped. A clean index writes nothing. The handle
 * stays valid for grebe_index_free and says CLOSED to the rest. Twice: OK.
 * If the commit fails its status is returned and the index is still open.
 * STATE inside a batch or while another call runs. */
GREBE_API grebe_status grebe_index_close(grebe_index *index, int commit,
                                         grebe_error *err);

/* Frees the handle; an open index is closed without a commit, a batch begun
 * on the handle undone. Calls that run on it in other threads end as they
 * would have. NULL is allowed. */
GREBE_API void grebe_index_free(grebe_index *index);

/* Nonzero once closed. */
GREBE_API int grebe_index_closed(const grebe_index *index);

/* Path of the folder, "" in memory; lives as long as the handle. */
GREBE_API const char *grebe_index_path(const grebe_index *index);

/* A new reference to the index's present schema (released by the caller). */
GREBE_API grebe_status grebe_index_schema(grebe_index *index,
                                          grebe_schema **out,
                                          grebe_error *err);

/* Appends the fields of `schema` that the index lacks; the others must be
 * equal (SCHEMA). Old documents have no value in them, so a required field
 * needs a default (SCHEMA). Rolled back with the rest. */
GREBE_API grebe_status grebe_index_add_fields(grebe_index *index,
                                              const grebe_schema *schema,
                                              grebe_error *err);

/* Adds a document. `overwrite` nonzero replaces every document with its key.
 * Visible after the next commit. DOCUMENT, LIMIT: the document is not added
 * and nothing changed, `field` and `key` say where. READ_ONLY, POISONED,
 * MEMORY, CLOSED. About 1-2 us for eight words. */
GREBE_API grebe_status grebe_index_add(grebe_index *index,
                                       const grebe_document *document,
                                       int overwrite, grebe_error *err);

/* Deletes every document with this key, committed or not; `count` (may be
 * NULL) gets how many. Not found is no error. DOCUMENT if the key's kind is
 * not the key field's; SCHEMA without a key field. */
GREBE_API grebe_status grebe_index_delete(grebe_index *index,
                                          const grebe_value *key,
                                          uint64_t *count, grebe_error *err);

/* Deletes what the query matches among everything added so far; runs when it
 * is called. Collects first, then deletes: an error deletes nothing. The
 * query for all documents is O(1). */
GREBE_API grebe_status grebe_index_delete_by_query(grebe_index *index,
                                                   const grebe_query *query,
                                                   uint64_t *count,
                                                   grebe_error *err);

typedef enum grebe_commit_kind {
    GREBE_SOFT = 0,       /* visible when it returns; <= 1 us */
    GREBE_HARD = 1,       /* visible and durable */
    GREBE_HARD_UNSEEN = 2 /* durable; the public view stays */
} grebe_commit_kind;

/* Commits. `info` may be NULL. Nothing changed: OK, `changed` 0, nothing
 * written. STORAGE poisons the writer (searches go on, reopening cures it).
 * STATE inside a batch. */
GREBE_API grebe_status grebe_index_commit(grebe_index *index,
                                          grebe_commit_kind kind,
                                          grebe_commit_info *info,
                                          grebe_error *err);

/* Goes back to the last hard commit (an empty index before the first); the
 * public view too. */
GREBE_API grebe_status grebe_index_rollback(grebe_index *index,
                                            grebe_error *err);

/* Begins a batch: the calling thread owns the writer, others' writing calls
 * wait. STATE inside a batch of this thread. */
GREBE_API grebe_status grebe_index_batch_begin(grebe_index *index,
                                               grebe_error *err);

/* Ends the batch with a commit of that kind. If it fails the batch goes on.
 * STATE unless this thread owns a batch. */
GREBE_API grebe_status grebe_index_batch_end(grebe_index *index,
                                             grebe_commit_kind kind,
                                             grebe_commit_info *info,
                                             grebe_error *err);

/* Ends the batch and takes all of it back. */
GREBE_API grebe_status grebe_index_batch_undo(grebe_index *index,
                                              grebe_error *err);

/* Soft-commits and keeps that state for grebe_index_restore; it pins files
 * and memory until freed. O(segments). */
GREBE_API grebe_status grebe_index_snapshot(grebe_index *index,
                                            grebe_snapshot **out,
                                            grebe_error *err);

/* Frees a snapshot. NULL is allowed. */
GREBE_API void grebe_snapshot_free(grebe_snapshot *snapshot);

/* Goes back to a snapshot of this index and publishes it at once; later work,
 * committed or not, is dropped. Any number of times. In a folder durable with
 * the next hard commit. <= 5 us. ARGUMENT: another index's snapshot. STATE in
 * a batch. */
GREBE_API grebe_status grebe_index_restore(grebe_index *index,
                                           grebe_snapshot *snapshot,
                                           grebe_error *err);

/* A new, independent index in memory with the last commit's content; shares
 * data, never writes the parent's folder. O(segments). */
GREBE_API grebe_status grebe_index_branch(grebe_index *index,
                                          grebe_index **out, grebe_error *err);

/* Merges all segments into one and drops dead documents; seen with the next
 * commit, durable with the next hard one. */
GREBE_API grebe_status grebe_index_merge(grebe_index *index, grebe_error *err);

/* The same, and the documents of the segment lie in another order: "graph"
 * puts those with the same terms together (recursive graph bisection), which
 * makes postings smaller; "field" or "+field" sorts them by a column, "-field"
 * falling, those without a value last. The column has one value a document.
 * Answers stay the same: ties and cursors go by insertion. Later merges keep
 * the order inside what they join. The segment is written twice; what is
 * sorted takes at most `memory_max` bytes (0: 1 GiB; at least 1 MiB) or is
 * refused with LIMIT, then all segments are merged in insertion order.
 * ARGUMENT: an empty order, a limit out of range; SCHEMA: no such column. */
GREBE_API grebe_status grebe_index_merge_ordered(grebe_index *index,
                                                 const char *order,
                                                 uint64_t memory_max,
                                                 grebe_error *err);

/* Reads the newest live document with this key, uncommitted work included,
 * into `document` (cleared first; made for this index). `found` gets 0 or 1.
 * DOCUMENT for a key of the wrong kind; SCHEMA without a key field. */
GREBE_API grebe_status grebe_index_get(grebe_index *index,
                                       const grebe_value *key,
                                       grebe_document *document, int *found,
                                       grebe_error *err);

/* Number of live documents at the last commit. O(1). */
GREBE_API grebe_status grebe_index_count(grebe_index *index, uint64_t *count,
                                         grebe_error *err);

/* Number of the last commit. O(1). */
GREBE_API grebe_status grebe_index_commit_number(grebe_index *index,
                                                 uint64_t *number,
                                                 grebe_error *err);

/* In READ mode: looks at the folder and takes in a newer hard commit;
 * `changed` (may be NULL) says whether there was one. Searches do it by
 * themselves. A writer: nothing to do. */
GREBE_API grebe_status grebe_index_refresh(grebe_index *index, int *changed,
                                           grebe_error *err);

/* Reads counters and sizes. */
GREBE_API grebe_status grebe_index_stats_read(grebe_index *index,
                                              grebe_index_stats *out,
                                              grebe_error *err);

/* A token as grebe_index_analyze reports it; offsets in bytes of the text. */
typedef struct grebe_token {
    const char *bytes;
    size_t size;
    uint32_t position;
    uint32_t start;
    uint32_t end;
} grebe_token;

typedef grebe_status (*grebe_token_visit)(void *context,
                                          const grebe_token *token);

/* Runs the analyzer of `field` over `text` and hands each token to `visit`,
 * which stops the run by returning anything but GREBE_OK (passed on). */
GREBE_API grebe_status grebe_index_analyze(grebe_index *index,
                                           const char *field, const char *text,
                                           size_t size,
                                           grebe_token_visit visit,
                                           void *context, grebe_error *err);

typedef grebe_status (*grebe_term_visit)(void *context, const char *bytes,
                                         size_t size, uint64_t df);

/* Lists the terms of a text or keyword field that begin with `prefix` (may be
 * NULL) in byte order with the number of documents holding each, dead ones
 * included; at most `limit` (0: all). */
GREBE_API grebe_status grebe_index_terms(grebe_index *index, const char *field,
                                         const char *prefix, size_t size,
                                         uint64_t limit,
                                         grebe_term_visit visit, void *context,
                                         grebe_error *err);

typedef void (*grebe_line_visit)(void *context, const char *line);

/* Checks every byte of the folder's index: checksums, bounds, orders, counts.
 * Hands a line for each section and each encoding's number of blocks to
 * `visit` (may be NULL). CORRUPT names the first fault. Takes no lock. */
GREBE_API grebe_status grebe_check(const char *path, grebe_line_visit visit,
                                   void *context, grebe_error *err);

/* Nonzero if the folder holds an index. */
GREBE_API int grebe_exists(const char *path);

#ifdef __cplusplus
}
#endif
#endif
