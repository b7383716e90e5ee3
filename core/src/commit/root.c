/* commit/root.c - the root file `manifest`: which state and log count.
 *
 *   file: 16,384 bytes, never another size:
 *     0      slot 0 copy 0      4,096  slot 0 copy 1
 *     8,192  slot 1 copy 0     12,288  slot 1 copy 1
 *   copy: offset size type  meaning
 *     0      8  bytes  "GRBROOT1"
 *     8     16  u32[4] compatible, read-only-compatible and incompatible
 *                      flags, format version
 *     24    16  bytes  uuid of the index
 *     40     8  u64    generation; its lowest bit is the slot
 *     48     8  u64    number of the state file
 *     56     8  u64    its size
 *     64     8  u64    its checksum
 *     72     8  u64    number of the log file
 *     80     8  u64    its size when it was named
 *     88     8  u64    nonce: start of the log's chain
 *     96     8  u64    next file number
 *     104    4  u32    flags: 1 = written without syncs
 *     108 3980  zero
 *     4088   8  u64    XXH3 of bytes 0-4087, seed = slot
 *
 * Invariant: a generation goes to the slot that does not hold the newest, by
 * one write of both copies and one sync, after everything it names is synced;
 * so a torn write leaves the older slot whole.
 * Threads: one writer; readers in other processes may see a slot half written
 * and then take the other.
 * Owns: the bytes above.
 */
#include "commit/files.h"

#define COPY_SIZE 4096u
#define CHECKSUM_AT (COPY_SIZE - 8)
#define FILE_SIZE (4 * COPY_SIZE)

static const char magic[8] = {'G', 'R', 'B', 'R', 'O', 'O', 'T', '1'};

static void copy_encode(const grb_root *root, uint8_t out[COPY_SIZE]) {
    memset(out, 0, COPY_SIZE);
    memcpy(out, magic, sizeof magic);
    grb_version_put(out + 8);
    memcpy(out + 24, root->uuid, 16);
    grb_put64(out + 40, root->generation);
    grb_put64(out + 48, root->state_number);
    grb_put64(out + 56, root->state_size);
    grb_put64(out + 64, root->state_checksum);
    grb_put64(out + 72, root->log_number);
    grb_put64(out + 80, root->log_size);
    grb_put64(out + 88, root->nonce);
    grb_put64(out + 96, root->next_file);
    grb_put32(out + 104, root->flags);
    grb_put64(out + CHECKSUM_AT,
              grb_hash(out, CHECKSUM_AT, root->generation & 1));
}

static bool copy_decode(const uint8_t in[COPY_SIZE], unsigned slot,
                        grb_root *out) {
    memset(out, 0, sizeof *out);
    if (memcmp(in, magic, sizeof magic) != 0) return false;
    if (grb_get64(in + CHECKSUM_AT) != grb_hash(in, CHECKSUM_AT, slot))
        return false;
    grb_version_get(in + 8, &out->version);
    memcpy(out->uuid, in + 24, 16);
    out->generation = grb_get64(in + 40);
    out->state_number = grb_get64(in + 48);
    out->state_size = grb_get64(in + 56);
    out->state_checksum = grb_get64(in + 64);
    out->log_number = grb_get64(in + 72);
    out->log_size = grb_get64(in + 80);
    out->nonce = grb_get64(in + 88);
    out->next_file = grb_get64(in + 96);
    out->flags = grb_get32(in + 104);
    return (out->generation & 1) == slot;
}

/* One copy that cannot be read counts as invalid: for that there are two. A
 * slot of which none can be read may be the newest, so that is an error. */
static grebe_status slot_read(grb_file *f, unsigned slot, grb_root *out,
                              bool *valid, grebe_error *err) {
    const grb_directory_ops *ops = f->directory->ops;
    uint8_t bytes[COPY_SIZE];
    grb_root copy;
    bool good[2] = {false, false};
    grebe_status status = GREBE_OK;
    unsigned failures = 0;
    *valid = false;
    for (unsigned i = 0; i < 2; i++) {
        size_t got = 0;
        uint64_t at = (slot * 2 + i) * (uint64_t)COPY_SIZE;
        grebe_status one =
            ops->file_read(f, at, bytes, sizeof bytes, &got, err);
        if (one != GREBE_OK) {
            status = one;
            failures++;
            continue;
        }
        good[i] = got == COPY_SIZE && copy_decode(bytes, slot, &copy);
        if (good[i] && !*valid) *out = copy;
        *valid = *valid || good[i];
    }
    if (failures && !*valid) return status;
    if (*valid) memcpy(out->copy_good, good, sizeof good);
    return GREBE_OK;
}

