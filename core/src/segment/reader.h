/* segment/reader.h - what every segment answers, in memory or on disk.
 *
 * `search` sees an index through this header alone, which is what makes a soft
 * commit nothing more than another segment answering the same questions.
 * A segment (core) is counted and either immutable or growing; a reader of a
 * growing one uses only what its bounds show. Ids from outside (documents,
 * ordinals, terms) beyond the bounds are rejected before anything is loaded.
 */
#ifndef GRB_SEGMENT_READER_H
#define GRB_SEGMENT_READER_H

#include "base/base.h"
#include "doc/doc.h"

typedef struct grb_segment grb_segment;
typedef struct grb_segment_ops grb_segment_ops;

/* Totals of a field over every document of the segment, dead ones too. */
typedef struct grb_field_totals {
    uint64_t doc_count;  /* documents with at least one token */
    uint64_t term_total; /* sum of term frequencies, overlaps included */
} grb_field_totals;

#define GRB_TOTALS_PAGE 64u
/* Totals of all fields as a snapshot keeps them: counted pages of 64 fields,
 * immutable once shared. A growing segment copies a page (in an append, never
 * in a commit) only when it changes after having been shared.
 * (segment/totals.c) */
typedef struct grb_totals_page {
    _Atomic uint64_t refs;
    grb_field_totals fields[GRB_TOTALS_PAGE];
} grb_totals_page;
typedef struct grb_totals {
    _Atomic uint64_t refs;
    const grebe_allocator *allocator;
    uint32_t page_count;
    grb_totals_page *pages[];
} grb_totals;
void grb_totals_acquire(const grb_totals *t); /* NULL-safe, both */
void grb_totals_release(const grb_totals *t);

/* What a snapshot shows of a segment. For a file segment these are its own
 * constants. `totals` (counted, may be NULL: ask the segment) belongs to the
 * growing segment. */
typedef struct grb_bounds {
    uint32_t max_doc;
    uint32_t term_count;
    const grb_totals *totals;
} grb_bounds;

/* A term found in one segment; words are the segment's own. df 0: absent. */
typedef struct grb_term {
    uint32_t df;
    uint32_t field;
    uint64_t word[3];
} grb_term;

typedef enum grb_block_kind {
    GRB_BLOCK_END, /* no more documents */
    GRB_BLOCK_DOCS,
    GRB_BLOCK_BITMAP,
    GRB_BLOCK_RUN
} grb_block_kind;

/* Upper bound of what a block can score: pairs with rising tf, falling
 * length code; a document of the block is dominated by one of them. */
typedef struct grb_impact {
    uint32_t tf;
    uint8_t length; /* length code */
} grb_impact;
#define GRB_IMPACTS_MAX 6u

/* A block. DOCS: `docs` has `count` ascending ids (readable to the next
 * multiple of 16; what stands there is not less than the last). BITMAP:
 * `words` from `first` (a multiple of 64) on, `word_count` of them, all in one
 * 4,096 window; `count` set bits. RUN: every document of [first, last + 1).
 * `last` is the last document of the block. */
typedef struct grb_block {
    grb_block_kind kind;
    uint32_t count;
    uint32_t first, last;
    const uint32_t *docs;
    const uint64_t *words;
    uint32_t word_count;
    const grb_impact *impacts; /* may be NULL: no bound known */
    uint32_t impact_count;
} grb_block;

/* A cursor over one term's postings in one segment, made by postings_open in
 * an arena. Each call works on the current block. */
typedef struct grb_postings grb_postings;
typedef struct grb_postings_ops {
    /* Makes the block that holds the first document >= min_doc current, in
     * `p->block` (documents < min_doc may stand in it too; none >= the
     * bounds' max_doc). Never goes back. */
    grebe_status (*next_block)(grb_postings *p, uint32_t min_doc,
                               grebe_error *err);
    /* Last document and impacts of the block that next_block(min_doc) would
     * make current, without decoding it; kind and count may be unset. */
    grebe_status (*shallow)(grb_postings *p, uint32_t min_doc, grb_block *out,
                            grebe_error *err);
    /* Term frequencies of the current block, in the order of documents;
     * decoded at the first call. Field without frequencies: all 1. */
    grebe_status (*freqs)(grb_postings *p, const uint32_t **out,
                          grebe_error *err);
    /* Positions of the i-th posting of the current block, ascending; valid
     * until the next call. Ask for rising i. */
    grebe_status (*positions)(grb_postings *p, uint32_t i,
                              const uint32_t **out, uint32_t *count,
                              grebe_error *err);
    /* Positions of postings [from, to) of the current block at once, for
     * freeze and merge: of each posting its first position and then the
     * distances, one posting behind the other; as many as the frequencies add
     * up to. Valid until the next call. */
    grebe_status (*gaps)(grb_postings *p, uint32_t from, uint32_t to,
                         const uint32_t **out, uint32_t *count,
                         grebe_error *err);
} grb_postings_ops;
struct grb_postings {
    const grb_postings_ops *ops;
    grb_block block;
    uint64_t blocks_decoded;
};
enum {
    GRB_POSTINGS_DOCS = 0,
    GRB_POSTINGS_FREQS = 1,
    GRB_POSTINGS_POSITIONS = 3
};

