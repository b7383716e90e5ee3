/* commit/files.h - private to durable.h's half of the room: root, state, log
 * and names as bytes on disk. docs/format.md has the tables. */
#ifndef GRB_COMMIT_FILES_H
#define GRB_COMMIT_FILES_H

#include "commit/durable.h"

#define GRB_FORMAT_VERSION 1u
#define GRB_FLAGS_READ_ONLY_KNOWN 0u    /* needed by writers */
#define GRB_FLAGS_INCOMPATIBLE_KNOWN 0u /* needed by everyone */
#define GRB_SECTOR 512u
#define GRB_FLAG_UNSYNCED 1u /* written under durability none */

static inline void grb_put32(uint8_t *at, uint32_t v) {
    memcpy(at, &v, 4);
}
static inline void grb_put64(uint8_t *at, uint64_t v) {
    memcpy(at, &v, 8);
}
static inline uint32_t grb_get32(const uint8_t *at) {
    uint32_t v;
    memcpy(&v, at, 4);
    return v;
}
static inline uint64_t grb_get64(const uint8_t *at) {
    uint64_t v;
    memcpy(&v, at, 8);
    return v;
}

/* The version words at the head of root and state. */
typedef struct grb_version {
    uint32_t compatible, read_only, incompatible, number;
} grb_version;
/* VERSION if this library must not read, or not write, such a file. */
grebe_status grb_version_check(const grb_version *v, const char *file,
                               bool writable, grebe_error *err);
void grb_version_put(uint8_t *at);
void grb_version_get(const uint8_t *at, grb_version *out);

/* ---- names (commit/names.c) ---- */

typedef enum grb_file_kind {
    GRB_FILE_OTHER, /* not ours */
    GRB_FILE_ROOT,
    GRB_FILE_ROOT_NEW,
    GRB_FILE_STATE,
    GRB_FILE_LOG,
    GRB_FILE_SEGMENT
} grb_file_kind;

#define GRB_ROOT_NAME "manifest"
#define GRB_ROOT_NEW_NAME "manifest.new"
void grb_state_file_name(uint64_t number, char out[32]);
void grb_log_file_name(uint64_t number, char out[32]);
grb_file_kind grb_file_name_parse(const char *name, uint64_t *number);

/* What stays when a folder is swept. */
typedef struct grb_keep {
    const grb_state *state;
    uint64_t state_number, log_number;
    const uint64_t *pinned;
    size_t pinned_count;
} grb_keep;
/* Names of files of ours that `keep` does not name, each ended by NUL, and
 * the highest number seen. */
grebe_status grb_files_unnamed(grb_directory *d, const grb_keep *keep,
                               grb_buf *names, uint64_t *number_max,
                               grebe_error *err);
/* Removes them; what cannot be removed waits for the next sweep. */
void grb_files_remove(grb_directory *d, const grb_buf *names);

/* ---- root (commit/root.c) ---- */

typedef struct grb_root {
    grb_version version;
    uint8_t uuid[16];
    uint64_t generation;
    uint64_t state_number, state_size, state_checksum;
    uint64_t log_number, log_size; /* size synced before it was named */
    uint64_t nonce;
    uint64_t next_file;
    uint32_t flags; /* GRB_FLAG_UNSYNCED */
    bool copy_good[2];
} grb_root;

/* The newest valid slot. NOT_FOUND, CORRUPT, STORAGE; versions unchecked. */
grebe_status grb_root_read(grb_directory *d, grb_root *out, grebe_error *err);
/* Writes both copies of the generation's slot and syncs. */
grebe_status grb_root_write(grb_directory *d, const grb_root *root,
                            grebe_error *err);
/* Writes the newest slot again, a copy at a time, the worse one first: at no
 * moment are both at risk. */
grebe_status grb_root_rewrite(grb_directory *d, const grb_root *root,
                              grebe_error *err);
/* A whole new file `manifest.new` with one slot, synced. */
grebe_status grb_root_create(grb_directory *d, const grb_root *root,
                             grebe_error *err);

/* ---- state (commit/state.c) ---- */

/* Encodes into a cleared buffer; `checksum` is what the root will name. */
grebe_status grb_state_encode(const grb_state *state, const uint8_t uuid[16],
                              uint64_t file_number, grb_buf *out,
                              uint64_t *checksum, grebe_error *err);
/* Checks everything; `out` points into `bytes` for the bitmaps. */
grebe_status grb_state_decode(const grebe_allocator *a, const grb_buf *bytes,
                              const grb_root *root, bool writable,
                              grb_state *out, grebe_error *err);
void grb_state_deinit(const grebe_allocator *a, grb_state *state);
/* Reads the file that the root names; a missing one is CORRUPT. */
grebe_status grb_state_read(grb_directory *d, const grb_root *root,
                            grb_buf *bytes, grebe_error *err);
/* Creates, writes and syncs. `*synced` false: it failed before the sync. */
grebe_status grb_state_write(grb_directory *d, uint64_t file_number,
                             const grb_buf *bytes, bool *synced,
                             grebe_error *err);

