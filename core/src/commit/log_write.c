/* commit/log_write.c - writing the log: one write and one sync a commit.
 *
 * The file is written ahead with zeros, so that a group changes neither size
 * nor allocation and its sync is one device write (0.1 ms) instead of a
 * journal commit. Room is made before a group begins: a full disk is met
 * there, where it harms nothing. The zeros ride on the group's own sync; so
 * every append is exactly one.
 *
 * The format is in log.c.
 *
 * Invariant: a sector that holds accepted bytes is never written again, but
 * with the same bytes; the acknowledgement lies in the next group's sector.
 * Each writer's groups carry its salt, so that behind a torn tail nothing an
 * earlier writer left can continue the chain of a new one.
 * Threads: the writer's.
 * Owns: log->file.
 */
#include <errno.h>

#include "commit/files.h"

static const char head_magic[8] = {'G', 'R', 'B', 'L', 'O', 'G', '0', '1'};
static const char group_magic[4] = {'G', 'R', 'B', 'G'};

static grebe_status zeros_write(grb_log *log, uint64_t from, uint64_t to,
                                grebe_error *err) {
    static const uint8_t zeros[32u << 10];
    grebe_status status = GREBE_OK;
    while (status == GREBE_OK && from < to) {
        size_t part = (size_t)GRB_MIN((uint64_t)sizeof zeros, to - from);
        status =
            log->directory->ops->file_write(log->file, from, zeros, part, err);
        from += part;
    }
    return status;
}

static bool error_is_full(const grebe_error *err) {
    return err->os_error == ENOSPC || err->os_error == EDQUOT ||
           err->os_error == EFBIG;
}

/* Grows the file to `wanted`, or where the disk is full to `needed`. On
 * failure it has its old size again, if that can be had. */
static grebe_status file_grow(grb_log *log, uint64_t wanted, uint64_t needed,
                              grebe_error *err) {
    const grb_directory_ops *ops = log->directory->ops;
    grebe_error local = {0};
    uint64_t size = wanted;
    grebe_status status = zeros_write(log, log->size, size, &local);
    if (status != GREBE_OK && error_is_full(&local) && needed < wanted) {
        size = needed;
        status = ops->file_truncate(log->file, log->size, &local);
        if (status == GREBE_OK)
            status = zeros_write(log, log->size, size, &local);
    }
    if (status == GREBE_OK) {
        log->size = size;
        return GREBE_OK;
    }
    (void)ops->file_truncate(log->file, log->size, NULL);
    if (err) *err = local;
    return status;
}

grebe_status grb_log_prepare(grb_log *log, size_t size, grebe_error *err) {
    grebe_status status = grb_log_open(log, true, err);
    if (status != GREBE_OK) return status;
    /* One sector more, for the acknowledgement. */
    uint64_t needed = log->tail + grb_group_span(size) + GRB_SECTOR;
    if (needed <= log->size) return GREBE_OK;
    uint64_t step = GRB_MIN(log->size, (uint64_t)GRB_LOG_STEP_MAX);
    uint64_t wanted = log->size + GRB_MAX(step, (uint64_t)GRB_LOG_STEP_MIN);
    return file_grow(log, GRB_MAX(wanted, needed), needed, err);
}

grebe_status grb_log_create(grb_log *log, bool *synced, grebe_error *err) {
    grb_directory *d = log->directory;
    grebe_status status = GREBE_OK;
    uint8_t head[GRB_SECTOR] = {0};
    *synced = false;
    memcpy(head, head_magic, sizeof head_magic);
    memcpy(head + 8, log->uuid, 16);
    grb_put64(head + 24, log->number);
    grb_put64(head + 32, log->nonce);
    grb_put64(head + 40, grb_hash(head, 40, 0));
    GRB_TRY(d->ops->file_open(d, log->name, true, true, &log->file, err));
    log->file_writable = true;
    GRB_TRY(d->ops->file_write(log->file, 0, head, sizeof head, err));
    log->size = sizeof head;
    GRB_TRY(file_grow(log, GRB_LOG_STEP_MIN, 2 * GRB_SECTOR, err));
    *synced = true;
    GRB_TRY(grb_file_sync(log->file, err));
done:
    if (status != GREBE_OK) grb_log_close(log);
    return status;
}

