/* base/base.h - what every room stands on: errors, memory, bytes, bits. */
#ifndef GRB_BASE_H
#define GRB_BASE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "grebe/status.h"

#define GRB_LIKELY(x) __builtin_expect(!!(x), 1)
#define GRB_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define GRB_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define GRB_MIN(a, b) ((a) < (b) ? (a) : (b))
#define GRB_MAX(a, b) ((a) > (b) ? (a) : (b))

#define GRB_NO_DOC UINT32_MAX
/* Documents of a segment, dead ones too: a window begins below it and ends
 * without leaving 32 bits. */
#define GRB_SEGMENT_DOCS_MAX ((uint32_t)INT32_MAX)
#define GRB_WINDOW 4096u     /* documents of an evaluation window */
#define GRB_WINDOW_WORDS 64u /* 64-bit words of its bitmap */
#define GRB_BLOCK 256u       /* postings of a full block */

/* The one control macro: go to `done` with the status of a failed call. The
 * function has `grebe_status status` and a label `done`. */
#define GRB_TRY(call)                                    \
    do {                                                 \
        status = (call);                                 \
        if (GRB_UNLIKELY(status != GREBE_OK)) goto done; \
    } while (0)

/* ---- errors (base/error.c) ---- */

/* Fills `err` (may be NULL) and returns `status`. Format as printf. */
grebe_status grb_error(grebe_error *err, grebe_status status,
                       const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));
/* The same with errno and the file it happened to. */
grebe_status grb_error_storage(grebe_error *err, int os_error,
                               const char *file, const char *what);
/* CORRUPT with file and offset. */
grebe_status grb_error_corrupt(grebe_error *err, const char *file,
                               uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 4, 5), cold));
grebe_status grb_error_memory(grebe_error *err, size_t size);
/* Name a field or key in an error already filled (cut to fit); NULL-safe. */
void grb_error_field(grebe_error *err, const char *field);
void grb_error_key(grebe_error *err, const char *key, size_t size);

/* ---- allocation (base/alloc.c): the only caller of malloc ---- */

extern const grebe_allocator grb_allocator_malloc;
void *grb_alloc(const grebe_allocator *a, size_t size); /* NULL on failure */
void *grb_alloc_zero(const grebe_allocator *a, size_t size);
void *grb_resize(const grebe_allocator *a, void *block, size_t old_size,
                 size_t new_size);
void grb_free(const grebe_allocator *a, void *block, size_t size);
/* 64-byte aligned. */
void *grb_alloc_line(const grebe_allocator *a, size_t size);
void grb_free_line(const grebe_allocator *a, void *block, size_t size);

/* Live-handle counter behind grebe_live_handles. */
void grb_handle_born(void);
void grb_handle_died(void);

/* ---- arena (base/arena.c): bump allocation freed as one ---- */

typedef struct grb_arena_chunk grb_arena_chunk;
typedef struct grb_arena {
    const grebe_allocator *allocator;
    grb_arena_chunk *chunk;
    char *at, *end;
    size_t size;     /* bytes of all chunks */
    size_t size_max; /* ceiling; 0: none */
} grb_arena;

void grb_arena_init(grb_arena *arena, const grebe_allocator *a,
                    size_t size_max);
/* 16-byte aligned; NULL when memory or ceiling is reached. */
void *grb_arena_alloc(grb_arena *arena, size_t size);
void *grb_arena_zero(grb_arena *arena, size_t size);
void *grb_arena_line(grb_arena *arena, size_t size); /* 64-byte aligned */
void *grb_arena_copy(grb_arena *arena, const void *bytes, size_t size);
/* Forgets everything but keeps the largest chunk for the next use. */
void grb_arena_reset(grb_arena *arena);
void grb_arena_deinit(grb_arena *arena);

/* ---- growing bytes with a sticky failure (base/buf.c) ---- */

typedef struct grb_buf {
    const grebe_allocator *allocator;
    uint8_t *bytes;
    size_t size, capacity;
    size_t size_max; /* ceiling; 0: none */
    bool failed;     /* memory or ceiling: later puts do nothing */
} grb_buf;

void grb_buf_init(grb_buf *buf, const grebe_allocator *a, size_t size_max);
bool grb_buf_reserve(grb_buf *buf, size_t more);
void grb_buf_put(grb_buf *buf, const void *bytes, size_t size);
void grb_buf_u8(grb_buf *buf, uint8_t v);
void grb_buf_u16(grb_buf *buf, uint16_t v); /* little endian */
void grb_buf_u32(grb_buf *buf, uint32_t v);
void grb_buf_u64(grb_buf *buf, uint64_t v);
void grb_buf_varint(grb_buf *buf, uint64_t v);                    /* LEB128 */
void grb_buf_bytes(grb_buf *buf, const void *bytes, size_t size); /* varint
                                                        length, then bytes */
