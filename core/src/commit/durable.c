/* commit/durable.c - the object: starting an index, appending, ending.
 *
 * Creation makes state-1 and log-2, then the root under another name, then the
 * root by a rename: a folder where that was cut short has no root, and its
 * leftovers are known by their numbers and an unused log.
 *
 * Invariant: `number` is the last commit that a crash cannot take away.
 * Poison: once a write or sync failed on which a root or an accepted place of
 * the log relies, nothing more is written; what is on disk is found out by
 * the next open.
 * Threads: the writer's, under its mutex.
 * Owns: root, state and log objects; the directory is the caller's.
 */
#include "commit/files.h"

#define FIRST_STATE 1u
#define FIRST_LOG 2u
#define SCRATCH_KEEP (64u << 10) /* bytes kept between commits */

/* ---- is there one ---- */

typedef struct search {
    bool root, more, first_log;
    bool leftovers; /* of a creation, if there is nothing else */
} search;

static void search_visit(void *context, const char *name) {
    search *s = context;
    uint64_t number;
    grb_file_kind kind = grb_file_name_parse(name, &number);
    s->leftovers |= kind != GRB_FILE_OTHER;
    switch (kind) {
    case GRB_FILE_ROOT:
        s->root = true;
        break;
    case GRB_FILE_SEGMENT:
        s->more = true;
        break;
    case GRB_FILE_STATE:
        s->more |= number != FIRST_STATE;
        break;
    case GRB_FILE_LOG:
        if (number == FIRST_LOG)
            s->first_log = true;
        else
            s->more = true;
        break;
    default:
        break;
    }
}

static grebe_status folder_search(grb_directory *d, search *s, bool *exists,
                                  grebe_error *err) {
    char name[32];
    memset(s, 0, sizeof *s);
    *exists = false;
    grebe_status status = d->ops->list(d, search_visit, s, err);
    if (status != GREBE_OK) return status;
    *exists = s->root || s->more;
    if (*exists || !s->first_log) return GREBE_OK;
    grb_log_file_name(FIRST_LOG, name);
    return grb_log_used(d, name, exists, err);
}

/* Leftovers of a creation that was cut short do not count: they hold nothing
 * that anybody committed. */
grebe_status grb_durable_exists(grb_directory *d, bool *exists,
                                grebe_error *err) {
    search s;
    return folder_search(d, &s, exists, err);
}

/* ---- creating ---- */

static void uuid_make(uint8_t out[16]) {
    grb_put64(out, grb_random());
    grb_put64(out + 8, grb_random());
    out[6] = (uint8_t)((out[6] & 0x0f) | 0x40); /* RFC 9562, version 4 */
    out[8] = (uint8_t)((out[8] & 0x3f) | 0x80);
}

/* The root goes first, and for good, before what it names: else a power cut
 * could bring it back alone. */
static grebe_status first_files_remove(grb_directory *dir, grebe_error *err) {
    char name[32];
    (void)dir->ops->remove(dir, GRB_ROOT_NAME, NULL);
    grebe_status status = grb_directory_sync(dir, err);
    if (status != GREBE_OK) return status;
    (void)dir->ops->remove(dir, GRB_ROOT_NEW_NAME, NULL);
    grb_state_file_name(FIRST_STATE, name);
    (void)dir->ops->remove(dir, name, NULL);
    grb_log_file_name(FIRST_LOG, name);
    (void)dir->ops->remove(dir, name, NULL);
    return GREBE_OK;
}

static void first_root_fill(grb_durable *d, uint64_t checksum) {
    grb_root *root = &d->root;
    root->generation = 1;
    root->state_number = FIRST_STATE;
    root->state_size = d->state_bytes.size;
    root->state_checksum = checksum;
    root->log_number = FIRST_LOG;
    root->nonce = grb_random();
    root->next_file = d->next_file;
    root->flags = d->directory->sync_off ? GRB_FLAG_UNSYNCED : 0;
    root->copy_good[0] = root->copy_good[1] = true;
}

/* Everything that the rename will make true. */
static grebe_status first_files_write(grb_durable *d, grebe_error *err) {
    grb_directory *dir = d->directory;
    grebe_status status = GREBE_OK;
    bool synced;
    GRB_TRY(grb_state_write(dir, FIRST_STATE, &d->state_bytes, &synced, err));
    grb_log_init(&d->log, dir, &d->root);
    GRB_TRY(grb_log_create(&d->log, &synced, err));
    d->root.log_size = d->log.size;
    GRB_TRY(grb_root_create(dir, &d->root, err));
    GRB_TRY(grb_directory_sync(dir, err));
done:
    return status;
}

static grebe_status first_state_encode(grb_durable *d, const grb_state *state,
                                       grebe_error *err) {
    grebe_status status = GREBE_OK;
    uint64_t checksum = 0;
    d->next_file = FIRST_LOG + 1;
    for (uint32_t i = 0; i < state->segment_count; i++)
        d->next_file =
            GRB_MAX(d->next_file, state->segments[i].file_number + 1);
    GRB_TRY(grb_state_encode(state, d->root.uuid, FIRST_STATE, &d->state_bytes,
                             &checksum, err));
    first_root_fill(d, checksum);
    GRB_TRY(grb_state_decode(d->directory->allocator, &d->state_bytes,
                             &d->root, true, &d->state, err));
done:
    return status;
}

