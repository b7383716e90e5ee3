/* query/parser.c - Lucene's classic syntax, read clause by clause.
 *
 * Operators have no precedence. AND marks the clause before it and the one
 * behind it as must; OR marks nothing, but under AND as the default operator
 * makes both neighbours optional; +, - and NOT mark the one clause behind
 * them. A group is read like the whole text. Open groups stand on a stack of
 * our own, their clauses one behind the other in one array: nesting costs no
 * C stack.
 *
 * Differences from Lucene, all where Lucene refuses or has no types: a blank
 * text is `none`; clauses that are all negative at the top mean everything
 * but them; `field:*` asks for any value; behind the name of a number, bool
 * or date field a value may begin with a minus and hold colons.
 *
 * Invariant: clauses[frame.first ..] are the clauses of the innermost group.
 * Threads:   a parse belongs to one thread.
 * Owns:      one reference to each clause until its group takes it.
 */
#include "query/parser.h"

#include <math.h>

typedef enum conjunction { CONJ_NONE, CONJ_AND, CONJ_OR } conjunction;
typedef enum modifier { MOD_NONE, MOD_MUST, MOD_NOT } modifier;

/* An open group; `conj` and `mod` stood before it. */
typedef struct frame {
    uint32_t first;         /* of its clauses */
    uint32_t at;            /* of its parenthesis */
    const grb_field *field; /* "title:(...)" or NULL */
    conjunction conj;
    modifier mod;
    bool plain; /* the first clause stood without a mark */
} frame;

typedef struct reading {
    grb_parser *p;
    grebe_clause *clauses;
    size_t count, capacity;
    frame frames[GREBE_QUERY_DEPTH_MAX + 1];
    uint32_t depth;         /* of the innermost frame */
    bool wanted;            /* a clause must follow */
    const grb_field *field; /* written before this clause, else the group's */
    conjunction conj;
    modifier mod;
} reading;

/* ---- tokens ---- */

static grb_query_token *peek(grb_parser *p, uint32_t i) {
    while (p->ahead_count <= i)
        p->ahead[p->ahead_count++] = grb_lexer_next(&p->lexer);
    return &p->ahead[i];
}

static grb_token_type peek_type(grb_parser *p) {
    return peek(p, 0)->type;
}

static grb_query_token take(grb_parser *p) {
    grb_query_token token = *peek(p, 0);
    p->ahead[0] = p->ahead[1];
    p->ahead_count--;
    return token;
}

static bool take_if(grb_parser *p, grb_token_type type) {
    if (peek_type(p) != type) return false;
    take(p);
    return true;
}

static grebe_status bad_token_error(grb_parser *p, grb_query_token token,
                                    grebe_error *err) {
    char c = token.start < p->lexer.size ? p->lexer.text[token.start] : 0;
    const char *what = c == '"'    ? "this quote is not closed"
                       : c == '/'  ? "this regular expression is not closed"
                       : c == '\\' ? "nothing follows the backslash"
                       : p->lexer.state == GRB_LEXER_BOOST
                           ? "a number must follow '^'"
                           : "this cannot stand here";
    return grb_parser_error(p, GREBE_SYNTAX, token.start, err, "%s", what);
}

static grebe_status unexpected_error(grb_parser *p, const char *wanted,
                                     grebe_error *err) {
    grb_query_token token = *peek(p, 0);
    if (token.type == GRB_TOKEN_BAD) return bad_token_error(p, token, err);
    if (token.type == GRB_TOKEN_END)
        return grb_parser_error(p, GREBE_SYNTAX, token.start, err,
                                "the text ends where %s is wanted", wanted);
    uint32_t shown = GRB_MIN(token.end - token.start, 20u);
    if (shown < token.end - token.start) /* never half a character */
        while (((unsigned char)p->lexer.text[token.start + shown] & 0xc0) ==
               0x80)
            shown--;
    return grb_parser_error(p, GREBE_SYNTAX, token.start, err,
                            "'%.*s' stands where %s is wanted", (int)shown,
                            p->lexer.text + token.start, wanted);
}

static grebe_status unsupported_error(grb_parser *p, grb_query_token token,
                                      const char *what, grebe_error *err) {
    return grb_parser_error(p, GREBE_SYNTAX, token.start, err,
                            "%s is not supported yet", what);
}

