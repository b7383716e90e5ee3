/* tests/fuzz/analysis_fuzz.c - any valid UTF-8 through every analyzer.
 *
 * Looked for: tokens out of order or out of the text, terms that are no
 * UTF-8, and a difference between the standard tokenizer's ASCII path and its
 * automaton alone. The first byte chooses the limit on token length.
 *
 * cc: clang -g -O1 -fsanitize=fuzzer,address,undefined -Icore/include
 *     -Icore/src tests/fuzz/analysis_fuzz.c core/src/base/[a-z]*.c
 *     core/src/analysis/[a-z]*.c -lutf8proc
 */
#include <stdio.h>
#include <stdlib.h>

#include "analysis/pipeline.h"
#include "analysis/word_break.h"
#include "grebe/document.h"

static void check(bool holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "broken: %s\n", what);
    abort();
}

static void tokens_check(const grb_tokens *tokens, size_t size) {
    uint32_t start = 0, end = 0, position = 0;
    for (uint32_t i = 0; i < tokens->count; i++) {
        const grb_token *t = &tokens->items[i];
        check(t->start <= t->end && t->end <= size, "offsets in the text");
        check(t->start >= start && t->start >= end, "offsets in order");
        check(i == 0 || t->position > position, "positions rise");
        check(t->position < tokens->end_position, "end position");
        check(t->size > 0 && t->size <= GREBE_TERM_SIZE_MAX, "term size");
        check(grb_utf8_valid(t->bytes, t->size, NULL), "term is UTF-8");
        start = t->start;
        end = t->end;
        position = t->position;
    }
}

/* The longest token at `at` by the automaton alone. */
static uint32_t plain_token_end(const char *text, uint32_t at, uint32_t size,
                                uint32_t units_max) {
    uint32_t state = GRB_STATE_START, end = 0, units = 0, c;
    while (at < size) {
        uint32_t length = grb_utf8_decode(text + at, &c);
        units += 1 + (c > 0xFFFF);
        if (units > units_max) break;
        state = grb_token_next[state][grb_class(c)];
        if (state == GRB_STATE_DEAD) break;
        at += length;
        if (grb_token_accept[state]) end = at;
    }
    return end;
}

static void standard_compare(const char *text, uint32_t size,
                             uint32_t units_max, grb_tokens *tokens) {
    grb_analyzer analyzer = {.name = "plain",
                             .tokenizer = {grb_standard_run, units_max}};
    check(!grb_analyze(&analyzer, text, size, tokens, NULL), "analyze");
    uint32_t count = 0, c;
    for (uint32_t at = 0; at < size;) {
        uint32_t end = plain_token_end(text, at, size, units_max);
        if (end) {
            check(count < tokens->count, "as many tokens");
            check(tokens->items[count].start == at, "same start");
            check(tokens->items[count].end == end, "same end");
            count++;
        }
        at = end ? end : at + grb_utf8_decode(text + at, &c);
    }
    check(count == tokens->count, "no more tokens");
}

static void breaks_check(const char *text, size_t size) {
    for (size_t at = 0; at < size;) {
        size_t next = grb_word_break_next(text, size, at);
        check(next > at && next <= size, "breaks go on");
        check(next == size || ((unsigned char)text[next] & 0xC0) != 0x80,
              "breaks between code points");
        at = next;
    }
}

/* Other bytes than UTF-8 are made into it: each bad one becomes a letter. */
static size_t text_mend(char *text, size_t size) {
    size_t bad, at = 0;
    while (!grb_utf8_valid(text + at, size - at, &bad)) {
        at += bad;
        text[at] = (char)('a' + (unsigned char)text[at] % 26);
    }
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"standard", "whitespace", "keyword",
                                        "simple", "en"};
    static const uint32_t limits[] = {1, 2, 3, 5, 8, 17, 255, 255};
    if (size == 0) return 0;
    uint32_t units_max = limits[data[0] % GRB_COUNT(limits)];
    size--;
    char *text = malloc(size ? size : 1);
    memcpy(text, data + 1, size);
    size = text_mend(text, size);

    grb_tokens tokens;
    grb_buf form;
    grb_tokens_init(&tokens, &grb_allocator_malloc);
    grb_buf_init(&form, &grb_allocator_malloc, 0);
    for (size_t i = 0; i < GRB_COUNT(names); i++) {
        const grb_analyzer *a = grb_analyzer_find(names[i], strlen(names[i]));
        check(!grb_analyze(a, text, size, &tokens, NULL), "analyze");
        tokens_check(&tokens, size);
        grb_buf_clear(&form);
        grb_analyzer_normalize(a, text, size, &form);
        check(grb_utf8_valid((char *)form.bytes, form.size, NULL), "form");
    }
    static const grb_analyzer fold = {.tokenizer = {grb_standard_run, 255},
                                      .lowers = true,
                                      .copies = true,
                                      .filters = {&grb_filter_fold,
                                                  &grb_filter_possessive,
                                                  &grb_filter_porter}};
    check(!grb_analyze(&fold, text, size, &tokens, NULL), "fold");
    tokens_check(&tokens, size);
    standard_compare(text, (uint32_t)size, units_max, &tokens);
    breaks_check(text, size);
    grb_buf_deinit(&form);
    grb_tokens_deinit(&tokens);
    free(text);
    return 0;
}
