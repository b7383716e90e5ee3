/* doc/schema_merge.c - does what is asked for agree with what is stored?
 *
 * Opening an index and adding fields to it both end here. A user who changed
 * a schema wants to hear every difference at once, not one a try.
 *
 * Invariant: stored fields keep their ids; neither argument changes.
 * Threads:   any; both schemas are only read.
 * Owns:      the new schema, until it is handed out.
 */
#include "doc/doc.h"

#include <stdarg.h>
#include <stdio.h>

/* Sentences joined by "; ", cut where the error's message ends. */
typedef struct differences {
    char text[GREBE_ERROR_MESSAGE_SIZE - 64];
    size_t size;
    uint32_t count;
    const char *first; /* field of the first one */
} differences;

static void difference_add(differences *all, const char *field,
                           const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void difference_add(differences *all, const char *field,
                           const char *format, ...) {
    if (all->count++ == 0) all->first = field;
    size_t room = sizeof all->text - all->size;
    int n = snprintf(all->text + all->size, room, "%s'%s' ",
                     all->size ? "; " : "", field);
    if (n < 0 || (size_t)n >= room) goto full;
    va_list list;
    va_start(list, format);
    int m =
        vsnprintf(all->text + all->size + n, room - (size_t)n, format, list);
    va_end(list);
    if (m < 0 || (size_t)(n + m) >= room) goto full;
    all->size += (size_t)(n + m);
    return;
full:
    all->text[all->size] = 0; /* the count tells that there are more */
}

static void flags_compare(differences *all, const grb_field *stored,
                          const grb_field *asked) {
    static const struct {
        uint32_t flag;
        const char *name;
    } flags[] = {
        {GREBE_STORED, "stored"},     {GREBE_INDEXED, "indexed"},
        {GREBE_COLUMN, "column"},     {GREBE_MANY, "many"},
        {GREBE_REQUIRED, "required"}, {GREBE_KEY, "key"},
    };
    for (size_t i = 0; i < GRB_COUNT(flags); i++) {
        bool has = stored->flags & flags[i].flag;
        bool wants = asked->flags & flags[i].flag;
        if (has != wants)
            difference_add(all, asked->name, "has %s=%s, asked is %s",
                           flags[i].name, has ? "true" : "false",
                           wants ? "true" : "false");
    }
}

static void field_compare(differences *all, const grb_field *stored,
                          const grb_field *asked) {
    if (stored->kind != asked->kind) {
        difference_add(all, asked->name, "is %s, asked is %s",
                       grb_kind_name(stored->kind),
                       grb_kind_name(asked->kind));
        return;
    }
    flags_compare(all, stored, asked);
    if (stored->analyzer_name &&
        strcmp(stored->analyzer_name, asked->analyzer_name) != 0)
        difference_add(all, asked->name, "has analyzer %s, asked is %s",
                       stored->analyzer_name, asked->analyzer_name);
    if (stored->has_default != asked->has_default ||
        (stored->has_default &&
         !grb_value_equal(&stored->default_value, &asked->default_value)))
        difference_add(all, asked->name, "has another default");
}

/* A field that old documents lack. */
static void addition_check(differences *all, const grb_field *asked) {
    if (asked->flags & GREBE_KEY)
        difference_add(all, asked->name,
                       "is a key, which an index has from "
                       "the first or never");
    else if ((asked->flags & GREBE_REQUIRED) && !asked->has_default)
        difference_add(all, asked->name,
                       "is required and has no default for "
                       "the documents that are there");
}

static uint32_t schemas_compare(differences *all, const grebe_schema *stored,
                                const grebe_schema *asked, bool add_fields) {
    uint32_t additions = 0;
    for (uint32_t i = 0; i < asked->field_count; i++) {
        const grb_field *field = &asked->fields[i];
        uint32_t id = grb_schema_find(stored, field->name, field->name_size);
        if (id != GREBE_NO_FIELD) {
            field_compare(all, &stored->fields[id], field);
        } else if (add_fields) {
            addition_check(all, field);
            additions++;
        } else {
            difference_add(all, field->name, "is not in the index");
        }
    }
    for (uint32_t i = 0; !add_fields && i < stored->field_count; i++) {
        const grb_field *field = &stored->fields[i];
        if (grb_schema_find(asked, field->name, field->name_size) ==
            GREBE_NO_FIELD)
            difference_add(all, field->name,
                           "is in the index but not asked "
                           "for");
    }
    return additions;
}

static grebe_status fields_append(grebe_schema *to, const grebe_schema *from,
                                  const grebe_schema *unless,
                                  grebe_error *err) {
    grebe_status status = GREBE_OK;
    for (uint32_t i = 0; i < from->field_count; i++) {
        const grb_field *field = &from->fields[i];
        grebe_field described;
        if (unless && grb_schema_find(unless, field->name, field->name_size) !=
                          GREBE_NO_FIELD)
            continue;
        grb_schema_describe(field, &described);
        GRB_TRY(grb_schema_append(to, &described, field->analyzer, err));
    }
done:
    return status;
}

grebe_status grb_schema_merge(grebe_schema *stored, const grebe_schema *asked,
                              bool add_fields, grebe_schema **merged,
                              grebe_error *err) {
    grebe_status status;
    grebe_schema *made = NULL;
    differences all = {.size = 0};
    uint32_t additions = schemas_compare(&all, stored, asked, add_fields);
    if (all.count) {
        status = grb_error(err, GREBE_SCHEMA,
                           "the schema differs from the stored one in %u "
                           "place%s: %s",
                           all.count, all.count == 1 ? "" : "s", all.text);
        grb_error_field(err, all.first);
        return status;
    }
    if (additions == 0) {
        *merged = grb_schema_acquire(stored);
        return GREBE_OK;
    }
    GRB_TRY(grb_schema_new(stored->allocator, &made, err));
    GRB_TRY(fields_append(made, stored, NULL, err));
    GRB_TRY(fields_append(made, asked, stored, err));
    grb_schema_freeze(made);
    *merged = made;
    return GREBE_OK;
done:
    grb_schema_release(made);
    return status;
}

/* ---- the nearest name ---- */

static char folded(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

/* Edits between two names without regard to case; one row of the table. */
static uint32_t distance(const char *a, size_t a_size, const char *b,
                         size_t b_size) {
    uint8_t row[GREBE_FIELD_NAME_MAX + 1];
    for (size_t j = 0; j <= b_size; j++) row[j] = (uint8_t)j;
    for (size_t i = 1; i <= a_size; i++) {
        uint8_t diagonal = row[0];
        row[0] = (uint8_t)i;
        for (size_t j = 1; j <= b_size; j++) {
            uint8_t change =
                (uint8_t)(diagonal + (folded(a[i - 1]) != folded(b[j - 1])));
            uint8_t insert = (uint8_t)(GRB_MIN(row[j], row[j - 1]) + 1);
            diagonal = row[j];
            row[j] = GRB_MIN(change, insert);
        }
    }
    return row[b_size];
}

const char *grb_schema_nearest(const grebe_schema *schema, const char *name,
                               size_t size) {
    if (size == 0 || size > GREBE_FIELD_NAME_MAX) return NULL;
    const char *nearest = NULL;
    uint32_t best = (uint32_t)(1 + size / 3) + 1; /* at most a third is off */
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const grb_field *field = &schema->fields[i];
        uint32_t d = distance(name, size, field->name, field->name_size);
        if (d < best && d < field->name_size) {
            best = d;
            nearest = field->name;
        }
    }
    return nearest;
}
