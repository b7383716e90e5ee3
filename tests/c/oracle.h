/* tests/c/oracle.h - recorded answers (.jsonl.gz) line by line as JSON trees.
 *
 * Needs zlib and jansson (Debian: zlib1g-dev libjansson-dev), which every C
 * test links. The folder is $GREBE_SHARED, or ../shared seen from the root of
 * the sources.
 *
 *   oracle *all = oracle_open("oracle/lucene/tokens.jsonl.gz");
 *   if (!all) skip();             the reason has been printed
 *   for (json_t *line; (line = oracle_next(all)); json_decref(line)) ...
 *   oracle_close(all);
 */
#ifndef GRB_TEST_ORACLE_H
#define GRB_TEST_ORACLE_H

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

typedef struct oracle {
    gzFile file;
    char *line;
    size_t capacity;
    unsigned long number; /* of the present line, from 1 */
} oracle;

/* Path of a file of the shared folder, in a static buffer. */
static inline const char *oracle_path(const char *name) {
    static char path[4096];
    const char *folder = getenv("GREBE_SHARED");
#ifdef GREBE_SOURCE_DIR
    if (!folder) folder = GREBE_SOURCE_DIR "/../shared";
#endif
    if (!folder) folder = "../shared";
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static inline oracle *oracle_open(const char *name) {
    gzFile file = gzopen(oracle_path(name), "rb");
    if (!file) {
        printf("skipped: %s is not there (set GREBE_SHARED)\n",
               oracle_path(name));
        return NULL;
    }
    oracle *o = calloc(1, sizeof *o);
    if (!o) exit(1);
    gzbuffer(file, 1 << 16);
    o->file = file;
    o->capacity = 1 << 16;
    o->line = malloc(o->capacity);
    if (!o->line) exit(1);
    return o;
}

/* The next line, a new reference; NULL at the end. A line that is no JSON
 * ends the test. */
static inline json_t *oracle_next(oracle *o) {
    size_t size = 0;
    for (;;) {
        if (!gzgets(o->file, o->line + size, (int)(o->capacity - size))) break;
        size += strlen(o->line + size);
        if (size && o->line[size - 1] == '\n') break;
        if (size + 1 == o->capacity) {
            o->capacity *= 2;
            o->line = realloc(o->line, o->capacity);
            if (!o->line) exit(1);
        }
    }
    if (size == 0) return NULL;
    o->number++;
    json_error_t why;
    json_t *line = json_loadb(o->line, size,
                              JSON_ALLOW_NUL | JSON_DECODE_ANY, &why);
    if (!line) {
        printf("line %lu: %s\n", o->number, why.text);
        exit(1);
    }
    return line;
}

static inline void oracle_close(oracle *o) {
    gzclose(o->file);
    free(o->line);
    free(o);
}

/* A string member, "" if it is absent; `size` may be NULL. */
static inline const char *oracle_text(const json_t *line, const char *key,
                                      size_t *size) {
    const json_t *member = json_object_get(line, key);
    if (size) *size = member ? json_string_length(member) : 0;
    const char *text = member ? json_string_value(member) : NULL;
    return text ? text : "";
}

#endif
