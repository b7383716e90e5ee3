/* analysis/analysis.h - text to tokens: a tokenizer and filters as values,
 * resolved once a field. */
#ifndef GRB_ANALYSIS_H
#define GRB_ANALYSIS_H

#include "base/base.h"

typedef struct grb_analyzer grb_analyzer; /* immutable, static or shared */
typedef struct grb_stems grb_stems;

/* A token. `bytes` points into the text (if no filter changed it) or into the
 * stream's scratch; both live until the stream is reset. Positions begin at 0
 * and skip removed words. Offsets are bytes of the text. */
typedef struct grb_token {
    const char *bytes;
    uint32_t size;
    uint32_t position;
    uint32_t start, end;
} grb_token;

/* All tokens of one text, in order; memory is kept between texts. */
typedef struct grb_tokens {
    const grebe_allocator *allocator;
    grb_token *items;
    uint32_t count, capacity;
    uint32_t end_position; /* position after the last token, removed words
                              behind it counted */
    uint32_t skipped;      /* terms over GREBE_TERM_SIZE_MAX left out */
    grb_arena scratch;     /* bytes of changed tokens */
    grb_stems *stems;      /* words met before, if a filter remembers them */
} grb_tokens;

void grb_tokens_init(grb_tokens *tokens, const grebe_allocator *a);
void grb_tokens_deinit(grb_tokens *tokens);

/* NULL if there is none of that name. Aliases ("english") are resolved. */
const grb_analyzer *grb_analyzer_find(const char *name, size_t size);
/* The name it is stored and printed under ("en"). */
const char *grb_analyzer_name(const grb_analyzer *analyzer);
/* Lines of names for messages: "standard, whitespace, ...". */
const char *grb_analyzer_names(void);

/* Replaces the content of `tokens` by the tokens of `text` (valid UTF-8).
 * MEMORY; LIMIT for a text of 2 GiB or more. After a failure there are no
 * tokens. */
grebe_status grb_analyze(const grb_analyzer *analyzer, const char *text,
                         size_t size, grb_tokens *tokens, grebe_error *err);

/* The form a prefix, wildcard or range bound takes (lower-cased, not
 * stemmed), appended to `out`. */
void grb_analyzer_normalize(const grb_analyzer *analyzer, const char *text,
                            size_t size, grb_buf *out);

/* UAX #29 word boundaries: the first boundary after `at` (for tests and the
 * highlighter). */
size_t grb_word_break_next(const char *text, size_t size, size_t at);

#endif