void grb_buf_printf(grb_buf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void grb_buf_clear(grb_buf *buf);
void grb_buf_deinit(grb_buf *buf);

/* ---- bounded reading with a sticky failure (base/cursor.c) ---- */

typedef struct grb_cursor {
    const uint8_t *base, *at, *end;
    bool failed; /* read past the end or a bad varint; later reads give 0 */
} grb_cursor;

void grb_cursor_init(grb_cursor *c, const void *bytes, size_t size);
size_t grb_cursor_left(const grb_cursor *c);
const uint8_t *grb_cursor_take(grb_cursor *c, size_t size);
uint8_t grb_cursor_u8(grb_cursor *c);
uint16_t grb_cursor_u16(grb_cursor *c);
uint32_t grb_cursor_u32(grb_cursor *c);
uint64_t grb_cursor_u64(grb_cursor *c);
uint64_t grb_cursor_varint(grb_cursor *c);
const uint8_t *grb_cursor_bytes(grb_cursor *c, size_t *size);

/* ---- varints, bits, hashes, UTF-8, clock ---- */

static inline uint8_t *grb_varint_put(uint8_t *at, uint64_t v) {
    while (v >= 0x80) {
        *at++ = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    *at++ = (uint8_t)v;
    return at;
}
static inline const uint8_t *grb_varint_get32(const uint8_t *at,
                                              uint32_t *out) {
    uint32_t v = *at & 0x7f, shift = 7;
    while (*at++ & 0x80) {
        v |= (uint32_t)(*at & 0x7f) << shift;
        shift += 7;
    }
    *out = v;
    return at;
}
static inline int grb_ctz64(uint64_t w) {
    return __builtin_ctzll(w);
}
static inline int grb_clz64(uint64_t w) {
    return __builtin_clzll(w);
}
static inline uint32_t grb_popcount64(uint64_t w) {
    return (uint32_t)__builtin_popcountll(w);
}
static inline int grb_bit(const uint64_t *words, uint32_t i) {
    return (int)(words[i >> 6] >> (i & 63) & 1);
}
static inline void grb_bit_set(uint64_t *words, uint32_t i) {
    words[i >> 6] |= (uint64_t)1 << (i & 63);
}
static inline void grb_bit_clear(uint64_t *words, uint32_t i) {
    words[i >> 6] &= ~((uint64_t)1 << (i & 63));
}

uint64_t grb_hash(const void *bytes, size_t size, uint64_t seed); /* XXH3 */
uint64_t grb_random(void); /* unpredictable, for seeds and uuids */

/* True if the bytes are strict UTF-8; else `bad_at` gets the first bad byte.
 */
bool grb_utf8_valid(const char *bytes, size_t size, size_t *bad_at);
/* Decodes one code point of valid UTF-8; returns its length in bytes. */
uint32_t grb_utf8_decode(const char *bytes, uint32_t *code_point);
/* Encodes; returns the length (1-4). */
uint32_t grb_utf8_encode(uint32_t code_point, char *out);

uint64_t grb_clock_ns(void); /* monotonic */

/* Per-document arrays grow in pages of 64, 64, 128, ... 2,048 and then 4,096
 * documents that never move: page and place of a document, and the first
 * document and the size of a page. */
static inline uint32_t grb_page_of(uint32_t doc, uint32_t *place) {
    if (doc >= GRB_WINDOW) {
        *place = doc & (GRB_WINDOW - 1);
        return 6 + (doc >> 12);
    }
    if (doc < 64) {
        *place = doc;
        return 0;
    }
    uint32_t top = 31u - (uint32_t)__builtin_clz(doc);
    *place = doc - (1u << top);
    return top - 5;
}
static inline uint32_t grb_page_first(uint32_t page) {
    return page == 0 ? 0 : page < 7 ? 32u << page : (page - 6) << 12;
}
static inline uint32_t grb_page_size(uint32_t page) {
    return page == 0 ? 64u : page < 7 ? 32u << page : GRB_WINDOW;
}

/* Lucene's SmallFloat byte4: the one-byte document length. */
uint8_t grb_length_encode(uint32_t length);
extern const uint32_t grb_length_decode[256];

/* Monotone maps between doubles and int64, so that columns and ranges see one
 * kind of number (-0.0 < 0.0; NaN never enters). */
static inline int64_t grb_double_to_ordered(double v) {
    int64_t bits;
    memcpy(&bits, &v, 8);
    return bits ^ ((bits >> 63) & INT64_MAX);
}
static inline double grb_double_from_ordered(int64_t v) {
    double out;
    v ^= (v >> 63) & INT64_MAX;
    memcpy(&out, &v, 8);
    return out;
}

/* A page that fork wipes (base/fork.c). The mark is 1 in the process that
 * loaded the library and another number in each generation of children: a
 * handle keeps the mark it was born under and is foreign where the marks
 * differ, while a child may open handles of its own. */
uint32_t grb_process_mark(void); /* 0.3 ns */

#endif
