/* analysis/word_break.c - word boundaries of UAX #29.
 *
 * The highlighter cuts passages at word boundaries, spaces and punctuation
 * included. The tokenizer has its own automaton (standard.c), because it
 * leaves out what holds no letter or digit and differs in a few places.
 *
 * Invariant: boundaries are those of the rules WB1 to WB999 of Unicode 15.0;
 *   each is found from the one before it without looking further back.
 * Threads: any.
 * Owns: nothing.
 */
#include "analysis/analysis.h"
#include "analysis/word_break.h"

#define SET(value) (UINT32_C(1) << (value))
#define NEWLINES (SET(GRB_WB_CR) | SET(GRB_WB_LF) | SET(GRB_WB_NEWLINE))
#define IGNORED (SET(GRB_WB_EXTEND) | SET(GRB_WB_FORMAT) | SET(GRB_WB_ZWJ))
#define LETTERS (SET(GRB_WB_ALETTER) | SET(GRB_WB_HEBREW_LETTER))
#define MID_QUOTES (SET(GRB_WB_MIDNUMLET) | SET(GRB_WB_SINGLE_QUOTE))
#define MID_LETTERS (MID_QUOTES | SET(GRB_WB_MIDLETTER))
#define MID_NUMBERS (MID_QUOTES | SET(GRB_WB_MIDNUM))
#define JOINED                                              \
    (LETTERS | SET(GRB_WB_NUMERIC) | SET(GRB_WB_KATAKANA) | \
     SET(GRB_WB_EXTENDNUMLET))

/* What is known of the text before the place in question. */
typedef struct context {
    uint32_t raw;    /* set of the code point just before */
    uint32_t last;   /* the same, marks that WB4 ignores passed over */
    uint32_t before; /* the one before `last` */
    uint32_t flags;  /* regional indicators in a row up to `last` */
} context;

/* The value at `at` as a set of one, and the length of the code point. */
static uint32_t value_at(const char *text, size_t at, uint32_t *length,
                         bool *pictographic) {
    uint32_t code_point;
    *length = grb_utf8_decode(text + at, &code_point);
    uint8_t value = grb_class_break[grb_class(code_point)];
    *pictographic = value & GRB_WB_PICTOGRAPHIC;
    return SET(value & (GRB_WB_PICTOGRAPHIC - 1));
}

/* The first value at or behind `at` that WB4 does not ignore; 0 at the end. */
static uint32_t value_ahead(const char *text, size_t size, size_t at) {
    uint32_t length;
    bool pictographic;
    for (; at < size; at += length) {
        uint32_t value = value_at(text, at, &length, &pictographic);
        if (!(value & IGNORED)) return value;
    }
    return 0;
}

/* WB6 to WB12: rules that look past one mark in a word or number. */
static bool marks_join(const context *c, uint32_t now, uint32_t next) {
    uint32_t hebrew = SET(GRB_WB_HEBREW_LETTER);
    uint32_t digit = SET(GRB_WB_NUMERIC);
    if (c->last & LETTERS) {
        if ((now & MID_LETTERS) && (next & LETTERS)) return true; /* WB6 */
    }
    if (c->last & hebrew) {
        if (now & SET(GRB_WB_SINGLE_QUOTE)) return true; /* WB7a */
        if ((now & SET(GRB_WB_DOUBLE_QUOTE)) && (next & hebrew))
            return true; /* WB7b */
    }
    if ((c->before & LETTERS) && (c->last & MID_LETTERS) && (now & LETTERS))
        return true; /* WB7 */
    if ((c->before & hebrew) && (c->last & SET(GRB_WB_DOUBLE_QUOTE)) &&
        (now & hebrew))
        return true; /* WB7c */
    if ((c->before & digit) && (c->last & MID_NUMBERS) && (now & digit))
        return true; /* WB11 */
    return (c->last & digit) && (now & MID_NUMBERS) && (next & digit);
}

/* Whether `now`, not an ignored mark, belongs to what stands before it. */
static bool value_joins(const context *c, uint32_t now, uint32_t next) {
    uint32_t word = LETTERS | SET(GRB_WB_NUMERIC);
    uint32_t katakana = SET(GRB_WB_KATAKANA);
    uint32_t underscore = SET(GRB_WB_EXTENDNUMLET);
    if ((c->last & word) && (now & word)) return true; /* WB5, 8, 9, 10 */
    if (marks_join(c, now, next)) return true;
    if ((c->last & katakana) && (now & katakana)) return true;     /* WB13 */
    if ((c->last & JOINED) && (now & underscore)) return true;     /* WB13a */
    if ((c->last & underscore) && (now & JOINED)) return true;     /* WB13b */
    return (now & SET(GRB_WB_REGIONAL_INDICATOR)) && c->flags % 2; /* WB15 */
}

static void context_push(context *c, uint32_t now) {
    c->before = c->last;
    c->last = now;
    c->flags = now & SET(GRB_WB_REGIONAL_INDICATOR) ? c->flags + 1 : 0;
}

size_t grb_word_break_next(const char *text, size_t size, size_t at) {
    context c = {0};
    uint32_t length, space = SET(GRB_WB_WSEGSPACE);
    bool pictographic;
    for (bool first = true; at < size; at += length, first = false) {
        uint32_t now = value_at(text, at, &length, &pictographic);
        if (first) {
            context_push(&c, now);
            c.raw = now;
            continue;
        }
        bool joins = (c.raw & SET(GRB_WB_CR)) && (now & SET(GRB_WB_LF));
        if (!joins && ((c.raw | now) & NEWLINES)) return at; /* WB3a, b */
        joins |= (c.raw & SET(GRB_WB_ZWJ)) && pictographic;  /* WB3c */
        joins |= (c.raw & space) && (now & space);           /* WB3d */
        c.raw = now;
        if (now & IGNORED) continue; /* WB4 */
        if (!joins) {
            uint32_t next = 0;
            if (now & (MID_LETTERS | MID_NUMBERS | SET(GRB_WB_DOUBLE_QUOTE)))
                next = value_ahead(text, size, at + length);
            if (!value_joins(&c, now, next)) return at;
        }
        context_push(&c, now);
    }
    return size;
}
