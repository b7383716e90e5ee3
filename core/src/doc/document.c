/* doc/document.c - a bag of values that one thread fills again and again.
 *
 * Documents arrive by the million, so a document keeps its memory: after the
 * first few, adding values allocates nothing. Instances are small records;
 * texts lie one behind the other in one buffer.
 *
 * Invariant: per_field, size and fields_used describe exactly the instances;
 *            nulls stand first, defaults last; a failed call changes nothing.
 * Threads:   one at a time.
 * Owns:      copies of all values; a reference to the schema.
 */
#include "doc/doc.h"

#include <stdio.h>

grebe_status grb_document_new(grebe_schema *schema, const grebe_allocator *a,
                              grebe_document **out, grebe_error *err) {
    grebe_document *document = grb_alloc_zero(a, sizeof *document);
    if (!document) return grb_error_memory(err, sizeof *document);
    size_t size = (size_t)schema->field_count * sizeof *document->per_field;
    if (size && !(document->per_field = grb_alloc_zero(a, size))) {
        grb_free(a, document, sizeof *document);
        return grb_error_memory(err, size);
    }
    /* A field more would not have its count. */
    grb_schema_freeze(schema);
    document->schema = grb_schema_acquire(schema);
    document->allocator = a;
    grb_buf_init(&document->bytes, a, 0);
    grb_handle_born();
    *out = document;
    return GREBE_OK;
}

void grb_document_free(grebe_document *document) {
    if (!document) return;
    const grebe_allocator *a = document->allocator;
    if (document->per_field)
        grb_free(a, document->per_field,
                 document->schema->field_count * sizeof(uint32_t));
    if (document->instances)
        grb_free(a, document->instances,
                 document->capacity * sizeof *document->instances);
    grb_buf_deinit(&document->bytes);
    grb_schema_release(document->schema);
    grb_free(a, document, sizeof *document);
    grb_handle_died();
}

void grb_document_clear(grebe_document *document) {
    for (uint32_t i = 0; i < document->count; i++)
        document->per_field[document->instances[i].field] = 0;
    document->count = document->null_count = document->default_count = 0;
    document->fields_used = 0;
    document->size = 0;
    grb_buf_clear(&document->bytes);
}

void grb_instance_value(const grebe_document *document,
                        const grb_instance *instance, grebe_value *out) {
    out->kind = (grebe_kind)instance->kind;
    switch (out->kind) {
    case GREBE_INT:
    case GREBE_DATETIME:
        out->as.integer = instance->number;
        break;
    case GREBE_BOOL:
        out->as.boolean = (int)instance->number;
        break;
    case GREBE_DOUBLE:
        memcpy(&out->as.number, &instance->number, sizeof(double));
        break;
    default:
        out->as.text.size = instance->size;
        out->as.text.bytes =
            instance->size ? (const char *)document->bytes.bytes + instance->at
                           : "";
    }
}

/* ---- adding ---- */

static grebe_status room_make(grebe_document *document, size_t text_size,
                              grebe_error *err) {
    if (document->count == document->capacity) {
        uint32_t capacity = document->capacity ? 2 * document->capacity : 16;
        size_t size = (size_t)capacity * sizeof *document->instances;
        grb_instance *grown = grb_resize(
            document->allocator, document->instances,
            (size_t)document->capacity * sizeof *document->instances, size);
        if (!grown) return grb_error_memory(err, size);
        document->instances = grown;
        document->capacity = capacity;
    }
    if (text_size && !grb_buf_reserve(&document->bytes, text_size)) {
        document->bytes.failed = false; /* the next text may be smaller */
        return grb_error_memory(err, text_size);
    }
    return GREBE_OK;
}

/* Defaults of an earlier use go before the caller's values change. */
static void defaults_drop(grebe_document *document) {
    while (document->default_count) {
        const grb_instance *last = &document->instances[--document->count];
        document->per_field[last->field] = 0;
        document->fields_used--;
        document->default_count--;
        if (last->size) document->bytes.size = last->at;
    }
}

static grebe_status field_of(const grebe_document *document, uint32_t id,
                             const grb_field **out, grebe_error *err) {
    if (id >= document->schema->field_count)
        return grb_error(err, GREBE_ARGUMENT,
                         "there is no field %u, the schema has %u", id,
                         document->schema->field_count);
    *out = &document->schema->fields[id];
    return GREBE_OK;
}

static grebe_status field_named(grebe_error *err, const grb_field *field,
                                grebe_status status) {
    grb_error_field(err, field->name);
    return status;
}

static grebe_status counts_check(const grebe_document *document,
                                 const grb_field *field, grebe_error *err) {
    uint32_t held = document->per_field[field->id];
    if (GRB_LIKELY(held == 0)) {
        if (GRB_LIKELY(document->fields_used < GREBE_FIELDS_PER_DOCUMENT_MAX))
            return GREBE_OK;
        return grb_error(err, GREBE_LIMIT,
                         "a document has values in at most %u fields",
                         GREBE_FIELDS_PER_DOCUMENT_MAX);
    }
    if (held == GRB_FIELD_NULL)
        return grb_error(err, GREBE_DOCUMENT, "'%s' was said to have no value",
                         field->name);
    if (!(field->flags & GREBE_MANY))
        return grb_error(err, GREBE_DOCUMENT,
                         "'%s' has one value a document and got a second",
                         field->name);
    if (held >= GREBE_VALUES_PER_FIELD_MAX)
        return grb_error(err, GREBE_LIMIT,
                         "'%s' has at most %u values a document", field->name,
                         GREBE_VALUES_PER_FIELD_MAX);
    return GREBE_OK;
}

