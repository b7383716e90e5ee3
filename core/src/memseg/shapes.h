/* memseg/shapes.h - the structures of the growing segment; private to the
 * room.
 *
 * The visibility rule rules all of them: a reader uses only documents
 * < max_doc and terms < term_count of its bounds; whatever it reaches is
 * immutable since before those were published, or append-only behind a bound,
 * or an atomic word of which every later value gives the same answer.
 */
#ifndef GRB_MEMSEG_SHAPES_H
#define GRB_MEMSEG_SHAPES_H

#include "invert/inverted.h"
#include "memseg/memseg.h"

#define GRB_MEM_CHUNK_MIN ((size_t)4096)
#define GRB_MEM_CHUNK_MAX ((size_t)256 << 10)

static inline size_t grb_mem_pad(size_t size, size_t to) {
    return (size + to - 1) & ~(to - 1);
}

/* ---- chunks ---- */

/* A chunk: this header (one line), then `size` bytes of payload. */
typedef struct grb_chunk {
    struct grb_chunk *next;
    size_t size;
    char pad[48];
} grb_chunk;

typedef struct grb_room {
    char *at, *end;
} grb_room;

/* ---- growing arrays ---- */

/* A directory of pages that never move. It is replaced by a larger copy; the
 * old one lives as long as the segment. */
typedef struct grb_dir {
    uint32_t capacity;
    _Atomic(void *) pages[];
} grb_dir;

typedef struct grb_paged {
    _Atomic(grb_dir *) dir;
} grb_paged;

/* NULL if there is no such page. */
static inline void *grb_paged_page(const grb_paged *p, uint32_t page) {
    const grb_dir *dir = atomic_load_explicit(&p->dir, memory_order_acquire);
    if (!dir || page >= dir->capacity) return NULL;
    return atomic_load_explicit(&dir->pages[page], memory_order_acquire);
}

/* ---- terms and postings ---- */

/* A slice of postings: `docs` (UINT32_MAX: not written), and, of text fields,
 * as many pairs behind them. A position word is the position itself if tf is
 * 1, else a place in the segment's positions. Pairs, because a posting is
 * written to cold lines: one less. */
typedef struct grb_slice {
    _Atomic(struct grb_slice *) next;
    _Atomic uint32_t docs[];
} grb_slice;
typedef struct grb_pair {
    uint32_t tf, position;
} grb_pair;
static inline grb_pair *grb_slice_pairs(const grb_slice *slice,
                                        uint32_t capacity) {
    return (grb_pair *)(slice->docs + capacity);
}

/* Slices hold 2, 4, ... 128 and then always 256 postings. Block 0 of a list is
 * the posting in the term's record and the slices up to 128; then each slice
 * of 256 is a block. */
#define GRB_FIRST_BLOCK 255u
#define GRB_SLICE_FIRST 2u

/* A full block; `slice` is the last one in it, so that slice->next begins the
 * next block. */
typedef struct grb_sealed {
    _Atomic uint32_t last; /* last document; UINT32_MAX: not written */
    uint32_t impact_count;
    grb_slice *slice;
    grb_impact impacts[GRB_IMPACTS_MAX];
} grb_sealed;

typedef struct grb_blocks {
    uint32_t capacity;
    grb_sealed items[];
} grb_blocks;

/* A term: one cache line. Everything but the last four members is immutable.
 * `key` is the bytes up to 16, else 8 bytes and a pointer to all. */
typedef struct grb_record {
    uint16_t field, size;
    uint32_t first_doc; /* the first posting */
    uint64_t key[2];
    uint32_t first_tf; /* of a KEYWORD field: its ordinal */
    uint32_t first_position;
    _Atomic uint64_t count_last; /* count << 32 | last document */
    _Atomic(grb_slice *) slices;
    _Atomic(grb_blocks *) blocks;
    _Atomic uint32_t tf_max, length_min; /* bound of what is not sealed */
} grb_record;
_Static_assert(sizeof(grb_record) == 64, "a term record is one cache line");

/* What only the writer needs of a term. */
typedef struct grb_tail {
    grb_slice *slice; /* the last one, NULL before the second posting */
    uint16_t used, capacity;
    uint32_t sealed; /* blocks in the directory */
} grb_tail;

/* A term of the document at hand; record NULL: a new one. */
typedef struct grb_plan {
    grb_record *record;
    grb_tail *tail;
} grb_plan;

/* Open addressing, load at most one half: hash << 32 | id + 1. */
typedef struct grb_table {
    uint32_t mask;
    _Atomic uint64_t *slots;
} grb_table;

static inline uint32_t grb_slice_words(bool text, uint32_t capacity) {
    return text ? 3 * capacity : capacity;
}
static inline size_t grb_slice_size(bool text, uint32_t capacity) {
    return sizeof(grb_slice) + 4 * (size_t)grb_slice_words(text, capacity);
}

/* ---- documents and fields ---- */

/* A document: key and stored record lie one behind the other. */
typedef struct grb_row {
    const uint8_t *bytes;
    uint64_t sequence;
    uint32_t key_size; /* GRB_NO_KEY: none */
    uint32_t stored_size;
    uint32_t prev; /* the next older document with this key */
    uint32_t unused;
} grb_row;
#define GRB_NO_KEY UINT32_MAX

/* Values of a page of documents: presence bits, then by place int64 (single
 * numbers), u32 ordinals (single keywords) or spans of the field's value log
 * (first << 32 | count). min and max may cover documents beyond a reader's
 * bounds. */
