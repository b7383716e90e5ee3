/* commit/durable.h - what a folder remembers: root, state, log.
 *
 * One object a folder. The writer asks it to append a group to the log (one
 * sync) or to write a checkpoint; recovery asks it what is durable. It knows
 * nothing of segments' content, of snapshots or of memory.
 */
#ifndef GRB_DURABLE_H
#define GRB_DURABLE_H

#include "doc/doc.h"
#include "store/store.h"

#define GRB_LOG_PENDING_MAX (4u << 20) /* larger: a checkpoint commit */
#define GRB_LOG_SIZE_MAX (8u << 20)

/* A segment file named by the root. */
typedef struct grb_state_segment {
    uint64_t file_number;
    uint32_t max_doc;
    const uint64_t *dead; /* bitmap, (max_doc + 63) / 64 words; NULL: none */
} grb_state_segment;

typedef struct grb_state {
    uint64_t number; /* of the commit */
    uint64_t next_sequence;
    bool unique;
    grebe_schema *schema;
    uint32_t segment_count;
    grb_state_segment *segments;
} grb_state;

/* A document in a log record: by root-named segment, or (file_number 0) by
 * its ordinal among the adds of the log since the root. */
typedef struct grb_address {
    uint64_t file_number;
    uint32_t doc;
} grb_address;

/* Log records, appended to the pending bytes in call order. */
void grb_record_add(grb_buf *out, const uint8_t *doc, size_t size,
                    bool overwrite);
void grb_record_delete_key(grb_buf *out, const uint8_t *key, size_t size);
void grb_record_delete_docs(grb_buf *out, const grb_address *docs,
                            size_t count);
void grb_record_wipe(grb_buf *out);
void grb_record_schema(grb_buf *out, const grebe_schema *schema);

/* What replay does with each record; any failure stops it and is returned.
 * Documents, keys, lists and schemas are borrowed for the call: who keeps a
 * schema acquires it (and resolves its analyzers first). */
typedef struct grb_replay {
    void *context;
    grebe_status (*add)(void *context, grb_cursor *doc, bool overwrite,
                        grebe_error *err);
    grebe_status (*delete_key)(void *context, const uint8_t *key, size_t size,
                               grebe_error *err);
    grebe_status (*delete_docs)(void *context, const grb_address *docs,
                                size_t count, grebe_error *err);
    grebe_status (*wipe)(void *context, grebe_error *err);
    grebe_status (*schema)(void *context, grebe_schema *schema,
                           grebe_error *err);
    grebe_status (*commit)(void *context, uint64_t number, grebe_error *err);
} grb_replay;

typedef struct grb_durable grb_durable;

/* Whether the folder holds files of ours. */
grebe_status grb_durable_exists(grb_directory *d, bool *exists,
                                grebe_error *err);
/* Starts an index in a folder without one: root, state and an empty log,
 * durable when it returns. Fails and leaves nothing behind otherwise. */
grebe_status grb_durable_create(grb_directory *d, const grb_state *state,
                                grb_durable **out, grebe_error *err);
/* Reads root and state of an existing one. NOT_FOUND, CORRUPT, VERSION,
 * STORAGE. A writer holds the lock and removes unnamed files; it writes
 * nothing else before its first hard commit. */
grebe_status grb_durable_open(grb_directory *d, bool writable,
                              grb_durable **out, grebe_error *err);
/* Of the newest root, so without what the log adds; valid until the next
 * checkpoint or close. */
const grb_state *grb_durable_state(const grb_durable *d);
const uint8_t *grb_durable_uuid(const grb_durable *d);
uint64_t grb_durable_generation(const grb_durable *d);
/* Reads the log behind the root: verified group by group, then parsed. Once a
 * handle, and before any append or checkpoint. NULL: verifies only. CORRUPT:
 * damage, never a torn tail. CONFLICT (readers): a checkpoint came in between;
 * close, open again and start over. A reader whose segments cannot be opened
 * asks grb_durable_changed, too, before it believes in damage. */
grebe_status grb_durable_replay(grb_durable *d, const grb_replay *replay,
                                grebe_error *err);
/* Number for a new file; never given twice. */
uint64_t grb_durable_next_file(grb_durable *d);
/* Whether a group of this size may be appended (log limit). */
bool grb_durable_log_fits(const grb_durable *d, size_t size);
/* Appends a group: exactly one fdatasync, also where the file grows; up to
 * three more before the first commit of a writer that found no
 * acknowledgement of the last one. A failure once the group is being written
 * poisons; a full disk met before that does not. `number` must rise. LOCKED
 * if the lock file was replaced. */
grebe_status grb_durable_append(grb_durable *d, uint64_t number,
                                const uint8_t *records, size_t size,
                                grebe_error *err);
/* A checkpoint: the named segment files are written and synced already. New
 * state and log, directory, root (four syncs); then files no longer named by
 * it or by `pinned` (file numbers) are removed: a segment file being written
 * or waiting for its commit must be pinned. `number` may repeat the last. */
grebe_status grb_durable_checkpoint(grb_durable *d, const grb_state *state,
                                    const uint64_t *pinned,
                                    size_t pinned_count, grebe_error *err);
bool grb_durable_poisoned(const grb_durable *d);
/* Reading processes: whether a newer hard commit is there. 3 ns by the
 * signal; without one the root and the log's end are read. */
grebe_status grb_durable_changed(grb_durable *d, bool *changed,
                                 grebe_error *err);
void grb_durable_close(grb_durable *d);
void grb_segment_file_name(uint64_t file_number, char out[32]); /* "seg-N" */

#endif
