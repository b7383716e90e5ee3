/* doc/schema.c - a list of fields, found by name through a hash table.
 *
 * Every document, query and segment speaks of fields by their place in a
 * schema. A schema grows until it is first used and is immutable from then on,
 * so that readers in any thread need no lock.
 *
 * Invariant: ids are places, 0 .. field_count - 1; slots hold id + 1 of every
 *            field and are at most half full; a failed call changes nothing.
 * Threads:   appending belongs to one thread; all else may come from any once
 *            the schema is frozen. The reference count is atomic.
 * Owns:      names, analyzer names and defaults of its fields.
 */
#include "doc/doc.h"

#define FLAGS_ALL                                               \
    (GREBE_STORED | GREBE_INDEXED | GREBE_COLUMN | GREBE_MANY | \
     GREBE_REQUIRED | GREBE_KEY)

grebe_status grb_schema_new(const grebe_allocator *a, grebe_schema **out,
                            grebe_error *err) {
    grebe_schema *schema = grb_alloc_zero(a, sizeof *schema);
    if (!schema) return grb_error_memory(err, sizeof *schema);
    atomic_init(&schema->refs, 1);
    atomic_init(&schema->frozen, false);
    schema->allocator = a;
    schema->key = GREBE_NO_FIELD;
    schema->all_stored = true;
    schema->first_completed = schema->last_completed = GREBE_NO_FIELD;
    grb_handle_born();
    *out = schema;
    return GREBE_OK;
}

grebe_schema *grb_schema_acquire(grebe_schema *schema) {
    atomic_fetch_add_explicit(&schema->refs, 1, memory_order_relaxed);
    return schema;
}

static void string_free(const grebe_allocator *a, char *text) {
    if (text) grb_free(a, text, strlen(text) + 1);
}

static void field_deinit(const grebe_allocator *a, grb_field *field) {
    string_free(a, field->name);
    string_free(a, field->analyzer_name);
    if (field->has_default && !grb_kind_is_number(field->kind))
        grb_free(a, (void *)field->default_value.as.text.bytes,
                 field->default_value.as.text.size + 1);
}

void grb_schema_release(grebe_schema *schema) {
    if (!schema ||
        atomic_fetch_sub_explicit(&schema->refs, 1, memory_order_acq_rel) != 1)
        return;
    const grebe_allocator *a = schema->allocator;
    for (uint32_t i = 0; i < schema->field_count; i++)
        field_deinit(a, &schema->fields[i]);
    if (schema->fields)
        grb_free(a, schema->fields,
                 schema->field_capacity * sizeof *schema->fields);
    if (schema->slots)
        grb_free(a, schema->slots,
                 ((size_t)schema->slot_mask + 1) * sizeof *schema->slots);
    grb_free(a, schema, sizeof *schema);
    grb_handle_died();
}

void grb_schema_freeze(grebe_schema *schema) {
    atomic_store_explicit(&schema->frozen, true, memory_order_release);
}

/* ---- looking up ---- */

/* The slot of the name, or the free one where it would go. */
static uint32_t *slot_find(const grebe_schema *schema, const char *name,
                           size_t size) {
    uint32_t at = (uint32_t)grb_hash(name, size, 0) & schema->slot_mask;
    for (;; at = (at + 1) & schema->slot_mask) {
        uint32_t *slot = &schema->slots[at];
        if (*slot == 0) return slot;
        const grb_field *field = &schema->fields[*slot - 1];
        if (field->name_size == size && memcmp(field->name, name, size) == 0)
            return slot;
    }
}

uint32_t grb_schema_find(const grebe_schema *schema, const char *name,
                         size_t size) {
    if (!schema->slots) return GREBE_NO_FIELD;
    return *slot_find(schema, name, size) - 1; /* 0 wraps to NO_FIELD */
}

void grb_schema_describe(const grb_field *field, grebe_field *out) {
    out->name = field->name;
    out->kind = field->kind;
    out->flags = field->flags;
    out->analyzer = field->analyzer_name;
    out->default_value = field->has_default ? &field->default_value : NULL;
}

/* ---- checking a new field ---- */

