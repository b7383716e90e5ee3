#include <grebe/grebe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static grebe_error err;

static void must(grebe_status status) {
    if (status != GREBE_OK) {
        fprintf(stderr, "%s: %s\n", grebe_status_word(status), err.message);
        exit(1);
    }
}

int main(void) {
    static const char *titles[] = {"The Old Man and the Sea",
                                   "Twenty Thousand Leagues under the Sea",
                                   "An Old-Fashioned Girl"};
    const grebe_field title = {"title", GREBE_TEXT,
                               GREBE_STORED | GREBE_INDEXED, "en", NULL};
    grebe_schema *schema;
    grebe_index *index;
    grebe_document *document;
    grebe_query *query;
    grebe_hits *hits;
    must(grebe_schema_new(&schema, &err));
    must(grebe_schema_add(schema, &title, &err));
    must(grebe_index_open(":memory:", schema, NULL, &index, &err));
    must(grebe_document_new(schema, &document, &err));
    for (int i = 0; i < 3; i++) {
        const char *text = titles[i];
        grebe_document_clear(document);
        must(grebe_document_add_text(document, 0, text, strlen(text), &err));
        must(grebe_index_add(index, document, 1, &err));
    }
    must(grebe_index_commit(index, GREBE_SOFT, NULL, &err));

    must(grebe_query_parse(schema, "old sea", 7, NULL, &query, &err));
    const grebe_search_request request = {.query = query, .limit = 10};
    must(grebe_index_search(index, &request, &hits, &err));
    for (uint64_t i = 0; i < grebe_hits_count(hits); i++) {
        uint32_t field;
        grebe_value value;
        must(grebe_hits_document(hits, i, document, &err));
        must(grebe_document_value(document, 0, &field, &value, &err));
        printf("%.2f %.*s\n", grebe_hits_scores(hits)[i],
               (int)value.as.text.size, value.as.text.bytes);
    }
    grebe_hits_release(hits);
    grebe_query_release(query);
    grebe_document_free(document);
    must(grebe_index_close(index, 1, &err));
    grebe_index_free(index);
    grebe_schema_release(schema);
    return grebe_live_handles() != 0;
}
