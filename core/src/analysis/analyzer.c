/* analysis/analyzer.c - the analyzers, and running one over a text.
 *
 * An analyzer is a constant value: a tokenizer and a list of filters. A field
 * looks its own up once, when the schema is made.
 *
 * One pass over the text comes first: it tells ASCII from the rest and looks
 * for capitals. If anything is going to change, the text is copied into the
 * stream's arena, its ASCII letters lower-cased on the way by vector
 * instructions; else the tokens point into the caller's text. No tokenizer
 * tells capitals from small letters, so lower-casing before it changes no
 * boundary.
 *
 * Invariant: 0 <= start <= end <= size, starts never go back, positions rise;
 *   after a failure the stream has no tokens.
 * Threads: analyzers: any; a stream: one.
 * Owns: the stream's tokens and bytes.
 */
#include "analysis/pipeline.h"
#include "grebe/document.h"

#define CAPACITY_MIN 64u
#define TEXT_SIZE_MAX ((size_t)INT32_MAX)

static const grb_analyzer analyzers[] = {
    {.name = "standard",
     .tokenizer = {grb_standard_run, GRB_TOKEN_UNITS_MAX},
     .lowers = true,
     .filters = {&grb_filter_lower}},
    {.name = "whitespace",
     .tokenizer = {grb_whitespace_run, GRB_TOKEN_UNITS_MAX}},
    {.name = "keyword", .tokenizer = {grb_whole_run, 0}},
    {.name = "simple",
     .tokenizer = {grb_letters_run, GRB_TOKEN_UNITS_MAX},
     .lowers = true,
     .filters = {&grb_filter_lower}},
    {.name = "en",
     .alias = "english",
     .tokenizer = {grb_standard_run, GRB_TOKEN_UNITS_MAX},
     .lowers = true,
     .copies = true,
     .filters = {&grb_filter_possessive, &grb_filter_lower,
                 &grb_filter_stop_en, &grb_filter_porter}},
};

static bool name_is(const char *name, const char *text, size_t size) {
    return name && strlen(name) == size && memcmp(name, text, size) == 0;
}

const grb_analyzer *grb_analyzer_find(const char *name, size_t size) {
    for (size_t i = 0; i < GRB_COUNT(analyzers); i++) {
        const grb_analyzer *a = &analyzers[i];
        if (name_is(a->name, name, size) || name_is(a->alias, name, size))
            return a;
    }
    return NULL;
}

const char *grb_analyzer_name(const grb_analyzer *analyzer) {
    return analyzer->name;
}

const char *grb_analyzer_names(void) {
    return "standard, whitespace, keyword, simple, en";
}

/* ---- the stream ---- */

void grb_tokens_init(grb_tokens *tokens, const grebe_allocator *a) {
    *tokens = (grb_tokens){.allocator = a};
    grb_arena_init(&tokens->scratch, a, 0);
}

void grb_tokens_deinit(grb_tokens *tokens) {
    grb_free(tokens->allocator, tokens->items,
             tokens->capacity * sizeof *tokens->items);
    tokens->items = NULL;
    tokens->count = tokens->capacity = 0;
    grb_arena_deinit(&tokens->scratch);
    grb_stems_free(tokens->stems, tokens->allocator);
    tokens->stems = NULL;
}

/* A text has fewer tokens than bytes, so the sum stays below 2^32. */
bool grb_tokens_grow(grb_tokens *tokens) {
    uint32_t capacity = GRB_MAX(CAPACITY_MIN, tokens->capacity * 2);
    grb_token *items =
        grb_resize(tokens->allocator, tokens->items,
                   tokens->capacity * sizeof *items, capacity * sizeof *items);
    if (!items) return false;
    tokens->items = items;
    tokens->capacity = capacity;
    return true;
}

static void tokens_clear(grb_tokens *tokens) {
    tokens->count = tokens->end_position = tokens->skipped = 0;
    grb_arena_reset(&tokens->scratch);
}

/* Leaves out terms that no term dictionary takes. Their places stay. */
static void tokens_check(grb_tokens *tokens) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < tokens->count; i++) {
        tokens->items[kept] = tokens->items[i];
        kept += tokens->items[i].size <= GREBE_TERM_SIZE_MAX;
    }
    tokens->skipped = tokens->count - kept;
    tokens->count = kept;
}

/* ---- running ---- */

static inline bool is_capital(uint8_t byte) {
    return (uint8_t)(byte - 'A') < 26;
}

/* ASCII letters lower-cased, all else as it is. */
static void ascii_lower(const char *text, size_t size, char *out) {
    for (size_t i = 0; i < size; i++) {
        uint8_t byte = (uint8_t)text[i];
        out[i] = (char)(byte | (uint8_t)(is_capital(byte) << 5));
    }
}

/* The text as the tokenizer is to see it. */
static grebe_status text_prepare(const grb_analyzer *analyzer,
                                 const char *bytes, size_t size,
                                 grb_tokens *tokens, grb_text *out,
                                 grebe_error *err) {
    uint8_t any = 0, capital = 0;
    for (size_t i = 0; i < size; i++) {
        any |= (uint8_t)bytes[i];
        capital |= is_capital((uint8_t)bytes[i]);
    }
    *out = (grb_text){bytes, (uint32_t)size, any < 0x80};
    bool changes = analyzer->lowers && (capital || !out->ascii);
    if (size == 0 || !(analyzer->copies || changes)) return GREBE_OK;
    char *copy = grb_arena_alloc(&tokens->scratch, size + GRB_TEXT_PADDING);
    if (!copy) return grb_error_memory(err, size);
    if (analyzer->lowers)
        ascii_lower(bytes, size, copy);
    else
        memcpy(copy, bytes, size);
    memset(copy + size, 0, GRB_TEXT_PADDING);
    out->bytes = copy;
    return GREBE_OK;
}

grebe_status grb_analyze(const grb_analyzer *analyzer, const char *text,
                         size_t size, grb_tokens *tokens, grebe_error *err) {
    grebe_status status = GREBE_OK;
    grb_text source;
    tokens_clear(tokens);
    if (size > TEXT_SIZE_MAX)
        return grb_error(err, GREBE_LIMIT,
                         "text is %zu bytes, the limit is %zu", size,
                         TEXT_SIZE_MAX);
    GRB_TRY(text_prepare(analyzer, text, size, tokens, &source, err));
    GRB_TRY(
        analyzer->tokenizer.run(&analyzer->tokenizer, &source, tokens, err));
    for (size_t i = 0; i < GRB_FILTERS_MAX && analyzer->filters[i]; i++) {
        const grb_filter *filter = analyzer->filters[i];
        GRB_TRY(filter->run(filter, &source, tokens, err));
    }
    /* The limit on units is far below that on bytes. */
    if (analyzer->tokenizer.units_max == 0) tokens_check(tokens);
done:
    if (status != GREBE_OK) tokens_clear(tokens);
    return status;
}

void grb_analyzer_normalize(const grb_analyzer *analyzer, const char *text,
                            size_t size, grb_buf *out) {
    if (!analyzer->lowers) {
        grb_buf_put(out, text, size);
        return;
    }
    for (size_t at = 0; at < size;) {
        uint32_t code_point;
        char mapped[GRB_MAP_SIZE];
        at += grb_utf8_decode(text + at, &code_point);
        grb_buf_put(out, mapped, grb_lower_map(code_point, mapped));
    }
}
