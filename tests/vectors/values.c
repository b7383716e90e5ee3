/* tests/vectors/values.c - JSON to values, schemas and documents, and back.
 *
 * What JSON cannot say stands in an object of one member: {"$hex": "00ff"}
 * bytes, {"$inf": -1}, {"$nan": true}, {"$repeat": ["a", 1000]}; inside "fill"
 * also {"$i": true}, {"$pick": [...]} and "{}" in strings.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "doc/doc.h"
#include "runner.h"

static json_t *only_member(json_t *value, const char *name) {
    if (!json_is_object(value) || json_object_size(value) != 1) return NULL;
    return json_object_get(value, name);
}

static json_t *text_repeat(json_t *how) {
    json_t *text = json_array_get(how, 0);
    size_t size = json_string_length(text);
    size_t count = (size_t)json_integer_value(json_array_get(how, 1));
    char *all = malloc(size * count + 1);
    for (size_t i = 0; i < count; i++)
        memcpy(all + i * size, json_string_value(text), size);
    json_t *made = json_stringn(all, size * count);
    free(all);
    return made;
}

json_t *json_expand(json_t *value) {
    json_t *member, *how = only_member(value, "$repeat");
    const char *name;
    size_t i;
    if (how) {
        json_t *made = text_repeat(how);
        json_decref(value);
        return made;
    }
    if (json_is_object(value)) {
        json_object_foreach(value, name, member) {
            json_object_set_new(value, name, json_expand(json_incref(member)));
        }
    }
    json_array_foreach(value, i, member) {
        json_array_set_new(value, i, json_expand(json_incref(member)));
    }
    return value;
}

/* A copy of a text with each "{}" as the number. */
static json_t *text_filled(json_t *value, json_int_t i) {
    const char *from = json_string_value(value), *hole;
    char made[256];
    size_t size = 0;
    while ((hole = strstr(from, "{}"))) {
        size += (size_t)snprintf(made + size, sizeof made - size, "%.*s%lld",
                                 (int)(hole - from), from, (long long)i);
        from = hole + 2;
    }
    snprintf(made + size, sizeof made - size, "%s", from);
    return json_string(made);
}

json_t *json_filled(json_t *value, json_int_t i) {
    json_t *member, *made, *list = only_member(value, "$pick");
    const char *name;
    size_t k;
    if (only_member(value, "$i")) return json_integer(i);
    if (list)
        return json_filled(
            json_array_get(list, (size_t)i % json_array_size(list)), i);
    if (json_is_string(value)) return text_filled(value, i);
    if (json_is_object(value)) {
        made = json_object();
        json_object_foreach(value, name, member) {
            json_object_set_new(made, name, json_filled(member, i));
        }
        return made;
    }
    if (!json_is_array(value)) return json_incref(value);
    made = json_array();
    json_array_foreach(value, k, member) {
        json_array_append_new(made, json_filled(member, i));
    }
    return made;
}

static bool bytes_value(grebe_kind kind, const char *bytes, size_t size,
                        grebe_value *out) {
    out->kind = kind;
    out->as.text.bytes = bytes;
    out->as.text.size = size;
    return true;
}

static bool hex_value(const char *hex, grebe_kind kind, grebe_value *out,
                      char **room) {
    size_t size = strlen(hex) / 2;
    *room = malloc(size + 1);
    for (size_t i = 0; i < size; i++) {
        unsigned byte;
        sscanf(hex + 2 * i, "%2x", &byte);
        (*room)[i] = (char)byte;
    }
    bool text = kind == GREBE_TEXT || kind == GREBE_KEYWORD;
    return bytes_value(text ? kind : GREBE_BYTES, *room, size, out);
}

static bool number_value(double number, grebe_value *out) {
    out->kind = GREBE_DOUBLE;
    out->as.number = number;
    return true;
}

/* `kind` is that of the field, 0 where none is known (queries). False for
 * what no C program could say. */
