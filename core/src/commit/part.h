/* commit/part.h - a stretch of a load: documents in the caller's order that
 * become one private segment, then a leaf of the live list.
 */
#ifndef GRB_PART_H
#define GRB_PART_H

#include "commit/join.h"

/* A document that was refused; what of its key can be told is in it. */
typedef struct grb_refused {
    uint64_t position; /* in the load */
    grebe_document *document;
    grebe_error error;
} grb_refused;

typedef struct grb_part {
    grb_writer *writer;
    grebe_schema *schema;   /* the index's when the part was begun */
    grebe_schema **schemas; /* of documents made for others; counted */
    uint32_t schema_count, schema_capacity;
    grb_arena arena; /* of the documents */
    grb_packed **documents;
    uint32_t count, capacity;
    uint32_t done;     /* documents that were tried */
    uint64_t position; /* of the first */
    grb_segment *segment;
    uint32_t docs;      /* of the segment */
    uint32_t *replaced; /* its documents that later ones replaced */
    uint32_t replaced_count, replaced_capacity;
    bool twice; /* two of its documents live with one key */
    grb_refused *refused;
    uint32_t refused_count, refused_capacity;
    uint64_t tokens, text_bytes, terms_skipped, build_ns;
} grb_part;

/* What all parts of a load go by. */
typedef struct grb_part_rules {
    bool overwrite;
    uint64_t bytes_max; /* of a segment: the part ends when it holds more */
    const _Atomic bool *stop;
} grb_part_rules;

/* What a thread keeps from part to part; begins with zeros. */
typedef struct grb_builder {
    grb_inverted *inverted;
    grebe_document *document;
} grb_builder;

grebe_status grb_part_new(grb_writer *w, grebe_schema *schema,
                          uint64_t position, grb_part **out, grebe_error *err);
void grb_part_free(grb_part *p); /* NULL-safe */
/* A copy of one more document. MEMORY. */
grebe_status grb_part_add(grb_part *p, const grebe_document *document,
                          grebe_error *err);
/* The documents that were not tried become a part of their own. MEMORY. */
grebe_status grb_part_rest(const grb_part *p, grb_part **out,
                           grebe_error *err);
/* Forgets the documents and the reference to the segment; what was refused
 * stays. */
void grb_part_empty(grb_part *p);
/* Each document goes the way of a single one: through the log, without a
 * segment of its own. As grb_part_build; `added` counts. */
grebe_status grb_part_add_singly(grb_part *p, bool overwrite, uint64_t *added,
                                 grebe_error *err);

/* Analyses, inverts and appends to the private segment, which touches nothing
 * of the writer that others see; any thread. Documents that are refused are
 * noted. Any other failure is returned; what was done before is good. */
grebe_status grb_part_build(grb_part *p, const grb_part_rules *rules,
                            grb_builder *builder, grebe_error *err);
void grb_builder_end(grb_builder *builder);

/* The segment becomes the last leaf: its documents get their places in the
 * order of the index, older ones with their keys die. All or nothing. Under
 * the mutex. */
grebe_status grb_part_take_in(grb_part *p, bool overwrite, grebe_error *err);

#endif
