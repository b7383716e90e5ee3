/* rooms: base store doc analysis segment invert memseg snapshot merge query search commit collect result engine api */
/* Each limit just below, at, and just above it, through an index: what is
 * allowed is found again after a reopening, what is not is refused by name and
 * changes nothing. Documents alone: doc_document; offset, facets:
 * api_search, collect_facet. */
#include "engine_steps.h"

enum { KEY, BODY, WORDS, NUMBERS };

typedef struct bench {
    engine_case c;
    char *bytes; /* GREBE_VALUE_SIZE_MAX + 1 of 'x' */
} bench;

static void bench_open(bench *b, int where) {
    grebe_schema *s;
    const grebe_field fields[] = {
        {.name = "id",
         .kind = GREBE_KEYWORD,
         .flags = GREBE_KEY | GREBE_STORED | GREBE_INDEXED},
        {.name = "body",
         .kind = GREBE_TEXT,
         .flags = GREBE_STORED | GREBE_MANY},
        {.name = "words",
         .kind = GREBE_KEYWORD,
         .flags = GREBE_STORED | GREBE_INDEXED | GREBE_MANY},
        {.name = "numbers",
         .kind = GREBE_INT,
         .flags = GREBE_INDEXED | GREBE_COLUMN | GREBE_MANY}};
    memset(b, 0, sizeof *b);
    case_open(&b->c, where);
    case_ok(grebe_index_close(b->c.index, 0, &b->c.error), &b->c);
    grebe_index_free(b->c.index);
    grebe_document_free(b->c.document);
    grebe_schema_release(b->c.schema);
    if (where == CASE_FOLDER) {
        char command[128];
        snprintf(command, sizeof command, "rm -rf %s/*", b->c.path);
        if (system(command)) fail_msg("rm");
    }
    if (grebe_schema_new(&s, NULL)) fail();
    for (size_t i = 0; i < 4; i++)
        case_ok(grebe_schema_add(s, &fields[i], &b->c.error), &b->c);
    b->c.schema = s;
    case_open_again(&b->c);
    case_ok(grebe_document_new(s, &b->c.document, &b->c.error), &b->c);
    b->bytes = malloc(GREBE_VALUE_SIZE_MAX + 1);
    assert_non_null(b->bytes);
    memset(b->bytes, 'x', GREBE_VALUE_SIZE_MAX + 1);
}

static void bench_close(bench *b) {
    free(b->bytes);
    case_close(&b->c);
}

static void key_put(bench *b, const char *key) {
    grebe_document_clear(b->c.document);
    case_ok(grebe_document_add_text(b->c.document, KEY, key, strlen(key),
                                    &b->c.error),
            &b->c);
}

static void document_in(bench *b) {
    case_ok(grebe_index_add(b->c.index, b->c.document, 1, &b->c.error), &b->c);
    case_commit(&b->c, GREBE_HARD);
    if (b->c.where == CASE_FOLDER) case_reopen(&b->c);
}

/* Bytes of all values of the document that `key` finds. */
static uint64_t bytes_of(bench *b, const char *key) {
    uint64_t sum = 0;
    uint32_t field;
    grebe_value value;
    assert_int_equal(got(&b->c, key), 1);
    for (uint32_t i = 0; i < grebe_document_count(b->c.document); i++) {
        case_ok(grebe_document_value(b->c.document, i, &field, &value, NULL),
                &b->c);
        sum += value.as.text.size;
    }
    return sum;
}

static void refused(bench *b, grebe_status status, const char *field) {
    assert_int_equal(status, GREBE_LIMIT);
    assert_string_equal(b->c.error.field, field);
}

#define EACH_BENCH(b)                                                         \
    for (int where = CASE_MEMORY; where <= CASE_FOLDER; where += CASE_FOLDER) \
        for (bool once = (bench_open(&(b), where), true); once;               \
             once = false, bench_close(&(b)))