static bool name_is_good(const char *name, size_t size) {
    for (size_t i = 0; i < size; i++) {
        char c = name[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        bool inner =
            (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
        if (!letter && (i == 0 || !inner)) return false;
    }
    return size > 0;
}

static grebe_status name_check(const grebe_schema *schema, const char *name,
                               grebe_error *err) {
    size_t size = strlen(name);
    if (size > GREBE_FIELD_NAME_MAX)
        return grb_error(err, GREBE_LIMIT,
                         "a field name is %zu bytes, the limit is %d", size,
                         GREBE_FIELD_NAME_MAX);
    if (!name_is_good(name, size))
        return grb_error(err, GREBE_SCHEMA,
                         "'%s' is no field name: a letter, then letters, "
                         "digits, '_', '.' and '-'",
                         name);
    if (grb_schema_find(schema, name, size) != GREBE_NO_FIELD)
        return grb_error(err, GREBE_SCHEMA, "field '%s' stands there twice",
                         name);
    if (schema->field_count == GREBE_FIELD_COUNT_MAX)
        return grb_error(err, GREBE_LIMIT, "a schema has at most %d fields",
                         GREBE_FIELD_COUNT_MAX);
    return GREBE_OK;
}

static grebe_status key_check(const grebe_schema *schema,
                              const grebe_field *field, grebe_error *err) {
    if (!(field->flags & GREBE_KEY)) return GREBE_OK;
    const char *fault = NULL;
    if (field->kind != GREBE_KEYWORD && field->kind != GREBE_INT)
        fault = "is a keyword or an int";
    else if (field->flags & GREBE_MANY)
        fault = "has one value a document";
    else if (field->default_value)
        fault = "has no default";
    if (fault)
        return grb_error(err, GREBE_SCHEMA, "key field '%s': a key %s",
                         field->name, fault);
    if (schema->key != GREBE_NO_FIELD)
        return grb_error(err, GREBE_SCHEMA,
                         "'%s' is a second key, '%s' is the first",
                         field->name, schema->fields[schema->key].name);
    return GREBE_OK;
}

static grebe_status kind_check(const grebe_field *field, grebe_error *err) {
    grebe_kind kind = field->kind;
    if (kind < GREBE_TEXT || kind > GREBE_BYTES)
        return grb_error(err, GREBE_ARGUMENT, "field '%s': no kind %d",
                         field->name, (int)kind);
    if (field->flags & ~(uint32_t)FLAGS_ALL)
        return grb_error(err, GREBE_ARGUMENT, "field '%s': no flag %#x",
                         field->name, field->flags & ~(uint32_t)FLAGS_ALL);
    if ((field->flags & GREBE_COLUMN) &&
        (kind == GREBE_TEXT || kind == GREBE_BYTES))
        return grb_error(err, GREBE_SCHEMA, "field '%s': %s has no column",
                         field->name, grb_kind_name(kind));
    if ((field->flags & GREBE_INDEXED) && kind == GREBE_BYTES)
        return grb_error(err, GREBE_SCHEMA,
                         "field '%s': bytes are not indexed", field->name);
    if (field->analyzer && kind != GREBE_TEXT)
        return grb_error(err, GREBE_SCHEMA, "field '%s': %s takes no analyzer",
                         field->name, grb_kind_name(kind));
    return GREBE_OK;
}

static grebe_status default_check(const grebe_field *field, grebe_error *err) {
    if (!field->default_value) return GREBE_OK;
    grb_field as_field = {.name = (char *)field->name, .kind = field->kind};
    grebe_error why;
    grebe_status status =
        grb_value_check(&as_field, field->default_value, &why);
    if (status == GREBE_OK) return GREBE_OK;
    return grb_error(err, status == GREBE_LIMIT ? GREBE_LIMIT : GREBE_SCHEMA,
                     "the default does not fit: %.300s", why.message);
}

/* ---- appending ---- */

static bool fields_reserve(grebe_schema *schema) {
    if (schema->field_count < schema->field_capacity) return true;
    uint32_t capacity =
        schema->field_capacity ? 2 * schema->field_capacity : 8;
    grb_field *fields = grb_resize(schema->allocator, schema->fields,
                                   schema->field_capacity * sizeof *fields,
                                   capacity * sizeof *fields);
    if (!fields) return false;
    schema->fields = fields;
    schema->field_capacity = capacity;
    return true;
}

/* Room for one more name with the table at most half full. */
static bool slots_reserve(grebe_schema *schema) {
    uint32_t size = schema->slots ? schema->slot_mask + 1 : 0;
    if (2 * (schema->field_count + 1) <= size) return true;
    uint32_t grown = size ? 2 * size : 16;
    uint32_t *slots = grb_alloc_zero(schema->allocator, grown * sizeof *slots);
    if (!slots) return false;
    if (schema->slots)
        grb_free(schema->allocator, schema->slots, size * sizeof *slots);
    schema->slots = slots;
    schema->slot_mask = grown - 1;
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const grb_field *field = &schema->fields[i];
        *slot_find(schema, field->name, field->name_size) = i + 1;
    }
    return true;
}

static char *string_copy(const grebe_allocator *a, const char *bytes,
                         size_t size) {
    char *copy = grb_alloc(a, size + 1);
    if (!copy) return NULL;
    if (size) memcpy(copy, bytes, size);
    copy[size] = 0;
    return copy;
}

/* Copies into *out; false without memory, and then nothing is held. */
static bool field_init(const grebe_allocator *a, const grebe_field *field,
                       grb_field *out) {
    memset(out, 0, sizeof *out);
    out->kind = field->kind;
    out->flags = field->flags;
    if (out->flags & GREBE_KEY) out->flags |= GREBE_INDEXED | GREBE_REQUIRED;
    out->name_size = (uint32_t)strlen(field->name);
    out->name = string_copy(a, field->name, out->name_size);
    if (!out->name) goto failed;
    if (field->kind == GREBE_TEXT) {
        const char *name = field->analyzer ? field->analyzer : "standard";
        out->analyzer_name = string_copy(a, name, strlen(name));
        if (!out->analyzer_name) goto failed;
    }
    if (field->default_value) {
        out->default_value = *field->default_value;
        out->default_value.kind = field->kind;
        if (!grb_kind_is_number(field->kind)) {
            char *copy = string_copy(a, field->default_value->as.text.bytes,
                                     field->default_value->as.text.size);
            if (!copy) goto failed;
            out->default_value.as.text.bytes = copy;
        }
        out->has_default = true;
    }
    return true;
failed:
    field_deinit(a, out);
    return false;
}

static void completed_link(grebe_schema *schema, uint32_t id) {
    if (schema->last_completed == GREBE_NO_FIELD)
        schema->first_completed = id;
    else
        schema->fields[schema->last_completed].next_completed = id;
    schema->last_completed = id;
}

grebe_status grb_schema_append(grebe_schema *schema, const grebe_field *field,
                               const void *analyzer, grebe_error *err) {
    grebe_status status;
    grb_field added;
    if (atomic_load_explicit(&schema->frozen, memory_order_acquire))
        return grb_error(err, GREBE_STATE,
                         "the schema is in use and takes no more fields");
    GRB_TRY(name_check(schema, field->name, err));
    GRB_TRY(kind_check(field, err));
    GRB_TRY(key_check(schema, field, err));
    GRB_TRY(default_check(field, err));
    if (!fields_reserve(schema) || !slots_reserve(schema) ||
        !field_init(schema->allocator, field, &added))
        return grb_error_memory(err, sizeof added);
    added.id = schema->field_count;
    added.analyzer = analyzer;
    added.next_completed = GREBE_NO_FIELD;
    *slot_find(schema, added.name, added.name_size) = added.id + 1;
    schema->fields[schema->field_count++] = added;
    if (added.flags & GREBE_KEY) schema->key = added.id;
    if (!(added.flags & GREBE_STORED)) schema->all_stored = false;
    if (added.has_default || (added.flags & GREBE_REQUIRED))
        completed_link(schema, added.id);
    return GREBE_OK;
done:
    grb_error_field(err, field->name);
    return status;
}