grebe_status grb_root_read(grb_directory *d, grb_root *out, grebe_error *err) {
    grebe_status status = GREBE_OK;
    grb_root slots[2];
    bool valid[2];
    uint64_t size = 0;
    grb_file *f = NULL;
    GRB_TRY(d->ops->file_open(d, GRB_ROOT_NAME, false, false, &f, err));
    GRB_TRY(d->ops->file_size(f, &size, err));
    if (size != FILE_SIZE) {
        status = grb_error_corrupt(err, GRB_ROOT_NAME, size,
                                   "the root has %llu bytes, not %u",
                                   (unsigned long long)size, FILE_SIZE);
        goto done;
    }
    GRB_TRY(slot_read(f, 0, &slots[0], &valid[0], err));
    GRB_TRY(slot_read(f, 1, &slots[1], &valid[1], err));
    if (!valid[0] && !valid[1]) {
        status = grb_error_corrupt(err, GRB_ROOT_NAME, 0,
                                   "the root has no valid slot");
        goto done;
    }
    if (valid[0] && valid[1] &&
        memcmp(slots[0].uuid, slots[1].uuid, 16) != 0) {
        status = grb_error_corrupt(err, GRB_ROOT_NAME, 24,
                                   "the root's slots are of two indexes");
        goto done;
    }
    bool second =
        valid[1] && (!valid[0] || slots[1].generation > slots[0].generation);
    *out = slots[second];
done:
    if (f) d->ops->file_close(f);
    return status;
}

grebe_status grb_root_write(grb_directory *d, const grb_root *root,
                            grebe_error *err) {
    grebe_status status = GREBE_OK;
    uint8_t bytes[2 * COPY_SIZE];
    grb_file *f = NULL;
    copy_encode(root, bytes);
    memcpy(bytes + COPY_SIZE, bytes, COPY_SIZE);
    GRB_TRY(d->ops->file_open(d, GRB_ROOT_NAME, false, true, &f, err));
    GRB_TRY(d->ops->file_write(f, (root->generation & 1) * sizeof bytes, bytes,
                               sizeof bytes, err));
    GRB_TRY(grb_file_sync(f, err));
done:
    if (f) d->ops->file_close(f);
    return status;
}

grebe_status grb_root_rewrite(grb_directory *d, const grb_root *root,
                              grebe_error *err) {
    grebe_status status = GREBE_OK;
    uint8_t bytes[COPY_SIZE];
    grb_file *f = NULL;
    unsigned first = root->copy_good[0] ? 1 : 0;
    uint64_t slot_at = (root->generation & 1) * 2 * COPY_SIZE;
    copy_encode(root, bytes);
    GRB_TRY(d->ops->file_open(d, GRB_ROOT_NAME, false, true, &f, err));
    for (unsigned i = 0; i < 2; i++) {
        uint64_t at = slot_at + (first ^ i) * (uint64_t)COPY_SIZE;
        GRB_TRY(d->ops->file_write(f, at, bytes, COPY_SIZE, err));
        GRB_TRY(grb_file_sync(f, err));
    }
done:
    if (f) d->ops->file_close(f);
    return status;
}

grebe_status grb_root_create(grb_directory *d, const grb_root *root,
                             grebe_error *err) {
    grebe_status status = GREBE_OK;
    grb_file *f = NULL;
    uint8_t *bytes = grb_alloc_zero(d->allocator, FILE_SIZE);
    if (!bytes) return grb_error_memory(err, FILE_SIZE);
    uint8_t *slot = bytes + (root->generation & 1) * 2 * COPY_SIZE;
    copy_encode(root, slot);
    memcpy(slot + COPY_SIZE, slot, COPY_SIZE);
    GRB_TRY(d->ops->file_open(d, GRB_ROOT_NEW_NAME, true, true, &f, err));
    GRB_TRY(d->ops->file_write(f, 0, bytes, FILE_SIZE, err));
    GRB_TRY(grb_file_sync(f, err));
done:
    if (f) d->ops->file_close(f);
    grb_free(d->allocator, bytes, FILE_SIZE);
    return status;
}
