/* query/lexer.c - the words of the query language.
 *
 * Lucene's classic syntax: at each place the longest token wins, and of two
 * of one length the more special. What may follow depends on what was read:
 * behind a caret stands a number, inside brackets a range.
 *
 * Invariant: every token but END and BAD has at least one byte; tokens lie in
 *            order inside the text.
 * Threads:   a lexer belongs to one parse.
 * Owns:      nothing.
 */
#include "query/parser.h"

void grb_lexer_init(grb_lexer *lexer, const char *text, size_t size) {
    *lexer = (grb_lexer){.text = text, .size = (uint32_t)size};
}

uint32_t grb_lexer_space(const char *text, uint32_t size, uint32_t at) {
    if (at >= size) return 0;
    char c = text[at];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') return 1;
    if (size - at >= 3 && memcmp(text + at, "\xe3\x80\x80", 3) == 0) return 3;
    return 0; /* U+3000 is the ideographic space */
}

static uint32_t space_at(const grb_lexer *l, uint32_t at) {
    return grb_lexer_space(l->text, l->size, at);
}

static bool digit_at(const grb_lexer *l, uint32_t at) {
    return at < l->size && l->text[at] >= '0' && l->text[at] <= '9';
}

/* Length in bytes of the code point at `at`. */
static uint32_t point_size(const grb_lexer *l, uint32_t at) {
    unsigned char c = (unsigned char)l->text[at];
    return c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

/* Characters that mean something and begin no word. */
static bool special(char c) {
    switch (c) {
    case '+':
    case '-':
    case '!':
    case '(':
    case ')':
    case ':':
    case '^':
    case '[':
    case ']':
    case '"':
    case '{':
    case '}':
    case '~':
    case '*':
    case '?':
    case '/':
        return true;
    default:
        return false;
    }
}

/* Bytes of the character that may begin a word, an escaped one included; 0 if
 * it may not. */
static uint32_t word_start_at(const grb_lexer *l, uint32_t at) {
    if (at >= l->size || space_at(l, at)) return 0;
    if (l->text[at] == '\\')
        return at + 1 < l->size ? 1 + point_size(l, at + 1) : 0;
    if (special(l->text[at])) return 0;
    return point_size(l, at);
}

static uint32_t word_inner_at(const grb_lexer *l, uint32_t at) {
    if (at < l->size && (l->text[at] == '-' || l->text[at] == '+')) return 1;
    return word_start_at(l, at);
}

static grb_query_token token_make(grb_lexer *l, grb_token_type type,
                                  uint32_t end) {
    grb_query_token token = {type, l->at, end};
    l->at = end;
    return token;
}

/* Where the text between two `mark`s ends, or 0: the first mark without a
 * backslash before it, else the last one with. */
static uint32_t marked_end(const grb_lexer *l, char mark, uint32_t least) {
    uint32_t last = 0;
    for (uint32_t at = l->at + 1; at < l->size; at++) {
        if (l->text[at] != mark) continue;
        bool escaped = at > l->at + 1 && l->text[at - 1] == '\\';
        if (at - l->at - 1 >= least) last = at + 1;
        if (!escaped) return last;
    }
    return last;
}

/* A quoted text knows its backslashes in pairs. */
static uint32_t quoted_end(const grb_lexer *l) {
    for (uint32_t at = l->at + 1; at < l->size; at++) {
        if (l->text[at] == '"') return at + 1;
        if (l->text[at] == '\\') at++;
    }
    return 0;
}

/* A word, and what stars and question marks make of it. */
static grb_query_token word_lex(grb_lexer *l) {
    uint32_t at = l->at, step, marks = 0, mark_at = 0;
    for (;; at += step) {
        step = at == l->at ? word_start_at(l, at) : word_inner_at(l, at);
        if (step) continue;
        if (at >= l->size || (l->text[at] != '*' && l->text[at] != '?')) break;
        step = 1;
        marks++;
        mark_at = at;
    }
    if (at == l->at) return token_make(l, GRB_TOKEN_BAD, at);
    if (marks == 0) return token_make(l, GRB_TOKEN_WORD, at);
    if (marks > 1 || mark_at != at - 1 || l->text[mark_at] != '*')
        return token_make(l, GRB_TOKEN_WILDCARD, at);
    return token_make(l, at == l->at + 1 ? GRB_TOKEN_STAR : GRB_TOKEN_PREFIX,
                      at);
}

static bool text_is(const grb_lexer *l, grb_query_token token,
                    const char *text) {
    size_t size = strlen(text);
    return token.end - token.start == size &&
           memcmp(l->text + token.start, text, size) == 0;
}

/* AND, OR and NOT are words of that very length. */
static grb_query_token operator_or_word(grb_lexer *l) {
    grb_query_token token = word_lex(l);
    if (token.type != GRB_TOKEN_WORD) return token;
    if (text_is(l, token, "AND") || text_is(l, token, "&&"))
        token.type = GRB_TOKEN_AND;
    else if (text_is(l, token, "OR") || text_is(l, token, "||"))
        token.type = GRB_TOKEN_OR;
    else if (text_is(l, token, "NOT"))
        token.type = GRB_TOKEN_NOT;
    return token;
}

static bool alnum(char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
           (c >= 'a' && c <= 'z');
}

static bool value_char_at(const grb_lexer *l, uint32_t at) {
    if (at >= l->size) return false;
    char c = l->text[at];
    return alnum(c) || c == '.' || c == ':' || c == '+' || c == '-';
}

/* Number or date: "-5", "1e+3", "2020-01-01T00:00:00Z"; 0 if none begins, or
 * if it is only the beginning of a longer word. */
static uint32_t value_end(const grb_lexer *l) {
    uint32_t at = l->at;
    bool sign = l->text[at] == '-' || l->text[at] == '+';
    if (sign) at++;
    if (!value_char_at(l, at)) return 0;
    if (!sign && !digit_at(l, at) && l->text[at] != '.') return 0;
    while (value_char_at(l, at)) at++;
    bool longer = at < l->size && (word_inner_at(l, at) ||
                                   l->text[at] == '*' || l->text[at] == '?');
    return longer ? 0 : at;
}

static grb_query_token mark_lex(grb_lexer *l, grb_token_type type) {
    if (space_at(l, l->at + 1))
        return token_make(l, GRB_TOKEN_BARE,
                          l->at + 1 + space_at(l, l->at + 1));
    return token_make(l, type, l->at + 1);
}

static grb_query_token tilde_lex(grb_lexer *l) {
    uint32_t at = l->at + 1, step;
    while ((step = word_inner_at(l, at))) at += step;
    return token_make(l, GRB_TOKEN_TILDE, at);
}

static grb_query_token marked_lex(grb_lexer *l, grb_token_type type,
                                  uint32_t end) {
    if (end) return token_make(l, type, end);
    return token_make(l, GRB_TOKEN_BAD, l->at);
}

static grb_query_token state_lex(grb_lexer *l, grb_token_type type,
                                 grb_lexer_state state) {
    l->state = state;
    return token_make(l, type, l->at + 1);
}

static grb_query_token plain_lex(grb_lexer *l) {
    switch (l->text[l->at]) {
    case '+':
        return mark_lex(l, GRB_TOKEN_PLUS);
    case '-':
        return mark_lex(l, GRB_TOKEN_MINUS);
    case '!':
        return mark_lex(l, GRB_TOKEN_NOT);
    case '(':
        return token_make(l, GRB_TOKEN_OPEN, l->at + 1);
    case ')':
        return token_make(l, GRB_TOKEN_CLOSE, l->at + 1);
    case ':':
        return token_make(l, GRB_TOKEN_COLON, l->at + 1);
    case '^':
        return state_lex(l, GRB_TOKEN_CARET, GRB_LEXER_BOOST);
    case '[':
        return state_lex(l, GRB_TOKEN_RANGE_IN, GRB_LEXER_RANGE);
    case '{':
        return state_lex(l, GRB_TOKEN_RANGE_EX, GRB_LEXER_RANGE);
    case '~':
        return tilde_lex(l);
    case '"':
        return marked_lex(l, GRB_TOKEN_QUOTED, quoted_end(l));
    case '/':
        return marked_lex(l, GRB_TOKEN_REGEXP, marked_end(l, '/', 0));
    default:
        return operator_or_word(l);
    }
}

static grb_query_token boost_lex(grb_lexer *l) {
    uint32_t at = l->at;
    while (digit_at(l, at)) at++;
    if (at == l->at) return token_make(l, GRB_TOKEN_BAD, at);
    if (at < l->size && l->text[at] == '.' && digit_at(l, at + 1))
        for (at++; digit_at(l, at);) at++;
    l->state = GRB_LEXER_PLAIN;
    return token_make(l, GRB_TOKEN_NUMBER, at);
}

static bool range_char_at(const grb_lexer *l, uint32_t at) {
    return at < l->size && !space_at(l, at) && l->text[at] != ']' &&
           l->text[at] != '}';
}

static grb_query_token range_lex(grb_lexer *l) {
    char c = l->text[l->at];
    if (c == ']') return state_lex(l, GRB_TOKEN_RANGE_IN_END, GRB_LEXER_PLAIN);
    if (c == '}') return state_lex(l, GRB_TOKEN_RANGE_EX_END, GRB_LEXER_PLAIN);
    uint32_t at = l->at;
    while (range_char_at(l, at)) at++;
    uint32_t quoted = c == '"' ? marked_end(l, '"', 1) : 0;
    if (quoted >= at) return token_make(l, GRB_TOKEN_RANGE_QUOTED, quoted);
    grb_query_token token = token_make(l, GRB_TOKEN_RANGE_WORD, at);
    if (text_is(l, token, "TO")) token.type = GRB_TOKEN_RANGE_TO;
    return token;
}

grb_query_token grb_lexer_next(grb_lexer *l) {
    uint32_t space;
    while (l->state != GRB_LEXER_BOOST && (space = space_at(l, l->at)))
        l->at += space;
    bool value_next = l->value_next;
    l->value_next = false;
    if (l->at >= l->size) return token_make(l, GRB_TOKEN_END, l->size);
    if (l->state == GRB_LEXER_BOOST) return boost_lex(l);
    if (l->state == GRB_LEXER_RANGE) return range_lex(l);
    uint32_t end = value_next ? value_end(l) : 0;
    if (end) return token_make(l, GRB_TOKEN_VALUE, end);
    return plain_lex(l);
}
