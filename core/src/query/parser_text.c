/* query/parser_text.c - places in the text: what is wrong there, and what a
 * token says once its escapes are gone.
 *
 * Invariant: a message never holds more of the text than a window round the
 *            place, nor a control character, nor half a character.
 * Threads:   as the parse.
 * Owns:      nothing.
 */
#include "query/parser.h"

#include <stdarg.h>
#include <stdio.h>

#define WINDOW_BEFORE 40u /* bytes of the line shown left of the place */
#define WINDOW_AFTER 30u
#define MESSAGE_MAX 200

static bool inner_byte(char c) {
    return ((unsigned char)c & 0xc0) == 0x80;
}

static uint32_t points_count(const char *text, uint32_t from, uint32_t to) {
    uint32_t count = 0;
    for (uint32_t i = from; i < to; i++) count += !inner_byte(text[i]);
    return count;
}

/* The line around `at`, cut to the window, and a caret under the place. */
static void excerpt_write(const grb_lexer *l, uint32_t at, uint32_t line_from,
                          char *out) {
    uint32_t from = line_from, to = at;
    if (at - from > WINDOW_BEFORE) {
        from = at - WINDOW_BEFORE;
        while (inner_byte(l->text[from])) from++;
    }
    while (to < l->size && to - at < WINDOW_AFTER && l->text[to] != '\n') to++;
    while (to < l->size && to > at && inner_byte(l->text[to])) to--;
    for (uint32_t i = from; i < to; i++) {
        unsigned char c = (unsigned char)l->text[i];
        *out++ = c < 0x20 || c == 0x7f ? ' ' : (char)c;
    }
    *out++ = '\n';
    uint32_t points = points_count(l->text, from, at);
    memset(out, ' ', points);
    memcpy(out + points, "^", 2);
}

grebe_status grb_parser_error(const grb_parser *p, grebe_status status,
                              uint32_t at, grebe_error *err,
                              const char *format, ...) {
    const grb_lexer *l = &p->lexer;
    char message[MESSAGE_MAX];
    char excerpt[2 * WINDOW_BEFORE + WINDOW_AFTER + 8];
    if (!err) return status;
    uint32_t line = 1, from = 0;
    for (uint32_t i = 0; i < at; i++)
        if (l->text[i] == '\n') {
            line++;
            from = i + 1;
        }
    va_list list;
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    va_end(list);
    excerpt_write(l, at, from, excerpt);
    grb_error(err, status, "%s, line %u column %u\n%s", message, line,
              points_count(l->text, from, at) + 1, excerpt);
    err->offset = at;
    return status;
}

/* ---- escapes ---- */

static int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* Four hexadecimal digits at `at`; -1 if they are not there. */
static int32_t hex_take(const char *text, uint32_t at, uint32_t end) {
    int32_t v = 0;
    for (int i = 0; i < 4; i++, at++) {
        int digit = at < end ? hex_value(text[at]) : -1;
        if (digit < 0) return -1;
        v = 16 * v + digit;
    }
    return v;
}

/* A code point written \uXXXX, or as two of them (UTF-16); moves *at behind
 * it. -1 if it is cut, no digit or half a pair. */
static int32_t unicode_take(const char *text, uint32_t *at, uint32_t end) {
    int32_t high = hex_take(text, *at + 2, end);
    *at += 6;
    if (high < 0xd800 || high > 0xdfff) return high;
    if (high > 0xdbff || *at + 1 >= end || text[*at] != '\\' ||
        text[*at + 1] != 'u')
        return -1;
    int32_t low = hex_take(text, *at + 2, end);
    *at += 6;
    if (low < 0xdc00 || low > 0xdfff) return -1;
    return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

grebe_status grb_parser_unescape(const grb_parser *p, uint32_t start,
                                 uint32_t end, grb_buf *out,
                                 grebe_error *err) {
    const char *text = p->lexer.text;
    grb_buf_clear(out);
    for (uint32_t at = start; at < end;) {
        if (text[at] != '\\') {
            const char *next = memchr(text + at, '\\', end - at);
            uint32_t to = next ? (uint32_t)(next - text) : end;
            grb_buf_put(out, text + at, to - at);
            at = to;
        } else if (at + 1 == end) {
            return grb_parser_error(p, GREBE_SYNTAX, at, err,
                                    "nothing follows the backslash");
        } else if (text[at + 1] == 'u') {
            uint32_t from = at;
            char utf8[4];
            int32_t point = unicode_take(text, &at, end);
            if (point < 0)
                return grb_parser_error(p, GREBE_SYNTAX, from, err,
                                        "\\u wants four hexadecimal digits "
                                        "of a character");
            grb_buf_put(out, utf8, grb_utf8_encode((uint32_t)point, utf8));
        } else {
            grb_buf_u8(out, (uint8_t)text[at + 1]);
            at += 2; /* what is left of a long character follows by itself */
        }
    }
    return out->failed ? grb_error_memory(err, out->size) : GREBE_OK;
}
