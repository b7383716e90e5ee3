/* A program outside the tree: indexes a line and finds it. */
#include <grebe/grebe.h>
#include <stdio.h>
#include <string.h>

static grebe_error err;

static grebe_status run(grebe_schema *schema, grebe_index *index,
                        grebe_document *document, uint64_t *total) {
    static const char text[] = "The Old Man and the Sea";
    grebe_query *query = NULL;
    grebe_hits *hits = NULL;
    grebe_search_request request;
    grebe_status status;
    memset(&request, 0, sizeof request);
    status = grebe_document_add_text(document, 0, text, sizeof text - 1, &err);
    if (!status) status = grebe_index_add(index, document, 1, &err);
    if (!status) status = grebe_index_commit(index, GREBE_SOFT, NULL, &err);
    if (!status)
        status = grebe_query_parse(schema, "men sea", 7, NULL, &query, &err);
    request.query = query;
    if (!status) status = grebe_index_search(index, &request, &hits, &err);
    if (!status) *total = grebe_hits_total(hits);
    grebe_hits_release(hits);
    grebe_query_release(query);
    return status;
}

int main(void) {
    grebe_field title = {"title", GREBE_TEXT, GREBE_STORED | GREBE_INDEXED,
                         "en", NULL};
    grebe_schema *schema = NULL;
    grebe_index *index = NULL;
    grebe_document *document = NULL;
    uint64_t total = 0;
    grebe_status status = grebe_schema_new(&schema, &err);
    if (!status) status = grebe_schema_add(schema, &title, &err);
    if (!status) status = grebe_index_open(NULL, schema, NULL, &index, &err);
    if (!status) status = grebe_document_new(schema, &document, &err);
    if (!status) status = run(schema, index, document, &total);
    grebe_document_free(document);
    grebe_index_free(index);
    grebe_schema_release(schema);
    if (status) fprintf(stderr, "%s\n", err.message);
    fprintf(stderr, "   grebe %s found %d\n", grebe_version(), (int)total);
    return status || total != 1 || grebe_live_handles();
}