/* Terms of one field in byte order. */
typedef struct grb_terms grb_terms;
struct grb_terms {
    /* To the first term >= bytes (NULL, 0: the first). */
    grebe_status (*seek)(grb_terms *t, const void *bytes, size_t size,
                         grebe_error *err);
    /* The present term and then one on; `found` false at the end. Terms
     * with df 0 at the bounds are skipped. `bytes` valid until the next
     * call. */
    grebe_status (*next)(grb_terms *t, bool *found, const uint8_t **bytes,
                         uint32_t *size, grb_term *term, grebe_error *err);
};

/* A column: one window of 4,096 documents at a time. Numbers are ordered
 * int64 (doc.h), keywords are ordinals of the segment. */
typedef struct grb_column_window {
    uint32_t base, count;    /* documents base .. base + count - 1 */
    bool any;                /* false: no document of it has a value */
    bool all;                /* every document has one: ignore `present` */
    const uint64_t *present; /* 64 words */
    const int64_t *values;   /* single: by doc - base; many: by offsets */
    const uint32_t *offsets; /* NULL: single; else count + 1 places */
    int64_t min, max;        /* zone map; valid if any */
    /* `pick` alone: not NULL: there are no `values`, that of doc - base is
     * least + narrow. */
    const uint32_t *narrow;
    int64_t least;
} grb_column_window;

/* The value at `i`, doc - base or a place of `offsets`. */
static inline int64_t grb_column_value(const grb_column_window *w,
                                       uint32_t i) {
    return w->narrow ? w->least + (int64_t)w->narrow[i] : w->values[i];
}

typedef struct grb_column grb_column;
struct grb_column {
    grebe_kind kind;
    bool many;
    /* One past the greatest ordinal (keywords). */
    uint32_t ord_count;
    /* Ordinals are in the order of bytes. Where not, what ord_bytes gives
     * lives as long as the segment. */
    bool ords_ranked;
    /* The window that begins at `base`; valid until the next call.
     * `values_wanted` false: only any, min and max need be filled. */
    grebe_status (*window)(grb_column *c, uint32_t base, bool values_wanted,
                           grb_column_window *out, grebe_error *err);
    /* As `window` with values, but only those of documents in `bits` (64
     * words) need be right. NULL: ask grb_column_pick. */
    grebe_status (*pick)(grb_column *c, uint32_t base, const uint64_t *bits,
                         grb_column_window *out, grebe_error *err);
    /* Keeps of `bits` (64 words) the documents of the window at `base` with a
     * value in [lower, upper]. NULL: ask grb_column_between. */
    grebe_status (*between)(grb_column *c, uint32_t base, int64_t lower,
                            int64_t upper, uint64_t *bits, grebe_error *err);
    /* Documents with a value in [lower, upper]; not `exact`: about. NULL: it
     * takes a look at every value. */
    grebe_status (*count)(grb_column *c, int64_t lower, int64_t upper,
                          bool exact, uint64_t *count, grebe_error *err);
    /* Values of one document in the order given (`values` valid until the
     * next call). */
    grebe_status (*get)(grb_column *c, uint32_t doc, const int64_t **values,
                        uint32_t *count, grebe_error *err);
    /* Bytes of an ordinal (keywords). */
    grebe_status (*ord_bytes)(grb_column *c, uint32_t ord,
                              const uint8_t **bytes, uint32_t *size,
                              grebe_error *err);
    /* Rank in byte order of each ordinal; NULL: ordinals are ranks. */
    grebe_status (*ord_ranks)(grb_column *c, const uint32_t **ranks,
                              grebe_error *err);
    /* Ordinal of these bytes, UINT32_MAX if no document has them. */
    grebe_status (*ord_find)(grb_column *c, const void *bytes, size_t size,
                             uint32_t *ord, grebe_error *err);
};

