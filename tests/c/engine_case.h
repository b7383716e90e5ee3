/* engine_case.h - a small index to try things on, through public calls. */
#ifndef ENGINE_CASE_H
#define ENGINE_CASE_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grebe/grebe.h"

enum { CASE_MEMORY, CASE_RAM, CASE_FOLDER, CASE_FROZEN, CASE_PLACES };

/* What every index of the file is opened with; NULL: malloc. */
static const grebe_allocator *case_allocator;
/* What folders are opened with. */
static grebe_store_kind case_store;

typedef struct engine_case {
    int where;
    char path[64];
    grebe_schema *schema;
    grebe_index *index;
    grebe_document *document;
    grebe_error error;
    char ids[4096];
} engine_case;

#define case_ok(call, c)                                                      \
    do {                                                                      \
        grebe_status case_status = (call);                                    \
        if (case_status != GREBE_OK)                                          \
            fail_msg("%s: %s: %s", #call, grebe_status_word(case_status),     \
                     (c)->error.message);                                     \
    } while (0)

static inline grebe_schema *case_schema(void) {
    grebe_schema *s;
    const grebe_field fields[] = {
        {.name = "id",
         .kind = GREBE_KEYWORD,
         .flags = GREBE_KEY | GREBE_STORED | GREBE_INDEXED | GREBE_COLUMN},
        {.name = "title",
         .kind = GREBE_TEXT,
         .flags = GREBE_STORED | GREBE_INDEXED},
        {.name = "tags",
         .kind = GREBE_KEYWORD,
         .flags = GREBE_STORED | GREBE_INDEXED | GREBE_COLUMN | GREBE_MANY},
        {.name = "year",
         .kind = GREBE_INT,
         .flags = GREBE_STORED | GREBE_INDEXED | GREBE_COLUMN}};
    if (grebe_schema_new(&s, NULL) != GREBE_OK) return NULL;
    for (size_t i = 0; i < 4; i++) grebe_schema_add(s, &fields[i], NULL);
    return s;
}

static inline void case_open_again(engine_case *c) {
    grebe_open_options o = {
        .allocator = case_allocator,
        .store = c->where == CASE_RAM ? GREBE_STORE_RAM : case_store};
    bool folder = c->where == CASE_FOLDER || c->where == CASE_FROZEN;
    if (c->where == CASE_FROZEN) o.docs_max = 3;
    case_ok(grebe_index_open(folder ? c->path : NULL, c->schema, &o,
                             &c->index, &c->error),
            c);
}

static inline void case_open(engine_case *c, int where) {
    memset(c, 0, sizeof *c);
    c->where = where;
    c->schema = case_schema();
    strcpy(c->path, "/tmp/grebe-case-XXXXXX");
    if (where == CASE_FOLDER || where == CASE_FROZEN)
        if (!mkdtemp(c->path)) fail_msg("mkdtemp");
    case_open_again(c);
    case_ok(grebe_document_new(c->schema, &c->document, &c->error), c);
}

static inline void case_reopen(engine_case *c) {
    case_ok(grebe_index_close(c->index, 0, &c->error), c);
    grebe_index_free(c->index);
    case_open_again(c);
}

static inline void case_close(engine_case *c) {
    char command[128];
    grebe_document_free(c->document);
    grebe_index_free(c->index);
    grebe_schema_release(c->schema);
    snprintf(command, sizeof command, "rm -rf %s", c->path);
    if (c->where == CASE_FOLDER || c->where == CASE_FROZEN)
        if (system(command)) fail_msg("rm");
    assert_int_equal(grebe_live_handles(), 0);
}

static inline void case_add(engine_case *c, const char *key,
                            const char *title, const char *tag,
                            int64_t year) {
    grebe_document *d = c->document;
    grebe_document_clear(d);
    case_ok(grebe_document_add_text(d, 0, key, strlen(key), &c->error), c);
    case_ok(grebe_document_add_text(d, 1, title, strlen(title), &c->error),
            c);
    case_ok(grebe_document_add_text(d, 2, tag, strlen(tag), &c->error), c);
    case_ok(grebe_document_add_int(d, 3, year, &c->error), c);
    case_ok(grebe_index_add(c->index, d, 1, &c->error), c);
}

static inline uint64_t case_delete(engine_case *c, const char *key) {
    grebe_value v = {.kind = GREBE_KEYWORD};
    uint64_t count = 0;
    v.as.text.bytes = key;
    v.as.text.size = strlen(key);
    case_ok(grebe_index_delete(c->index, &v, &count, &c->error), c);
    return count;
}

static inline uint64_t case_delete_all(engine_case *c) {
    grebe_query *all;
    uint64_t count = 0;
    case_ok(grebe_query_all(&all, &c->error), c);
    case_ok(grebe_index_delete_by_query(c->index, all, &count, &c->error), c);
    grebe_query_release(all);
    return count;
}

static inline grebe_commit_info case_commit(engine_case *c,
                                            grebe_commit_kind kind) {
    grebe_commit_info info;
    case_ok(grebe_index_commit(c->index, kind, &info, &c->error), c);
    return info;
}

static inline void case_merge(engine_case *c) {
    case_ok(grebe_index_merge(c->index, &c->error), c);
}

static inline uint64_t case_count(engine_case *c) {
    uint64_t count;
    case_ok(grebe_index_count(c->index, &count, &c->error), c);
    return count;
}

static inline grebe_hits *case_hits(engine_case *c, const char *word) {
    grebe_query *q;
    grebe_hits *hits;
    grebe_search_request r = {.limit = 100};
    case_ok(grebe_query_match("title", word, strlen(word), GREBE_AND, &q,
                              &c->error),
            c);
    r.query = q;
    case_ok(grebe_index_search(c->index, &r, &hits, &c->error), c);
    grebe_query_release(q);
    return hits;
}

/* Keys of the hits, joined by blanks. */
static inline const char *case_search(engine_case *c, const char *word) {
    grebe_hits *hits = case_hits(c, word);
    size_t at = 0;
    c->ids[0] = 0;
    for (uint64_t i = 0; i < grebe_hits_count(hits); i++) {
        grebe_value key;
        case_ok(grebe_hits_key(hits, i, &key, &c->error), c);
        at += (size_t)snprintf(c->ids + at, sizeof c->ids - at, "%s%.*s",
                               at ? " " : "", (int)key.as.text.size,
                               key.as.text.bytes);
    }
    grebe_hits_release(hits);
    return c->ids;
}

static inline float case_score(engine_case *c, const char *word) {
    grebe_hits *hits = case_hits(c, word);
    float score = grebe_hits_count(hits) ? grebe_hits_scores(hits)[0] : -1;
    grebe_hits_release(hits);
    return score;
}

#endif
