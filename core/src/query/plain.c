/* query/plain.c - a text that cannot be read as a query is a list of words.
 *
 * People type what they like into a search box. What strict reading refuses
 * is searched word by word in the default fields; the words of the language
 * (AND, OR, NOT) were meant as such and are left out.
 *
 * Invariant: no text makes this fail; only limits and memory do. There is at
 *            least one default field: without one the strict error is told.
 * Threads:   as the parse.
 * Owns:      its clauses until the bool takes them.
 */
#include "query/parser.h"

typedef struct words {
    grebe_clause *clauses;
    size_t count, capacity;
} words;

static bool separator_at(const char *text, uint32_t size, uint32_t at,
                         uint32_t *step) {
    *step = grb_lexer_space(text, size, at);
    if (*step) return true;
    *step = 1;
    return (unsigned char)text[at] < 0x20;
}

/* The next word from *at on; false at the end. */
static bool word_next(const grb_lexer *l, uint32_t *at,
                      grb_query_token *word) {
    uint32_t step;
    while (*at < l->size && separator_at(l->text, l->size, *at, &step))
        *at += step;
    if (*at == l->size) return false;
    *word = (grb_query_token){GRB_TOKEN_WORD, *at, *at};
    while (*at < l->size && !separator_at(l->text, l->size, *at, &step))
        *at += step;
    word->end = *at;
    return true;
}

static bool word_is_operator(const grb_lexer *l, grb_query_token word) {
    static const char *const operators[] = {"AND", "OR", "NOT", "&&", "||"};
    size_t size = word.end - word.start;
    for (size_t i = 0; i < GRB_COUNT(operators); i++)
        if (strlen(operators[i]) == size &&
            memcmp(l->text + word.start, operators[i], size) == 0)
            return true;
    return false;
}

static grebe_status word_push(words *w, const grebe_allocator *a,
                              grebe_occur occur, grebe_query *query,
                              grebe_error *err) {
    if (w->count == w->capacity) {
        size_t capacity = w->capacity ? 2 * w->capacity : 16;
        size_t size = capacity * sizeof *w->clauses;
        grebe_clause *grown =
            grb_resize(a, w->clauses, w->capacity * sizeof *w->clauses, size);
        if (!grown) return grb_error_memory(err, size);
        w->clauses = grown;
        w->capacity = capacity;
    }
    w->clauses[w->count++] = (grebe_clause){occur, query};
    return GREBE_OK;
}

/* The word as it stands in one field; NULL if it is no value of it, not
 * UTF-8, or longer than any term. */
static grebe_status word_in_field(grb_parser *p, grb_query_token word,
                                  const grb_target *target, grebe_query **out,
                                  grebe_error *err) {
    grebe_status status;
    const grb_field *field = target->field;
    const char *text = p->lexer.text + word.start;
    size_t size = word.end - word.start;
    grebe_value value = {.kind = field->kind};
    grebe_query *bare = NULL;
    *out = NULL;
    if (size > GREBE_TERM_SIZE_MAX || !grb_utf8_valid(text, size, NULL))
        return GREBE_OK;
    value.as.text.bytes = text;
    value.as.text.size = size;
    if (field->kind == GREBE_TEXT) {
        GRB_TRY(grb_query_match(field->name, text, size, p->op, &bare, err));
    } else {
        if (grb_kind_is_number(field->kind) &&
            !grb_value_parse(field->kind, text, size, &value))
            return GREBE_OK;
        GRB_TRY(grb_query_term(field->name, &value, &bare, err));
    }
    if (target->boost == 1) {
        *out = bare;
        return GREBE_OK;
    }
    status = grb_query_boost(bare, target->boost, out, err);
    grb_query_release(bare);
done:
    return status;
}

static grebe_status word_query(grb_parser *p, grb_query_token word,
                               grebe_query **queries, grebe_query **out,
                               grebe_error *err) {
    grebe_status status = GREBE_OK;
    size_t count = 0;
    *out = NULL;
    for (size_t i = 0; i < p->target_count; i++) {
        GRB_TRY(word_in_field(p, word, &p->targets[i], &queries[count], err));
        count += queries[count] != NULL;
    }
    if (count == 1)
        *out = grb_query_acquire(queries[0]);
    else if (count > 1)
        status = grb_query_dismax(queries, count, 0, out, err);
done:
    while (count) grb_query_release(queries[--count]);
    return status;
}

static grebe_status words_join(const words *w, grebe_query **out,
                               grebe_error *err) {
    if (w->count == 0) return grb_query_none(out, err);
    if (w->count > 1) return grb_query_bool(w->clauses, w->count, 0, out, err);
    *out = grb_query_acquire(w->clauses[0].query);
    return GREBE_OK;
}

grebe_status grb_parser_plain(grb_parser *p, grebe_query **out,
                              grebe_error *err) {
    const grebe_allocator *a = p->text.allocator;
    grebe_occur occur = p->op == GREBE_AND ? GREBE_MUST : GREBE_SHOULD;
    size_t room = p->target_count * sizeof(grebe_query *);
    grebe_status status = GREBE_OK;
    words w = {NULL, 0, 0};
    grb_query_token word;
    uint32_t at = 0;
    grebe_query **queries = room ? grb_alloc(a, room) : NULL;
    if (room && !queries) return grb_error_memory(err, room);
    while (word_next(&p->lexer, &at, &word)) {
        grebe_query *query = NULL;
        if (word_is_operator(&p->lexer, word)) continue;
        GRB_TRY(word_query(p, word, queries, &query, err));
        if (!query) continue;
        status = word_push(&w, a, occur, query, err);
        if (status != GREBE_OK) grb_query_release(query);
        if (status != GREBE_OK) goto done;
    }
    GRB_TRY(words_join(&w, out, err));
done:
    while (w.count) grb_query_release(w.clauses[--w.count].query);
    if (w.clauses) grb_free(a, w.clauses, w.capacity * sizeof *w.clauses);
    if (queries) grb_free(a, queries, room);
    return status;
}
