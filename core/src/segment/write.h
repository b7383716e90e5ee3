/* segment/write.h - what the writers of sections share. */
#ifndef GRB_SEGMENT_WRITE_H
#define GRB_SEGMENT_WRITE_H

#include "segment/block.h"
#include "segment/format.h"
#include "segment/numbers.h"
#include "segment/segfile.h"

/* ---- the file being written (out.c) ---- */

/* Output with a sticky failure: later puts do nothing. */
typedef struct grb_segout {
    const grebe_allocator *allocator;
    grb_directory *directory;
    grb_file *file;
    uint8_t *buffer;
    size_t used, page_at; /* bytes in the buffer; where the page began */
    uint64_t at;          /* place in the file of the buffer's first byte */
    uint32_t kind;        /* of the section being written */
    uint64_t section_at;
    grb_buf checksums;
    uint8_t table[GRB_SECTION_END * GRB_SEGMENT_ENTRY];
    uint32_t table_count;
    const grb_source *sources; /* what is read to write this */
    size_t source_count;
    uint64_t forget_at; /* place at which their pages are given back */
    grebe_status status;
    grebe_error *err;
} grb_segout;

grebe_status grb_segout_open(grb_segout *o, grb_directory *d, const char *name,
                             grebe_error *err);
void grb_segout_begin(grb_segout *o, uint32_t kind);
void grb_segout_put(grb_segout *o, const void *bytes, size_t size);
/* Place in the present section. */
uint64_t grb_segout_at(const grb_segout *o);
void grb_segout_end(grb_segout *o);
/* Writes the checksums and then `header` (its checksum is filled in). */
grebe_status grb_segout_finish(grb_segout *o,
                               uint8_t header[GRB_SEGMENT_HEADER], bool sync,
                               uint64_t *bytes);
void grb_segout_close(grb_segout *o);

/* Empties a buffer but, unlike grb_buf_clear, remembers a failure: it is
 * looked at once for many puts. */
static inline void grb_buf_rewind(grb_buf *buf) {
    buf->size = 0;
}

/* ---- one list of postings (list.c) ---- */

/* Counted while writing; a census of the writer. */
typedef struct grb_list {
    grb_segout *out;
    const uint8_t *lengths; /* length codes by new document, NULL: none */
    bool positions;         /* the field keeps them */
    uint32_t df, count;     /* postings in all; in the open block */
    uint32_t base;          /* last document of the block before */
    uint32_t docs[GRB_BLOCK], freqs[GRB_BLOCK];
    uint32_t places[GRB_NUMBERS_CHUNK], place_count; /* of the open chunk */
    uint64_t term_total;
    /* the open group */
    uint32_t block_count, last[GRB_GROUP_BLOCKS];
    uint16_t size[GRB_GROUP_BLOCKS];
    uint32_t positions_end[GRB_GROUP_BLOCKS];
    grb_buf blocks, position_bytes;
    uint64_t list_at; /* place of the first group */
    bool grouped;
} grb_list;

void grb_list_init(grb_list *list, grb_segout *out);
void grb_list_begin(grb_list *list, const uint8_t *lengths, bool positions);
/* `count` postings: documents rise and are moved by `shift`. `freqs` and
 * `gaps` (as reader.h has them) are NULL where no positions are kept. */
void grb_list_add(grb_list *list, const uint32_t *docs, const uint32_t *freqs,
                  uint32_t count, uint32_t shift, const uint32_t *gaps);
/* Appends the term's payload; `place_base` is what places are counted from
 * (set if UINT64_MAX). */
void grb_list_end(grb_list *list, uint64_t *place_base, grb_buf *payload);
void grb_list_deinit(grb_list *list);

/* ---- the dictionary (terms_write.c) ---- */

/* Documents of a block, whatever its kind, into `docs`; how many. */
uint32_t grb_block_list(const grb_block *b, uint32_t *docs);

