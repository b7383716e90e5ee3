/* lua/binding.h - what the files of the Lua binding share.
 *
 * One userdata, grb_lua_handle, stands for every C handle; its kind says
 * which, its metatable has the methods of that kind. A status that is not OK
 * is raised as a table at the outermost frame: no core frame is ever below a
 * lua_error, and whatever C memory a call holds hangs on a Lua value before
 * anything can raise.
 *
 * Wherever Lua allocates, a finalizer may run, and that may close the handle
 * at work. So pointers are taken from handles after the last allocation, or
 * anew; the schema's state is held by the table of names on the stack.
 */
#ifndef GRB_LUA_BINDING_H
#define GRB_LUA_BINDING_H

#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>
#include <string.h>

#include "grebe/grebe.h"

typedef enum grb_lua_kind {
    GRB_LUA_INDEX,
    GRB_LUA_SEARCHER,
    GRB_LUA_HITS,
    GRB_LUA_HIT,
    GRB_LUA_QUERY,
    GRB_LUA_SCHEMA,
    GRB_LUA_SNAPSHOT,
    GRB_LUA_CONTAINER,
    GRB_LUA_CANCEL,
    GRB_LUA_COMMIT_INFO,
    GRB_LUA_NULL,
    GRB_LUA_KIND_COUNT
} grb_lua_kind;

/* The user values of a handle. */
enum {
    GRB_LUA_NAMES = 1, /* INDEX, SEARCHER, HITS, SCHEMA: names_push */
    GRB_LUA_PAGE = 2,  /* HITS: facets, highlights, load; or nil */
    GRB_LUA_LAST = 3,  /* HITS: the hit that was asked for last */
    GRB_LUA_OWNER = 1, /* HIT: its hits */
    GRB_LUA_DOC = 2,   /* HIT: its stored fields once read */
    GRB_LUA_USER_VALUES = 3
};

/* Keys of the table of names beside 1..n, the names by field id + 1. */
enum {
    GRB_LUA_HOLD = 0,      /* counts the grb_lua_schema for the table */
    GRB_LUA_STRICT = -1,   /* text -> query, read strictly */
    GRB_LUA_FORGIVING = -2 /* text -> query, read forgivingly */
};

#define GRB_LUA_SLOTS 128u       /* a power of two */
#define GRB_LUA_SLOTS_MAX 96u    /* names kept in them */
#define GRB_LUA_QUERIES_MAX 512u /* compiled texts kept for one schema */

typedef struct grb_lua_field {
    const char *name; /* lives as long as the schema */
    grebe_kind kind;
    uint32_t flags;
} grb_lua_field;

/* A field name by the address of its (interned) Lua string. */
typedef struct grb_lua_slot {
    const char *name; /* NULL: free */
    uint32_t id;
} grb_lua_slot;

/* What Lua keeps beside a schema; counted, one Lua state's alone. */
typedef struct grb_lua_schema {
    uint32_t refs;
    uint32_t count;
    uint32_t key;          /* GREBE_NO_FIELD without one */
    uint32_t queries;      /* compiled texts kept */
    uint64_t uses;         /* of the spare document, to tell a disturbance */
    grebe_schema *schema;  /* one reference */
    grebe_document *spare; /* reused by every call that needs one */
    grb_lua_field *fields;
    grb_lua_slot slots[GRB_LUA_SLOTS];
} grb_lua_schema;

typedef struct grb_lua_handle {
    const void *tag; /* &grb_lua_tag in every handle of this library */
    grb_lua_kind kind;
    void *pointer;          /* owned; NULL once closed */
    grb_lua_schema *schema; /* INDEX, SEARCHER, HITS, SCHEMA: counted */
    uint64_t place;         /* HIT, and the last hit of HITS; from 0 */
    int follows;            /* INDEX opened for reading: others write */
    grebe_commit_info info; /* COMMIT_INFO */
} grb_lua_handle;

/* errors.c: the one table from statuses to error tables. All raise. */
extern const char grb_lua_tag;
void grb_lua_errors_open(lua_State *L);
void grb_lua_error_set(grebe_error *err, grebe_status status,
                       const char *field, const char *format, ...);
void grb_lua_error_push(lua_State *L, const grebe_error *err);
int grb_lua_raise(lua_State *L, const grebe_error *err);
int grb_lua_fail(lua_State *L, grebe_status status, const char *field,
                 const char *format, ...);
/* Raises unless at most `most` arguments came; fills up with nil. */
void grb_lua_arguments(lua_State *L, const char *name, int most);
int grb_lua_own_source(lua_State *L);
int grb_lua_fail_call(lua_State *L);