static void instance_fill(grebe_document *document, const grb_field *field,
                          const grebe_value *value, grb_instance *out) {
    *out = (grb_instance){.field = field->id, .kind = (uint8_t)field->kind};
    if (field->kind == GREBE_DOUBLE) {
        memcpy(&out->number, &value->as.number, sizeof(double));
    } else if (field->kind == GREBE_BOOL) {
        out->number = value->as.boolean != 0;
    } else if (grb_kind_is_number(field->kind)) {
        out->number = value->as.integer;
    } else {
        out->size = (uint32_t)value->as.text.size;
        out->at = document->bytes.size;
        if (out->size)
            grb_buf_put(&document->bytes, value->as.text.bytes, out->size);
    }
}

/* Everything is checked; only memory can be missing. */
static grebe_status instance_append(grebe_document *document,
                                    const grb_field *field,
                                    const grebe_value *value,
                                    grebe_error *err) {
    bool number = grb_kind_is_number(field->kind);
    grebe_status status =
        room_make(document, number ? 0 : value->as.text.size, err);
    if (status != GREBE_OK) return status;
    instance_fill(document, field, value,
                  &document->instances[document->count++]);
    if (document->per_field[field->id]++ == 0) document->fields_used++;
    return GREBE_OK;
}

grebe_status grb_document_put(grebe_document *document, uint32_t id,
                              const grebe_value *value, grebe_error *err) {
    grebe_status status;
    const grb_field *field = NULL;
    if ((status = field_of(document, id, &field, err)) != GREBE_OK)
        return status;
    if (GRB_UNLIKELY(document->default_count)) defaults_drop(document);
    GRB_TRY(grb_value_check(field, value, err));
    GRB_TRY(counts_check(document, field, err));
    size_t text = grb_kind_is_number(field->kind) ? 0 : value->as.text.size;
    uint64_t size = document->size + GRB_MAX(text, 8u);
    if (size > GREBE_DOCUMENT_SIZE_MAX)
        GRB_TRY(grb_error(err, GREBE_LIMIT,
                          "the document is %llu bytes with this value of "
                          "'%s', the limit is %u",
                          (unsigned long long)size, field->name,
                          GREBE_DOCUMENT_SIZE_MAX));
    GRB_TRY(instance_append(document, field, value, err));
    document->size = size;
    return GREBE_OK;
done:
    return field_named(err, field, status);
}

grebe_status grb_document_put_null(grebe_document *document, uint32_t id,
                                   grebe_error *err) {
    grebe_status status;
    const grb_field *field = NULL;
    if ((status = field_of(document, id, &field, err)) != GREBE_OK)
        return status;
    if (document->default_count) defaults_drop(document);
    if (document->per_field[id] == GRB_FIELD_NULL) return GREBE_OK;
    if (document->per_field[id])
        GRB_TRY(grb_error(err, GREBE_DOCUMENT,
                          "'%s' has a value and is said to have none",
                          field->name));
    GRB_TRY(counts_check(document, field, err));
    GRB_TRY(room_make(document, 0, err));
    /* In front, so that the i-th value is found by its place; at most a
     * thousand nulls move what is there. */
    memmove(document->instances + 1, document->instances,
            document->count * sizeof *document->instances);
    document->instances[0] = (grb_instance){.field = id};
    document->count++;
    document->null_count++;
    document->fields_used++;
    document->per_field[id] = GRB_FIELD_NULL;
    return GREBE_OK;
done:
    return field_named(err, field, status);
}

/* ---- what a writer asks for ---- */

bool grb_document_key(const grebe_document *document, grebe_value *out) {
    uint32_t key = document->schema->key;
    if (key == GREBE_NO_FIELD || document->per_field[key] != 1) return false;
    uint32_t i = document->null_count;
    while (document->instances[i].field != key) i++;
    grb_instance_value(document, &document->instances[i], out);
    return true;
}

void grb_document_error_key(const grebe_document *document, grebe_error *err) {
    grebe_value key = {.kind = GREBE_INT};
    if (!err || !grb_document_key(document, &key)) return;
    if (key.kind == GREBE_INT) {
        char text[24];
        int n = snprintf(text, sizeof text, "%lld", (long long)key.as.integer);
        grb_error_key(err, text, (size_t)n);
    } else {
        grb_error_key(err, key.as.text.bytes, key.as.text.size);
    }
}

static grebe_status missing_error(const grebe_document *document,
                                  const grb_field *field, grebe_error *err) {
    grb_error(err, GREBE_DOCUMENT,
              field->flags & GREBE_KEY ? "the key '%s' has no value"
                                       : "'%s' is required and has no value",
              field->name);
    grb_error_field(err, field->name);
    grb_document_error_key(document, err);
    return GREBE_DOCUMENT;
}

grebe_status grb_document_complete(const grebe_document *document,
                                   grebe_error *err) {
    const grebe_schema *schema = document->schema;
    grebe_document *changed = (grebe_document *)document;
    grebe_status status = GREBE_OK;
    if (document->default_count) return GREBE_OK;
    for (uint32_t i = schema->first_completed; i != GREBE_NO_FIELD;) {
        const grb_field *field = &schema->fields[i];
        bool absent = document->per_field[i] == 0;
        bool none = absent || document->per_field[i] == GRB_FIELD_NULL;
        if (absent && field->has_default) {
            GRB_TRY(counts_check(document, field, err));
            GRB_TRY(
                instance_append(changed, field, &field->default_value, err));
            changed->default_count++;
        } else if (none && (field->flags & GREBE_REQUIRED)) {
            GRB_TRY(missing_error(document, field, err));
        }
        i = field->next_completed;
    }
done:
    if (status != GREBE_OK) defaults_drop(changed);
    return status;
}
