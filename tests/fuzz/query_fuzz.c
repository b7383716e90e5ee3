/* tests/fuzz/query_fuzz.c - any bytes as a query, strict and forgiving.
 *
 * Looked for: a forgiving parse that fails for its text, an offset outside
 * it, a message that is no UTF-8, and a tree whose text does not read back to
 * an equal tree. The first byte chooses operator and default fields.
 *
 * cc: clang -g -O1 -fsanitize=fuzzer,address,undefined -Icore/include
 *     -Icore/src tests/fuzz/query_fuzz.c core/src/base/[a-z]*.c
 *     core/src/doc/[a-z]*.c core/src/analysis/[a-z]*.c
 *     core/src/query/[a-z]*.c -lutf8proc -lxxhash -lstemmer
 */
#include <stdio.h>
#include <stdlib.h>

#include "analysis/analysis.h"
#include "query/tree.h"

static void check(bool holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "broken: %s\n", what);
    abort();
}

static grebe_schema *schema_make(void) {
    static const grebe_field fields[] = {
        {"b", GREBE_TEXT, GREBE_INDEXED, NULL, NULL},
        {"t", GREBE_TEXT, GREBE_INDEXED, NULL, NULL},
        {"k", GREBE_KEYWORD, GREBE_INDEXED, NULL, NULL},
        {"i", GREBE_INT, GREBE_INDEXED, NULL, NULL},
        {"f", GREBE_DOUBLE, GREBE_INDEXED, NULL, NULL},
        {"d", GREBE_DATETIME, GREBE_INDEXED, NULL, NULL},
        {"o", GREBE_BOOL, GREBE_INDEXED, NULL, NULL},
    };
    grebe_schema *schema = NULL;
    grb_schema_new(&grb_allocator_malloc, &schema, NULL);
    for (size_t i = 0; i < GRB_COUNT(fields); i++)
        grb_schema_append(schema, &fields[i],
                          fields[i].kind == GREBE_TEXT
                              ? grb_analyzer_find("standard", 8)
                              : NULL,
                          NULL);
    return schema;
}

/* An empty prefix reads back as "any value", an empty bound as open, and what
 * several default fields gave has no words in the language. */
static bool sayable(const grebe_query *q) {
    switch (q->type) {
    case GRB_QUERY_PREFIX:
        return q->as.text.size > 0;
    case GRB_QUERY_RANGE:
        return !((q->as.range.has_lower &&
                  !grb_kind_is_number(q->as.range.lower.kind) &&
                  q->as.range.lower.as.text.size == 0) ||
                 (q->as.range.has_upper &&
                  !grb_kind_is_number(q->as.range.upper.kind) &&
                  q->as.range.upper.as.text.size == 0));
    case GRB_QUERY_BOOL:
        for (size_t i = 0; i < q->as.list.count; i++)
            if (!sayable(q->as.list.clauses[i].query)) return false;
        return true;
    case GRB_QUERY_DISMAX:
        return false;
    case GRB_QUERY_BOOST:
        return sayable(q->as.wrap.query);
    default:
        return true;
    }
}

static void read_back(const grebe_schema *schema, const grebe_query *q,
                      const grebe_parse_options *options) {
    size_t size = grb_query_text(q, NULL, 0);
    char *text = malloc(size + 1);
    grebe_query *back = NULL;
    check(grb_query_text(q, text, size + 1) == size, "length of the text");
    grebe_status status =
        size > GREBE_QUERY_TEXT_MAX
            ? GREBE_LIMIT
            : grb_query_parse(schema, text, size, options, &back, NULL);
    check(status == GREBE_OK || status == GREBE_LIMIT, "the text parses");
    if (status == GREBE_OK)
        check(grb_query_equal(q, back), "the text reads back");
    grb_query_release(back);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static grebe_schema *schema;
    static const grebe_query_field fields[] = {
        {"b", 1}, {"i", 2}, {"k", 0.5f}};
    if (!schema) schema = schema_make();
    if (size == 0) return 0;
    grebe_parse_options options = {.fields = fields,
                                   .field_count = data[0] & 2 ? 3 : 1,
                                   .op = data[0] & 1 ? GREBE_AND : GREBE_OR};
    grebe_parse_options strict = {.fields = fields, .field_count = 1};
    const char *text = (const char *)data + 1;
    grebe_query *q = NULL;
    grebe_error err;
    grebe_status status =
        grb_query_parse(schema, text, size - 1, &options, &q, &err);
    if (status == GREBE_OK && options.op == GREBE_OR && sayable(q))
        read_back(schema, q, &strict);
    if (status == GREBE_SYNTAX) {
        check(err.offset <= size - 1, "offset in the text");
        check(grb_utf8_valid(err.message, strlen(err.message), NULL),
              "message is UTF-8");
    }
    grb_query_release(q);
    q = NULL;
    options.forgiving = 1;
    status = grb_query_parse(schema, text, size - 1, &options, &q, &err);
    check(status == GREBE_OK || status == GREBE_LIMIT, "forgiving");
    grb_query_release(q);
    return 0;
}