/* handles.c */
void grb_lua_handles_open(lua_State *L);
/* Pushes an empty handle; its pointer is set as soon as there is one. */
grb_lua_handle *grb_lua_handle_new(lua_State *L, grb_lua_kind kind);
/* Gives the handle at `at` (INDEX, SEARCHER, HITS, SCHEMA) its schema, shared
 * with the handle at `parent` if that has the same. */
void grb_lua_handle_attach(lua_State *L, int at, int parent);
/* The handle of any kind at that place of the stack, or NULL. */
grb_lua_handle *grb_lua_handle_test(lua_State *L, int at);
/* The open handle of a kind; CLOSED or TYPE otherwise. */
grb_lua_handle *grb_lua_handle_of(lua_State *L, int at, grb_lua_kind kind);
void *grb_lua_pointer(lua_State *L, int at, grb_lua_kind kind);
/* Raises if a finalizer has closed one of the arguments since they were read.
 */
void grb_lua_arguments_open(lua_State *L, int count);
const char *grb_lua_type_name(lua_State *L, int at);
int grb_lua_kind_tables(lua_State *L);
int grb_lua_close(lua_State *L);
int grb_lua_index_close(lua_State *L);
int grb_lua_container_close(lua_State *L);
int grb_lua_closed(lua_State *L);

/* schemas.c */
grb_lua_schema *grb_lua_schema_new(grebe_schema *schema, grebe_error *err);
void grb_lua_schema_release(grb_lua_schema *self);
/* Pushes the table of names and fills the slots. */
void grb_lua_names_push(lua_State *L, grb_lua_schema *self);
/* Id of the field named by the string at `at`, GREBE_NO_FIELD otherwise.
 * Never raises. */
uint32_t grb_lua_field_find(lua_State *L, const grb_lua_schema *self, int at);
/* The document of the schema, empty, or NULL with `err`. */
grebe_document *grb_lua_document_spare(grb_lua_schema *self, grebe_error *err);
void grb_lua_field_read(lua_State *L, int at, grebe_field *out,
                        grebe_value *value);
int grb_lua_schema_fields(lua_State *L);
/* Takes in what another handle has added to the index at `at`. True if there
 * was anything. */
int grb_lua_schema_refresh(lua_State *L, int at);
int grb_lua_index_schema(lua_State *L);
int grb_lua_index_follow(lua_State *L);
int grb_lua_schema_attach(lua_State *L);

/* options.c: tables of named options, numbers, words. */
/* Reads the table (or nil) at `at`: the value of names[i] goes to place
 * `first` + i of the stack, where nils must stand. `what` is for messages. */
void grb_lua_options(lua_State *L, int at, const char *what,
                     const char *const *names, int first);
uint64_t grb_lua_count(lua_State *L, int at, const char *name, uint64_t least,
                       uint64_t most);
/* The same for nil (`otherwise`) and "all" or math.huge (GREBE_LIMIT_ALL). */
uint64_t grb_lua_limit(lua_State *L, int at, const char *name,
                       uint64_t otherwise);
int grb_lua_flag(lua_State *L, int at, const char *name, int otherwise);
double grb_lua_number(lua_State *L, int at, const char *name);
/* A string without NUL; NULL for nil. */
const char *grb_lua_name(lua_State *L, int at, const char *name);
/* A string, nil: "". */
const char *grb_lua_text(lua_State *L, int at, const char *name, size_t *size);
/* Place of a word in a NULL-ended list; nil: 0. */
int grb_lua_word(lua_State *L, int at, const char *name,
                 const char *const *words);
grebe_operator grb_lua_operator(lua_State *L, int at);
void grb_lua_open_options(lua_State *L, int at, grebe_open_options *out);

/* values.c */
/* An integer, or a float of an integer's exact value. Never raises. */
int grb_lua_integer(lua_State *L, int at, int64_t *out);
/* A value for a field; `out` borrows from the Lua string. Never raises. */
grebe_status grb_lua_value_read(lua_State *L, int at,
                                const grb_lua_field *field, grebe_value *out,
                                grebe_error *err);
/* A value whose kind follows from its Lua type (queries). Raises. */
void grb_lua_value_guess(lua_State *L, int at, grebe_value *out);
/* A key: string or integer. Raises DOCUMENT. */
void grb_lua_key_read(lua_State *L, int at, grebe_value *out);
void grb_lua_value_push(lua_State *L, const grebe_value *value);

