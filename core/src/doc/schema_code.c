/* doc/schema_code.c - a schema as bytes, and back from bytes nobody trusts.
 *
 * Invariant: what decodes is a schema that grb_schema_append would accept
 *            field by field, because it is built that way.
 * Threads:   any; a decoded schema is the caller's alone until resolved.
 * Owns:      the schema section of state files and log records:
 *
 *   varint field count, then for each field
 *     varint  name size, then the name
 *     u8      kind
 *     varint  flags
 *     varint  analyzer size, then its name (size 0 unless TEXT)
 *     u8      1: a default follows, as doc/value.c lays out
 *   The checksum is that of the section or record around it.
 */
#include "doc/doc.h"

#define NAME_MAX GREBE_FIELD_NAME_MAX /* of analyzers too */
#define FIELD_SIZE_MIN 5u

static void default_encode(const grebe_value *value, grb_buf *out) {
    size_t room = GRB_VALUE_PUT_MAX +
                  (grb_kind_is_number(value->kind) ? 0 : value->as.text.size);
    if (!grb_buf_reserve(out, room)) return;
    uint8_t *at = out->bytes + out->size;
    out->size += (size_t)(grb_value_put(at, value) - at);
}

void grb_schema_encode(const grebe_schema *schema, grb_buf *out) {
    grb_buf_varint(out, schema->field_count);
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const grb_field *field = &schema->fields[i];
        const char *analyzer = field->analyzer_name;
        grb_buf_bytes(out, field->name, field->name_size);
        grb_buf_u8(out, (uint8_t)field->kind);
        grb_buf_varint(out, field->flags);
        grb_buf_bytes(out, analyzer ? analyzer : "",
                      analyzer ? strlen(analyzer) : 0);
        grb_buf_u8(out, field->has_default);
        if (field->has_default) default_encode(&field->default_value, out);
    }
}

/* A counted name into a NUL-terminated array; false if it is no name. */
static bool name_take(grb_cursor *in, char out[NAME_MAX + 1]) {
    size_t size = 0;
    const uint8_t *bytes = grb_cursor_bytes(in, &size);
    if (in->failed || size > NAME_MAX) return false;
    if (size && memchr(bytes, 0, size)) return false;
    if (size) memcpy(out, bytes, size);
    out[size] = 0;
    return true;
}

static grebe_status field_decode(grb_cursor *in, grebe_schema *schema,
                                 grebe_error *err) {
    char name[NAME_MAX + 1], analyzer[NAME_MAX + 1];
    grebe_value value;
    grebe_field field = {.name = name};
    bool good = name_take(in, name);
    field.kind = (grebe_kind)grb_cursor_u8(in);
    uint64_t flags = grb_cursor_varint(in);
    good = good && name_take(in, analyzer) && flags <= UINT32_MAX;
    uint8_t has_default = grb_cursor_u8(in);
    if (!good || in->failed || has_default > 1)
        return grb_error(err, GREBE_CORRUPT,
                         "field %u of the schema is cut "
                         "or broken",
                         schema->field_count);
    field.flags = (uint32_t)flags;
    if (analyzer[0]) field.analyzer = analyzer;
    if (has_default) {
        grb_value_take(in, field.kind, &value);
        field.default_value = &value;
        if (in->failed)
            return grb_error(err, GREBE_CORRUPT, "the default of '%s' is cut",
                             name);
    }
    grebe_error why;
    grebe_status status = grb_schema_append(schema, &field, NULL, &why);
    if (status == GREBE_OK) return GREBE_OK;
    if (status == GREBE_MEMORY)
        return grb_error_memory(err, sizeof(grb_field));
    return grb_error(err, GREBE_CORRUPT, "field %u of the schema: %.300s",
                     schema->field_count, why.message);
}

grebe_status grb_schema_decode(const grebe_allocator *a, grb_cursor *in,
                               grebe_schema **out, grebe_error *err) {
    grebe_status status;
    grebe_schema *schema = NULL;
    uint64_t count = grb_cursor_varint(in);
    if (in->failed || count > GREBE_FIELD_COUNT_MAX ||
        count * FIELD_SIZE_MIN > grb_cursor_left(in))
        return grb_error(err, GREBE_CORRUPT,
                         "the schema claims %llu fields in %zu bytes",
                         (unsigned long long)count, grb_cursor_left(in));
    GRB_TRY(grb_schema_new(a, &schema, err));
    for (uint64_t i = 0; i < count; i++)
        GRB_TRY(field_decode(in, schema, err));
    *out = schema;
    return GREBE_OK;
done:
    grb_schema_release(schema);
    return status;
}

grebe_status grb_schema_resolve(grebe_schema *schema, grb_analyzer_finder find,
                                grebe_error *err) {
    for (uint32_t i = 0; i < schema->field_count; i++) {
        grb_field *field = &schema->fields[i];
        if (field->kind != GREBE_TEXT || field->analyzer) continue;
        field->analyzer =
            find(field->analyzer_name, strlen(field->analyzer_name));
        if (field->analyzer) continue;
        grb_error(err, GREBE_SCHEMA, "field '%s': no analyzer '%s' here",
                  field->name, field->analyzer_name);
        grb_error_field(err, field->name);
        return GREBE_SCHEMA;
    }
    return GREBE_OK;
}
