/* grebe/query.h - the query tree and the query language.
 *
 * Queries are immutable and counted; a node holds references to its children,
 * so a child may be released at once and used in several trees. They know no
 * schema: names and types are bound when a search runs. Any thread.
 */
#ifndef GREBE_QUERY_H
#define GREBE_QUERY_H

#include "grebe/schema.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grebe_query grebe_query;

#define GREBE_QUERY_TEXT_MAX (64u << 10)
#define GREBE_QUERY_DEPTH_MAX 100u
#define GREBE_QUERY_CLAUSES_MAX 4096u
#define GREBE_PHRASE_TERMS_MAX 256u
#define GREBE_PHRASE_SLOP_MAX 10000u

typedef enum grebe_operator { GREBE_OR = 0, GREBE_AND = 1 } grebe_operator;

/* Every document, score 1. MEMORY. */
GREBE_API grebe_status grebe_query_all(grebe_query **out, grebe_error *err);

/* No document. MEMORY. */
GREBE_API grebe_status grebe_query_none(grebe_query **out, grebe_error *err);

/* Documents with exactly this indexed term or value; text is not analysed.
 * For a date a text is ISO 8601, and without a time the whole day in UTC; so
 * it is in a match, and at both ends of a range. LIMIT, MEMORY. */
GREBE_API grebe_status grebe_query_term(const char *field,
                                        const grebe_value *value,
                                        grebe_query **out, grebe_error *err);

/* Analyses `text` for the field when the search runs and joins the terms by
 * `op`; the search says LIMIT above GREBE_QUERY_CLAUSES_MAX of them. A field
 * that is not text takes the whole text as one value. LIMIT, MEMORY. */
GREBE_API grebe_status grebe_query_match(const char *field, const char *text,
                                         size_t size, grebe_operator op,
                                         grebe_query **out, grebe_error *err);

/* Analyses `text`; the terms must stand in a row, or within `slop` moves.
 * LIMIT above GREBE_PHRASE_SLOP_MAX; the search says it above
 * GREBE_PHRASE_TERMS_MAX terms. MEMORY. */
GREBE_API grebe_status grebe_query_phrase(const char *field, const char *text,
                                          size_t size, uint32_t slop,
                                          grebe_query **out, grebe_error *err);

/* A term of a phrase of exact terms; several with the same position are
 * alternatives. */
typedef struct grebe_phrase_term {
    const char *bytes;
    size_t size;
    uint32_t position;
} grebe_phrase_term;

/* A phrase of exact terms; nothing is analysed. Positions never fall. LIMIT
 * above GREBE_PHRASE_TERMS_MAX. ARGUMENT for falling positions. MEMORY. */
GREBE_API grebe_status grebe_query_phrase_terms(const char *field,
                                                const grebe_phrase_term *terms,
                                                size_t count, uint32_t slop,
                                                grebe_query **out,
                                                grebe_error *err);

/* Documents with a term that begins with these bytes; constant score 1. */
GREBE_API grebe_status grebe_query_prefix(const char *field, const char *bytes,
                                          size_t size, grebe_query **out,
                                          grebe_error *err);

/* Bounds of a range; a NULL bound is open. */
typedef struct grebe_range {
    const grebe_value *lower;
    const grebe_value *upper;
    int lower_open; /* nonzero: `lower` itself is left out */
    int upper_open;
} grebe_range;

/* Documents with a value in the range; constant score 1. Text and keywords
 * compare by bytes. */
GREBE_API grebe_status grebe_query_range(const char *field,
                                         const grebe_range *range,
                                         grebe_query **out, grebe_error *err);

/* Documents with any value in the field; constant score 1. */
GREBE_API grebe_status grebe_query_exists(const char *field, grebe_query **out,
                                          grebe_error *err);

typedef enum grebe_occur {
    GREBE_MUST,
    GREBE_SHOULD,
    GREBE_MUST_NOT,
    GREBE_FILTER
} grebe_occur;

typedef struct grebe_clause {
    grebe_occur occur;
    grebe_query *query; /* borrowed for the call */
} grebe_clause;

/* Joins clauses. Without MUST and FILTER at least one SHOULD must match;
 * `should_min` > 0 asks for that many. Only MUST_NOT, or no clause: matches
 * nothing. LIMIT above GREBE_QUERY_CLAUSES_MAX or GREBE_QUERY_DEPTH_MAX.
 * MEMORY. */
GREBE_API grebe_status grebe_query_bool(const grebe_clause *clauses,
                                        size_t count, uint32_t should_min,
                                        grebe_query **out, grebe_error *err);

/* Multiplies scores. ARGUMENT for a negative, infinite or NaN factor. Products
 * of factors count up to 2^100, so that scores stay numbers. */
GREBE_API grebe_status grebe_query_boost(grebe_query *query, float by,
                                         grebe_query **out, grebe_error *err);

/* Replaces scores by one. ARGUMENT as for boost. */
GREBE_API grebe_status grebe_query_constant(grebe_query *query, float score,
                                            grebe_query **out,
                                            grebe_error *err);

/* The best clause's score plus `tie` times the others'. ARGUMENT unless
 * 0 <= tie <= 1. LIMIT. MEMORY. */
GREBE_API grebe_status grebe_query_dismax(grebe_query *const *queries,
                                          size_t count, float tie,
                                          grebe_query **out, grebe_error *err);

/* A field to search in and its boost. */
typedef struct grebe_query_field {
    const char *name;
    float boost;
} grebe_query_field;

typedef struct grebe_parse_options {
    const grebe_query_field *fields; /* where words without a field go */
    size_t field_count;              /* 0: every indexed text field */
    grebe_operator op;
    int forgiving; /* what cannot be read is searched as plain words */
} grebe_parse_options;

/* Reads a query in Lucene's syntax against a schema. Strict: SYNTAX with
 * `offset` (bytes) and a message with the line and a caret, also for unknown
 * fields (which names the nearest). Forgiving: never fails for its text where
 * words can be searched; without `fields` in a schema without indexed text
 * they cannot, and it is read strictly; a word without a field finds nothing.
 * `options` may be NULL. LIMIT above
 * GREBE_QUERY_TEXT_MAX and so on. A blank text is `none`; a lone negative
 * clause means all but it. */
GREBE_API grebe_status grebe_query_parse(const grebe_schema *schema,
                                         const char *text, size_t size,
                                         const grebe_parse_options *options,
                                         grebe_query **out, grebe_error *err);

/* Writes the query as text into `buffer` (always NUL-terminated if size > 0)
 * and returns the length that the whole text has. */
GREBE_API size_t grebe_query_text(const grebe_query *query, char *buffer,
                                  size_t size);

/* One more reference; returns its argument. */
GREBE_API grebe_query *grebe_query_acquire(grebe_query *query);

/* Gives a reference back. NULL is allowed. */
GREBE_API void grebe_query_release(grebe_query *query);

#ifdef __cplusplus
}
#endif
#endif