static void a_value_of_sixteen_mebibytes(void **unused) {
    (void)unused;
    bench b;
    EACH_BENCH(b) {
        for (uint32_t less = 0; less < 2; less++) {
            key_put(&b, "k");
            case_ok(grebe_document_add_text(b.c.document, BODY, b.bytes,
                                            GREBE_VALUE_SIZE_MAX - less,
                                            &b.c.error),
                    &b.c);
            document_in(&b);
            assert_int_equal(bytes_of(&b, "k"),
                             1 + GREBE_VALUE_SIZE_MAX - less);
        }
        key_put(&b, "k");
        refused(&b,
                grebe_document_add_text(b.c.document, BODY, b.bytes,
                                        GREBE_VALUE_SIZE_MAX + 1, &b.c.error),
                "body");
    }
}

static void a_document_of_sixty_four_mebibytes(void **unused) {
    (void)unused;
    bench b;
    EACH_BENCH(b) {
        key_put(&b, "k"); /* counts as 8 bytes, as each small value does */
        for (int i = 0; i < 4; i++)
            case_ok(grebe_document_add_text(
                        b.c.document, BODY, b.bytes,
                        GREBE_VALUE_SIZE_MAX - (i == 3 ? 16 : 0), &b.c.error),
                    &b.c);
        refused(&b,
                grebe_document_add_text(b.c.document, BODY, b.bytes, 9,
                                        &b.c.error),
                "body");
        case_ok(grebe_document_add_text(b.c.document, BODY, b.bytes, 8,
                                        &b.c.error),
                &b.c);
        document_in(&b);
        assert_int_equal(bytes_of(&b, "k"),
                         GREBE_DOCUMENT_SIZE_MAX - 16 + 8 + 1);
        case_merge(&b.c);
        case_commit(&b.c, GREBE_HARD);
        assert_int_equal(bytes_of(&b, "k"),
                         GREBE_DOCUMENT_SIZE_MAX - 16 + 8 + 1);
    }
}

static uint64_t having(bench *b, const char *field, const grebe_value *value) {
    grebe_query *q;
    grebe_hits *hits;
    grebe_search_request r = {.limit = 1};
    case_ok(grebe_query_term(field, value, &q, &b->c.error), &b->c);
    r.query = q;
    case_ok(grebe_index_search(b->c.index, &r, &hits, &b->c.error), &b->c);
    uint64_t total = grebe_hits_total(hits);
    grebe_hits_release(hits);
    grebe_query_release(q);
    return total;
}

static void a_term_of_32766_bytes(void **unused) {
    (void)unused;
    bench b;
    EACH_BENCH(b) {
        grebe_value term = {.kind = GREBE_KEYWORD};
        term.as.text.bytes = b.bytes;
        for (size_t less = 0; less < 2; less++) {
            term.as.text.size = GREBE_TERM_SIZE_MAX - less;
            grebe_document_clear(b.c.document);
            case_ok(grebe_document_add(b.c.document, KEY, &term, &b.c.error),
                    &b.c);
            case_ok(grebe_document_add(b.c.document, WORDS, &term, &b.c.error),
                    &b.c);
            document_in(&b);
            assert_int_equal(having(&b, "words", &term), 1);
            assert_int_equal(having(&b, "id", &term), 1);
        }
        case_merge(&b.c);
        case_commit(&b.c, GREBE_HARD);
        assert_int_equal(having(&b, "words", &term), 1);
        term.as.text.size = GREBE_TERM_SIZE_MAX + 1;
        grebe_document_clear(b.c.document);
        refused(&b, grebe_document_add(b.c.document, KEY, &term, &b.c.error),
                "id");
        refused(&b, grebe_document_add(b.c.document, WORDS, &term, &b.c.error),
                "words");
        uint64_t count = 1;
        case_ok(grebe_index_delete(b.c.index, &term, &count, &b.c.error),
                &b.c);
        assert_int_equal(count, 0);
    }
}

static void a_hundred_thousand_values_of_a_field(void **unused) {
    (void)unused;
    bench b;
    EACH_BENCH(b) {
        grebe_value last = {.kind = GREBE_INT};
        key_put(&b, "k");
        for (uint32_t i = 0; i < GREBE_VALUES_PER_FIELD_MAX; i++)
            case_ok(
                grebe_document_add_int(b.c.document, NUMBERS, i, &b.c.error),
                &b.c);
        refused(&b,
                grebe_document_add_int(b.c.document, NUMBERS, 1, &b.c.error),
                "numbers");
        document_in(&b);
        for (uint32_t less = 1; less < 3; less++) {
            last.as.integer = GREBE_VALUES_PER_FIELD_MAX - less;
            assert_int_equal(having(&b, "numbers", &last), 1);
        }
        case_merge(&b.c);
        case_commit(&b.c, GREBE_HARD);
        assert_int_equal(having(&b, "numbers", &last), 1);
        last.as.integer = GREBE_VALUES_PER_FIELD_MAX;
        assert_int_equal(having(&b, "numbers", &last), 0);
    }
}

