/* commit/state.c - the file `state-N`: what a checkpoint holds beside its
 * segments.
 *
 *   offset size type  meaning
 *     0      8  bytes  "GRBSTAT1"
 *     8     16  u32[4] compatible, read-only-compatible and incompatible
 *                      flags, format version
 *     24    16  bytes  uuid of the index
 *     40     8  u64    number of this file
 *     48     8  u64    number of the commit
 *     56     8  u64    next insertion sequence
 *     64     4  u32    1: every key has one live document
 *     68     4  u32    segment count n
 *     72     8  u64    size s of the schema
 *     80   24n  record per segment: u64 file number, u32 documents, u32 1:
 *                      some are dead, u64 place of their bitmap (else 0)
 *     then         bitmaps in segment order, (documents + 63) / 64 u64 words
 *     then      s  bytes  schema (doc/schema_code.c)
 *     then      8  u64    XXH3 of everything before
 *
 * Invariant: written once, whole, before a root names it; the root repeats
 * size and checksum, so that one state cannot stand for another.
 * Threads: any.
 * Owns: the bytes above. Nothing in them is trusted before it is checked.
 */
#include "commit/files.h"

#define HEAD_SIZE 80u
#define RECORD_SIZE 24u

static const char magic[8] = {'G', 'R', 'B', 'S', 'T', 'A', 'T', '1'};

/* ---- version words, shared with the root ---- */

void grb_version_put(uint8_t *at) {
    memset(at, 0, 12);
    grb_put32(at + 12, GRB_FORMAT_VERSION);
}

void grb_version_get(const uint8_t *at, grb_version *out) {
    out->compatible = grb_get32(at);
    out->read_only = grb_get32(at + 4);
    out->incompatible = grb_get32(at + 8);
    out->number = grb_get32(at + 12);
}

grebe_status grb_version_check(const grb_version *v, const char *file,
                               bool writable, grebe_error *err) {
    uint32_t unknown = v->incompatible & ~GRB_FLAGS_INCOMPATIBLE_KNOWN;
    if (!unknown && writable)
        unknown = v->read_only & ~GRB_FLAGS_READ_ONLY_KNOWN;
    if (!unknown) return GREBE_OK;
    return grb_error(err, GREBE_VERSION,
                     "%s has format version %u with features %#x, this "
                     "library has version %u and cannot %s it",
                     file, v->number, unknown, GRB_FORMAT_VERSION,
                     writable ? "write" : "read");
}

/* ---- encoding ---- */

static uint64_t word_count(uint32_t max_doc) {
    return ((uint64_t)max_doc + 63) / 64;
}

static void segments_encode(const grb_state *state, grb_buf *out) {
    uint64_t at = HEAD_SIZE + (uint64_t)state->segment_count * RECORD_SIZE;
    for (uint32_t i = 0; i < state->segment_count; i++) {
        const grb_state_segment *s = &state->segments[i];
        grb_buf_u64(out, s->file_number);
        grb_buf_u32(out, s->max_doc);
        grb_buf_u32(out, s->dead != NULL);
        grb_buf_u64(out, s->dead ? at : 0);
        if (s->dead) at += word_count(s->max_doc) * 8;
    }
    for (uint32_t i = 0; i < state->segment_count; i++) {
        const grb_state_segment *s = &state->segments[i];
        if (s->dead) grb_buf_put(out, s->dead, word_count(s->max_doc) * 8);
    }
}

