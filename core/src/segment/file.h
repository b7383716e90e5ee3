/* segment/file.h - an open segment file as its readers share it. */
#ifndef GRB_SEGMENT_FILE_H
#define GRB_SEGMENT_FILE_H

#include <pthread.h>

#include "segment/block.h"
#include "segment/format.h"
#include "segment/segfile.h"

typedef struct grb_section {
    uint64_t at, size;
    uint64_t pages_at; /* its first checksum, counted in checksums */
} grb_section;

/* A field that some document of the segment has. */
typedef struct grb_segfield {
    uint32_t id, kind, flags;
    uint32_t term_count, block_count, page_count, ord_count;
    grb_field_totals totals;
    uint64_t index_at, lengths_at, column_at;
    /* Bytes of its term index once it was needed. */
    _Atomic(const uint8_t *) index;
} grb_segfield;

/* Decompressed stored blocks kept for the next hit. */
#define GRB_STORED_CACHE 4u
#define GRB_STORED_CACHED_MAX ((uint32_t)256 << 10)
typedef struct grb_stored_block {
    uint8_t *bytes; /* NULL: free */
    uint32_t size, first, count, records_at;
    uint64_t used; /* for the choice of what goes */
} grb_stored_block;

typedef struct grb_segfile {
    grb_segment base;
    grb_region *region;
    grebe_verify verify;
    uint32_t max_doc, term_count, flags, key_size, key_buckets;
    uint64_t seed, sequence_base;
    grb_section sections[GRB_SECTION_END];
    uint64_t page_total;
    _Atomic uint64_t *verified; /* a bit a page */
    grb_segfield *fields;
    uint32_t field_count;
    uint32_t *by_id; /* place + 1 of a field */
    uint32_t by_id_count;
    const grb_segfield *sequence; /* NULL while contiguous */
    pthread_mutex_t cache_lock;
    grb_stored_block cache[GRB_STORED_CACHE];
    uint64_t cache_clock;
} grb_segfile;

/* Pointer to [at, at + size) of a section, verified; valid as long as the
 * segment (mapped) or `arena`. CORRUPT if it is not inside. */
grebe_status grb_segfile_view(grb_segfile *f, uint32_t section, uint64_t at,
                              uint64_t size, grb_arena *arena,
                              const uint8_t **out, grebe_error *err);
/* The same if no work is needed for it: a mapped file, bytes of one page that
 * is verified. NULL: ask grb_segfile_view. */
static inline const uint8_t *grb_segfile_ready(const grb_segfile *f,
                                               uint32_t section, uint64_t at,
                                               uint64_t size) {
    const grb_section *s = &f->sections[section];
    uint64_t page = at / GRB_SEGMENT_PAGE;
    uint64_t bit = s->pages_at + page;
    if (!f->region->bytes || at >= s->size || size > s->size - at ||
        size > GRB_SEGMENT_PAGE - at % GRB_SEGMENT_PAGE)
        return NULL;
    if (f->verify != GREBE_VERIFY_NEVER &&
        !(atomic_load_explicit(&f->verified[bit / 64], memory_order_relaxed) >>
              bit % 64 &
          1))
        return NULL;
    return f->region->bytes + s->at + at;
}
grebe_status grb_segfile_corrupt(const grb_segfile *f, uint32_t section,
                                 uint64_t at, grebe_error *err,
                                 const char *what);
/* Verifies every page, whatever was verified before. */
grebe_status grb_segfile_verify(grb_segfile *f, grebe_error *err);
grb_segfield *grb_segfile_field(const grb_segfile *f, uint32_t field);

/* ---- terms_read.c ---- */

/* A term block taken apart. */
typedef struct grb_term_block {
    uint64_t at; /* in the section */
    uint32_t count;
    uint64_t place_base;
    const uint8_t *ends, *terms, *payload;
    uint32_t terms_size, payload_size, payload_at; /* from `at` */
} grb_term_block;

grebe_status grb_term_block_get(grb_segfile *f, grb_segfield *field,
                                uint32_t block, grb_arena *arena,
                                grb_term_block *out, grebe_error *err);
grebe_status grb_segfile_term_find(grb_segment *s, const grb_bounds *b,
                                   uint32_t field, const void *bytes,
                                   size_t size, grb_term *out,
                                   grebe_error *err);
/* Place of these bytes among all values of the field, terms or not;
 * UINT32_MAX if they are not among them. `term` may be NULL. */
grebe_status grb_segfile_term_place(grb_segfile *f, grb_segfield *field,
                                    const void *bytes, size_t size,
                                    uint32_t *place, grb_term *term,
                                    grebe_error *err);
/* Bytes of the value at a place, in `arena`. */
grebe_status grb_segfile_term_bytes(grb_segfile *f, grb_segfield *field,
                                    uint32_t place, grb_arena *arena,
                                    const uint8_t **bytes, uint32_t *size,
                                    grebe_error *err);
grebe_status grb_segfile_terms_open(grb_segment *s, const grb_bounds *b,
                                    uint32_t field, grb_arena *arena,
                                    grb_terms **out, grebe_error *err);

/* Words of a grb_term: where its list lies. */
enum { GRB_TERM_PLACE, GRB_TERM_LENGTH, GRB_TERM_FORM };

/* ---- postings_read.c, columns_read.c, docs_read.c ---- */

grebe_status grb_segfile_postings_open(grb_segment *s, const grb_bounds *b,
                                       const grb_term *term, int wanted,
                                       grb_arena *arena, grb_postings **out,
                                       grebe_error *err);
/* Adds the encoding and the bytes of the current block to a census; its
 * frequencies and positions were asked for. */
void grb_segfile_count(const grb_postings *p, grb_segfile_census *out);
grebe_status grb_segfile_column_open(grb_segment *s, const grb_bounds *b,
                                     uint32_t field, grb_arena *arena,
                                     grb_column **out, grebe_error *err);
grebe_status grb_segfile_field_column(grb_segfile *f, grb_segfield *field,
                                      grb_arena *arena, grb_column **out,
                                      grebe_error *err);
uint64_t grb_segfile_sequence(grb_segment *s, uint32_t doc);

grebe_status grb_segfile_lengths(grb_segment *s, const grb_bounds *b,
                                 uint32_t field, uint32_t base,
                                 uint8_t *scratch, const uint8_t **out,
                                 grebe_error *err);
grebe_status grb_segfile_stored(grb_segment *s, uint32_t doc, grb_buf *out,
                                grebe_error *err);
grebe_status grb_segfile_key_newest(grb_segment *s, const grb_bounds *b,
                                    const grb_key *key, uint32_t *doc,
                                    grebe_error *err);
void grb_segfile_key_touch(const grb_segment *s, const grb_key *key);
grebe_status grb_segfile_key_older(grb_segment *s, uint32_t doc,
                                   uint32_t *older, grebe_error *err);
grebe_status grb_segfile_key_bytes(grb_segment *s, uint32_t doc,
                                   grb_arena *arena, const uint8_t **bytes,
                                   uint32_t *size, grebe_error *err);

#endif
