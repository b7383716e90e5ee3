/* base/buf.c - growing bytes with a sticky failure.
 *
 * Encoders put dozens of values in a row; a check after each would bury them.
 * A failed put sets `failed`, later ones do nothing, and the caller looks once
 * at the end.
 *
 * Invariant: size <= capacity; capacity <= size_max if that is set; after a
 *   failure `size` is a whole number of puts.
 * Threads: one at a time.
 * Owns: its bytes.
 */
#include <stdarg.h>
#include <stdio.h>

#include "base/base.h"

#define CAPACITY_MIN 64u

void grb_buf_init(grb_buf *buf, const grebe_allocator *a, size_t size_max) {
    *buf = (grb_buf){.allocator = a, .size_max = size_max};
}

static bool buf_grow(grb_buf *buf, size_t more) {
    if (buf->failed) return false;
    size_t need = buf->size + more;
    size_t capacity = GRB_MAX(CAPACITY_MIN, buf->capacity);
    buf->failed = need < more || need > SIZE_MAX / 2 ||
                  (buf->size_max && need > buf->size_max);
    if (buf->failed) return false;
    while (capacity < need) capacity *= 2;
    if (buf->size_max && capacity > buf->size_max) capacity = buf->size_max;
    uint8_t *bytes =
        grb_resize(buf->allocator, buf->bytes, buf->capacity, capacity);
    if (!bytes) {
        buf->failed = true;
        return false;
    }
    buf->bytes = bytes;
    buf->capacity = capacity;
    return true;
}

bool grb_buf_reserve(grb_buf *buf, size_t more) {
    if (GRB_LIKELY(!buf->failed && more <= buf->capacity - buf->size))
        return true;
    return buf_grow(buf, more);
}

void grb_buf_put(grb_buf *buf, const void *bytes, size_t size) {
    if (size == 0 || !grb_buf_reserve(buf, size)) return;
    memcpy(buf->bytes + buf->size, bytes, size);
    buf->size += size;
}

/* Little endian, whatever the machine. */
static void fixed_put(grb_buf *buf, uint64_t v, size_t width) {
    if (!grb_buf_reserve(buf, width)) return;
    uint8_t *at = buf->bytes + buf->size;
    for (size_t i = 0; i < width; i++) at[i] = (uint8_t)(v >> (8 * i));
    buf->size += width;
}

void grb_buf_u8(grb_buf *buf, uint8_t v) {
    fixed_put(buf, v, 1);
}
void grb_buf_u16(grb_buf *buf, uint16_t v) {
    fixed_put(buf, v, 2);
}
void grb_buf_u32(grb_buf *buf, uint32_t v) {
    fixed_put(buf, v, 4);
}
void grb_buf_u64(grb_buf *buf, uint64_t v) {
    fixed_put(buf, v, 8);
}

void grb_buf_varint(grb_buf *buf, uint64_t v) {
    uint8_t bytes[10];
    grb_buf_put(buf, bytes, (size_t)(grb_varint_put(bytes, v) - bytes));
}

void grb_buf_bytes(grb_buf *buf, const void *bytes, size_t size) {
    if (size > SIZE_MAX - 10 || !grb_buf_reserve(buf, size + 10)) {
        buf->failed = true;
        return;
    }
    grb_buf_varint(buf, size);
    grb_buf_put(buf, bytes, size);
}

void grb_buf_printf(grb_buf *buf, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    /* One byte more than is kept: vsnprintf ends in NUL. */
    if (length < 0) {
        buf->failed = true;
    } else if (grb_buf_reserve(buf, (size_t)length + 1)) {
        vsnprintf((char *)buf->bytes + buf->size, (size_t)length + 1, format,
                  again);
        buf->size += (size_t)length;
    }
    va_end(again);
}

void grb_buf_clear(grb_buf *buf) {
    buf->size = 0;
    buf->failed = false;
}

void grb_buf_deinit(grb_buf *buf) {
    grb_free(buf->allocator, buf->bytes, buf->capacity);
    buf->bytes = NULL;
    buf->size = buf->capacity = 0;
}