typedef struct grb_terms_out {
    grb_segout *out;
    grb_buf bytes;       /* front-coded terms of the open block */
    grb_buf payload;     /* and their payloads */
    grb_buf ready;       /* whole blocks not yet in the section */
    grb_buf index;       /* entries of all fields: u64 prefix, u64 place */
    uint32_t ready_from; /* first index entry whose block is in `ready` */
    uint32_t count;      /* terms in the open block */
    uint16_t ends[GRB_TERM_BLOCK];
    uint64_t first_prefix, place_base;
    grb_buf last; /* bytes of the last term */
    uint32_t field_blocks, field_terms, block_total;
} grb_terms_out;

void grb_terms_out_init(grb_terms_out *t, grb_segout *out);
void grb_terms_out_field(grb_terms_out *t);
/* Puts the term whose payload was just appended to t->payload. */
void grb_terms_out_put(grb_terms_out *t, const void *bytes, size_t size);
void grb_terms_out_field_end(grb_terms_out *t);
/* Moves what is ready into the section. */
void grb_terms_out_flush(grb_terms_out *t);
void grb_terms_out_deinit(grb_terms_out *t);

/* ---- the order of a column's values (order_write.c) ---- */

typedef struct grb_order {
    const grebe_allocator *allocator;
    int64_t *values[2]; /* of the run at work, made when needed */
    uint16_t *places[2];
    uint32_t count, pages;
    int64_t min, max;
    double overlap;    /* the spans of its pages added up */
    grb_buf directory; /* entries of the column's runs */
    bool written;      /* one of them has an order */
} grb_order;

void grb_order_init(grb_order *o, const grebe_allocator *a);
void grb_order_deinit(grb_order *o);
void grb_order_begin(grb_order *o);
/* The next page of the column: `count` values, of the documents `present`. */
grebe_status grb_order_page(grb_order *o, const int64_t *values,
                            uint32_t count, const uint64_t *present,
                            grebe_error *err);
/* Writes the run if its order is worth it. */
grebe_status grb_order_run_end(grb_order *o, grb_segout *out);

/* ---- the whole ---- */

typedef struct grb_written_field {
    uint32_t id, kind, flags, term_count, block_count, page_count, ord_count;
    uint32_t first_block; /* in the index of all fields */
    grb_field_totals totals;
    uint64_t index_at, lengths_at, column_at;
} grb_written_field;

typedef struct grb_segwriter {
    const grebe_allocator *allocator;
    const grebe_schema *schema;
    const grb_source *sources;
    size_t count;
    uint32_t *const *map; /* per source: NULL (shifted by offset) or new ids */
    const uint32_t *offset;
    uint32_t max_doc;
    bool dropped;
    const grb_segfile_options *options;
    grb_segout out;
    grb_arena arena;           /* of one term or window; reset often */
    grb_arena field_arena;     /* of one field or section */
    grb_arena map_arena;       /* maps and fields, to the end */
    grb_written_field *fields; /* schema's fields, then sequence */
    uint32_t field_count;
    uint32_t term_total;
    uint32_t key_size, key_buckets, flags, compatible;
    uint64_t sequence_base;
    grebe_error *err;
} grb_segwriter;

static inline uint32_t grb_segwriter_doc(const grb_segwriter *w, size_t s,
                                         uint32_t doc) {
    return w->map[s] ? w->map[s][doc] : w->offset[s] + doc;
}

/* Length codes of a field by new document, in the field arena; NULL if no
 * document has it. */
grebe_status grb_lengths_join(grb_segwriter *w, uint32_t field, uint8_t **out);
grebe_status grb_write_lengths(grb_segwriter *w);
grebe_status grb_write_terms(grb_segwriter *w);
grebe_status grb_write_columns(grb_segwriter *w);
grebe_status grb_write_stored(grb_segwriter *w);
grebe_status grb_write_keys(grb_segwriter *w);

/* Ordinals of a keyword column over all sources: the distinct values of kept
 * documents in byte order (ords_write.c). */
typedef struct grb_ords {
    uint32_t count;
    uint32_t **map; /* per source, by its ordinals; NULL: no column */
} grb_ords;
/* `visit` (may be NULL) sees each value once, in byte order. */
grebe_status grb_ords_join(grb_segwriter *w, uint32_t field, grb_ords *out,
                           void (*visit)(void *context, const uint8_t *bytes,
                                         uint32_t size),
                           void *context);

#endif
