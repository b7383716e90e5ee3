/* invert/inverter.h - the working memory of one inverted document; private to
 * the room. */
#ifndef GRB_INVERT_INVERTER_H
#define GRB_INVERT_INVERTER_H

#include "invert/inverted.h"

/* A value to be inverted. Items of one field are chained in the order given.
 */
typedef struct grb_item {
    grebe_value value;
    uint32_t next; /* place + 1, 0: the last */
} grb_item;

/* The second and later occurrences of a term of the document. */
typedef struct grb_occurrence {
    uint32_t position;
    uint32_t next; /* place + 1, 0: the last */
} grb_occurrence;

typedef struct grb_chain {
    uint32_t first, last; /* places of items + 1; 0: none */
    uint32_t count;       /* of values */
} grb_chain;

struct grb_inverter {
    size_t field_capacity, term_capacity, value_capacity, position_capacity;
    grb_item *items;
    size_t item_count, item_capacity;
    grb_chain *chains; /* one a field of the schema, clear between documents */
    size_t chain_capacity;
    uint32_t *used; /* fields with a chain, in order of appearance */
    size_t used_count, used_capacity;
    grb_occurrence *occurrences;
    size_t occurrence_count, occurrence_capacity;
    uint64_t *slots; /* terms of the document: {hash, place + 1} */
    size_t slot_capacity;
    uint32_t slot_mask;
    grb_tokens tokens;
    grb_arena long_terms; /* bytes of changed tokens over 16 bytes */
    uint8_t key_scratch[8];
    grb_buf stored, log;
};

/* Makes room for `want` items; the old ones stay. MEMORY. */
grebe_status grb_inverter_grow(const grebe_allocator *a, void **items,
                               size_t *capacity, size_t want, size_t item_size,
                               grebe_error *err);

/* Terms of a TEXT field / a KEYWORD field, into inv->terms. The caller has
 * begun `out`. (invert/terms.c) */
grebe_status grb_inverter_text(grb_inverted *inv, const grb_field *field,
                               const grb_chain *chain, grb_inverted_field *out,
                               grebe_error *err);
grebe_status grb_inverter_keyword(grb_inverted *inv, const grb_field *field,
                                  const grb_chain *chain,
                                  grb_inverted_field *out, grebe_error *err);

#endif
