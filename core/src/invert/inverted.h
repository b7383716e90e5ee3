/* invert/inverted.h - what an inverted document holds, for the room that
 * appends it (memseg), and how a term is hashed.
 */
#ifndef GRB_INVERT_INVERTED_H
#define GRB_INVERT_INVERTED_H

#include "invert/invert.h"

/* Bytes of a term that stand in its record; longer ones lie elsewhere. */
#define GRB_TERM_INLINE 16u

/* A term as tables compare it. Up to 16 bytes: the bytes, padded with zeros.
 * Longer: words[0] is the first 8 bytes and `bytes` counts. The hash covers
 * field, size and all bytes, seeded once a process. */
typedef struct grb_term_key {
    uint64_t words[2];
    const uint8_t *bytes;
    uint32_t hash;
    uint32_t size;
} grb_term_key;

void grb_term_key_make(const void *bytes, uint32_t size, uint32_t field,
                       grb_term_key *out);
/* The same for `count` tokens at once, without a branch that depends on their
 * sizes. 8 bytes before a token may be read if it begins outside
 * [text, text + 8): tokens lie in one text or in an arena. */
void grb_term_keys_make(const grb_token *tokens, uint32_t count,
                        uint32_t field, const char *text, grb_term_key *out);
/* A seeded hash of a unique key: tables never use grb_key's own hash, which
 * anybody can compute. */
uint32_t grb_term_hash_key(const void *bytes, uint32_t size);

/* One distinct term of one field of the document. `position` is the only
 * position if tf is 1, else where the positions begin in `positions`
 * (varints: the first one, then differences). */
typedef struct grb_inverted_term {
    grb_term_key key;
    uint32_t field;
    uint32_t tf;
    uint32_t position;
    uint32_t positions_size;  /* 0 if tf is 1 or there are no positions */
    uint32_t last_occurrence; /* the inverter's own */
    uint8_t length;           /* length code of the field */
    uint8_t kind;             /* GRB_TERM_... */
} grb_inverted_term;
enum {
    GRB_TERM_TEXT,    /* postings with frequencies and positions */
    GRB_TERM_KEYWORD, /* postings */
    GRB_TERM_VALUE    /* no postings: a word of a column only */
};

/* One field of the document that has something to append. */
typedef struct grb_inverted_field {
    uint32_t field;
    grebe_kind kind;
    bool column; /* values go to a column */
    bool many;
    bool length_kept;     /* `length` goes to the length codes */
    uint8_t length;       /* length code, 0 without a token */
    uint32_t value_first; /* in `values` */
    uint32_t value_count;
    uint64_t term_total; /* for the totals; with `counted` */
    bool counted;        /* the document counts in the totals */
} grb_inverted_field;

struct grb_inverted {
    const grebe_allocator *allocator;
    grebe_schema *schema; /* counted */

    grb_inverted_field *fields;
    grb_inverted_term *terms;
    int64_t *values; /* ordered numbers; keywords: places in `terms` */
    uint8_t *positions;
    uint32_t field_count, term_count, value_count, positions_size;

    grb_key key;
    const uint8_t *stored;
    uint32_t stored_size;
    const uint8_t *log;
    size_t log_size;
    uint64_t tokens, text_bytes, terms_skipped;

    struct grb_inverter *inverter; /* memory kept between documents */
};

#endif