/* documents.c */
/* Fills the spare document from the table at `at`. `unknown`: 0, or the place
 * of a table that collects names the schema lacks. Raises nothing but want of
 * Lua's memory. */
grebe_status grb_lua_document_read(lua_State *L, grb_lua_schema *schema,
                                   int at, int unknown, grebe_document **out,
                                   grebe_error *err);
/* Pushes a table of `document`; `names` is the place of the names. 0, with
 * nothing pushed, if it is the spare one and a finalizer has used it
 * meanwhile: then read again into a document of one's own. */
int grb_lua_document_push(lua_State *L, const grb_lua_schema *schema,
                          int names, const grebe_document *document);
/* The document to read into: the spare one, or with `own` one that a value
 * on top of the stack keeps. Pushes a value in any case. Raises. */
grebe_document *grb_lua_document_target(lua_State *L, grb_lua_schema *schema,
                                        int own);

/* writing.c */
/* Where documents go. */
typedef struct grb_lua_sink {
    grebe_loader *loader; /* NULL: into the index, one by one */
    int overwrite;
} grb_lua_sink;
/* Adds the table at that place to the index at 1; once more if another handle
 * has changed the schema meanwhile. */
grebe_status grb_lua_table_add(lua_State *L, int at, int unknown,
                               const grb_lua_sink *sink, grebe_error *err);
int grb_lua_add(lua_State *L);
int grb_lua_get(lua_State *L);
int grb_lua_searcher_get(lua_State *L);
int grb_lua_commit(lua_State *L);
int grb_lua_batch(lua_State *L);
void grb_lua_stats_push(lua_State *L, const grebe_index_stats *stats);

/* queries.c */
/* Pushes the query handle of what is at `at`, a string or a query. `fields`:
 * 0, or the place of nil, a string or a list of "name^boost". */
typedef struct grb_lua_reading {
    int handle; /* place of the index, searcher or hits */
    int fields; /* place of the fields, 0: none */
    grebe_operator op;
    int forgiving;
} grb_lua_reading;
grebe_query *grb_lua_query_push(lua_State *L, int at,
                                const grb_lua_reading *how);
int grb_lua_parse(lua_State *L);
int grb_lua_query_text(lua_State *L);
int grb_lua_query_bool(lua_State *L);
int grb_lua_query_dismax(lua_State *L);
int grb_lua_query_range(lua_State *L);

/* searching.c */
int grb_lua_search(lua_State *L);
int grb_lua_explain(lua_State *L);

/* requests.c: facets and highlights. They leave a table on top of the stack
 * that keeps the rows and what these point at, and tells hits the fields. */
size_t grb_lua_facets_read(lua_State *L, int at, grebe_facet_request **out);
size_t grb_lua_highlights_read(lua_State *L, int at,
                               grebe_highlight_request **out);

/* results.c */
/* Pushes hit number `at 2` of the hits at 1, or nil. */
int grb_lua_hits_at(lua_State *L);
int grb_lua_hits_keys(lua_State *L);
int grb_lua_hits_scores(lua_State *L);
int grb_lua_hits_facets(lua_State *L);
int grb_lua_hits_plan(lua_State *L);
int grb_lua_hit_index(lua_State *L);
int grb_lua_hit_pairs(lua_State *L);
int grb_lua_hit_text(lua_State *L);
int grb_lua_hits_each(lua_State *L);
int grb_lua_hits_tables(lua_State *L);
int grb_lua_info_index(lua_State *L);

/* visits.c: callbacks gather bytes outside Lua's memory; afterwards these
 * become a list. `context` is the gathering that _begin pushed. */
typedef void (*grb_lua_row_push)(lua_State *L, const uint64_t numbers[3],
                                 const char *bytes, size_t size);
void *grb_lua_gather_begin(lua_State *L);
void grb_lua_gather_push(lua_State *L, void *context, grb_lua_row_push push);
void grb_lua_visits_open(lua_State *L);
grebe_status grb_lua_visit_term(void *context, const char *bytes, size_t size,
                                uint64_t df);
grebe_status grb_lua_visit_token(void *context, const grebe_token *token);
void grb_lua_visit_line(void *context, const char *line);
void grb_lua_push_term(lua_State *L, const uint64_t numbers[3],
                       const char *bytes, size_t size);
void grb_lua_push_token(lua_State *L, const uint64_t numbers[3],
                        const char *bytes, size_t size);
void grb_lua_push_line(lua_State *L, const uint64_t numbers[3],
                       const char *bytes, size_t size);

/* many.c */
int grb_lua_add_many(lua_State *L);

#endif