grebe_status grb_state_encode(const grb_state *state, const uint8_t uuid[16],
                              uint64_t file_number, grb_buf *out,
                              uint64_t *checksum, grebe_error *err) {
    uint8_t version[16];
    grb_version_put(version);
    grb_buf_clear(out);
    grb_buf_put(out, magic, sizeof magic);
    grb_buf_put(out, version, sizeof version);
    grb_buf_put(out, uuid, 16);
    grb_buf_u64(out, file_number);
    grb_buf_u64(out, state->number);
    grb_buf_u64(out, state->next_sequence);
    grb_buf_u32(out, state->unique);
    grb_buf_u32(out, state->segment_count);
    grb_buf_u64(out, 0);
    segments_encode(state, out);
    size_t schema_at = out->size;
    grb_schema_encode(state->schema, out);
    if (!out->failed) {
        grb_put64(out->bytes + 72, out->size - schema_at);
        *checksum = grb_hash(out->bytes, out->size, 0);
        grb_buf_u64(out, *checksum);
    }
    return out->failed ? grb_error_memory(err, out->size) : GREBE_OK;
}

/* ---- decoding ---- */

static grebe_status state_corrupt(const grb_root *root, uint64_t at,
                                  const char *what, grebe_error *err) {
    char name[32];
    grb_state_file_name(root->state_number, name);
    return grb_error_corrupt(err, name, at, "%s", what);
}

/* Documents beyond the segment's end may not be dead: counts rely on it. */
static bool bitmap_tail_clear(const uint64_t *words, uint32_t max_doc) {
    return !(max_doc & 63) || words[max_doc >> 6] >> (max_doc & 63) == 0;
}

/* Takes record `i`; bitmaps must follow each other without gap, so they can
 * neither overlap nor be shared. */
static bool segment_decode(const grb_buf *bytes, const grb_root *root,
                           uint32_t i, uint64_t *bitmap_at, uint64_t end,
                           grb_state_segment *out) {
    const uint8_t *at = bytes->bytes + HEAD_SIZE + (size_t)i * RECORD_SIZE;
    uint32_t has_dead = grb_get32(at + 12);
    uint64_t place = grb_get64(at + 16);
    out->file_number = grb_get64(at);
    out->max_doc = grb_get32(at + 8);
    out->dead = NULL;
    if (out->file_number == 0 || out->file_number >= root->next_file ||
        out->max_doc > GRB_SEGMENT_DOCS_MAX)
        return false;
    if (!has_dead) return place == 0;
    uint64_t size = word_count(out->max_doc) * 8;
    if (has_dead != 1 || place != *bitmap_at || size > end - place)
        return false;
    out->dead = (const uint64_t *)(const void *)(bytes->bytes + place);
    *bitmap_at += size;
    return bitmap_tail_clear(out->dead, out->max_doc);
}

static grebe_status body_decode(const grebe_allocator *a, const grb_buf *bytes,
                                const grb_root *root, grb_state *out,
                                grebe_error *err) {
    const uint8_t *head = bytes->bytes;
    uint64_t body = bytes->size - HEAD_SIZE - 8;
    uint64_t schema_size = grb_get64(head + 72);
    uint32_t count = grb_get32(head + 68), unique = grb_get32(head + 64);
    if (unique > 1) return state_corrupt(root, 64, "not 0 or 1", err);
    if (schema_size > body || count > (body - schema_size) / RECORD_SIZE)
        return state_corrupt(root, 68, "counts above the file's size", err);
    out->number = grb_get64(head + 48);
    out->next_sequence = grb_get64(head + 56);
    out->unique = unique;
    if (count) {
        out->segments = grb_alloc_zero(a, count * sizeof *out->segments);
        if (!out->segments) return grb_error_memory(err, count);
        out->segment_count = count;
    }
    uint64_t at = HEAD_SIZE + (uint64_t)count * RECORD_SIZE;
    uint64_t end = HEAD_SIZE + body - schema_size;
    for (uint32_t i = 0; i < count; i++)
        if (!segment_decode(bytes, root, i, &at, end, &out->segments[i]))
            return state_corrupt(root, HEAD_SIZE + (uint64_t)i * RECORD_SIZE,
                                 "a segment record does not fit", err);
    if (at != end)
        return state_corrupt(root, at, "bytes that belong to nothing", err);
    grb_cursor in;
    grb_cursor_init(&in, head + end, (size_t)schema_size);
    grebe_status status = grb_schema_decode(a, &in, &out->schema, err);
    if (status == GREBE_OK && grb_cursor_left(&in))
        status = state_corrupt(root, end, "bytes behind the schema", err);
    return status;
}