static void a_thousand_fields_of_a_document(void **unused) {
    (void)unused;
    engine_case c;
    for (int where = CASE_MEMORY; where <= CASE_FOLDER; where += CASE_FOLDER) {
        grebe_schema *s;
        grebe_document *d;
        char name[16];
        case_open(&c, where);
        if (grebe_schema_new(&s, NULL)) fail();
        for (int i = 0; i < (int)GREBE_FIELDS_PER_DOCUMENT_MAX; i++) {
            snprintf(name, sizeof name, "f%d", i);
            const grebe_field field = {.name = name,
                                       .kind = GREBE_KEYWORD,
                                       .flags = GREBE_STORED | GREBE_INDEXED};
            case_ok(grebe_schema_add(s, &field, &c.error), &c);
        }
        case_ok(grebe_index_add_fields(c.index, s, &c.error), &c);
        grebe_schema_release(s);
        case_ok(grebe_index_schema(c.index, &s, &c.error), &c);
        case_ok(grebe_document_new(s, &d, &c.error), &c);
        case_ok(grebe_document_add_text(d, 0, "k", 1, &c.error), &c);
        for (uint32_t i = 1; i < GREBE_FIELDS_PER_DOCUMENT_MAX; i++)
            case_ok(grebe_document_add_text(d, i + 3, "v", 1, &c.error), &c);
        assert_int_equal(grebe_document_add_text(d, 1, "v", 1, &c.error),
                         GREBE_LIMIT);
        assert_string_equal(c.error.field, "title");
        case_ok(grebe_index_add(c.index, d, 1, &c.error), &c);
        case_commit(&c, GREBE_HARD);
        grebe_schema_release(c.schema);
        c.schema = s;
        if (where == CASE_FOLDER) case_reopen(&c);
        grebe_document_free(c.document);
        c.document = d;
        assert_int_equal(got(&c, "k"), 1);
        assert_int_equal(grebe_document_count(d),
                         GREBE_FIELDS_PER_DOCUMENT_MAX);
        case_close(&c);
    }
}

/* ---- queries ---- */

static grebe_status searched(engine_case *c, const grebe_query *q,
                             uint64_t *total) {
    grebe_hits *hits;
    grebe_search_request r = {.limit = 10, .query = q};
    grebe_status status = grebe_index_search(c->index, &r, &hits, &c->error);
    if (status != GREBE_OK) return status;
    *total = grebe_hits_total(hits);
    grebe_hits_release(hits);
    return status;
}

static void clauses_of_a_query(void **unused) {
    (void)unused;
    engine_case c;
    case_open(&c, CASE_MEMORY);
    case_add(&c, "k", "w7", "t", 1);
    case_commit(&c, GREBE_SOFT);
    enum { MOST = GREBE_QUERY_CLAUSES_MAX + 1 };
    static grebe_clause clauses[MOST];
    static grebe_query *queries[MOST];
    for (int i = 0; i < MOST; i++) {
        char word[16];
        snprintf(word, sizeof word, "w%d", i);
        case_ok(grebe_query_match("title", word, strlen(word), GREBE_OR,
                                  &queries[i], &c.error),
                &c);
        clauses[i].query = queries[i];
        clauses[i].occur = GREBE_SHOULD;
    }
    for (size_t n = MOST - 2; n <= MOST; n++) {
        grebe_query *q[2] = {NULL, NULL};
        uint64_t total = 0;
        grebe_status want = n == MOST ? GREBE_LIMIT : GREBE_OK;
        assert_int_equal(grebe_query_bool(clauses, n, 0, &q[0], &c.error),
                         want);
        assert_int_equal(grebe_query_dismax(queries, n, 0.5f, &q[1], &c.error),
                         want);
        for (int i = 0; i < 2 && n < MOST; i++) {
            case_ok(searched(&c, q[i], &total), &c);
            assert_int_equal(total, 1);
            grebe_query_release(q[i]);
        }
    }
    for (int i = 0; i < MOST; i++) grebe_query_release(queries[i]);
    case_close(&c);
}