/* ---- clauses ---- */

static grebe_status clause_push(reading *r, grebe_occur occur,
                                grebe_query *query, grebe_error *err) {
    const grebe_allocator *a = r->p->text.allocator;
    if (r->count == r->capacity) {
        size_t capacity = r->capacity ? 2 * r->capacity : 16;
        grebe_clause *grown =
            grb_resize(a, r->clauses, r->capacity * sizeof *grown,
                       capacity * sizeof *grown);
        if (!grown) return grb_error_memory(err, capacity * sizeof *grown);
        r->clauses = grown;
        r->capacity = capacity;
    }
    r->clauses[r->count++] = (grebe_clause){occur, query};
    return GREBE_OK;
}

static grebe_occur occur_of(grebe_operator op, conjunction conj,
                            modifier mod) {
    if (mod == MOD_NOT) return GREBE_MUST_NOT;
    if (op == GREBE_AND) return conj == CONJ_OR ? GREBE_SHOULD : GREBE_MUST;
    return mod == MOD_MUST || conj == CONJ_AND ? GREBE_MUST : GREBE_SHOULD;
}

/* Takes the caller's reference, also on failure. */
static grebe_status clause_add(reading *r, conjunction conj, modifier mod,
                               grebe_query *query, grebe_error *err) {
    frame *f = &r->frames[r->depth];
    grebe_operator op = r->p->op;
    grebe_status status;
    if (r->count == f->first) {
        f->plain = mod == MOD_NONE;
    } else {
        grebe_clause *last = &r->clauses[r->count - 1];
        bool marks = conj == CONJ_AND || (conj == CONJ_OR && op == GREBE_AND);
        if (marks && last->occur != GREBE_MUST_NOT)
            last->occur = conj == CONJ_AND ? GREBE_MUST : GREBE_SHOULD;
    }
    if (r->count >= GREBE_QUERY_CLAUSES_MAX)
        status = grb_parser_error(r->p, GREBE_LIMIT, peek(r->p, 0)->start, err,
                                  "the query has more than %u clauses",
                                  GREBE_QUERY_CLAUSES_MAX);
    else
        status = clause_push(r, occur_of(op, conj, mod), query, err);
    if (status != GREBE_OK) grb_query_release(query);
    return status;
}

/* The innermost group's clauses as one query. */
static grebe_status group_make(reading *r, grebe_query **out,
                               grebe_error *err) {
    frame *f = &r->frames[r->depth];
    size_t count = r->count - f->first;
    if (count == 1 && f->plain) {
        *out = r->clauses[--r->count].query;
        return GREBE_OK;
    }
    grebe_status status =
        grb_query_bool(r->clauses + f->first, count, 0, out, err);
    if (status != GREBE_OK) return status;
    while (r->count > f->first)
        grb_query_release(r->clauses[--r->count].query);
    return GREBE_OK;
}

/* "^2": replaces *query by itself boosted; takes and gives one reference. */
static grebe_status boost_apply(grb_parser *p, grb_query_token number,
                                grebe_query **query, grebe_error *err) {
    float by = grb_factor_parse(p->lexer.text + number.start,
                                number.end - number.start);
    grebe_query *boosted = NULL;
    if (!isfinite(by))
        return grb_parser_error(p, GREBE_SYNTAX, number.start, err,
                                "the boost is too large");
    grebe_status status = grb_query_boost(*query, by, &boosted, err);
    if (status != GREBE_OK) return status;
    grb_query_release(*query);
    *query = boosted;
    return GREBE_OK;
}

/* What may stand behind a term: a boost, a tilde, or both in any order. */
typedef struct tail {
    grb_query_token number, tilde; /* END: not there */
} tail;

static grebe_status boost_take(grb_parser *p, tail *t, grebe_error *err) {
    if (!take_if(p, GRB_TOKEN_CARET)) return GREBE_OK;
    if (peek_type(p) != GRB_TOKEN_NUMBER)
        return unexpected_error(p, "a number", err);
    t->number = take(p);
    return GREBE_OK;
}

