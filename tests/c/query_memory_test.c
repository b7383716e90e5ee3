/* rooms: base doc analysis query api */
/* Every allocation of a parse and of the constructors fails once, alone or
 * with all behind it: MEMORY, nothing left over.
 *
 * The C library's allocator is replaced here, which a sanitizer does not
 * allow; then the test is skipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "grebe/grebe.h"
#include "query/tree.h"

static struct {
    int armed, sticky;
    long calls, fail_at, blocks;
} fault;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    defined(__GLIBC__)
#define REPLACED 1

void *__libc_malloc(size_t size);
void *__libc_realloc(void *block, size_t size);
void __libc_free(void *block);

static bool fails(void) {
    if (!fault.armed) return false;
    long call = ++fault.calls;
    return call == fault.fail_at || (fault.sticky && call > fault.fail_at);
}

void *malloc(size_t size) {
    if (fails()) return NULL;
    void *block = __libc_malloc(size);
    fault.blocks += fault.armed && block;
    return block;
}

void *realloc(void *block, size_t size) {
    if (fails()) return NULL;
    void *grown = __libc_realloc(block, size);
    fault.blocks += fault.armed && grown && !block;
    return grown;
}

void free(void *block) {
    fault.blocks -= fault.armed && block;
    __libc_free(block);
}
#else
#define REPLACED 0
#endif

static grebe_schema *schema;

static grebe_status parse_run(const char *text, int forgiving) {
    grebe_query_field fields[] = {{"title", 2}, {"body", 1}, {"year", 1}};
    grebe_parse_options options = {
        .fields = fields, .field_count = 3, .forgiving = forgiving};
    grebe_query *q = NULL;
    grebe_error err;
    grebe_status status =
        grebe_query_parse(schema, text, strlen(text), &options, &q, &err);
    assert_true((status == GREBE_OK) == (q != NULL));
    grebe_query_release(q);
    return status;
}

/* Fails call after call until none is left to fail. */
static void text_run(const char *text, int forgiving, int sticky) {
    for (long n = 1;; n++) {
        uint64_t handles = grebe_live_handles();
        fault.fail_at = n;
        fault.sticky = sticky;
        fault.calls = fault.blocks = 0;
        fault.armed = 1;
        grebe_status status = parse_run(text, forgiving);
        fault.armed = 0;
        assert_int_equal(fault.blocks, 0);
        assert_int_equal(grebe_live_handles(), handles);
        if (fault.calls < n) {
            assert_int_equal(status, GREBE_OK);
            assert_true(n > 3);
            return;
        }
        assert_int_equal(status, GREBE_MEMORY);
    }
}

static void every_failed_allocation_of_a_parse_is_reported(void **state) {
    static const char *const texts[] = {
        "old",
        "+old -man \"by the sea\"~2^3 (a b c)^2",
        "year:[1950 TO 1960] title:Pre* body:[A TO Z] -(x y)",
        "-negative",
        "1952 *:* body:* w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12 w13 w14 w15",
    };
    if (!REPLACED) skip();
    for (size_t i = 0; i < GRB_COUNT(texts); i++)
        for (int sticky = 0; sticky < 2; sticky++)
            text_run(texts[i], 0, sticky);
}

static void
every_failed_allocation_of_plain_reading_is_reported(void **state) {
    if (!REPLACED) skip();
    for (int sticky = 0; sticky < 2; sticky++)
        text_run("old (man 1952 a b c d e f g h i j k l m n o p q", 1, sticky);
}

int main(void) {
    static const grebe_field fields[] = {
        {"title", GREBE_TEXT, GREBE_INDEXED, "en", NULL},
        {"body", GREBE_TEXT, GREBE_INDEXED, NULL, NULL},
        {"year", GREBE_INT, GREBE_INDEXED, NULL, NULL},
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failed_allocation_of_a_parse_is_reported),
        cmocka_unit_test(every_failed_allocation_of_plain_reading_is_reported),
    };
    if (grebe_schema_new(&schema, NULL)) return 1;
    for (size_t i = 0; i < GRB_COUNT(fields); i++)
        if (grebe_schema_add(schema, &fields[i], NULL)) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    grebe_schema_release(schema);
    return failed;
}
