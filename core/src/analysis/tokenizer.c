/* analysis/tokenizer.c - the tokenizers that ask one question a code point:
 * not white space, a letter, anything.
 *
 * Invariant: tokens do not overlap and follow the text's order.
 * Threads: any.
 * Owns: nothing.
 */
#include <utf8proc.h>

#include "analysis/pipeline.h"

/* White space at which words part: not the no-break spaces. */
static bool is_space(uint32_t c) {
    if (c < 0x80)
        return c == ' ' || (c >= 9 && c <= 13) || (c >= 28 && c < 32);
    if (c < 0x1680) return false;
    return c == 0x1680 || (c >= 0x2000 && c <= 0x200A && c != 0x2007) ||
           c == 0x2028 || c == 0x2029 || c == 0x205F || c == 0x3000;
}

static bool is_not_space(uint32_t c) {
    return !is_space(c);
}

static bool is_letter(uint32_t c) {
    if (c < 0x80) return ((c | 0x20) - 'a') < 26;
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)c);
    return category >= UTF8PROC_CATEGORY_LU &&
           category <= UTF8PROC_CATEGORY_LO;
}

/* Runs of code points that belong, cut after `units_max` UTF-16 units (one
 * more if the last one takes two, as in Lucene). */
static inline grebe_status runs_split(const grb_tokenizer *tokenizer,
                                      const grb_text *text,
                                      bool (*belongs)(uint32_t),
                                      grb_tokens *tokens, grebe_error *err) {
    uint32_t units_max =
        tokenizer->units_max ? tokenizer->units_max : UINT32_MAX - 2;
    uint32_t at = 0, start = 0, units = 0;
    while (at < text->size) {
        uint32_t code_point;
        uint32_t length = grb_utf8_decode(text->bytes + at, &code_point);
        bool in = belongs(code_point);
        if (in) {
            if (units == 0) start = at;
            units += 1 + (code_point > 0xFFFF);
        }
        bool ends = !in || units >= units_max || at + length == text->size;
        if (units && ends) {
            uint32_t end = in ? at + length : at;
            if (!grb_tokens_put(tokens, text, start, end))
                return grb_error_memory(err, 0);
            units = 0;
        }
        at += length;
    }
    return GREBE_OK;
}

grebe_status grb_whitespace_run(const grb_tokenizer *tokenizer,
                                const grb_text *text, grb_tokens *tokens,
                                grebe_error *err) {
    return runs_split(tokenizer, text, is_not_space, tokens, err);
}

grebe_status grb_letters_run(const grb_tokenizer *tokenizer,
                             const grb_text *text, grb_tokens *tokens,
                             grebe_error *err) {
    return runs_split(tokenizer, text, is_letter, tokens, err);
}

/* The whole text; none if it is empty. */
grebe_status grb_whole_run(const grb_tokenizer *tokenizer,
                           const grb_text *text, grb_tokens *tokens,
                           grebe_error *err) {
    (void)tokenizer;
    if (text->size && !grb_tokens_put(tokens, text, 0, text->size))
        return grb_error_memory(err, 0);
    return GREBE_OK;
}