grebe_status grb_durable_create(grb_directory *dir, const grb_state *state,
                                grb_durable **out, grebe_error *err) {
    const grebe_allocator *a = dir->allocator;
    grebe_status status = GREBE_OK;
    bool exists = false, began = false;
    search found;
    grb_durable *d = grb_alloc_zero(a, sizeof *d);
    if (!d) return grb_error_memory(err, sizeof *d);
    d->directory = dir;
    d->writable = d->replayed = d->settled = true;
    grb_buf_init(&d->state_bytes, a, 0);
    grb_buf_init(&d->scratch, a, 0);
    uuid_make(d->root.uuid);
    GRB_TRY(folder_search(dir, &found, &exists, err));
    if (exists) {
        status = grb_error(err, GREBE_STATE, "the folder has an index");
        goto done;
    }
    GRB_TRY(first_state_encode(d, state, err));
    if (found.leftovers) GRB_TRY(first_files_remove(dir, err));
    began = true;
    GRB_TRY(first_files_write(d, err));
    GRB_TRY(dir->ops->rename(dir, GRB_ROOT_NEW_NAME, GRB_ROOT_NAME, err));
    GRB_TRY(grb_directory_sync(dir, err));
    grb_log_acknowledge(&d->log);
    grb_log_close(&d->log);
    d->number = state->number;
    d->signal = dir->ops->signal(dir, true);
    grb_durable_announce(d);
    *out = d;
done:
    if (status != GREBE_OK) {
        grb_durable_close(d);
        if (began) (void)first_files_remove(dir, NULL);
    }
    return status;
}

/* ---- appending ---- */

grebe_status grb_durable_poison(grb_durable *d, grebe_status status) {
    d->poisoned = true;
    return status;
}

/* The signal is a hint: readers look at root and log when it moved. */
void grb_durable_announce(grb_durable *d) {
    if (d->signal &&
        atomic_load_explicit(d->signal, memory_order_relaxed) != d->number)
        atomic_store_explicit(d->signal, d->number, memory_order_release);
}

uint64_t grb_durable_next_file(grb_durable *d) {
    return d->next_file++;
}

bool grb_durable_log_fits(const grb_durable *d, size_t size) {
    return size <= GRB_LOG_PENDING_MAX &&
           d->log.tail + grb_group_span(size) <= GRB_LOG_SIZE_MAX;
}

/* What every hard commit asks first. */
static grebe_status write_allowed(grb_durable *d, grebe_error *err) {
    if (d->poisoned)
        return grb_error(err, GREBE_POISONED,
                         "an earlier write or sync failed; reopen the index");
    if (!d->writable)
        return grb_error(err, GREBE_READ_ONLY,
                         "the index was opened for reading");
    if (!d->replayed)
        return grb_error(err, GREBE_STATE, "the log was not replayed");
    return d->directory->ops->lock_check(d->directory, err);
}

grebe_status grb_durable_append(grb_durable *d, uint64_t number,
                                const uint8_t *records, size_t size,
                                grebe_error *err) {
    grebe_status status = GREBE_OK;
    GRB_TRY(write_allowed(d, err));
    if (number <= d->number)
        return grb_error(err, GREBE_INTERNAL, "commit %llu after %llu",
                         (unsigned long long)number,
                         (unsigned long long)d->number);
    if (!grb_durable_log_fits(d, size))
        return grb_error(err, GREBE_LIMIT,
                         "a log group of %zu bytes does not fit the log",
                         size);
    GRB_TRY(grb_durable_settle(d, err));
    GRB_TRY(grb_log_prepare(&d->log, size, err));
    GRB_TRY(grb_log_encode(&d->log, number, records, size, &d->scratch, err));
    status = grb_log_append(&d->log, &d->scratch, err);
    if (d->scratch.capacity > SCRATCH_KEEP) {
        grb_buf_deinit(&d->scratch);
        grb_buf_init(&d->scratch, d->directory->allocator, 0);
    }
    if (status != GREBE_OK) return grb_durable_poison(d, status);
    d->number = number;
    grb_durable_announce(d);
done:
    return status;
}

/* ---- checkpoint ---- */

/* The state, log and root that a checkpoint is making. */
typedef struct checkpoint {
    grb_root root;
    grb_buf bytes;
    grb_state state;
    grb_log log;
    bool poisons; /* whether a failure now leaves the disk in doubt */
} checkpoint;

