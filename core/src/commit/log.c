/* commit/log.c - reading the log: what was committed since the root.
 *
 *   head (offset 0, 512 bytes):
 *     0      8  bytes  "GRBLOG01"
 *     8     16  bytes  uuid of the index
 *     24     8  u64    number of this file
 *     32     8  u64    nonce
 *     40     8  u64    XXH3 of bytes 0-39
 *     48   464  zero
 *   group (at a multiple of 512, the first at 512):
 *     0      8  u64    acknowledges what ends here: number of the commit
 *                      before, or generation of the root before any
 *     8      8  u64    XXH3 of {number, place}, seeded from the nonce; both 0
 *                      where nothing was acknowledged
 *     16     4  bytes  "GRBG"
 *     20     4  u32    flags: 1 = written without syncs
 *     24     8  u64    number of the commit
 *     32     8  u64    size s of the records
 *     40     8  u64    place of the group in the file
 *     48     8  u64    size of the file
 *     56     8  u64    salt of the writer
 *     64     8  u64    XXH3 of bytes 16-63, seed = nonce
 *     72     s  bytes  records (records.c)
 *     72+s   8  u64    number of the commit again
 *     80+s   8  u64    mark: XXH3 of bytes 16 to 79+s, seed = mark of the
 * group before, or the nonce then       zero  up to the next multiple of 512
 *   behind the last group zeros, written ahead.
 *
 * An empty log is a file with its head and zeros, synced before the root names
 * it: so a missing file, one without its head or one shorter than the root
 * says is damage, never "nothing committed yet".
 *
 * A group that does not verify is a torn tail, unless something behind it
 * could only have been written after it was synced: an acknowledgement, or the
 * header of a later group (of a writer that syncs). Then it is damage.
 *
 * Invariant: the chain starts from the nonce, which is of this file alone, and
 * goes through every byte; signs of life hold their own place, so a copy of
 * them inside a document proves nothing.
 * Threads: a reader may meet a writer in another process.
 * Owns: the bytes above.
 */
#include "commit/files.h"

#define SCAN_SIZE (64u << 10)
#define ACK_SEED 0x9e3779b97f4a7c15u

static const char head_magic[8] = {'G', 'R', 'B', 'L', 'O', 'G', '0', '1'};
static const char group_magic[4] = {'G', 'R', 'B', 'G'};

/* ---- pieces ---- */

static uint64_t ack_check(uint64_t nonce, uint64_t number, uint64_t place) {
    uint64_t words[2] = {number, place};
    return grb_hash(words, sizeof words, nonce ^ ACK_SEED);
}

void grb_group_ack_put(uint8_t *at, uint64_t nonce, uint64_t number,
                       uint64_t place) {
    grb_put64(at, number);
    grb_put64(at + 8, ack_check(nonce, number, place));
}

static bool ack_valid(const uint8_t *at, uint64_t nonce, uint64_t place) {
    uint64_t number = grb_get64(at), check = grb_get64(at + 8);
    return (number || check) && check == ack_check(nonce, number, place);
}

static bool group_header_valid(const uint8_t *at, uint64_t nonce,
                               uint64_t place) {
    return memcmp(at + 16, group_magic, sizeof group_magic) == 0 &&
           grb_get64(at + 40) == place &&
           grb_get64(at + 64) == grb_hash(at + 16, 48, nonce);
}

bool grb_log_sector_signed(const grb_log *log, const uint8_t *sector,
                           uint64_t at) {
    if (ack_valid(sector, log->nonce, at)) return true;
    return group_header_valid(sector, log->nonce, at) &&
           !(grb_get32(sector + 20) & GRB_FLAG_UNSYNCED);
}

/* ---- the file ---- */

void grb_log_init(grb_log *log, grb_directory *d, const grb_root *root) {
    memset(log, 0, sizeof *log);
    log->directory = d;
    log->number = root->log_number;
    log->nonce = log->mark = root->nonce;
    log->tail = GRB_LOG_FIRST;
    log->salt = grb_random();
    log->last_number = root->generation;
    memcpy(log->uuid, root->uuid, 16);
    grb_log_file_name(log->number, log->name);
}

grebe_status grb_log_open(grb_log *log, bool writable, grebe_error *err) {
    grb_directory *d = log->directory;
    if (log->file && (log->file_writable || !writable)) return GREBE_OK;
    grb_log_close(log);
    grebe_status status =
        d->ops->file_open(d, log->name, false, writable, &log->file, err);
    if (status == GREBE_NOT_FOUND)
        return grb_error_corrupt(err, log->name, GREBE_NO_OFFSET,
                                 "the root names %s, which is missing",
                                 log->name);
    if (status != GREBE_OK) return status;
    log->file_writable = writable;
    status = d->ops->file_size(log->file, &log->size, err);
    if (status != GREBE_OK) grb_log_close(log);
    return status;
}

void grb_log_close(grb_log *log) {
    if (log->file) log->directory->ops->file_close(log->file);
    log->file = NULL;
}

static bool head_decode(const uint8_t *head, size_t got) {
    return got >= 48 && memcmp(head, head_magic, sizeof head_magic) == 0 &&
           grb_get64(head + 40) == grb_hash(head, 40, 0);
}