static grebe_status tail_take(grb_parser *p, tail *t, grebe_error *err) {
    grebe_status status = boost_take(p, t, err);
    if (status != GREBE_OK || peek_type(p) != GRB_TOKEN_TILDE) return status;
    t->tilde = take(p);
    if (t->number.type == GRB_TOKEN_END) status = boost_take(p, t, err);
    return status;
}

/* "~2" or "~2.7" (2); anything else, and a lone "~", is 0. */
static uint32_t slop_parse(const grb_parser *p, grb_query_token tilde) {
    uint64_t v = 0;
    uint32_t at = tilde.start + 1;
    bool point = false;
    for (; at < tilde.end; at++) {
        char c = p->lexer.text[at];
        if (c == '.' && !point) {
            point = true;
        } else if (c < '0' || c > '9') {
            return 0;
        } else if (!point) {
            v = GRB_MIN(10 * v + (uint64_t)(c - '0'), UINT32_MAX);
        }
    }
    return (uint32_t)v;
}

/* ---- terms ---- */

static grebe_status bound_take(grb_parser *p, grb_query_token *out,
                               grebe_error *err) {
    grb_query_token token = *peek(p, 0);
    if (token.type != GRB_TOKEN_RANGE_WORD &&
        token.type != GRB_TOKEN_RANGE_QUOTED &&
        token.type != GRB_TOKEN_RANGE_TO)
        return unexpected_error(p, "a bound of the range", err);
    take(p);
    if (token.type == GRB_TOKEN_RANGE_WORD && token.end - token.start == 1 &&
        p->lexer.text[token.start] == '*')
        token.type = GRB_TOKEN_END;
    *out = token;
    return GREBE_OK;
}

static grebe_status range_take(grb_parser *p, grb_leaf *leaf,
                               grebe_error *err) {
    grebe_status status;
    leaf->lower_open = leaf->token.type == GRB_TOKEN_RANGE_EX;
    leaf->token.type = GRB_TOKEN_RANGE_IN;
    GRB_TRY(bound_take(p, &leaf->lower, err));
    if (!take_if(p, GRB_TOKEN_RANGE_TO)) return unexpected_error(p, "TO", err);
    GRB_TRY(bound_take(p, &leaf->upper, err));
    leaf->upper_open = peek_type(p) == GRB_TOKEN_RANGE_EX_END;
    if (!leaf->upper_open && peek_type(p) != GRB_TOKEN_RANGE_IN_END)
        return unexpected_error(p, "']' or '}'", err);
    take(p);
done:
    return status;
}

static grebe_status leaf_check(grb_parser *p, const grb_leaf *leaf,
                               const tail *t, grebe_error *err) {
    grb_token_type type = leaf->token.type;
    if (type == GRB_TOKEN_WILDCARD)
        return unsupported_error(p, leaf->token, "a wildcard", err);
    if (type == GRB_TOKEN_REGEXP)
        return unsupported_error(p, leaf->token, "a regular expression", err);
    if (t->tilde.type == GRB_TOKEN_END) return GREBE_OK;
    if (type == GRB_TOKEN_WORD || type == GRB_TOKEN_VALUE ||
        type == GRB_TOKEN_BARE)
        return unsupported_error(p, t->tilde, "a fuzzy term", err);
    if (leaf->slop > GREBE_PHRASE_SLOP_MAX)
        return grb_parser_error(p, GREBE_LIMIT, t->tilde.start, err,
                                "the slop is above %u", GREBE_PHRASE_SLOP_MAX);
    return GREBE_OK;
}

static bool all_is_next(grb_parser *p, const reading *r, bool star_field) {
    return star_field && !r->field && peek_type(p) == GRB_TOKEN_STAR;
}

