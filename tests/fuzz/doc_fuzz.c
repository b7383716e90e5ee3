/* tests/fuzz/doc_fuzz.c - any bytes as a schema and a document record.
 *
 * Looked for: reads out of bounds, and a schema or document that decodes but
 * does not encode to something that decodes to an equal one. The first two
 * bytes say where the schema ends.
 *
 * cc: clang -g -O1 -fsanitize=fuzzer,address,undefined -Icore/include
 *     -Icore/src tests/fuzz/doc_fuzz.c core/src/base/[a-z]*.c
 *     core/src/doc/[a-z]*.c -lxxhash
 */
#include <stdio.h>
#include <stdlib.h>

#include "doc/doc.h"

static const grebe_allocator *const A = &grb_allocator_malloc;

static void check(bool holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "broken: %s\n", what);
    abort();
}

static void schema_again(grebe_schema *schema) {
    grb_buf buf;
    grb_cursor in;
    grebe_schema *back = NULL, *merged = NULL;
    grb_buf_init(&buf, A, 0);
    grb_schema_encode(schema, &buf);
    grb_cursor_init(&in, buf.bytes, buf.size);
    check(grb_schema_decode(A, &in, &back, NULL) == GREBE_OK,
          "schema decodes");
    check(grb_cursor_left(&in) == 0, "all of it");
    check(grb_schema_merge(schema, back, false, &merged, NULL) == GREBE_OK,
          "schema is equal");
    grb_schema_release(merged);
    grb_schema_release(back);
    grb_buf_deinit(&buf);
}

static void document_again(const grebe_document *document) {
    grb_buf buf, twice;
    grb_cursor in;
    grebe_document *back = NULL;
    grb_buf_init(&buf, A, 0);
    grb_buf_init(&twice, A, 0);
    grb_document_new(document->schema, A, &back, NULL);
    grb_document_encode(document, GRB_ENCODE_STORED, &buf);
    grb_cursor_init(&in, buf.bytes, buf.size);
    check(grb_document_decode(&in, back, NULL) == GREBE_OK,
          "document decodes");
    grb_document_encode(back, GRB_ENCODE_STORED, &twice);
    check(buf.size == twice.size &&
              memcmp(buf.bytes, twice.bytes, buf.size) == 0,
          "document is equal");
    grb_document_free(back);
    grb_buf_deinit(&buf);
    grb_buf_deinit(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    grb_cursor in;
    grebe_schema *schema = NULL;
    grebe_document *document = NULL;
    grebe_error err;
    if (size < 2) return 0;
    size_t split = (size_t)data[0] | (size_t)data[1] << 8;
    split = GRB_MIN(split, size - 2);
    grb_cursor_init(&in, data + 2, split);
    if (grb_schema_decode(A, &in, &schema, &err) != GREBE_OK) return 0;
    schema_again(schema);
    grb_document_new(schema, A, &document, NULL);
    grb_cursor_init(&in, data + 2 + split, size - 2 - split);
    grebe_status status = grb_document_decode(&in, document, &err);
    check(status == GREBE_OK || status == GREBE_CORRUPT, "status");
    if (status == GREBE_OK) document_again(document);
    grb_document_complete(document, NULL);
    grb_document_free(document);
    grb_schema_release(schema);
    return 0;
}