bool value_read(json_t *json, grebe_kind kind, grebe_value *out, char **room) {
    json_t *member;
    *room = NULL;
    if (json_is_string(json)) {
        const char *text = json_string_value(json);
        size_t size = json_string_length(json);
        if (kind == GREBE_DATETIME &&
            grb_date_parse(text, size, &out->as.integer)) {
            out->kind = GREBE_DATETIME;
            return true;
        }
        return bytes_value(kind == GREBE_TEXT ? GREBE_TEXT : GREBE_KEYWORD,
                           text, size, out);
    }
    if (json_is_integer(json)) {
        if (kind == GREBE_DOUBLE)
            return number_value((double)json_integer_value(json), out);
        out->kind = kind == GREBE_DATETIME ? GREBE_DATETIME : GREBE_INT;
        out->as.integer = json_integer_value(json);
        return true;
    }
    if (json_is_real(json)) return number_value(json_real_value(json), out);
    if (json_is_boolean(json)) {
        out->kind = GREBE_BOOL;
        out->as.boolean = json_is_true(json);
        return true;
    }
    if ((member = only_member(json, "$inf")))
        return number_value(json_integer_value(member) * HUGE_VAL, out);
    if (only_member(json, "$nan")) return number_value((double)NAN, out);
    if ((member = only_member(json, "$hex")))
        return hex_value(json_string_value(member), kind, out, room);
    return false;
}

static json_t *hex_json(const grebe_value *value) {
    size_t size = value->as.text.size;
    char *hex = malloc(2 * size + 1);
    for (size_t i = 0; i < size; i++)
        sprintf(hex + 2 * i, "%02x", (unsigned char)value->as.text.bytes[i]);
    json_t *made = json_pack("{s:s%}", "$hex", hex, 2 * size);
    free(hex);
    return made;
}

json_t *value_json(const grebe_value *value) {
    switch (value->kind) {
    case GREBE_TEXT:
    case GREBE_KEYWORD:
        return json_stringn(value->as.text.bytes, value->as.text.size);
    case GREBE_INT:
    case GREBE_DATETIME:
        return json_integer(value->as.integer);
    case GREBE_BOOL:
        return json_boolean(value->as.boolean);
    case GREBE_DOUBLE:
        if (isinf(value->as.number))
            return json_pack("{s:i}", "$inf", value->as.number < 0 ? -1 : 1);
        return json_real(value->as.number);
    default:
        return hex_json(value);
    }
}

json_t *document_json(const grebe_document *document) {
    grebe_schema *schema = grebe_document_schema(document);
    json_t *made = json_object();
    for (uint32_t i = 0; i < grebe_document_count(document); i++) {
        uint32_t id;
        grebe_value value;
        grebe_field field;
        grebe_document_value(document, i, &id, &value, NULL);
        grebe_schema_field(schema, id, &field, NULL);
        json_t *json = value_json(&value);
        if (!(field.flags & GREBE_MANY)) {
            json_object_set_new(made, field.name, json);
            continue;
        }
        if (!json_object_get(made, field.name))
            json_object_set_new(made, field.name, json_array());
        json_array_append_new(json_object_get(made, field.name), json);
    }
    return made;
}

/* ---- schemas: {"title": "text en many", "n": {"is": "int", "default": 1}} */

typedef struct word_flag {
    const char *word;
    uint32_t set, clear;
} word_flag;

static void word_apply(const char *word, grebe_field *field, char *analyzer) {
    static const word_flag flags[] = {
        {"many", GREBE_MANY, 0},       {"required", GREBE_REQUIRED, 0},
        {"stored", GREBE_STORED, 0},   {"unstored", 0, GREBE_STORED},
        {"indexed", GREBE_INDEXED, 0}, {"unindexed", 0, GREBE_INDEXED},
        {"column", GREBE_COLUMN, 0},   {"uncolumned", 0, GREBE_COLUMN},
    };
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (strcmp(word, flags[i].word) == 0) {
            field->flags = (field->flags | flags[i].set) & ~flags[i].clear;
            return;
        }
    if (field->flags & GREBE_KEY)
        field->kind = strcmp(word, "int") == 0 ? GREBE_INT : GREBE_KEYWORD;
    else
        field->analyzer = strcpy(analyzer, word);
}

