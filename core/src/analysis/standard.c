/* analysis/standard.c - the tokenizer `standard`: words, numbers, ideographs
 * and emoji by the rules of UAX #29, as Lucene's tokenizer takes them.
 *
 * An automaton over classes of code points takes the longest token at each
 * place (tools/make_word_break.py holds its grammar); where none begins, one
 * code point is left out. Most bytes of most texts are ASCII letters, so a
 * short path goes before it: a run of ASCII letters and digits is found eight
 * bytes at a time, and the byte behind it nearly always tells that the token
 * ends there. Whatever the short path cannot decide by ASCII bytes alone, the
 * automaton decides anew from the token's start.
 *
 * A token longer than the limit is cut there and what follows is read as a
 * new text, as Lucene does (its buffer holds no more).
 *
 * Invariant: the short path gives what the automaton would give.
 * Threads: any; constant tables.
 * Owns: nothing.
 */
#include "analysis/pipeline.h"
#include "analysis/word_break.h"

/* ASCII bytes by what they do in a word. */
enum {
    LETTER = 1,
    DIGIT = 2,
    MID_LETTER = 4,  /* joins two letters */
    MID_DIGIT = 8,   /* joins two digits */
    UNDERSCORE = 16, /* joins anything: left to the automaton */
    KEYCAP = 32,     /* # and *: emoji if a keycap follows */
    HIGH = 64        /* not ASCII */
};
#define WORD (LETTER | DIGIT)

static const uint8_t kind_of[256] = {
    ['0' ... '9'] = DIGIT,
    ['A' ... 'Z'] = LETTER,
    ['a' ... 'z'] = LETTER,
    [':'] = MID_LETTER,
    ['.'] = MID_LETTER | MID_DIGIT,
    ['\''] = MID_LETTER | MID_DIGIT,
    [','] = MID_DIGIT,
    [';'] = MID_DIGIT,
    ['_'] = UNDERSCORE,
    ['#'] = KEYCAP,
    ['*'] = KEYCAP,
    [0x80 ... 0xFF] = HIGH,
};

#define BYTES(byte) (UINT64_C(0x0101010101010101) * (byte))

/* The top bit of each byte that is no ASCII letter or digit. The top bits are
 * taken out first, so no sum carries into the next byte. */
static inline uint64_t others_find(uint64_t w) {
    uint64_t low = w & BYTES(0x7F), lower = low | BYTES(0x20);
    uint64_t letters =
        (lower + BYTES(0x80 - 'a')) & ~(lower + BYTES(0x7F - 'z'));
    uint64_t digits = (low + BYTES(0x80 - '0')) & ~(low + BYTES(0x7F - '9'));
    return (~(letters | digits) | w) & BYTES(0x80);
}

/* The end of the run of ASCII letters and digits at `at`. */
static inline uint32_t run_end(const uint8_t *text, uint32_t at,
                               uint32_t size) {
    while (size - at >= 8) {
        uint64_t others = others_find(grb_word_load(text + at));
        if (others) return at + (uint32_t)grb_ctz64(others) / 8;
        at += 8;
    }
    while (at < size && (kind_of[text[at]] & WORD)) at++;
    return at;
}

/* The end of the word at `at` where ASCII bytes alone decide it, else 0. */
static inline uint32_t word_end(const uint8_t *text, uint32_t at,
                                uint32_t size) {
    for (;;) {
        at = run_end(text, at, size);
        if (at == size) return at;
        uint8_t kind = kind_of[text[at]];
        if (GRB_LIKELY((kind & ~KEYCAP) == 0)) return at;
        if (kind & (HIGH | UNDERSCORE)) return 0;
        if (size - at < 2) return at;
        uint8_t next = kind_of[text[at + 1]];
        if (next & HIGH) return 0;
        /* A mark joins two of its own kind. */
        uint8_t both = kind_of[text[at - 1]] & next & WORD;
        if (!((both & LETTER) && (kind & MID_LETTER)) &&
            !((both & DIGIT) && (kind & MID_DIGIT)))
            return at;
        at++;
    }
}

/* The end of the longest token at `at`, or 0 if none begins there; `cut` if
 * the limit and not the text ended the search. */
static uint32_t token_end(const uint8_t *text, uint32_t at, uint32_t size,
                          uint32_t units_max, bool *cut) {
    uint32_t state = GRB_STATE_START, end = 0, units = 0, code_point;
    *cut = false;
    while (at < size) {
        uint32_t length =
            grb_utf8_decode((const char *)text + at, &code_point);
        units += 1 + (code_point > 0xFFFF);
        *cut = units > units_max;
        if (*cut) break;
        state = grb_token_next[state][grb_class(code_point)];
        if (state == GRB_STATE_DEAD) break;
        at += length;
        if (grb_token_accept[state]) end = at;
    }
    return end;
}

/* Where reading goes on if no token begins at `at`: one code point later.
 * Underscores need more thought, or a long line of them would be read again
 * from each of its places. If the search from the first one failed by what
 * stands behind them, it fails from each. If it was cut, only as many as fit
 * the limit together with a letter can begin a token. */
static uint32_t skip_end(const uint8_t *text, uint32_t at, uint32_t size,
                         uint32_t units_max, bool cut) {
    if (text[at] != '_') {
        uint32_t code_point;
        return at + grb_utf8_decode((const char *)text + at, &code_point);
    }
    uint32_t end = at;
    while (end < size && text[end] == '_') end++;
    if (!cut) return end;
    return end - at > units_max ? end - units_max + 1 : at + 1;
}

grebe_status grb_standard_run(const grb_tokenizer *tokenizer,
                              const grb_text *source, grb_tokens *tokens,
                              grebe_error *err) {
    const uint8_t *text = (const uint8_t *)source->bytes;
    uint32_t size = source->size, at = 0;
    uint32_t units_max = tokenizer->units_max;
    if (units_max == 0) units_max = UINT32_MAX - 2;
    while (at < size) {
        uint8_t kind = kind_of[text[at]];
        uint32_t end = 0;
        bool cut = false;
        if (kind & WORD) {
            end = word_end(text, at, size);
            if (end - at > units_max) end = 0;
        } else if (!(kind & (HIGH | UNDERSCORE)) &&
                   !((kind & KEYCAP) && at + 1 < size &&
                     text[at + 1] >= 0x80)) {
            at++;
            continue;
        }
        if (!end) end = token_end(text, at, size, units_max, &cut);
        if (!end) {
            at = skip_end(text, at, size, units_max, cut);
            continue;
        }
        if (GRB_UNLIKELY(!grb_tokens_put(tokens, source, at, end)))
            return grb_error_memory(err, 0);
        at = end;
    }
    return GREBE_OK;
}