/* One term with what stands behind it. `star_field`: "*:" stood before. */
static grebe_status term_take(reading *r, bool star_field, grebe_query **out,
                              grebe_error *err) {
    grb_parser *p = r->p;
    grebe_status status;
    grebe_query *query = NULL;
    grb_leaf leaf = {.slop = 0};
    tail t = {{GRB_TOKEN_END, 0, 0}, {GRB_TOKEN_END, 0, 0}};
    bool all = all_is_next(p, r, star_field);
    switch (peek_type(p)) {
    case GRB_TOKEN_WORD:
    case GRB_TOKEN_VALUE:
    case GRB_TOKEN_BARE:
    case GRB_TOKEN_STAR:
    case GRB_TOKEN_PREFIX:
    case GRB_TOKEN_WILDCARD:
    case GRB_TOKEN_REGEXP:
    case GRB_TOKEN_QUOTED:
        leaf.token = take(p);
        GRB_TRY(tail_take(p, &t, err));
        break;
    case GRB_TOKEN_RANGE_IN:
    case GRB_TOKEN_RANGE_EX:
        leaf.token = take(p);
        GRB_TRY(range_take(p, &leaf, err));
        GRB_TRY(boost_take(p, &t, err));
        break;
    default:
        return unexpected_error(p, "a term", err);
    }
    if (t.tilde.type != GRB_TOKEN_END) leaf.slop = slop_parse(p, t.tilde);
    GRB_TRY(leaf_check(p, &leaf, &t, err));
    if (all)
        GRB_TRY(grb_query_all(&query, err));
    else
        GRB_TRY(grb_parser_leaf(p, &leaf, r->field, &query, err));
    if (t.number.type == GRB_TOKEN_NUMBER)
        GRB_TRY(boost_apply(p, t.number, &query, err));
    *out = query;
    return GREBE_OK;
done:
    grb_query_release(query);
    return status;
}

/* ---- fields ---- */

static grebe_status field_unknown(grb_parser *p, grb_query_token token,
                                  grebe_error *err) {
    const char *name = (const char *)p->text.bytes;
    size_t size = GRB_MIN(p->text.size, (size_t)GREBE_FIELD_NAME_MAX);
    const char *near = grb_schema_nearest(p->schema, name, p->text.size);
    grb_parser_error(p, GREBE_SYNTAX, token.start, err,
                     "there is no field '%.*s'%s%s%s", (int)size, name,
                     near ? ", did you mean '" : "", near ? near : "",
                     near ? "'?" : "");
    return GREBE_SYNTAX;
}

/* "title:" if it stands here; `*:` sets *star. */
static grebe_status field_take(reading *r, bool *star, grebe_error *err) {
    grb_parser *p = r->p;
    grebe_status status;
    grb_query_token token = *peek(p, 0);
    r->field = r->frames[r->depth].field;
    *star = false;
    if (token.type != GRB_TOKEN_WORD && token.type != GRB_TOKEN_STAR)
        return GREBE_OK;
    if (peek(p, 1)->type != GRB_TOKEN_COLON) return GREBE_OK;
    take(p);
    take(p);
    GRB_TRY(grb_parser_unescape(p, token.start, token.end, &p->text, err));
    if (token.type == GRB_TOKEN_STAR && peek_type(p) == GRB_TOKEN_STAR) {
        *star = true;
        r->field = NULL;
        return GREBE_OK;
    }
    uint32_t id =
        grb_schema_find(p->schema, (const char *)p->text.bytes, p->text.size);
    if (id == GREBE_NO_FIELD) return field_unknown(p, token, err);
    r->field = &p->schema->fields[id];
    if (!(r->field->flags & GREBE_INDEXED))
        return grb_parser_error(p, GREBE_SYNTAX, token.start, err,
                                "field '%s' is not indexed", r->field->name);
    p->lexer.value_next = grb_kind_is_number(r->field->kind);
done:
    return status;
}

/* ---- the whole ---- */

static grebe_status group_open(reading *r, uint32_t at, grebe_error *err) {
    if (r->depth + 1 > GREBE_QUERY_DEPTH_MAX)
        return grb_parser_error(r->p, GREBE_LIMIT, at, err,
                                "groups are nested more than %u deep",
                                GREBE_QUERY_DEPTH_MAX);
    r->frames[++r->depth] = (frame){.first = (uint32_t)r->count,
                                    .at = at,
                                    .field = r->field,
                                    .conj = r->conj,
                                    .mod = r->mod};
    r->wanted = true;
    return GREBE_OK;
}