/* Builds the group in `out`, whole sectors, for the place it will have. */
grebe_status grb_log_encode(const grb_log *log, uint64_t number,
                            const uint8_t *records, size_t size, grb_buf *out,
                            grebe_error *err) {
    uint8_t header[GRB_GROUP_HEADER] = {0};
    size_t span = (size_t)grb_group_span(size);
    grb_buf_clear(out);
    if (!grb_buf_reserve(out, span)) return grb_error_memory(err, span);
    uint32_t flags = log->directory->sync_off ? GRB_FLAG_UNSYNCED : 0;
    if (log->acknowledged && !flags)
        grb_group_ack_put(header, log->nonce, log->last_number, log->tail);
    memcpy(header + 16, group_magic, sizeof group_magic);
    grb_put32(header + 20, flags);
    grb_put64(header + 24, number);
    grb_put64(header + 32, size);
    grb_put64(header + 40, log->tail);
    grb_put64(header + 48, log->size);
    grb_put64(header + 56, log->salt);
    grb_put64(header + 64, grb_hash(header + 16, 48, log->nonce));
    grb_buf_put(out, header, sizeof header);
    grb_buf_put(out, records, size);
    grb_buf_u64(out, number);
    grb_buf_u64(out, grb_hash(out->bytes + 16, out->size - 16, log->mark));
    memset(out->bytes + out->size, 0, span - out->size);
    out->size = span;
    return GREBE_OK;
}

grebe_status grb_log_append(grb_log *log, const grb_buf *group,
                            grebe_error *err) {
    grebe_status status = GREBE_OK;
    const uint8_t *bytes = group->bytes;
    size_t size = (size_t)grb_get64(bytes + 32);
    GRB_TRY(log->directory->ops->file_write(log->file, log->tail, bytes,
                                            group->size, err));
    GRB_TRY(grb_file_sync(log->file, err));
    log->mark = grb_get64(bytes + GRB_GROUP_HEADER + size + 8);
    log->last_at = log->tail;
    log->last_number = grb_get64(bytes + 24);
    log->tail += group->size;
    grb_log_acknowledge(log);
done:
    return status;
}

/* Only the last group can lack a sync, and then no acknowledgement is behind
 * it: it may have been read from a cache that the device never saw. */
grebe_status grb_log_rewrite(grb_log *log, grb_buf *scratch,
                             grebe_error *err) {
    const grb_directory_ops *ops = log->directory->ops;
    grebe_status status = GREBE_OK;
    size_t size = (size_t)(log->tail - log->last_at), got = 0;
    GRB_TRY(grb_log_open(log, true, err));
    grb_buf_clear(scratch);
    if (!grb_buf_reserve(scratch, size)) return grb_error_memory(err, size);
    size = (size_t)GRB_MIN((uint64_t)size, log->size - log->last_at);
    GRB_TRY(ops->file_read(log->file, log->last_at, scratch->bytes, size, &got,
                           err));
    if (got != size)
        return grb_error_corrupt(err, log->name, log->last_at + got,
                                 "the log became shorter");
    GRB_TRY(
        ops->file_write(log->file, log->last_at, scratch->bytes, size, err));
    GRB_TRY(grb_file_sync(log->file, err));
done:
    return status;
}

/* A hint: if it cannot be written, the next writer syncs once more. */
void grb_log_acknowledge(grb_log *log) {
    grb_directory *d = log->directory;
    uint8_t ack[16];
    log->acknowledged = !d->sync_off;
    if (d->sync_off || !log->file) return;
    grb_group_ack_put(ack, log->nonce, log->last_number, log->tail);
    (void)d->ops->file_write(log->file, log->tail, ack, sizeof ack, NULL);
}