/* Wraps a query `depth` times; NULL where that is refused. */
static grebe_query *nested(engine_case *c, int depth, int how) {
    grebe_query *q, *inner;
    case_ok(grebe_query_match("title", "fox", 3, GREBE_AND, &q, NULL), c);
    for (int i = 1; q && i < depth; i++) {
        grebe_status status;
        inner = q;
        q = NULL;
        if (how == 0) {
            grebe_clause clause = {.query = inner, .occur = GREBE_MUST};
            status = grebe_query_bool(&clause, 1, 0, &q, &c->error);
        } else if (how == 1) {
            status = grebe_query_dismax(&inner, 1, 0, &q, &c->error);
        } else if (how == 2) {
            status = grebe_query_boost(inner, 1.5f, &q, &c->error);
        } else {
            status = grebe_query_constant(inner, 1.5f, &q, &c->error);
        }
        grebe_query_release(inner);
        if (status != GREBE_OK) assert_int_equal(status, GREBE_LIMIT);
    }
    return q;
}

static void depth_of_a_query(void **unused) {
    (void)unused;
    engine_case c;
    case_open(&c, CASE_MEMORY);
    case_add(&c, "k", "fox", "t", 1);
    case_commit(&c, GREBE_SOFT);
    for (int how = 0; how < 4; how++) {
        for (int less = 0; less < 2; less++) {
            uint64_t total = 0;
            grebe_query *q =
                nested(&c, (int)GREBE_QUERY_DEPTH_MAX - less, how);
            assert_non_null(q);
            assert_true(grebe_query_text(q, NULL, 0) > 0);
            case_ok(searched(&c, q, &total), &c);
            assert_int_equal(total, 1);
            grebe_query_release(q);
        }
        assert_null(nested(&c, (int)GREBE_QUERY_DEPTH_MAX + 2, how));
    }
    case_close(&c);
}

/* A query that holds another many times over is as large as written out. */
static void a_query_shared_by_its_clauses(void **unused) {
    (void)unused;
    engine_case c;
    grebe_query *q, *twice;
    grebe_status status = GREBE_OK;
    case_open(&c, CASE_MEMORY);
    case_ok(grebe_query_match("title", "fox", 3, GREBE_AND, &q, NULL), &c);
    for (int i = 0; i < 64 && status == GREBE_OK; i++) {
        grebe_clause both[2] = {{.query = q, .occur = GREBE_SHOULD},
                                {.query = q, .occur = GREBE_SHOULD}};
        status = grebe_query_bool(both, 2, 0, &twice, &c.error);
        if (status != GREBE_OK) break;
        grebe_query_release(q);
        q = twice;
    }
    assert_int_equal(status, GREBE_LIMIT);
    grebe_query_release(q);
    case_close(&c);
}

static void phrases(void **unused) {
    (void)unused;
    engine_case c;
    grebe_query *q;
    enum { MOST = GREBE_PHRASE_TERMS_MAX + 1 };
    static grebe_phrase_term terms[MOST];
    static char text[MOST * 4 + 1];
    case_open(&c, CASE_MEMORY);
    for (uint32_t i = 0; i < MOST; i++) {
        terms[i] = (grebe_phrase_term){"fox", 3, i};
        memcpy(text + (size_t)i * 4, "fox ", 4);
    }
    case_add(&c, "k", text, "t", 1);
    case_commit(&c, GREBE_SOFT);
    for (size_t n = MOST - 2; n <= MOST; n++) {
        uint64_t total = 0;
        grebe_status want = n == MOST ? GREBE_LIMIT : GREBE_OK;
        grebe_status status =
            grebe_query_phrase_terms("title", terms, n, 0, &q, &c.error);
        assert_int_equal(status, want);
        if (status == GREBE_OK) {
            case_ok(searched(&c, q, &total), &c);
            assert_int_equal(total, 1);
            grebe_query_release(q);
        }
        /* Of a text the terms are known when it is analysed. */
        case_ok(grebe_query_phrase("title", text, n * 4, 0, &q, &c.error), &c);
        assert_int_equal(searched(&c, q, &total), want);
        grebe_query_release(q);
    }
    for (uint32_t slop = GREBE_PHRASE_SLOP_MAX - 1;
         slop <= GREBE_PHRASE_SLOP_MAX + 1; slop++) {
        uint64_t total = 0;
        grebe_status status =
            grebe_query_phrase("title", "fox fox", 7, slop, &q, &c.error);
        assert_int_equal(status, slop > GREBE_PHRASE_SLOP_MAX ? GREBE_LIMIT
                                                              : GREBE_OK);
        if (status != GREBE_OK) continue;
        case_ok(searched(&c, q, &total), &c);
        assert_int_equal(total, 1);
        grebe_query_release(q);
    }
    case_close(&c);
}

