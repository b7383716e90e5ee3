/* memseg/parts.h - what the files of this room call in each other. */
#ifndef GRB_MEMSEG_PARTS_H
#define GRB_MEMSEG_PARTS_H

#include "memseg/shapes.h"

/* ---- pool.c ---- */

/* A chunk of at least `size` bytes, warm if the pool has one; NULL: no
 * memory. */
grb_chunk *grb_pool_take(grb_pool *pool, size_t size);
/* Takes a whole list back. */
void grb_pool_give(grb_pool *pool, grb_chunk *chunks);
const grebe_allocator *grb_pool_allocator(const grb_pool *pool);

/* arena.c: memory of the writer. grb_memseg_take never fails for what
 * grb_memseg_ensure made room for. Sizes are padded to 8. */
bool grb_memseg_ensure(grb_memseg *s, size_t size);
void *grb_memseg_alloc(grb_memseg *s, size_t size); /* may be NULL */
void *grb_memseg_alloc_line(grb_memseg *s, size_t size);
static inline void *grb_memseg_take(grb_memseg *s, size_t size) {
    char *at = s->room.at;
    s->room.at += grb_mem_pad(size, 8);
    return at;
}
/* Makes the directory reach `page`, then the page itself if it is missing:
 * `size` bytes of which the first `zero` are cleared. NULL: no memory. */
bool grb_memseg_dir(grb_memseg *s, grb_paged *p, uint32_t page);
void *grb_memseg_page(grb_memseg *s, grb_paged *p, uint32_t page, size_t size,
                      size_t zero);
/* Memory of a reader, kept until the segment goes. */
void *grb_memseg_make(grb_memseg *s, size_t size);
void grb_memseg_unmake(grb_memseg *s, void *made); /* not yet shared */
void grb_memseg_keep(grb_memseg *s, void *made);   /* shared: keep it */

/* reserve.c */
grebe_status grb_memseg_reserve(grb_memseg *s, const grb_inverted *inv,
                                grebe_error *err);
/* totals.c: the totals are the segment's alone and have every page of `inv`.
 */
bool grb_memseg_totals_reserve(grb_memseg *s, const grb_inverted *inv);
/* postings.c */
uint32_t grb_record_rank(const grb_memseg *s, const grb_record *r,
                         uint32_t max_doc);
grebe_status grb_memseg_postings(grb_segment *core, const grb_bounds *b,
                                 const grb_term *term, int wanted,
                                 grb_arena *arena, grb_postings **out,
                                 grebe_error *err);
/* terms.c */
grebe_status grb_memseg_term_find(grb_segment *core, const grb_bounds *b,
                                  uint32_t field, const void *bytes,
                                  size_t size, grb_term *out,
                                  grebe_error *err);
void grb_memseg_term(const grb_memseg *s, const grb_bounds *b, uint32_t id,
                     grb_term *out);
/* Term id of the key below `term_count`, UINT32_MAX if there is none. */
uint32_t grb_memseg_id(const grb_memseg *s, uint32_t term_count,
                       uint32_t field, const grb_term_key *key);
/* order.c */
grebe_status grb_memseg_terms(grb_segment *core, const grb_bounds *b,
                              uint32_t field, grb_arena *arena,
                              grb_terms **out, grebe_error *err);
/* Ids of all terms of a field < term_count in order, columns' words too, into
 * `ids` (room for `room`); how many. */
grebe_status grb_memseg_ordered(grb_memseg *s, uint32_t term_count,
                                uint32_t field, uint32_t *ids, uint32_t room,
                                uint32_t *count, grebe_error *err);
/* column.c */
grebe_status grb_memseg_column(grb_segment *core, const grb_bounds *b,
                               uint32_t field, grb_arena *arena,
                               grb_column **out, grebe_error *err);
/* rows.c */
grebe_status grb_memseg_lengths(grb_segment *core, const grb_bounds *b,
                                uint32_t field, uint32_t base,
                                uint8_t *scratch, const uint8_t **out,
                                grebe_error *err);
grebe_status grb_memseg_stored(grb_segment *core, uint32_t doc, grb_buf *out,
                               grebe_error *err);
grebe_status grb_memseg_key_newest(grb_segment *core, const grb_bounds *b,
                                   const grb_key *key, uint32_t *doc,
                                   grebe_error *err);
grebe_status grb_memseg_key_older(grb_segment *core, uint32_t doc,
                                  uint32_t *older, grebe_error *err);
grebe_status grb_memseg_key_bytes(grb_segment *core, uint32_t doc,
                                  grb_arena *arena, const uint8_t **bytes,
                                  uint32_t *size, grebe_error *err);
uint64_t grb_memseg_sequence(grb_segment *core, uint32_t doc);
/* The key's slot: newest document with these bytes, GRB_NO_DOC if none. */
uint32_t grb_memseg_key_doc(const grb_memseg *s, const grb_table *table,
                            const uint8_t *bytes, uint32_t size, uint32_t hash,
                            uint32_t *slot);

#endif