static grebe_status group_close(reading *r, grebe_error *err) {
    grebe_status status;
    grebe_query *query = NULL;
    tail t = {{GRB_TOKEN_END, 0, 0}, {GRB_TOKEN_END, 0, 0}};
    take(r->p);
    GRB_TRY(boost_take(r->p, &t, err));
    GRB_TRY(group_make(r, &query, err));
    if (t.number.type == GRB_TOKEN_NUMBER)
        GRB_TRY(boost_apply(r->p, t.number, &query, err));
    frame closed = r->frames[r->depth--];
    return clause_add(r, closed.conj, closed.mod, query, err);
done:
    grb_query_release(query);
    return status;
}

static void marks_take(reading *r) {
    grb_parser *p = r->p;
    r->conj = CONJ_NONE;
    r->mod = MOD_NONE;
    if (!r->wanted) {
        if (take_if(p, GRB_TOKEN_AND))
            r->conj = CONJ_AND;
        else if (take_if(p, GRB_TOKEN_OR))
            r->conj = CONJ_OR;
    }
    if (take_if(p, GRB_TOKEN_PLUS))
        r->mod = MOD_MUST;
    else if (take_if(p, GRB_TOKEN_MINUS) || take_if(p, GRB_TOKEN_NOT))
        r->mod = MOD_NOT;
}

/* One step: a clause is read, or a group begins or ends. */
static grebe_status step(reading *r, grebe_error *err) {
    grebe_status status;
    grebe_query *query = NULL;
    bool star = false;
    if (!r->wanted && r->depth && peek_type(r->p) == GRB_TOKEN_CLOSE)
        return group_close(r, err);
    marks_take(r);
    GRB_TRY(field_take(r, &star, err));
    if (peek_type(r->p) == GRB_TOKEN_OPEN)
        return group_open(r, take(r->p).start, err);
    GRB_TRY(term_take(r, star, &query, err));
    GRB_TRY(clause_add(r, r->conj, r->mod, query, err));
    r->wanted = false;
done:
    return status;
}

static bool all_negative(const reading *r) {
    for (size_t i = 0; i < r->count; i++)
        if (r->clauses[i].occur != GREBE_MUST_NOT) return false;
    return true;
}

/* Clauses that are all negative mean everything but them. */
static grebe_status top_make(reading *r, grebe_query **out, grebe_error *err) {
    grebe_status status;
    grebe_query *all = NULL;
    if (all_negative(r)) {
        GRB_TRY(grb_query_all(&all, err));
        status = clause_push(r, GREBE_MUST, all, err);
        if (status != GREBE_OK) {
            grb_query_release(all);
            return status;
        }
        grebe_clause last = r->clauses[r->count - 1];
        memmove(r->clauses + 1, r->clauses, (r->count - 1) * sizeof last);
        r->clauses[0] = last;
    }
    GRB_TRY(group_make(r, out, err));
done:
    return status;
}

static grebe_status strict_read(reading *r, grebe_query **out,
                                grebe_error *err) {
    grebe_status status;
    grb_parser *p = r->p;
    if (peek_type(p) == GRB_TOKEN_END) return grb_query_none(out, err);
    r->wanted = true;
    while (r->wanted || peek_type(p) != GRB_TOKEN_END) GRB_TRY(step(r, err));
    if (r->depth)
        GRB_TRY(grb_parser_error(p, GREBE_SYNTAX, r->frames[r->depth].at, err,
                                 "this '(' is not closed"));
    GRB_TRY(top_make(r, out, err));
done:
    return status;
}

static grebe_status strict_parse(grb_parser *p, grebe_query **out,
                                 grebe_error *err) {
    reading r; /* of the 3 KiB of frames only the first is set */
    r.p = p;
    r.clauses = NULL;
    r.count = r.capacity = 0;
    r.frames[0] = (frame){.first = 0};
    r.depth = 0;
    grebe_status status = strict_read(&r, out, err);
    while (r.count) grb_query_release(r.clauses[--r.count].query);
    if (r.clauses)
        grb_free(p->text.allocator, r.clauses, r.capacity * sizeof *r.clauses);
    return status;
}

/* ---- options ---- */