static void words_of_a_text(void **unused) {
    (void)unused;
    engine_case c;
    enum { MOST = GREBE_QUERY_CLAUSES_MAX + 1 };
    static char text[MOST * 5 + 1];
    for (uint32_t i = 0; i < MOST; i++)
        snprintf(text + (size_t)i * 5, 6, "%04x ", i % 4000);
    case_open(&c, CASE_MEMORY);
    case_add(&c, "k", text, "t", 1);
    case_commit(&c, GREBE_SOFT);
    for (size_t n = MOST - 2; n <= MOST; n++) {
        grebe_query *q;
        uint64_t total = 0;
        for (int op = GREBE_OR; op <= GREBE_AND; op++) {
            case_ok(grebe_query_match("title", text, n * 5, (grebe_operator)op,
                                      &q, &c.error),
                    &c);
            assert_int_equal(searched(&c, q, &total),
                             n == MOST ? GREBE_LIMIT : GREBE_OK);
            assert_int_equal(total, n == MOST ? 0 : 1);
            grebe_query_release(q);
        }
    }
    assert_string_equal(c.error.field, "title");
    case_close(&c);
}

static void texts_of_queries(void **unused) {
    (void)unused;
    engine_case c;
    static char text[GREBE_QUERY_TEXT_MAX + 2];
    case_open(&c, CASE_MEMORY);
    memset(text, ' ', sizeof text);
    memcpy(text, "fox", 3);
    for (size_t n = GREBE_QUERY_TEXT_MAX - 1; n <= GREBE_QUERY_TEXT_MAX + 1;
         n++) {
        grebe_query *q = NULL;
        for (int forgiving = 0; forgiving < 2; forgiving++) {
            grebe_parse_options o = {.forgiving = forgiving};
            assert_int_equal(
                grebe_query_parse(c.schema, text, n, &o, &q, &c.error),
                n > GREBE_QUERY_TEXT_MAX ? GREBE_LIMIT : GREBE_OK);
            if (n <= GREBE_QUERY_TEXT_MAX) grebe_query_release(q);
        }
    }
    for (size_t n = 1; n < 2000; n += n < 96 || n > 104 ? 50 : 1) {
        grebe_query *q;
        memset(text, '(', n);
        memcpy(text + n, "fox", 3);
        memset(text + n + 3, ')', n);
        grebe_status status =
            grebe_query_parse(c.schema, text, 2 * n + 3, NULL, &q, &c.error);
        if (n > GREBE_QUERY_DEPTH_MAX) assert_int_equal(status, GREBE_LIMIT);
        if (n < GREBE_QUERY_DEPTH_MAX - 2) assert_int_equal(status, GREBE_OK);
        if (status == GREBE_OK) grebe_query_release(q);
    }
    case_close(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_of_sixteen_mebibytes),
        cmocka_unit_test(a_document_of_sixty_four_mebibytes),
        cmocka_unit_test(a_term_of_32766_bytes),
        cmocka_unit_test(a_hundred_thousand_values_of_a_field),
        cmocka_unit_test(a_thousand_fields_of_a_document),
        cmocka_unit_test(clauses_of_a_query),
        cmocka_unit_test(depth_of_a_query),
        cmocka_unit_test(a_query_shared_by_its_clauses),
        cmocka_unit_test(phrases),
        cmocka_unit_test(words_of_a_text),
        cmocka_unit_test(texts_of_queries),
    };
    return STEPS_RUN(tests);
}
