/* result/passage.c - which part of a text to show, and its marking.
 *
 * A passage should hold as many different terms of the query as possible,
 * begin and end where a reader would, and be about as long as asked. Windows
 * of marks are found by one sweep; the chosen one is widened on both sides
 * and then cut back to the border of a sentence or else of a token.
 *
 * Invariant: 0 <= from <= to <= size of the text, both at character borders.
 * Threads: pure functions over their arguments.
 * Owns: nothing.
 */
#include "result/passage.h"

static bool byte_leads(char c) {
    return ((unsigned char)c & 0xc0) != 0x80;
}

static bool space_is(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool punctuation_is(char c) {
    return (c > ' ' && c < '0') || (c > '9' && c < 'A') ||
           (c > 'Z' && c < 'a') || (c > 'z' && c < 0x7f);
}

static bool window_better(const grb_mark_window *a, const grb_mark_window *b) {
    if (a->weight != b->weight) return a->weight > b->weight;
    return a->to - a->from > b->to - b->from;
}

static bool mark_taken(const grb_mark *first, const grb_mark *last,
                       const grb_byte_range *taken, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (first->start < taken[i].to && last->end > taken[i].from)
            return true;
    return false;
}

/* A window grows to the right while it fits and loses its first mark when all
 * that could be added has been seen; every mark enters and leaves once. */
bool grb_passage_find(const grb_marked *m, const grb_mark_terms *terms,
                      uint32_t length, const grb_byte_range *taken,
                      uint32_t taken_count, grb_mark_window *out) {
    grb_mark_window w = {0, 0, 0};
    bool found = false;
    for (; w.from < m->count; w.from++) {
        const grb_mark *first = &m->marks[w.from];
        if (w.to < w.from) w.to = w.from;
        while (w.to < m->count) {
            const grb_mark *next = &m->marks[w.to];
            bool alone = w.to == w.from;
            if (!alone && next->char_end - first->char_start > length) break;
            if (mark_taken(first, next, taken, taken_count)) break;
            if (terms->seen[next->term]++ == 0)
                w.weight += terms->weights[next->term];
            w.to++;
        }
        if (w.to == w.from) continue;
        if (!found || window_better(&w, out)) *out = w;
        found = true;
        if (--terms->seen[first->term] == 0)
            w.weight -= terms->weights[first->term];
    }
    return found;
}

/* `count` characters back from `at`, not beyond `low`; counts those left. */
static uint32_t chars_back(const char *text, uint32_t at, uint32_t low,
                           uint32_t *count) {
    while (*count > 0 && at > low) {
        at--;
        while (at > low && !byte_leads(text[at])) at--;
        (*count)--;
    }
    return at;
}

static uint32_t chars_on(const char *text, uint32_t at, uint32_t high,
                         uint32_t *count) {
    while (*count > 0 && at < high) {
        at++;
        while (at < high && !byte_leads(text[at])) at++;
        (*count)--;
    }
    return at;
}

/* Whether a sentence ends with the character before `at`. */
static bool sentence_ends(const char *text, uint32_t at) {
    if (at == 0) return true;
    while (at > 0 && (text[at - 1] == '"' || text[at - 1] == '\'' ||
                      text[at - 1] == ')'))
        at--;
    if (at == 0) return false;
    char c = text[at - 1];
    if (c == '.' || c == '!' || c == '?') return true;
    return at >= 3 && (memcmp(text + at - 3, "\xe3\x80\x82", 3) == 0 ||
                       memcmp(text + at - 3, "\xef\xbc\x81", 3) == 0 ||
                       memcmp(text + at - 3, "\xef\xbc\x9f", 3) == 0);
}

static bool sentence_begins(const char *text, uint32_t at) {
    uint32_t before = at;
    while (before > 0 && space_is(text[before - 1])) before--;
    if (before == 0) return true;
    bool wide = (unsigned char)text[before - 1] >= 0x80;
    return (before < at || wide) && sentence_ends(text, before);
}

/* First token that begins at or behind `at`. */
static uint32_t token_from(const grb_tokens *tokens, uint32_t at) {
    uint32_t low = 0, high = tokens->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (tokens->items[middle].start < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A good place to begin, between `wide` and the first mark: the first sentence
 * behind `near`, else the last one before it, else the first word behind. */
static uint32_t begin_snap(const grb_marked *m, uint32_t wide, uint32_t near,
                           uint32_t mark) {
    uint32_t begin = mark, before = UINT32_MAX;
    bool word = false;
    for (uint32_t i = token_from(m->tokens, wide); i < m->tokens->count; i++) {
        uint32_t start = m->tokens->items[i].start;
        if (start > mark) break;
        bool sentence = sentence_begins(m->text, start);
        if (start < near) {
            if (sentence) before = start;
            continue;
        }
        if (!word) begin = start;
        word = true;
        if (!sentence) continue;
        begin = start;
        before = UINT32_MAX;
        break;
    }
    if (before != UINT32_MAX) begin = before;
    /* An opening quote or bracket belongs to its word. */
    while (begin > wide && punctuation_is(m->text[begin - 1])) begin--;
    return begin;
}

/* A word's end with the punctuation that belongs to it. */
static uint32_t word_close(const grb_marked *m, uint32_t at, uint32_t high) {
    while (at < high && punctuation_is(m->text[at])) at++;
    return at;
}

/* A good place to end, between the last mark and `at`: the last sentence that
 * ends there, else the last word. */
static uint32_t end_snap(const grb_marked *m, uint32_t mark, uint32_t at) {
    uint32_t end = mark, stop = mark, i = token_from(m->tokens, mark);
    bool whole = false;
    for (;;) {
        uint32_t behind = word_close(m, stop, at);
        bool sentence = behind > stop && sentence_ends(m->text, behind) &&
                        (behind == m->size || space_is(m->text[behind]));
        if (sentence || !whole) end = behind;
        whole |= sentence;
        do {
            if (i >= m->tokens->count || m->tokens->items[i].start >= at)
                return end;
            stop = m->tokens->items[i++].end;
        } while (stop > at || stop < mark);
    }
}

grb_byte_range grb_passage_widen(const grb_marked *m, const grb_mark_window *w,
                                 uint32_t length, uint32_t low,
                                 uint32_t high) {
    const grb_mark *first = &m->marks[w->from], *last = &m->marks[w->to - 1];
    uint32_t used = last->char_end - first->char_start;
    grb_byte_range range = {first->start, last->end};
    if (used >= length) {
        uint32_t left = length;
        range.to = chars_on(m->text, range.from, last->end, &left);
        return range;
    }
    uint32_t left = length - used, unused = left;
    chars_on(m->text, range.to, high, &unused);
    uint32_t half = GRB_MAX(left / 2, unused), whole = left;
    uint32_t from = chars_back(m->text, range.from, low, &half);
    uint32_t wide = chars_back(m->text, range.from, low, &whole);
    if (from > 0) from = begin_snap(m, wide, from, range.from);
    while (from < range.from && space_is(m->text[from])) from++;
    for (uint32_t at = from; at < range.from; at++)
        left -= byte_leads(m->text[at]);
    range.from = from;
    uint32_t to = chars_on(m->text, range.to, high, &left);
    if (to < m->size) to = end_snap(m, range.to, to);
    while (to > range.to && space_is(m->text[to - 1])) to--;
    range.to = to;
    return range;
}

static void html_put(grb_buf *out, const char *text, uint32_t size) {
    uint32_t plain = 0;
    for (uint32_t i = 0; i < size; i++) {
        const char *entity;
        switch (text[i]) {
        case '&':
            entity = "&amp;";
            break;
        case '<':
            entity = "&lt;";
            break;
        case '>':
            entity = "&gt;";
            break;
        case '"':
            entity = "&quot;";
            break;
        case '\'':
            entity = "&#x27;";
            break;
        case '/':
            entity = "&#x2F;";
            break;
        default:
            continue;
        }
        grb_buf_put(out, text + plain, i - plain);
        grb_buf_put(out, entity, strlen(entity));
        plain = i + 1;
    }
    grb_buf_put(out, text + plain, size - plain);
}

static void text_put(grb_buf *out, const char *text, uint32_t size,
                     grebe_encoder encoder) {
    if (encoder == GREBE_ENCODE_HTML)
        html_put(out, text, size);
    else
        grb_buf_put(out, text, size);
}

void grb_passage_write(const grb_marked *m, grb_byte_range range,
                       const grebe_highlight_request *request, grb_buf *out) {
    const char *pre = request->pre ? request->pre : "<em>";
    const char *post = request->post ? request->post : "</em>";
    size_t pre_size = strlen(pre), post_size = strlen(post);
    uint32_t at = range.from;
    for (uint32_t i = 0; i < m->count; i++) {
        uint32_t start = m->marks[i].start;
        uint32_t end = GRB_MIN(m->marks[i].end, range.to);
        if (start < at || start >= range.to) continue;
        /* Tokens over the same letters are one marking. */
        for (; i + 1 < m->count && m->marks[i + 1].start < end; i++)
            end = GRB_MAX(end, GRB_MIN(m->marks[i + 1].end, range.to));
        text_put(out, m->text + at, start - at, request->encoder);
        grb_buf_put(out, pre, pre_size);
        text_put(out, m->text + start, end - start, request->encoder);
        grb_buf_put(out, post, post_size);
        at = end;
    }
    text_put(out, m->text + at, range.to - at, request->encoder);
}