grebe_status grb_state_decode(const grebe_allocator *a, const grb_buf *bytes,
                              const grb_root *root, bool writable,
                              grb_state *out, grebe_error *err) {
    grb_version version;
    grebe_status status = GREBE_OK;
    char name[32];
    memset(out, 0, sizeof *out);
    if (bytes->size != root->state_size || bytes->size < HEAD_SIZE + 8)
        return state_corrupt(root, bytes->size, "wrong size", err);
    size_t covered = bytes->size - 8;
    uint64_t checksum = grb_hash(bytes->bytes, covered, 0);
    if (checksum != root->state_checksum ||
        checksum != grb_get64(bytes->bytes + covered))
        return state_corrupt(root, covered, "wrong checksum", err);
    if (memcmp(bytes->bytes, magic, sizeof magic) != 0)
        return state_corrupt(root, 0, "not a state file", err);
    if (memcmp(bytes->bytes + 24, root->uuid, 16) != 0)
        return state_corrupt(root, 24, "of another index", err);
    if (grb_get64(bytes->bytes + 40) != root->state_number)
        return state_corrupt(root, 40, "of another number", err);
    grb_version_get(bytes->bytes + 8, &version);
    grb_state_file_name(root->state_number, name);
    GRB_TRY(grb_version_check(&version, name, writable, err));
    GRB_TRY(body_decode(a, bytes, root, out, err));
done:
    if (status != GREBE_OK) grb_state_deinit(a, out);
    return status;
}

void grb_state_deinit(const grebe_allocator *a, grb_state *state) {
    grb_schema_release(state->schema);
    if (state->segments)
        grb_free(a, state->segments,
                 state->segment_count * sizeof *state->segments);
    memset(state, 0, sizeof *state);
}

/* ---- the file ---- */

grebe_status grb_state_read(grb_directory *d, const grb_root *root,
                            grb_buf *bytes, grebe_error *err) {
    grebe_status status = GREBE_OK;
    char name[32];
    grb_file *f = NULL;
    uint64_t size = 0;
    size_t got = 0;
    grb_buf_clear(bytes);
    grb_state_file_name(root->state_number, name);
    status = d->ops->file_open(d, name, false, false, &f, err);
    if (status == GREBE_NOT_FOUND)
        return grb_error_corrupt(err, name, GREBE_NO_OFFSET,
                                 "the root names %s, which is missing", name);
    if (status != GREBE_OK) return status;
    GRB_TRY(d->ops->file_size(f, &size, err));
    if (size != root->state_size) {
        status = state_corrupt(root, size, "wrong size", err);
        goto done;
    }
    if (!grb_buf_reserve(bytes, (size_t)size)) {
        status = grb_error_memory(err, (size_t)size);
        goto done;
    }
    GRB_TRY(d->ops->file_read(f, 0, bytes->bytes, (size_t)size, &got, err));
    bytes->size = got;
done:
    d->ops->file_close(f);
    return status;
}

grebe_status grb_state_write(grb_directory *d, uint64_t file_number,
                             const grb_buf *bytes, bool *synced,
                             grebe_error *err) {
    grebe_status status = GREBE_OK;
    char name[32];
    grb_file *f = NULL;
    *synced = false;
    grb_state_file_name(file_number, name);
    GRB_TRY(d->ops->file_open(d, name, true, true, &f, err));
    GRB_TRY(d->ops->file_write(f, 0, bytes->bytes, bytes->size, err));
    *synced = true;
    GRB_TRY(grb_file_sync(f, err));
done:
    if (f) d->ops->file_close(f);
    return status;
}