static grebe_status target_add(grb_parser *p, const grebe_query_field *from,
                               grebe_error *err) {
    grebe_status status;
    size_t size = strlen(from->name);
    uint32_t id = grb_schema_find(p->schema, from->name, size);
    if (id == GREBE_NO_FIELD) {
        const char *near = grb_schema_nearest(p->schema, from->name, size);
        GRB_TRY(grb_error(err, GREBE_SCHEMA,
                          "there is no field '%.100s'%s%s%s", from->name,
                          near ? ", did you mean '" : "", near ? near : "",
                          near ? "'?" : ""));
    }
    const grb_field *field = &p->schema->fields[id];
    if (!(field->flags & GREBE_INDEXED))
        GRB_TRY(grb_error(err, GREBE_SCHEMA, "field '%s' is not indexed",
                          field->name));
    if (!(from->boost >= 0 && isfinite(from->boost)))
        GRB_TRY(grb_error(err, GREBE_ARGUMENT,
                          "the boost of '%s' is finite and not negative",
                          field->name));
    p->targets[p->target_count++] = (grb_target){field, from->boost};
    return GREBE_OK;
done:
    grb_error_field(err, from->name);
    return status;
}

/* `targets` has room for all. */
static grebe_status targets_fill(grb_parser *p,
                                 const grebe_parse_options *options,
                                 grebe_error *err) {
    grebe_status status = GREBE_OK;
    if (options && options->field_count) {
        for (size_t i = 0; i < options->field_count; i++)
            GRB_TRY(target_add(p, &options->fields[i], err));
        return GREBE_OK;
    }
    for (uint32_t i = 0; i < p->schema->field_count; i++) {
        const grb_field *field = &p->schema->fields[i];
        if (field->kind == GREBE_TEXT && (field->flags & GREBE_INDEXED))
            p->targets[p->target_count++] = (grb_target){field, 1};
    }
done:
    return status;
}

static grebe_status text_parse(grb_parser *p, bool forgiving,
                               grebe_query **out, grebe_error *err) {
    size_t bad_at = 0;
    grebe_error why;
    grebe_status status = GREBE_SYNTAX;
    if (p->lexer.size == 0 ||
        grb_utf8_valid(p->lexer.text, p->lexer.size, &bad_at)) {
        status = strict_parse(p, out, &why);
    } else {
        grb_error(&why, GREBE_SYNTAX, "the text is not UTF-8 at byte %zu",
                  bad_at);
        why.offset = bad_at;
    }
    if (status == GREBE_SYNTAX && forgiving && p->target_count)
        return grb_parser_plain(p, out, err);
    if (status != GREBE_OK && err) *err = why;
    return status;
}

grebe_status grb_query_parse(const grebe_schema *schema, const char *text,
                             size_t size, const grebe_parse_options *options,
                             grebe_query **out, grebe_error *err) {
    grebe_status status;
    const grebe_allocator *a = &grb_allocator_malloc;
    size_t room = options && options->field_count ? options->field_count
                                                  : schema->field_count;
    if (size > GREBE_QUERY_TEXT_MAX)
        return grb_error(err, GREBE_LIMIT,
                         "the query is %zu bytes, the limit is %u", size,
                         GREBE_QUERY_TEXT_MAX);
    if (room > GREBE_QUERY_CLAUSES_MAX && options && options->field_count)
        return grb_error(err, GREBE_LIMIT,
                         "words are searched in %zu fields, the limit is %u",
                         room, GREBE_QUERY_CLAUSES_MAX);
    grb_parser p = {.schema = schema, .op = options ? options->op : GREBE_OR};
    grb_lexer_init(&p.lexer, text, size);
    grb_buf_init(&p.text, a, 0);
    grb_buf_init(&p.lower, a, 0);
    grb_buf_init(&p.upper, a, 0);
    if (room && !(p.targets = grb_alloc(a, room * sizeof *p.targets)))
        return grb_error_memory(err, room * sizeof *p.targets);
    GRB_TRY(targets_fill(&p, options, err));
    GRB_TRY(text_parse(&p, options && options->forgiving, out, err));
done:
    if (p.targets) grb_free(a, p.targets, room * sizeof *p.targets);
    grb_buf_deinit(&p.text);
    grb_buf_deinit(&p.lower);
    grb_buf_deinit(&p.upper);
    return status;
}
