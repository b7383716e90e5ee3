/* api/schema.c - grebe/schema.h: arguments checked, room doc called.
 *
 * The one place where a field's analyzer name becomes an analyzer: doc knows
 * none, and everything below works with the resolved one.
 *
 * Invariant: a TEXT field added here has its analyzer and the name it is
 *            stored under ("english" is "en").
 * Threads:   as grebe/schema.h says.
 * Owns:      nothing.
 */
#include "analysis/analysis.h"
#include "doc/doc.h"

grebe_status grebe_schema_new(grebe_schema **out, grebe_error *err) {
    if (!out) return grb_error(err, GREBE_ARGUMENT, "out is NULL");
    *out = NULL;
    return grb_schema_new(&grb_allocator_malloc, out, err);
}

static grebe_status analyzer_unknown(const grebe_field *field,
                                     grebe_error *err) {
    grb_error(err, GREBE_SCHEMA,
              "field '%s': there is no analyzer '%s'; there are %s",
              field->name, field->analyzer, grb_analyzer_names());
    grb_error_field(err, field->name);
    return GREBE_SCHEMA;
}

grebe_status grebe_schema_add(grebe_schema *schema, const grebe_field *field,
                              grebe_error *err) {
    if (!schema || !field || !field->name)
        return grb_error(err, GREBE_ARGUMENT,
                         "schema, field or its name is NULL");
    grebe_field resolved = *field;
    const grb_analyzer *analyzer = NULL;
    if (field->kind == GREBE_TEXT) {
        const char *name = field->analyzer ? field->analyzer : "standard";
        analyzer = grb_analyzer_find(name, strlen(name));
        if (!analyzer) return analyzer_unknown(field, err);
        resolved.analyzer = grb_analyzer_name(analyzer);
    }
    return grb_schema_append(schema, &resolved, analyzer, err);
}

uint32_t grebe_schema_count(const grebe_schema *schema) {
    return schema ? schema->field_count : 0;
}

uint32_t grebe_schema_find(const grebe_schema *schema, const char *name,
                           size_t size) {
    if (!schema || !name) return GREBE_NO_FIELD;
    return grb_schema_find(schema, name, size);
}

grebe_status grebe_schema_field(const grebe_schema *schema, uint32_t id,
                                grebe_field *out, grebe_error *err) {
    if (!schema || !out)
        return grb_error(err, GREBE_ARGUMENT, "schema or out is NULL");
    if (id >= schema->field_count)
        return grb_error(err, GREBE_ARGUMENT,
                         "there is no field %u, the schema has %u", id,
                         schema->field_count);
    grb_schema_describe(&schema->fields[id], out);
    return GREBE_OK;
}

uint32_t grebe_schema_key(const grebe_schema *schema) {
    return schema ? schema->key : GREBE_NO_FIELD;
}

grebe_schema *grebe_schema_acquire(grebe_schema *schema) {
    return schema ? grb_schema_acquire(schema) : NULL;
}

void grebe_schema_release(grebe_schema *schema) {
    grb_schema_release(schema);
}
