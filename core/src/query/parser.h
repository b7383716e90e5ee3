/* query/parser.h - private to the room: from text to tokens to a tree. */
#ifndef GRB_QUERY_PARSER_H
#define GRB_QUERY_PARSER_H

#include "analysis/analysis.h"
#include "query/tree.h"

typedef enum grb_token_type {
    GRB_TOKEN_END,
    GRB_TOKEN_AND,
    GRB_TOKEN_OR,
    GRB_TOKEN_NOT, /* NOT or ! */
    GRB_TOKEN_PLUS,
    GRB_TOKEN_MINUS,
    GRB_TOKEN_BARE, /* + - or ! before white space: a word */
    GRB_TOKEN_OPEN,
    GRB_TOKEN_CLOSE,
    GRB_TOKEN_COLON,
    GRB_TOKEN_STAR,
    GRB_TOKEN_CARET,
    GRB_TOKEN_NUMBER, /* behind a caret */
    GRB_TOKEN_QUOTED,
    GRB_TOKEN_WORD,
    GRB_TOKEN_VALUE, /* a number or date behind "field:" */
    GRB_TOKEN_PREFIX,
    GRB_TOKEN_WILDCARD,
    GRB_TOKEN_REGEXP,
    GRB_TOKEN_TILDE, /* with what follows it */
    GRB_TOKEN_RANGE_IN,
    GRB_TOKEN_RANGE_EX,
    GRB_TOKEN_RANGE_TO, /* and the following only inside a range */
    GRB_TOKEN_RANGE_QUOTED,
    GRB_TOKEN_RANGE_WORD,
    GRB_TOKEN_RANGE_IN_END,
    GRB_TOKEN_RANGE_EX_END,
    GRB_TOKEN_BAD /* nothing of the language begins here */
} grb_token_type;

typedef struct grb_query_token {
    grb_token_type type;
    uint32_t start, end;
} grb_query_token;

/* Which set of tokens comes next: what was read last decides. */
typedef enum grb_lexer_state {
    GRB_LEXER_PLAIN,
    GRB_LEXER_BOOST,
    GRB_LEXER_RANGE
} grb_lexer_state;

typedef struct grb_lexer {
    const char *text;
    uint32_t size, at;
    grb_lexer_state state;
    bool value_next; /* "year:" was read: -5 and 2020-01-01T12:00Z are one
                        token */
} grb_lexer;

void grb_lexer_init(grb_lexer *lexer, const char *text, size_t size);
grb_query_token grb_lexer_next(grb_lexer *lexer);
/* Bytes of white space of the language at `at`, 0 if there is none. */
uint32_t grb_lexer_space(const char *text, uint32_t size, uint32_t at);

/* A field to search in. */
typedef struct grb_target {
    const grb_field *field;
    float boost;
} grb_target;

/* What one parse works with. */
typedef struct grb_parser {
    const grebe_schema *schema;
    grebe_operator op;
    grb_lexer lexer;
    grb_query_token ahead[2];
    uint32_t ahead_count;
    grb_target *targets; /* the default fields */
    size_t target_count;
    bool misfit;  /* a leaf failed because the text is no value of its field */
    grb_buf text; /* the token's text without escapes */
    grb_buf lower; /* normalised forms */
    grb_buf upper;
} grb_parser;

/* SYNTAX (or LIMIT) at byte `at`: the message, its line and a caret line. */
grebe_status grb_parser_error(const grb_parser *p, grebe_status status,
                              uint32_t at, grebe_error *err,
                              const char *format, ...)
    __attribute__((format(printf, 5, 6), cold));

/* Takes the escapes out of [start, end) into `out` (cleared first). */
grebe_status grb_parser_unescape(const grb_parser *p, uint32_t start,
                                 uint32_t end, grb_buf *out, grebe_error *err);

/* A leaf as read, before it is known in which field it is searched. */
typedef struct grb_leaf {
    grb_query_token token; /* word, value, quoted, prefix, star or range */
    uint32_t slop;
    /* of a range: its bounds, END where open, and whether they are left out */
    grb_query_token lower, upper;
    bool lower_open, upper_open;
} grb_leaf;

/* The query of a leaf in one field, or, for NULL, in the default fields: the
 * best of them (dis-max with tie 0), those left out whose kind the text does
 * not fit. */
grebe_status grb_parser_leaf(grb_parser *p, const grb_leaf *leaf,
                             const grb_field *field, grebe_query **out,
                             grebe_error *err);

/* Every word of the text, joined by the operator, in the default fields. */
grebe_status grb_parser_plain(grb_parser *p, grebe_query **out,
                              grebe_error *err);

/* A value as text, see grb_value_parse; returns the length. */
#define GRB_NUMBER_SIZE 64
size_t grb_value_print(const grebe_value *value, char out[GRB_NUMBER_SIZE]);
/* The shortest decimal without exponent that reads back to the float. */
size_t grb_factor_print(float factor, char out[GRB_NUMBER_SIZE]);
/* Digits with an optional fraction, as a float; infinity if too large. */
float grb_factor_parse(const char *text, size_t size);

#endif