static void kind_apply(const char *word, grebe_field *field) {
    static const struct {
        const char *word;
        grebe_kind kind;
        uint32_t flags;
    } kinds[] = {
        {"key", GREBE_KEYWORD, GREBE_INDEXED | GREBE_COLUMN | GREBE_KEY},
        {"text", GREBE_TEXT, GREBE_INDEXED},
        {"keyword", GREBE_KEYWORD, GREBE_INDEXED | GREBE_COLUMN},
        {"int", GREBE_INT, GREBE_INDEXED | GREBE_COLUMN},
        {"float", GREBE_DOUBLE, GREBE_INDEXED | GREBE_COLUMN},
        {"bool", GREBE_BOOL, GREBE_INDEXED | GREBE_COLUMN},
        {"datetime", GREBE_DATETIME, GREBE_INDEXED | GREBE_COLUMN},
        {"bytes", GREBE_BYTES, 0},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(word, kinds[i].word) == 0) {
            field->kind = kinds[i].kind;
            field->flags = kinds[i].flags | GREBE_STORED;
            if (field->flags & GREBE_KEY) field->flags |= GREBE_REQUIRED;
        }
}

static grebe_status field_add(grebe_schema *schema, const char *name,
                              json_t *how, grebe_error *err) {
    json_t *words = json_is_object(how) ? json_object_get(how, "is") : how;
    json_t *given =
        json_is_object(how) ? json_object_get(how, "default") : NULL;
    char line[256], analyzer[64], *state, *room = NULL;
    grebe_value value;
    grebe_field field = {.name = name};
    snprintf(line, sizeof line, "%s", json_string_value(words));
    char *word = strtok_r(line, " ", &state);
    kind_apply(word, &field);
    while ((word = strtok_r(NULL, " ", &state)))
        word_apply(word, &field, analyzer);
    if (given && value_read(given, field.kind, &value, &room))
        field.default_value = &value;
    grebe_status status = grebe_schema_add(schema, &field, err);
    free(room);
    return status;
}

grebe_status schema_build(json_t *json, grebe_schema **out, grebe_error *err) {
    const char *name;
    json_t *how;
    grebe_status status = grebe_schema_new(out, err);
    if (status) return status;
    json_object_foreach(json, name, how) {
        if ((status = field_add(*out, name, how, err))) {
            grebe_schema_release(*out);
            *out = NULL;
            return status;
        }
    }
    return GREBE_OK;
}

static grebe_status field_put(grebe_document *document, uint32_t id,
                              json_t *json, grebe_error *err) {
    grebe_value value;
    grebe_field field;
    char *room = NULL;
    json_t *item;
    size_t i;
    grebe_status status = GREBE_OK;
    if (json_is_null(json)) return grebe_document_add_null(document, id, err);
    if (json_is_array(json)) {
        if (json_array_size(json) == 0)
            return grebe_document_add_null(document, id, err);
        json_array_foreach(json, i, item) {
            status = field_put(document, id, item, err);
            if (status) return status;
        }
        return GREBE_OK;
    }
    grebe_schema_field(grebe_document_schema(document), id, &field, NULL);
    if (!value_read(json, field.kind, &value, &room)) abort();
    status = grebe_document_add(document, id, &value, err);
    free(room);
    return status;
}

grebe_status document_build(grebe_schema *schema, json_t *json,
                            grebe_document **out, grebe_error *err) {
    const char *name;
    json_t *value;
    grebe_status status = grebe_document_new(schema, out, err);
    json_object_foreach(json, name, value) {
        uint32_t id = grebe_schema_find(schema, name, strlen(name));
        if (!status) status = field_put(*out, id, value, err);
    }
    return status;
}
