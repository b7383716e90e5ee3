/* base/cursor.c - bounded reading with a sticky failure.
 *
 * Bytes of a file are never trusted: every read is checked against the end.
 * A read that does not fit sets `failed`, moves the cursor to the end and
 * gives 0, so that a decoder checks once behind a group of reads.
 *
 * Invariant: base <= at <= end, and no byte outside is ever read.
 * Threads: one at a time; the bytes are shared read-only.
 * Owns: nothing.
 */
#include "base/base.h"

void grb_cursor_init(grb_cursor *c, const void *bytes, size_t size) {
    c->base = c->at = bytes;
    c->end = size ? c->base + size : c->base;
    c->failed = false;
}

size_t grb_cursor_left(const grb_cursor *c) {
    return (size_t)(c->end - c->at);
}

static void cursor_fail(grb_cursor *c) {
    c->failed = true;
    c->at = c->end;
}

/* NULL on failure, which also covers every take after one. */
const uint8_t *grb_cursor_take(grb_cursor *c, size_t size) {
    if (GRB_UNLIKELY(c->failed || size > grb_cursor_left(c))) {
        cursor_fail(c);
        return NULL;
    }
    const uint8_t *at = c->at;
    if (size) c->at += size;
    return at;
}

static uint64_t fixed_get(grb_cursor *c, size_t width) {
    const uint8_t *at = grb_cursor_take(c, width);
    uint64_t v = 0;
    if (at)
        for (size_t i = 0; i < width; i++) v |= (uint64_t)at[i] << (8 * i);
    return v;
}

uint8_t grb_cursor_u8(grb_cursor *c) {
    return (uint8_t)fixed_get(c, 1);
}
uint16_t grb_cursor_u16(grb_cursor *c) {
    return (uint16_t)fixed_get(c, 2);
}
uint32_t grb_cursor_u32(grb_cursor *c) {
    return (uint32_t)fixed_get(c, 4);
}
uint64_t grb_cursor_u64(grb_cursor *c) {
    return fixed_get(c, 8);
}

uint64_t grb_cursor_varint(grb_cursor *c) {
    uint64_t v = 0;
    for (unsigned shift = 0; c->at < c->end && shift < 64; shift += 7) {
        uint8_t byte = *c->at++;
        /* The tenth byte has one bit of room. */
        if (shift == 63 && byte > 1) break;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) return v;
    }
    cursor_fail(c);
    return 0;
}

const uint8_t *grb_cursor_bytes(grb_cursor *c, size_t *size) {
    uint64_t length = grb_cursor_varint(c);
    *size = 0;
    if (length > grb_cursor_left(c)) {
        cursor_fail(c);
        return NULL;
    }
    const uint8_t *at = grb_cursor_take(c, (size_t)length);
    if (at) *size = (size_t)length;
    return at;
}