grebe_status grb_log_head_check(grb_log *log, grebe_error *err) {
    uint8_t head[GRB_SECTOR];
    size_t got = 0;
    grebe_status status = log->directory->ops->file_read(
        log->file, 0, head, sizeof head, &got, err);
    if (status != GREBE_OK) return status;
    if (!head_decode(head, got))
        return grb_error_corrupt(err, log->name, 0, "the log has no head");
    if (memcmp(head + 8, log->uuid, 16) != 0)
        return grb_error_corrupt(err, log->name, 8, "of another index");
    if (grb_get64(head + 24) != log->number ||
        grb_get64(head + 32) != log->nonce)
        return grb_error_corrupt(err, log->name, 24,
                                 "not the log that the root names");
    return GREBE_OK;
}

grebe_status grb_log_used(grb_directory *d, const char *name, bool *used,
                          grebe_error *err) {
    uint8_t bytes[2 * GRB_SECTOR];
    size_t got = 0;
    grb_file *f = NULL;
    grebe_status status = GREBE_OK;
    *used = false;
    GRB_TRY(d->ops->file_open(d, name, false, false, &f, err));
    GRB_TRY(d->ops->file_read(f, 0, bytes, sizeof bytes, &got, err));
    if (got != sizeof bytes || !head_decode(bytes, got)) goto done;
    uint64_t nonce = grb_get64(bytes + 32);
    const uint8_t *first = bytes + GRB_LOG_FIRST;
    *used = ack_valid(first, nonce, GRB_LOG_FIRST) ||
            group_header_valid(first, nonce, GRB_LOG_FIRST);
done:
    if (f) d->ops->file_close(f);
    return status;
}

/* ---- groups ---- */

/* Fills `out` from the header at `tail`; false if there is none or its group
 * would end behind the file. */
static bool header_decode(const grb_log *log, const uint8_t *header,
                          grb_group *out) {
    uint64_t overhead = GRB_GROUP_HEADER + GRB_GROUP_MARK;
    if (!group_header_valid(header, log->nonce, log->tail)) return false;
    uint64_t size = grb_get64(header + 32);
    if (log->size - log->tail < overhead ||
        size > log->size - log->tail - overhead)
        return false;
    out->at = log->tail;
    out->flags = grb_get32(header + 20);
    out->number = grb_get64(header + 24);
    out->size = (size_t)size;
    out->file_size = grb_get64(header + 48);
    out->end = log->tail + grb_group_span(out->size);
    return true;
}

grebe_status grb_log_group_read(grb_log *log, grb_buf *bytes, grb_group *out,
                                bool *valid, grebe_error *err) {
    const grb_directory_ops *ops = log->directory->ops;
    grebe_status status = GREBE_OK;
    uint8_t header[GRB_GROUP_HEADER];
    size_t got = 0;
    *valid = false;
    if (log->tail >= log->size) return GREBE_OK;
    GRB_TRY(ops->file_read(log->file, log->tail, header, sizeof header, &got,
                           err));
    if (got != sizeof header || !header_decode(log, header, out))
        return GREBE_OK;
    size_t whole = GRB_GROUP_HEADER + out->size + GRB_GROUP_MARK;
    grb_buf_clear(bytes);
    if (!grb_buf_reserve(bytes, whole)) return grb_error_memory(err, whole);
    GRB_TRY(
        ops->file_read(log->file, log->tail, bytes->bytes, whole, &got, err));
    const uint8_t *end = bytes->bytes + whole;
    if (got != whole || memcmp(bytes->bytes + 16, header + 16, 56) != 0 ||
        grb_get64(end - 16) != out->number)
        return GREBE_OK;
    out->mark = grb_get64(end - 8);
    out->records = bytes->bytes + GRB_GROUP_HEADER;
    *valid = out->mark == grb_hash(bytes->bytes + 16, whole - 24, log->mark);
done:
    return status;
}

void grb_log_group_accept(grb_log *log, const grb_group *group) {
    log->last_at = group->at;
    log->last_number = group->number;
    log->mark = group->mark;
    log->tail = group->end;
}

grebe_status grb_log_acknowledged(grb_log *log, bool *yes, grebe_error *err) {
    uint8_t ack[16];
    size_t got = 0;
    grebe_status status = log->directory->ops->file_read(
        log->file, log->tail, ack, sizeof ack, &got, err);
    *yes = status == GREBE_OK && got == sizeof ack &&
           ack_valid(ack, log->nonce, log->tail) &&
           grb_get64(ack) == log->last_number;
    return status;
}

/* Written-ahead zeros are most of what is looked at: they cost a comparison
 * each 512 bytes. */
static bool chunk_evidence(const grb_log *log, const uint8_t *bytes,
                           size_t size, uint64_t at) {
    static const uint8_t zeros[GRB_GROUP_HEADER];
    for (size_t i = 0; i + GRB_GROUP_HEADER <= size; i += GRB_SECTOR)
        if (memcmp(bytes + i, zeros, sizeof zeros) != 0 &&
            grb_log_sector_signed(log, bytes + i, at + i))
            return true;
    return false;
}

grebe_status grb_log_evidence(grb_log *log, bool *found, grebe_error *err) {
    const grebe_allocator *a = log->directory->allocator;
    grebe_status status = GREBE_OK;
    uint64_t at = log->tail + GRB_SECTOR;
    *found = false;
    if (at >= log->size) return GREBE_OK;
    uint8_t *bytes = grb_alloc(a, SCAN_SIZE);
    if (!bytes) return grb_error_memory(err, SCAN_SIZE);
    while (at < log->size && !*found) {
        size_t got = 0;
        GRB_TRY(log->directory->ops->file_read(log->file, at, bytes, SCAN_SIZE,
                                               &got, err));
        if (got == 0) break;
        *found = chunk_evidence(log, bytes, got, at);
        at += SCAN_SIZE;
    }
done:
    grb_free(a, bytes, SCAN_SIZE);
    return status;
}
