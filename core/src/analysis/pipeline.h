/* analysis/pipeline.h - the parts of an analyzer: a tokenizer and filters,
 * values that are run one after the other over all tokens of a text. */
#ifndef GRB_PIPELINE_H
#define GRB_PIPELINE_H

#include "analysis/analysis.h"

#define GRB_TOKEN_UNITS_MAX 255u /* Lucene's longest token, UTF-16 units */
#define GRB_FILTERS_MAX 4
#define GRB_TEXT_PADDING                            \
    16u /* bytes behind a copy that may be read and \
           written back */

/* What is tokenized: the caller's text, or a copy that filters may change
 * (then lower-cased in its ASCII letters if the analyzer wants that). Offsets
 * are the same in both. */
typedef struct grb_text {
    const char *bytes;
    uint32_t size;
    bool ascii;
} grb_text;

typedef struct grb_tokenizer grb_tokenizer;
struct grb_tokenizer {
    grebe_status (*run)(const grb_tokenizer *tokenizer, const grb_text *text,
                        grb_tokens *tokens, grebe_error *err);
    uint32_t units_max; /* longest token in UTF-16 units; longer ones are cut
                           into several, 0: no limit */
};

/* A filter changes, cuts or removes tokens. One that changes bytes does so in
 * place: its analyzer has `copies` set. */
typedef struct grb_filter grb_filter;
struct grb_filter {
    grebe_status (*run)(const grb_filter *filter, const grb_text *text,
                        grb_tokens *tokens, grebe_error *err);
};

struct grb_analyzer {
    const char *name, *alias;
    grb_tokenizer tokenizer;
    bool lowers; /* lower case: ASCII at once before the tokenizer, the rest
                    by the filter */
    bool copies; /* a filter changes more than case */
    const grb_filter *filters[GRB_FILTERS_MAX];
};

/* Tokenizers (standard.c, tokenizer.c). */
grebe_status grb_standard_run(const grb_tokenizer *tokenizer,
                              const grb_text *text, grb_tokens *tokens,
                              grebe_error *err);
grebe_status grb_whitespace_run(const grb_tokenizer *tokenizer,
                                const grb_text *text, grb_tokens *tokens,
                                grebe_error *err);
grebe_status grb_letters_run(const grb_tokenizer *tokenizer,
                             const grb_text *text, grb_tokens *tokens,
                             grebe_error *err);
grebe_status grb_whole_run(const grb_tokenizer *tokenizer,
                           const grb_text *text, grb_tokens *tokens,
                           grebe_error *err);

/* Filters (filter.c, stems.c). */
extern const grb_filter grb_filter_lower;      /* simple, per code point */
extern const grb_filter grb_filter_fold;       /* full case folding */
extern const grb_filter grb_filter_possessive; /* a final 's */
extern const grb_filter grb_filter_stop_en;    /* Lucene's 33 words */
extern const grb_filter grb_filter_porter;     /* English stems */

/* Stems a lower-case word in place; returns its new size (porter.c). */
uint32_t grb_porter_stem(char *word, uint32_t size);

void grb_stems_free(grb_stems *stems, const grebe_allocator *a);

/* Eight bytes as a number, the first the lowest. */
static inline uint64_t grb_word_load(const void *at) {
    uint64_t w;
    memcpy(&w, at, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    w = __builtin_bswap64(w);
#endif
    return w;
}
static inline void grb_word_store(void *at, uint64_t w) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    w = __builtin_bswap64(w);
#endif
    memcpy(at, &w, 8);
}

/* Simple lower case of a code point, encoded; returns the length. */
uint32_t grb_lower_map(uint32_t code_point, char *out);
/* Room of a mapped code point, and how much longer a text may become. */
#define GRB_MAP_SIZE 16u
#define GRB_MAP_GROWTH 3

/* Makes room for one token more; false if memory is refused. */
bool grb_tokens_grow(grb_tokens *tokens);

/* Appends the token of text bytes [start, end). */
static inline bool grb_tokens_put(grb_tokens *tokens, const grb_text *text,
                                  uint32_t start, uint32_t end) {
    if (GRB_UNLIKELY(tokens->count == tokens->capacity) &&
        !grb_tokens_grow(tokens))
        return false;
    grb_token *token = &tokens->items[tokens->count++];
    token->bytes = text->bytes + start;
    token->size = end - start;
    token->position = tokens->end_position++;
    token->start = start;
    token->end = end;
    return true;
}

#endif
