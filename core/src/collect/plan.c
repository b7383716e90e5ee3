/* collect/plan.c - the text of a sort to a plan.
 *
 * sort = key { "," key }; key = name [ "asc" | "desc" ] [ "missing" ( "first"
 * | "last" ) ]. Names are columns, `score` (falling unless said) or `_order`.
 *
 * Invariant: two texts that mean the same order give the same signature, so a
 * cursor made under one is good under the other.
 * Threads: pure functions.
 * Owns: nothing.
 */
#include "collect/collect.h"

typedef struct sort_reader {
    const char *text;
    size_t size, at;
    const char *word; /* the present one; size 0 at a comma or the end */
    size_t word_size;
    size_t word_at;
} sort_reader;

static bool space_is(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void word_next(sort_reader *r) {
    while (r->at < r->size && space_is(r->text[r->at])) r->at++;
    r->word_at = r->at;
    r->word = r->text + r->at;
    while (r->at < r->size && !space_is(r->text[r->at]) &&
           r->text[r->at] != ',')
        r->at++;
    r->word_size = r->at - r->word_at;
}

static bool word_is(const sort_reader *r, const char *word) {
    return strlen(word) == r->word_size &&
           memcmp(word, r->word, r->word_size) == 0;
}

static grebe_status reader_fail(const sort_reader *r, grebe_error *err,
                                const char *expected) {
    grebe_status status;
    if (r->word_size > 0)
        status = grb_error(
            err, GREBE_SYNTAX, "sort: \"%.*s\" at %zu, expected %s",
            (int)GRB_MIN(r->word_size, 60), r->word, r->word_at, expected);
    else
        status = grb_error(err, GREBE_SYNTAX, "sort: expected %s at %zu",
                           expected, r->word_at);
    if (err) err->offset = r->word_at;
    return status;
}

grebe_status grb_field_unknown(const grebe_schema *schema, const char *name,
                               size_t size, const char *use,
                               grebe_error *err) {
    const char *near = grb_schema_nearest(schema, name, size);
    int shown = (int)GRB_MIN(size, GREBE_FIELD_NAME_MAX);
    char field[GREBE_FIELD_NAME_MAX + 1];
    memcpy(field, name, (size_t)shown);
    field[shown] = 0;
    if (near)
        grb_error(err, GREBE_SCHEMA,
                  "%s: no field \"%s\"; did you mean \"%s\"?", use, field,
                  near);
    else
        grb_error(err, GREBE_SCHEMA, "%s: no field \"%s\"", use, field);
    grb_error_field(err, field);
    return GREBE_SCHEMA;
}

/* Resolves the present word. */
static grebe_status key_name(const grebe_schema *schema, sort_reader *r,
                             grb_sort_key *key, grebe_error *err) {
    memset(key, 0, sizeof *key);
    if (word_is(r, "score")) {
        key->source = GRB_SORT_SCORE;
        key->desc = true;
        return GREBE_OK;
    }
    if (word_is(r, "_order")) {
        key->source = GRB_SORT_ORDER;
        return GREBE_OK;
    }
    uint32_t id = grebe_schema_find(schema, r->word, r->word_size);
    if (id == GREBE_NO_FIELD)
        return grb_field_unknown(schema, r->word, r->word_size, "sort", err);
    const grb_field *field = &schema->fields[id];
    if (!(field->flags & GREBE_COLUMN)) {
        grb_error(err, GREBE_SCHEMA, "sort: %s field \"%s\" has no column",
                  grb_kind_name(field->kind), field->name);
        grb_error_field(err, field->name);
        return GREBE_SCHEMA;
    }
    key->source = GRB_SORT_COLUMN;
    key->field = id;
    key->kind = field->kind;
    key->keyword = field->kind == GREBE_KEYWORD;
    return GREBE_OK;
}

static grebe_status key_read(const grebe_schema *schema, sort_reader *r,
                             grb_sort_key *key, grebe_error *err) {
    if (r->word_size == 0) return reader_fail(r, err, "a field name");
    grebe_status status = key_name(schema, r, key, err);
    if (status != GREBE_OK) return status;
    word_next(r);
    if (word_is(r, "desc") || word_is(r, "asc")) {
        key->desc = r->word_size == 4;
        word_next(r);
    }
    if (key->source == GRB_SORT_COLUMN && word_is(r, "missing")) {
        word_next(r);
        if (!word_is(r, "first") && !word_is(r, "last"))
            return reader_fail(r, err, "\"first\" or \"last\"");
        key->missing_first = r->word[0] == 'f';
        word_next(r);
    }
    if (r->word_size > 0)
        return reader_fail(r, err,
                           key->source == GRB_SORT_COLUMN
                               ? "asc, desc, missing or a comma"
                               : "asc, desc or a comma");
    return GREBE_OK;
}

static uint64_t plan_signature(const grebe_schema *schema,
                               const grb_sort_plan *plan) {
    uint64_t hash = 0x67726562; /* any fixed seed: cursors outlive processes */
    for (uint32_t i = 0; i < plan->count; i++) {
        const grb_sort_key *key = &plan->keys[i];
        uint8_t how[3] = {(uint8_t)key->source, key->desc, key->missing_first};
        hash = grb_hash(how, sizeof how, hash);
        if (key->source != GRB_SORT_COLUMN) continue;
        const grb_field *field = &schema->fields[key->field];
        hash = grb_hash(field->name, field->name_size, hash);
    }
    return hash;
}

/* Drops what cannot matter: all behind `_order`, which has no ties, and a
 * rising `_order` itself, which every plan ends with. */
static void plan_close(const grebe_schema *schema, grb_sort_plan *plan) {
    for (uint32_t i = 0; i < plan->count; i++) {
        if (plan->keys[i].source != GRB_SORT_ORDER) continue;
        plan->count = plan->keys[i].desc ? i + 1 : i;
        break;
    }
    plan->scored = plan->keyword = false;
    for (uint32_t i = 0; i < plan->count; i++) {
        plan->scored |= plan->keys[i].source == GRB_SORT_SCORE;
        plan->keyword |= plan->keys[i].keyword;
    }
    plan->plain = plan->count == 1 && plan->scored && plan->keys[0].desc;
    /* The one order nearly every search asks for is not worth hashing. */
    plan->signature = plan->plain ? 1 : plan_signature(schema, plan);
}

grebe_status grb_sort_parse(const grebe_schema *schema, const char *text,
                            grb_sort_plan *out, grebe_error *err) {
    out->count = 0;
    if (!text) {
        out->keys[0] = (grb_sort_key){.source = GRB_SORT_SCORE, .desc = true};
        out->count = 1;
        plan_close(schema, out);
        return GREBE_OK;
    }
    sort_reader r = {.text = text, .size = strlen(text)};
    for (;;) {
        word_next(&r);
        if (out->count == GRB_SORT_KEYS_MAX)
            return grb_error(err, GREBE_LIMIT,
                             "sort: more keys than the limit of %u",
                             GRB_SORT_KEYS_MAX);
        grebe_status status =
            key_read(schema, &r, &out->keys[out->count], err);
        if (status != GREBE_OK) return status;
        out->count++;
        if (r.at == r.size) break;
        r.at++; /* the comma */
    }
    plan_close(schema, out);
    return GREBE_OK;
}