typedef struct grb_values_page {
    _Atomic uint64_t min, max; /* kept so that 0 means: none yet */
    _Atomic uint64_t present[];
} grb_values_page;
#define GRB_MIN_MASK ((uint64_t)INT64_MAX)
#define GRB_MAX_MASK ((uint64_t)INT64_MIN)

static inline uint32_t grb_values_words(uint32_t page) {
    return grb_page_size(page) / 64;
}
static inline void *grb_values_at(grb_values_page *p, uint32_t page) {
    return (void *)(p->present + grb_values_words(page));
}

/* Ranks of the first `count` ordinals. */
typedef struct grb_ranks {
    uint32_t count;
    uint32_t ranks[];
} grb_ranks;

typedef struct grb_mem_field {
    grebe_kind kind;
    bool many;
    grb_paged lengths;  /* one byte a document */
    grb_paged column;   /* grb_values_page */
    grb_paged log;      /* values of many: int64 or u32 ordinals */
    grb_paged ords;     /* ordinal -> term id */
    uint32_t log_count; /* writer only, both */
    uint32_t ord_count;
    _Atomic uint32_t ords_seen; /* ord_count for readers: may be ahead */
    _Atomic(grb_ranks *) ranks;
} grb_mem_field;

/* ---- order ---- */

/* Term ids [first, first + count) by (field, bytes). */
typedef struct grb_run {
    uint32_t first, count;
    uint32_t ids[];
} grb_run;

#define GRB_RUNS_MAX 34u
/* The runs that cover term ids from 0 on; replaced as a whole. */
typedef struct grb_runs {
    uint32_t count;
    grb_run *runs[GRB_RUNS_MAX];
} grb_runs;

/* Memory that readers made, freed with the segment. */
typedef struct grb_made {
    struct grb_made *next;
    size_t size;
} grb_made;

/* ---- the segment ---- */

typedef struct grb_memseg {
    grb_segment core;
    grb_pool *pool;
    grebe_schema *schema;

    /* Writer only. */
    grb_room room, spare; /* free parts of chunks */
    grb_chunk *chunks;
    size_t chunk_next;
    uint32_t max_doc, term_count, key_count;
    grb_plan *plan; /* terms of the document at hand */
    uint32_t plan_capacity;
    uint8_t *position_at; /* free part of the last position page */
    uint32_t position_room;
    uint32_t position_ref;   /* reference of position_at */
    uint32_t position_pages; /* page numbers given away */
    uint64_t sequence_base;  /* added to those of the rows */
    grb_totals *totals;

    /* Read by everybody. */
    grb_paged terms; /* a page: its grb_records, then its grb_tails */
    _Atomic(grb_table *) table;
    _Atomic(grb_table *) keys; /* hash << 32 | newest document + 1 */
    grb_paged rows;
    grb_paged fields; /* grb_mem_field by field id */
    grb_paged positions;
    _Atomic(grb_runs *) runs;
    _Atomic(grb_made *) made;
    _Atomic uint64_t bytes;
} grb_memseg;

/* grb_page_of without branches: term ids come in random order. */
static inline uint32_t grb_term_page(uint32_t id, uint32_t *place) {
    uint32_t top = 31u - (uint32_t)__builtin_clz(id | 32);
    uint32_t large = 0u - (uint32_t)(id >= GRB_WINDOW);
    uint32_t low = id - ((uint32_t)(top > 5) << top);
    *place = (low & ~large) | (id & (GRB_WINDOW - 1) & large);
    return ((top - 5) & ~large) | ((6 + (id >> 12)) & large);
}
static inline grb_record *grb_memseg_record(const grb_memseg *s, uint32_t id) {
    uint32_t place, page = grb_term_page(id, &place);
    return (grb_record *)grb_paged_page(&s->terms, page) + place;
}
/* Record and tail; writer only. */
static inline grb_plan grb_memseg_term_at(const grb_memseg *s, uint32_t id) {
    uint32_t place, page = grb_term_page(id, &place);
    grb_record *records = grb_paged_page(&s->terms, page);
    grb_tail *tails = (grb_tail *)(records + grb_page_size(page));
    return (grb_plan){records + place, tails + place};
}
static inline grb_row *grb_memseg_row(const grb_memseg *s, uint32_t doc) {
    uint32_t place, page = grb_page_of(doc, &place);
    return (grb_row *)grb_paged_page(&s->rows, page) + place;
}
static inline grb_mem_field *grb_memseg_field(const grb_memseg *s,
                                              uint32_t field) {
    return grb_paged_page(&s->fields, field);
}
static inline const uint8_t *grb_record_bytes(const grb_record *r) {
    if (r->size <= GRB_TERM_INLINE) return (const uint8_t *)r->key;
    return (const uint8_t *)(uintptr_t)r->key[1];
}
static inline bool grb_record_is(const grb_record *r, uint32_t field,
                                 const grb_term_key *key) {
    if (r->key[0] != key->words[0] || r->size != key->size ||
        r->field != field)
        return false;
    if (key->size <= GRB_TERM_INLINE) return r->key[1] == key->words[1];
    return memcmp((const void *)(uintptr_t)r->key[1], key->bytes, key->size) ==
           0;
}

/* Positions pages have 2^16 places each; a long posting takes several page
 * numbers in a row. */
#define GRB_POSITION_PAGE 65536u
static inline const uint8_t *grb_memseg_position(const grb_memseg *s,
                                                 uint32_t ref) {
    const uint8_t *page = grb_paged_page(&s->positions, ref >> 16);
    return page + (ref & 0xffff);
}

#endif