static grebe_status checkpoint_encode(grb_durable *d, const grb_state *state,
                                      checkpoint *c, grebe_error *err) {
    grebe_status status = GREBE_OK;
    const grebe_allocator *a = d->directory->allocator;
    c->root = d->root;
    c->root.generation++;
    c->root.state_number = grb_durable_next_file(d);
    c->root.log_number = grb_durable_next_file(d);
    c->root.next_file = d->next_file;
    c->root.nonce = grb_random();
    c->root.flags = d->directory->sync_off ? GRB_FLAG_UNSYNCED : 0;
    GRB_TRY(grb_state_encode(state, c->root.uuid, c->root.state_number,
                             &c->bytes, &c->root.state_checksum, err));
    c->root.state_size = c->bytes.size;
    /* Read back before anything is written: what could not be opened again
     * is not made durable. */
    GRB_TRY(grb_state_decode(a, &c->bytes, &c->root, true, &c->state, err));
    grb_log_init(&c->log, d->directory, &c->root);
done:
    return status;
}

static grebe_status checkpoint_write(grb_durable *d, checkpoint *c,
                                     grebe_error *err) {
    grb_directory *dir = d->directory;
    grebe_status status = GREBE_OK;
    GRB_TRY(grb_state_write(dir, c->root.state_number, &c->bytes, &c->poisons,
                            err));
    GRB_TRY(grb_log_create(&c->log, &c->poisons, err));
    c->root.log_size = c->log.size;
    c->poisons = true;
    GRB_TRY(grb_directory_sync(dir, err));
done:
    if (status != GREBE_OK) {
        char name[32];
        grb_state_file_name(c->root.state_number, name);
        (void)dir->ops->remove(dir, name, NULL);
        grb_log_close(&c->log);
        (void)dir->ops->remove(dir, c->log.name, NULL);
    }
    return status;
}

/* Takes the new objects for the old. */
static void checkpoint_accept(grb_durable *d, checkpoint *c) {
    const grebe_allocator *a = d->directory->allocator;
    grb_log_close(&d->log);
    grb_state_deinit(a, &d->state);
    grb_buf_deinit(&d->state_bytes);
    d->root = c->root;
    d->root.copy_good[0] = d->root.copy_good[1] = true;
    d->state = c->state;
    d->state_bytes = c->bytes;
    d->log = c->log;
    d->number = c->state.number;
    memset(&c->state, 0, sizeof c->state);
    grb_buf_init(&c->bytes, a, 0);
    c->log.file = NULL;
}

/* A sweep that fails is made up for by the next one. */
static void checkpoint_sweep(grb_durable *d, const uint64_t *pinned,
                             size_t pinned_count) {
    grb_buf names;
    uint64_t number_max;
    grb_keep keep = {&d->state, d->root.state_number, d->root.log_number,
                     pinned, pinned_count};
    grb_buf_init(&names, d->directory->allocator, 0);
    if (grb_files_unnamed(d->directory, &keep, &names, &number_max, NULL) ==
        GREBE_OK)
        grb_files_remove(d->directory, &names);
    grb_buf_deinit(&names);
}

grebe_status grb_durable_checkpoint(grb_durable *d, const grb_state *state,
                                    const uint64_t *pinned,
                                    size_t pinned_count, grebe_error *err) {
    grebe_status status = GREBE_OK;
    const grebe_allocator *a = d->directory->allocator;
    checkpoint c = {0};
    grb_buf_init(&c.bytes, a, 0);
    GRB_TRY(write_allowed(d, err));
    if (state->number < d->number) {
        status = grb_error(err, GREBE_INTERNAL, "commit %llu after %llu",
                           (unsigned long long)state->number,
                           (unsigned long long)d->number);
        goto done;
    }
    GRB_TRY(grb_durable_settle(d, err));
    GRB_TRY(checkpoint_encode(d, state, &c, err));
    GRB_TRY(checkpoint_write(d, &c, err));
    /* From here on the new root may be on the disk, whatever is returned. */
    GRB_TRY(grb_root_write(d->directory, &c.root, err));
    c.poisons = false;
    checkpoint_accept(d, &c);
    grb_log_acknowledge(&d->log);
    grb_durable_announce(d);
    checkpoint_sweep(d, pinned, pinned_count);
done:
    if (status != GREBE_OK && c.poisons) d->poisoned = true;
    grb_log_close(&c.log);
    grb_state_deinit(a, &c.state);
    grb_buf_deinit(&c.bytes);
    return status;
}

/* ---- reading the object ---- */

const grb_state *grb_durable_state(const grb_durable *d) {
    return &d->state;
}
const uint8_t *grb_durable_uuid(const grb_durable *d) {
    return d->root.uuid;
}
uint64_t grb_durable_generation(const grb_durable *d) {
    return d->root.generation;
}
bool grb_durable_poisoned(const grb_durable *d) {
    return d->poisoned;
}

void grb_durable_close(grb_durable *d) {
    if (!d) return;
    const grebe_allocator *a = d->directory->allocator;
    grb_log_close(&d->log);
    grb_state_deinit(a, &d->state);
    grb_buf_deinit(&d->state_bytes);
    grb_buf_deinit(&d->scratch);
    grb_free(a, d, sizeof *d);
}