/* ---- log (commit/log.c, commit/log_write.c) ---- */

#define GRB_LOG_FIRST GRB_SECTOR /* place of the first group */
#define GRB_LOG_STEP_MIN (32u << 10)
#define GRB_LOG_STEP_MAX (4u << 20)
#define GRB_GROUP_HEADER 72u
#define GRB_GROUP_MARK 16u

typedef struct grb_log {
    grb_directory *directory;
    grb_file *file; /* NULL: closed */
    bool file_writable;
    char name[32];
    uint8_t uuid[16];
    uint64_t number, nonce;
    uint64_t salt;    /* of this writer; see log_write.c */
    uint64_t size;    /* of the file */
    uint64_t tail;    /* where the next group goes */
    uint64_t mark;    /* of the last accepted group; the nonce before any */
    uint64_t last_at; /* place of the last accepted group; 0: none */
    uint64_t last_number; /* its commit; the root's generation before any */
    bool acknowledged; /* the last group, or the root before any, is synced */
} grb_log;

typedef struct grb_group {
    uint64_t at, end, number, mark, file_size;
    uint32_t flags;
    const uint8_t *records;
    size_t size;
} grb_group;

void grb_log_init(grb_log *log, grb_directory *d, const grb_root *root);
grebe_status grb_log_open(grb_log *log, bool writable, grebe_error *err);
void grb_log_close(grb_log *log);
/* The head names this index, this file, this generation. */
grebe_status grb_log_head_check(grb_log *log, grebe_error *err);
/* Reads the group at `tail` into `bytes` and verifies it; `valid` says
 * whether there is one. Only failing I/O and memory are errors. */
grebe_status grb_log_group_read(grb_log *log, grb_buf *bytes, grb_group *out,
                                bool *valid, grebe_error *err);
void grb_log_group_accept(grb_log *log, const grb_group *group);
/* Whether the sector at `tail` acknowledges what ends there. */
grebe_status grb_log_acknowledged(grb_log *log, bool *yes, grebe_error *err);
/* Whether something behind `tail` shows that a group there was synced. */
grebe_status grb_log_evidence(grb_log *log, bool *found, grebe_error *err);
/* True if the 512 bytes at `sector` start with a sign of life of this log:
 * an acknowledgement or a group header that was synced. */
bool grb_log_sector_signed(const grb_log *log, const uint8_t *sector,
                           uint64_t at);
/* A log file with a head and nothing else: was it ever committed to? Reads
 * the nonce from the head itself. */
grebe_status grb_log_used(grb_directory *d, const char *name, bool *used,
                          grebe_error *err);

/* Creates the file that log->number names: head, zeros, synced. */
grebe_status grb_log_create(grb_log *log, bool *synced, grebe_error *err);
/* Makes room for `size` bytes of records; no failure of it harms the log. */
grebe_status grb_log_prepare(grb_log *log, size_t size, grebe_error *err);
/* Builds the next group in `out`; nothing is written. */
grebe_status grb_log_encode(const grb_log *log, uint64_t number,
                            const uint8_t *records, size_t size, grb_buf *out,
                            grebe_error *err);
/* Writes and syncs it; after a failure the log is not to be used. */
grebe_status grb_log_append(grb_log *log, const grb_buf *group,
                            grebe_error *err);
/* Writes the last accepted group again in place and syncs. */
grebe_status grb_log_rewrite(grb_log *log, grb_buf *scratch, grebe_error *err);
/* Says without a sync that everything before `tail` is on the device. */
void grb_log_acknowledge(grb_log *log);
static inline uint64_t grb_group_span(size_t size) {
    uint64_t whole = (uint64_t)size + GRB_GROUP_HEADER + GRB_GROUP_MARK;
    return (whole + GRB_SECTOR - 1) / GRB_SECTOR * GRB_SECTOR;
}
void grb_group_ack_put(uint8_t *at, uint64_t nonce, uint64_t number,
                       uint64_t place);

/* ---- records (commit/records.c) ---- */

/* Hands the records of a verified group to `replay`. */
grebe_status grb_records_replay(const grebe_allocator *a, const char *file,
                                const grb_group *group,
                                const grb_replay *replay, grebe_error *err);

/* ---- the object (commit/durable.c, recovery.c, checkpoint.c) ---- */

struct grb_durable {
    grb_directory *directory;
    bool writable, poisoned, replayed;
    bool settled; /* root and last group are known to be on the device */
    grb_root root;
    grb_buf state_bytes;
    grb_state state;
    grb_log log;
    grb_buf scratch; /* a group being written */
    uint64_t next_file;
    uint64_t number; /* of the last durable commit */
    _Atomic uint64_t *signal;
    uint64_t signal_seen;
};

/* Before the first write: see recovery.c. */
grebe_status grb_durable_settle(grb_durable *d, grebe_error *err);
grebe_status grb_durable_root_settle(grb_durable *d, grebe_error *err);
grebe_status grb_durable_poison(grb_durable *d, grebe_status status);
void grb_durable_announce(grb_durable *d);

#endif