/* A unique key ready for look-ups: integer keys are 8 bytes big endian with
 * the sign bit flipped. */
typedef struct grb_key {
    const uint8_t *bytes;
    uint32_t size;
    uint64_t hash; /* grb_hash(bytes, size, 0) */
} grb_key;

struct grb_segment_ops {
    void (*destroy)(grb_segment *s);
    void (*totals)(const grb_segment *s, const grb_bounds *b, uint32_t field,
                   grb_field_totals *out);
    grebe_status (*term_find)(grb_segment *s, const grb_bounds *b,
                              uint32_t field, const void *bytes, size_t size,
                              grb_term *out, grebe_error *err);
    grebe_status (*terms_open)(grb_segment *s, const grb_bounds *b,
                               uint32_t field, grb_arena *arena,
                               grb_terms **out, grebe_error *err);
    grebe_status (*postings_open)(grb_segment *s, const grb_bounds *b,
                                  const grb_term *term, int wanted,
                                  grb_arena *arena, grb_postings **out,
                                  grebe_error *err);
    /* Length codes of documents base .. base + 4,095 (those < max_doc); may
     * use `scratch` of 4,096 bytes. *out NULL: the field has no lengths
     * here. Code 0: the document lacks the field. */
    grebe_status (*lengths)(grb_segment *s, const grb_bounds *b,
                            uint32_t field, uint32_t base, uint8_t *scratch,
                            const uint8_t **out, grebe_error *err);
    /* *out NULL: no document has a value. */
    grebe_status (*column_open)(grb_segment *s, const grb_bounds *b,
                                uint32_t field, grb_arena *arena,
                                grb_column **out, grebe_error *err);
    /* Stored record of a document (doc.h's encoding), appended to `out`. */
    grebe_status (*stored)(grb_segment *s, uint32_t doc, grb_buf *out,
                           grebe_error *err);
    /* Newest document < max_doc with the key, GRB_NO_DOC if none; then the
     * next older one. Liveness is the caller's to test. */
    grebe_status (*key_newest)(grb_segment *s, const grb_bounds *b,
                               const grb_key *key, uint32_t *doc,
                               grebe_error *err);
    grebe_status (*key_older)(grb_segment *s, uint32_t doc, uint32_t *older,
                              grebe_error *err);
    /* Asks the processor for what key_newest will read first, so that look-ups
     * in many segments wait for memory at the same time. NULL: nothing. */
    void (*key_touch)(const grb_segment *s, const grb_key *key);
    /* Key bytes of a document (size 0 and NULL without one); in memory of
     * the segment or of `arena`. */
    grebe_status (*key_bytes)(grb_segment *s, uint32_t doc, grb_arena *arena,
                              const uint8_t **bytes, uint32_t *size,
                              grebe_error *err);
    /* Insertion sequence of a document. */
    uint64_t (*sequence)(grb_segment *s, uint32_t doc);
    uint64_t (*memory)(const grb_segment *s);
};

struct grb_segment {
    const grb_segment_ops *ops;
    const grebe_allocator *allocator;
    _Atomic uint64_t refs;
    uint64_t id;          /* unique in the process */
    uint64_t file_number; /* 0: in memory */
    uint64_t ordinal;     /* the writer's: place of document 0 among the adds
                             of the log since the root */
    grb_segment *twin;    /* the writer's: the file this memory segment was
                             frozen to alone, with `twin_max_doc` documents */
    uint32_t twin_max_doc;
    bool growing, scattered; /* the latter: not in insertion order */
    /* counters; a page of a column is decoded when all its values are */
    _Atomic uint64_t blocks_decoded, stored_blocks, column_pages;
    struct grb_filter_cache *filter_cache; /* both under its mutex */
    struct grb_filter_entry *filters;
};

/* The next id of a segment, from 1. Any thread. (segment/totals.c) */
uint64_t grb_segment_id_next(void);

/* The end of a segment that nobody holds. (segment/filter_cache.c) */
void grb_segment_end(grb_segment *s);
static inline void grb_segment_acquire(grb_segment *s) {
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
}
static inline void grb_segment_release(grb_segment *s) {
    if (s && atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) == 1)
        grb_segment_end(s);
}

#endif
