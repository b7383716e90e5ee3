/* analysis/filter.c - what happens to tokens after the tokenizer.
 *
 * A filter runs over all tokens of a text at once. Bytes are changed where
 * they stand, in the pipeline's copy of the text: tokens do not overlap, and
 * all but a few changes leave the length or shorten it. The few that do not go
 * to the stream's arena.
 *
 * Invariant: positions and offsets of a token never change; a removed token
 *   leaves a gap.
 * Threads: one a stream.
 * Owns: nothing.
 */
#include <utf8proc.h>

#include "analysis/pipeline.h"

/* ---- case ---- */

uint32_t grb_lower_map(uint32_t code_point, char *out) {
    return grb_utf8_encode(
        (uint32_t)utf8proc_tolower((utf8proc_int32_t)code_point), out);
}

/* Full case folding: one code point to at most three. */
static uint32_t fold_map(uint32_t code_point, char *out) {
    utf8proc_int32_t folded[GRB_MAP_SIZE / 4];
    int boundclass = 0;
    utf8proc_ssize_t count = utf8proc_decompose_char(
        (utf8proc_int32_t)code_point, folded, GRB_COUNT(folded),
        UTF8PROC_CASEFOLD, &boundclass);
    if (count < 1 || count > (utf8proc_ssize_t)GRB_COUNT(folded))
        return grb_utf8_encode(code_point, out);
    uint32_t size = 0;
    for (utf8proc_ssize_t i = 0; i < count; i++)
        size += grb_utf8_encode((uint32_t)folded[i], out + size);
    return size;
}

/* U+3000 to U+9FFF and U+B000 to U+DFFF, by their first byte, know no case:
 * this spares East Asian text the look-up. */
static inline bool is_caseless(uint8_t lead) {
    return (lead >= 0xE3 && lead <= 0xE9) || (lead >= 0xEB && lead <= 0xED);
}

/* The token from byte `at` on, mapped into the arena. */
static bool token_map_moved(grb_token *token, uint32_t at,
                            uint32_t (*map)(uint32_t, char *),
                            grb_arena *arena) {
    size_t room = (size_t)token->size * GRB_MAP_GROWTH + GRB_TEXT_PADDING;
    char *moved = grb_arena_alloc(arena, room);
    if (!moved) return false;
    uint32_t size = at, code_point;
    memcpy(moved, token->bytes, at);
    while (at < token->size) {
        at += grb_utf8_decode(token->bytes + at, &code_point);
        size += map(code_point, moved + size);
    }
    token->bytes = moved;
    token->size = size;
    return true;
}

/* Maps each code point; where the length stays, in place. */
static bool token_map(grb_token *token, uint32_t (*map)(uint32_t, char *),
                      grb_arena *arena) {
    char *bytes = (char *)(uintptr_t)token->bytes; /* the pipeline's copy */
    for (uint32_t at = 0; at < token->size;) {
        char out[GRB_MAP_SIZE];
        uint32_t code_point;
        uint32_t length = grb_utf8_decode(bytes + at, &code_point);
        if (code_point >= 0x80 && !is_caseless((uint8_t)bytes[at])) {
            if (map(code_point, out) != length)
                return token_map_moved(token, at, map, arena);
            memcpy(bytes + at, out, length);
        }
        at += length;
    }
    return true;
}

static bool has_high(const char *bytes, uint32_t size) {
    uint8_t any = 0;
    for (uint32_t i = 0; i < size; i++) any |= (uint8_t)bytes[i];
    return any >= 0x80;
}

/* ASCII letters are lower-cased before the tokenizer; here come the rest. */
static inline grebe_status tokens_map(const grb_text *text, grb_tokens *tokens,
                                      uint32_t (*map)(uint32_t, char *),
                                      grebe_error *err) {
    if (text->ascii) return GREBE_OK;
    for (uint32_t i = 0; i < tokens->count; i++) {
        grb_token *token = &tokens->items[i];
        if (has_high(token->bytes, token->size) &&
            !token_map(token, map, &tokens->scratch))
            return grb_error_memory(err, token->size);
    }
    return GREBE_OK;
}

static grebe_status lower_run(const grb_filter *filter, const grb_text *text,
                              grb_tokens *tokens, grebe_error *err) {
    (void)filter;
    return tokens_map(text, tokens, grb_lower_map, err);
}

static grebe_status fold_run(const grb_filter *filter, const grb_text *text,
                             grb_tokens *tokens, grebe_error *err) {
    (void)filter;
    return tokens_map(text, tokens, fold_map, err);
}

/* ---- a final 's ---- */

/* The bytes of 's at the end: apostrophe, right quotation mark or fullwidth
 * apostrophe before an s; 0 if there is none. */
static inline uint32_t possessive_size(const char *bytes, uint32_t size) {
    if (size < 3 || (bytes[size - 1] | 0x20) != 's') return 0;
    if (bytes[size - 2] == '\'') return 2;
    if (size < 5) return 0;
    const char *mark = bytes + size - 4;
    return memcmp(mark, "\xE2\x80\x99", 3) == 0 ||
                   memcmp(mark, "\xEF\xBC\x87", 3) == 0
               ? 4
               : 0;
}

static grebe_status possessive_run(const grb_filter *filter,
                                   const grb_text *text, grb_tokens *tokens,
                                   grebe_error *err) {
    (void)filter, (void)text, (void)err;
    for (uint32_t i = 0; i < tokens->count; i++) {
        grb_token *token = &tokens->items[i];
        token->size -= possessive_size(token->bytes, token->size);
    }
    return GREBE_OK;
}

/* ---- stop words ---- */

#define STOP_SIZE_MAX 5
#define STOP_FACTOR UINT64_C(0xde8de6bfb1f784e3)
#define STOP_SHIFT 58

/* Lucene's English stop words. The factor was chosen so that each word, taken
 * as a number of eight bytes, falls into a place of its own. */
static const char stop_words_en[1 << (64 - STOP_SHIFT)][8] = {
    [1] = "is",    [2] = "of",    [4] = "as",     [5] = "with",
    [6] = "there", [8] = "they",  [10] = "no",    [11] = "be",
    [15] = "this", [16] = "in",   [17] = "by",    [19] = "an",
    [20] = "a",    [23] = "to",   [25] = "their", [27] = "and",
    [30] = "on",   [33] = "the",  [35] = "are",   [37] = "it",
    [38] = "but",  [40] = "at",   [44] = "or",    [45] = "not",
    [50] = "that", [52] = "if",   [54] = "these", [55] = "will",
    [56] = "was",  [57] = "then", [59] = "into",  [60] = "such",
    [61] = "for"};

static inline bool is_stop_en(const char *bytes, uint32_t size) {
    if (size - 1 >= STOP_SIZE_MAX) return false;
    uint64_t mask = (UINT64_C(1) << size * 8) - 1;
    uint64_t key = grb_word_load(bytes) & mask;
    return grb_word_load(stop_words_en[key * STOP_FACTOR >> STOP_SHIFT]) ==
           key;
}

static grebe_status stop_en_run(const grb_filter *filter, const grb_text *text,
                                grb_tokens *tokens, grebe_error *err) {
    (void)filter, (void)text, (void)err;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < tokens->count; i++) {
        grb_token token = tokens->items[i];
        tokens->items[kept] = token;
        kept += !is_stop_en(token.bytes, token.size);
    }
    tokens->count = kept;
    return GREBE_OK;
}

const grb_filter grb_filter_lower = {lower_run};
const grb_filter grb_filter_fold = {fold_run};
const grb_filter grb_filter_possessive = {possessive_run};
const grb_filter grb_filter_stop_en = {stop_en_run};
