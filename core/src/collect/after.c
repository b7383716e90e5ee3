/* collect/after.c - the cursor of a page as a printable string.
 *
 * A cursor names a place in an order, not a document: the sort values of the
 * page's last document and its insertion sequence. It stays good when that
 * document is deleted or merged into another segment.
 *
 * Bytes, little endian, written in base64url without padding:
 *   u8   version, 1
 *   u64  signature of the order
 *   u64  insertion sequence
 *   per key: u8 state; VALUE of a keyword: varint size, bytes; other VALUE:
 *            u64 word
 *   u32  hash of all before, so that a mangled cursor is refused
 *
 * Invariant: whatever text comes in, reading stays within it.
 * Threads: pure functions.
 * Owns: the format of cursors.
 */
#include "collect/collect.h"

#define CURSOR_VERSION 1u
#define CURSOR_SEED 0x63757273u
/* Every key a keyword of the greatest size, and room for the rest. */
#define CURSOR_SIZE_MAX (GRB_SORT_KEYS_MAX * (GREBE_TERM_SIZE_MAX + 16u) + 64u)

static const char cursor_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                    "abcdefghijklmnopqrstuvwxyz0123456789-_";

/* `out` may lie before `raw` in the same memory: see grb_after_write. */
static void digits_put(const uint8_t *raw, size_t size, char *out) {
    for (size_t i = 0; i < size; i += 3) {
        size_t left = GRB_MIN(size - i, 3);
        uint32_t group = (uint32_t)raw[i] << 16;
        if (left > 1) group |= (uint32_t)raw[i + 1] << 8;
        if (left > 2) group |= raw[i + 2];
        for (size_t k = 0; k <= left; k++)
            *out++ = cursor_digits[group >> (18 - 6 * k) & 63];
    }
    *out = 0;
}

static int digit_value(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '-' ? 62 : c == '_' ? 63 : -1;
}

/* The bytes that a text stands for; false if it stands for none. */
static bool digits_get(const char *text, size_t size, uint8_t *out,
                       size_t *out_size) {
    uint32_t group = 0, held = 0;
    size_t count = 0;
    if (size % 4 == 1) return false;
    for (size_t i = 0; i < size; i++) {
        int value = digit_value(text[i]);
        if (value < 0) return false;
        group = group << 6 | (uint32_t)value;
        held += 6;
        if (held < 8) continue;
        held -= 8;
        out[count++] = (uint8_t)(group >> held);
    }
    *out_size = count;
    return (group & ((1u << held) - 1)) == 0;
}

/* Most bytes that the cursor of these cells can have, and the room that
 * grb_buf_bytes asks for. */
static size_t raw_size(const grb_sort_cell *cells, uint32_t count) {
    size_t size = 21;
    for (uint32_t i = 0; i < count; i++) {
        size += 1;
        if (cells[i].state != GRB_CELL_VALUE) continue;
        size += cells[i].bytes ? (size_t)cells[i].size + 10 : 8;
    }
    return size;
}

size_t grb_after_size(const grb_sort_cell *cells, uint32_t count) {
    return (raw_size(cells, count) + 2) / 3 * 4 + 1;
}

/* The bytes are put at the end of the text's own memory: each three of them
 * have been read before the four characters that they become reach them. */
void grb_after_write(uint64_t signature, const grb_sort_cell *cells,
                     uint32_t count, uint64_t sequence, char *out) {
    size_t size = raw_size(cells, count);
    grb_buf raw = {.bytes =
                       (uint8_t *)out + grb_after_size(cells, count) - size,
                   .capacity = size,
                   .size_max = size};
    grb_buf_u8(&raw, CURSOR_VERSION);
    grb_buf_u64(&raw, signature);
    grb_buf_u64(&raw, sequence);
    for (uint32_t i = 0; i < count; i++) {
        grb_buf_u8(&raw, cells[i].state);
        if (cells[i].state != GRB_CELL_VALUE) continue;
        if (cells[i].bytes)
            grb_buf_bytes(&raw, cells[i].bytes, cells[i].size);
        else
            grb_buf_u64(&raw, (uint64_t)cells[i].word);
    }
    grb_buf_u32(&raw, (uint32_t)grb_hash(raw.bytes, raw.size, CURSOR_SEED));
    digits_put(raw.bytes, raw.size, out);
}

static grebe_status cursor_bad(grebe_error *err) {
    grebe_status status =
        grb_error(err, GREBE_SYNTAX, "after: this is not a cursor");
    if (err) err->offset = 0;
    return status;
}

static bool cell_read(const grb_sort_key *key, grb_cursor *in,
                      grb_sort_cell *out) {
    memset(out, 0, sizeof *out);
    out->state = grb_cursor_u8(in);
    if (out->state > GRB_CELL_LAST) return false;
    if (out->state != GRB_CELL_VALUE)
        return key->source == GRB_SORT_COLUMN &&
               (out->state == GRB_CELL_FIRST) == key->missing_first;
    if (!key->keyword) {
        out->word = (int64_t)grb_cursor_u64(in);
        return true;
    }
    size_t size;
    out->bytes = grb_cursor_bytes(in, &size);
    if (in->failed || size > GREBE_TERM_SIZE_MAX) return false;
    out->size = (uint32_t)size;
    return true;
}

grebe_status grb_after_parse(const grb_sort_plan *plan, const char *text,
                             grb_arena *arena, grb_after *out,
                             grebe_error *err) {
    size_t size = strlen(text);
    if (size > CURSOR_SIZE_MAX / 3 * 4 + 4) return cursor_bad(err);
    uint8_t *raw = grb_arena_alloc(arena, size + 1);
    if (!raw) return grb_error_memory(err, size + 1);
    if (!digits_get(text, size, raw, &size) || size < 21)
        return cursor_bad(err);
    grb_cursor in;
    grb_cursor_init(&in, raw + size - 4, 4);
    uint32_t hash = grb_cursor_u32(&in);
    size -= 4;
    if (hash != (uint32_t)grb_hash(raw, size, CURSOR_SEED))
        return cursor_bad(err);
    grb_cursor_init(&in, raw, size);
    if (grb_cursor_u8(&in) != CURSOR_VERSION) return cursor_bad(err);
    if (grb_cursor_u64(&in) != plan->signature)
        return grb_error(err, GREBE_ARGUMENT,
                         "after: the cursor belongs to another sort");
    out->sequence = grb_cursor_u64(&in);
    for (uint32_t i = 0; i < plan->count; i++)
        if (!cell_read(&plan->keys[i], &in, &out->cells[i]))
            return cursor_bad(err);
    if (in.failed || grb_cursor_left(&in) > 0) return cursor_bad(err);
    return GREBE_OK;
}
