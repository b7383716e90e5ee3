/* tests/vectors/runner.h - what the files of the C runner share.
 *
 * A vector is a schema and a list of steps; it runs once a layout. Results
 * are turned into JSON and compared with what the step expects.
 */
#ifndef VECTORS_RUNNER_H
#define VECTORS_RUNNER_H

#include <jansson.h>
#include <stdbool.h>

#include "grebe/grebe.h"

#define NAMES_MAX 16
#define MESSAGE_SIZE 1600

typedef enum spread {
    SPREAD_ONE,
    SPREAD_MANY,
    SPREAD_MERGED,
    SPREAD_ORDERED
} spread;

typedef struct layout {
    const char *name;
    bool folder;
    grebe_commit_kind commit; /* what "any" means */
    spread spread;
} layout;

/* A thing with a name: index, searcher or snapshot. */
typedef struct named {
    char name[32];
    grebe_index *index;
    grebe_searcher *searcher;
    grebe_snapshot *snapshot;
    uint64_t dead; /* of a searcher: when it was opened */
} named;

typedef struct world {
    const layout *layout;
    const char *id;
    size_t step; /* counted from 1, steps of batches included */
    char path[512];
    named things[NAMES_MAX]; /* [0] is the main index */
    size_t thing_count;
    grebe_index_stats mark;
    uint64_t docs_max; /* of segments where there are many; 0: 2 or 3 */
    bool in_batch;
    bool failed;
    char *said;        /* the last difference of this vector */
    json_t *reference; /* searches of the first layout: [dead, scores] */
    size_t searches;
} world;

/* Says what differs; once a run, later ones follow from it. */
void vector_fail(world *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Fails unless `got` (taken) is what is wanted, reals within `tolerance`. */
void vector_same(world *w, const char *what, const json_t *wanted, json_t *got,
                 double tolerance);
/* As vector_same for the members of `wanted` alone. */
void vector_subset(world *w, const char *what, json_t *wanted, json_t *got);

named *thing_find(world *w, const char *name);
named *thing_make(world *w, const char *name);
/* The thing that a step is about: its "on", or the main index. */
named *thing_of(world *w, json_t *step);
/* Dead documents of an index that have not been merged away. */
uint64_t index_dead(grebe_index *index);

/* values.c: from JSON and back. `json_expand` (takes and gives a reference)
 * writes {"$repeat": [text, n]} out. */
json_t *json_expand(json_t *value);
json_t *json_filled(json_t *value, json_int_t i);
bool value_read(json_t *json, grebe_kind kind, grebe_value *out, char **room);
json_t *value_json(const grebe_value *value);
json_t *document_json(const grebe_document *document);
grebe_status schema_build(json_t *json, grebe_schema **out, grebe_error *err);
grebe_status document_build(grebe_schema *schema, json_t *json,
                            grebe_document **out, grebe_error *err);
/* queries.c: a text (strict, or as people type it) or a tree. */
grebe_status query_build(world *w, grebe_schema *schema, json_t *json,
                         bool forgiving, grebe_query **out, grebe_error *err);
/* The same with the step's "fields" and "op". */
grebe_status query_build_for(world *w, grebe_schema *schema, json_t *step,
                             json_t *json, bool forgiving, grebe_query **out,
                             grebe_error *err);

/* A verb does its call, compares what it gave and returns its status. */
typedef grebe_status (*verb_run)(world *w, json_t *step, json_t *argument,
                                 grebe_error *err);
typedef struct verb {
    const char *name;
    verb_run run;
} verb;
extern const verb verbs_writing[];
extern const verb verbs_reading[];
void steps_run(world *w, json_t *steps);
grebe_status index_start(world *w, json_t *schema, json_t *how,
                         grebe_error *err);

#endif
