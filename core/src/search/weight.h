/* search/weight.h - the bound query tree; private to the room.
 *
 * rewrite.c makes the tree from a grebe_query (names and values bound, text
 * analysed, lists of clauses brought into one form), bind.c then finds terms
 * and calculates weights. After that it never changes.
 */
#ifndef GRB_SEARCH_WEIGHT_H
#define GRB_SEARCH_WEIGHT_H

#include "search/search.h"

typedef enum grb_weight_kind {
    GRB_WEIGHT_NONE,
    GRB_WEIGHT_EMPTY, /* only stop words: none, but vanishes from lists */
    GRB_WEIGHT_ALL,
    GRB_WEIGHT_TERM,
    GRB_WEIGHT_KEY, /* documents with one unique key */
    GRB_WEIGHT_PHRASE,
    GRB_WEIGHT_TERMS,  /* all terms of a range of bytes */
    GRB_WEIGHT_COLUMN, /* numbers in a range; any number */
    GRB_WEIGHT_LENGTH, /* documents that have a length: exists on text */
    GRB_WEIGHT_BOOL,
    GRB_WEIGHT_DISMAX,
    GRB_WEIGHT_CONSTANT
} grb_weight_kind;

/* Statistics of a field that is scored. */
typedef struct grb_field_stats {
    struct grb_field_stats *next;
    const grb_field *field;
    uint64_t doc_count, term_total;
    float average;
    float inverse[256]; /* by length code */
} grb_field_stats;

/* A term and where it is in each leaf. */
typedef struct grb_bound_term {
    const char *bytes;
    uint32_t size;
    uint64_t df; /* over all leaves, or as the statistics have it */
    float idf;
    grb_term *leaves; /* leaf_count of them */
} grb_bound_term;

/* A place in a phrase and the terms that may stand there. */
typedef struct grb_phrase_slot {
    uint32_t place;
    uint32_t first, count; /* of the phrase's terms */
} grb_phrase_slot;

/* A range of bytes: lower and upper may be open on either side. */
typedef struct grb_byte_range {
    const char *lower, *upper; /* NULL: open */
    size_t lower_size, upper_size;
    bool lower_out, upper_out; /* the bound itself is left out */
    bool prefix;               /* `lower` is a prefix, `upper` unused */
} grb_byte_range;

typedef struct grb_weight_list {
    grb_weight **items;
    uint32_t count;
} grb_weight_list;

struct grb_weight {
    grb_weight_kind kind;
    bool scored;
    float own;     /* factor of this node alone */
    float boost;   /* own and all above, multiplied from the outside */
    float weight;  /* term, phrase: boost * idf */
    uint64_t hash; /* of everything but `own` */
    grb_search_context *context;
    const grb_field *field;
    grb_field_stats *stats; /* term, key, phrase; NULL if not scored */
    union {
        grb_bound_term term;
        struct {
            grb_key key;
            uint32_t *newest; /* document with the key, a leaf; NO_DOC */
            uint64_t df;
            float idf;
        } key;
        struct {
            grb_bound_term *terms;
            uint32_t term_count;
            grb_phrase_slot *slots;
            uint32_t slot_count;
            uint32_t slop;
            float idf;
            grb_weight *docs; /* documents that have all slots */
        } phrase;
        grb_byte_range range;
        struct {
            int64_t lower, upper; /* both inside */
            bool any;             /* exists */
        } column;
        struct {
            grb_weight_list lists[4]; /* by grebe_occur */
            uint32_t should_min;
        } list; /* BOOL */
        struct {
            grb_weight_list queries;
            float tie;
        } dismax;
        grb_weight *child; /* CONSTANT */
    } as;
};

/* rewrite.c: the tree, not yet bound. */
grebe_status grb_weight_rewrite(grb_search_context *c,
                                const grebe_query *query, grb_weight **out,
                                grebe_error *err);
grb_weight *grb_weight_make(grb_search_context *c, grb_weight_kind kind,
                            const grb_field *field);
/* rewrite_leaf.c: one leaf of the query tree. */
grebe_status grb_weight_leaf(grb_search_context *c, const grebe_query *query,
                             grb_weight **out, grebe_error *err);
/* clauses.c: brings the lists of a bool into the one form in which they are
 * added up; *out may be another node. */
grebe_status grb_weight_clauses(grb_search_context *c, grb_weight *w,
                                grb_weight **out, grebe_error *err);
/* clauses.c: sets the hash of a finished node. */
void grb_weight_identify(grb_weight *w);

static inline bool grb_weight_is_key(const grb_weight *w) {
    return w->field->id == w->context->schema->key;
}

#endif
