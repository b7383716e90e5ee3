/* python/binding.h - what the files of the Python binding share.
 *
 * One Python type, grebe_core.handle, stands for every C handle; its kind says
 * which. Public classes either hold one (Index, Searcher, Snapshot, Container:
 * what can be closed) or are subclasses of it (Hits, Q, Cancel: what lives as
 * long as somebody looks). Everything here runs with the GIL held unless a
 * comment says otherwise.
 */
#ifndef GRB_PY_BINDING_H
#define GRB_PY_BINDING_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "grebe/grebe.h"

typedef enum grb_py_kind {
    GRB_PY_INDEX,
    GRB_PY_SEARCHER,
    GRB_PY_HITS,
    GRB_PY_QUERY,
    GRB_PY_SCHEMA,
    GRB_PY_SNAPSHOT,
    GRB_PY_CONTAINER,
    GRB_PY_CANCEL,
    GRB_PY_KIND_COUNT
} grb_py_kind;

#define GRB_PY_KEY_SLOTS 128u  /* a power of two */
#define GRB_PY_QUERIES_MAX 512 /* compiled texts kept for one schema */

/* A field name as a caller spells it. Interned, so the address decides. */
typedef struct grb_py_name {
    PyObject *name; /* owned; NULL: free */
    uint32_t id;
} grb_py_name;

typedef struct grb_py_field {
    PyObject *name; /* owned, interned */
    grebe_kind kind;
    uint32_t flags;
} grb_py_field;

/* What Python keeps beside a schema: names, compiled texts, one document that
 * is used again and again. */
typedef struct grb_py_schema {
    grebe_schema *schema; /* borrowed from the handle */
    uint32_t count;
    uint32_t key; /* GREBE_NO_FIELD without one */
    grb_py_field *fields;
    grb_py_name names[GRB_PY_KEY_SLOTS];
    PyObject *queries; /* dict: text, or (text, fields, op) -> query handle */
    grebe_document *spare; /* NULL while lent */
} grb_py_schema;

typedef struct grb_py_handle {
    PyObject_HEAD void *pointer; /* owned C handle, never NULL */
    grb_py_kind kind;
    struct grb_py_handle
        *schema;          /* INDEX, SEARCHER, HITS: owned, kind SCHEMA */
    grb_py_schema *state; /* SCHEMA: owned */
    PyObject *facets;     /* HITS: the requests, or NULL */
    PyObject *passages;   /* HITS: the requests, or NULL */
    PyObject *load;       /* HITS: names of fields wanted, or NULL */
    uint64_t taken_in;    /* INDEX: bytes given to add */
    uint64_t docs_taken;  /* INDEX: documents given to add */
} grb_py_handle;

/* errors.c: the one table from statuses to exceptions. */
int grb_py_errors_init(PyObject *module);
PyObject *grb_py_error_class(grebe_status status); /* borrowed */
/* Raises `err`; an exception that is set already (a callback's own) stays. */
void grb_py_raise(const grebe_error *err);
/* The same for an error in `text`: its offset becomes one of code points. */
void grb_py_raise_in(const grebe_error *err, const char *text, size_t size);
/* Raises a status with a printf-like message; `field` may be NULL. Returns
 * -1. */
int grb_py_fail(grebe_status status, const char *field, const char *format,
                ...);
/* Gives the exception that is set the key it is about. */
void grb_py_error_key(PyObject *key);

/* handles.c */
extern PyTypeObject *grb_py_handle_type;
int grb_py_handles_init(PyObject *module);
/* Takes over `pointer` (frees it on failure). `schema` may be NULL; a
 * reference is taken. For an INDEX or a SEARCHER the schema is asked for. */
PyObject *grb_py_handle_new(grb_py_kind kind, void *pointer,
                            grb_py_handle *schema);
/* The handle, borrowed, or NULL with ClosedError for None and TypeError for
 * anything else. */
grb_py_handle *grb_py_handle_of(PyObject *object, grb_py_kind kind);
void *grb_py_pointer(PyObject *object, grb_py_kind kind);
/* Takes in fields that were added to the index meanwhile. 0 or -1. */
int grb_py_handle_refresh(grb_py_handle *index);
PyObject *grb_py_schema_refresh(PyObject *module, PyObject *index);
PyObject *grb_py_types_set(PyObject *module, PyObject *const *args,
                           Py_ssize_t count);

/* schemas.c */
grb_py_schema *grb_py_schema_new(grebe_schema *schema);
void grb_py_schema_free(grb_py_schema *state);
/* Id of the field, GREBE_NO_FIELD if there is none or -2 with an exception.
 * No Python code runs. */
int64_t grb_py_field_find(grb_py_schema *state, PyObject *name);
/* Lends a document of the schema; give it back. NULL with an exception. */
grebe_document *grb_py_document_lend(grb_py_schema *state);
void grb_py_document_back(grb_py_schema *state, grebe_document *document);
PyObject *grb_py_schema_fields(PyObject *module, PyObject *schema);
/* Reads (name, kind, flags, analyzer, default) into `out`; it borrows from
 * the tuple. 0 or -1. */
int grb_py_field_read(PyObject *tuple, grebe_field *out, grebe_value *value);
int grb_py_options_read(PyObject *dict, grebe_open_options *out);

/* dates.c */
#define GRB_PY_MS_A_DAY INT64_C(86400000)
/* Milliseconds of a datetime, date, integer or ISO 8601 text. 0, or -1 with a
 * plain ValueError or TypeError. May run Python code (tzinfo). */
int grb_py_date_read(PyObject *object, int64_t *ms);
PyObject *grb_py_date_write(int64_t ms);
/* 1 if the object is a datetime or a date. */
int grb_py_date_is(PyObject *object);
int grb_py_day_is(PyObject *object); /* a date without a time */

/* values.c */
/* Text of a str; -1 with DocumentError for a lone surrogate. */
int grb_py_text_read(PyObject *object, const char *field, const char **bytes,
                     size_t *size);
/* A value for a field of that kind. TEXT, KEYWORD and BYTES borrow from
 * `object` or from `buffer`, which the caller releases if buffer->obj. */
int grb_py_value_read(PyObject *object, grebe_kind kind, const char *field,
                      grebe_value *out, Py_buffer *buffer);
/* A value whose kind follows from its Python type, for queries. TypeError,
 * ValueError. */
int grb_py_value_guess(PyObject *object, grebe_value *out, Py_buffer *buffer);
/* A key: a str or an int, nothing else (DocumentError). */
int grb_py_key_read(PyObject *object, grebe_value *out);
PyObject *grb_py_value_write(const grebe_value *value);

/* documents.c */
/* Fills `document` from a Mapping. `unknown` NULL: an unlisted field is an
 * error; else its name goes into that set. 0 or -1. */
int grb_py_document_read(grb_py_schema *state, grebe_document *document,
                         PyObject *mapping, PyObject *unknown);
PyObject *grb_py_document_write(grb_py_schema *state,
                                const grebe_document *document);

/* writing.c */
extern int grb_py_work_count; /* writing calls that run without the GIL */
void grb_py_work_begin(void);
void grb_py_work_end(void);
/* A batch of this thread begins (1) or ends (-1). */
void grb_py_batch_count(int by);
/* Nonzero if a writing call must let go of the GIL because it may wait. */
int grb_py_must_release(void);
PyObject *grb_py_add(PyObject *module, PyObject *const *args,
                     Py_ssize_t count);
PyObject *grb_py_commit(PyObject *module, PyObject *const *args,
                        Py_ssize_t count);
PyObject *grb_py_get(PyObject *module, PyObject *const *args,
                     Py_ssize_t count);
PyObject *grb_py_commit_info(const grebe_commit_info *info);
PyObject *grb_py_stats(const grebe_index_stats *stats);
int grb_py_writing_init(PyObject *module);
size_t grb_py_document_size(const grebe_document *document);

/* many.c */
PyObject *grb_py_add_many(PyObject *module, PyObject *const *args,
                          Py_ssize_t count);

/* queries.c */
/* A query handle (new reference) from a str, a query or None (then NULL and
 * no exception). `fields`: NULL or a sequence of "name^boost". */
PyObject *grb_py_query_of(grb_py_schema *state, PyObject *object,
                          PyObject *fields, grebe_operator op, int forgiving);
PyObject *grb_py_query(PyObject *module, PyObject *const *args,
                       Py_ssize_t count);
PyObject *grb_py_query_text(PyObject *module, PyObject *query);
PyObject *grb_py_query_bool(PyObject *module, PyObject *const *args,
                            Py_ssize_t count);
PyObject *grb_py_query_dismax(PyObject *module, PyObject *const *args,
                              Py_ssize_t count);
PyObject *grb_py_query_range(PyObject *module, PyObject *const *args,
                             Py_ssize_t count);

/* searching.c */
PyObject *grb_py_search(PyObject *module, PyObject *const *args,
                        Py_ssize_t count);
PyObject *grb_py_explain(PyObject *module, PyObject *const *args,
                         Py_ssize_t count);

/* interrupts.c: Ctrl-C during a long search. */
typedef struct grb_py_interrupt {
    int armed;
    grebe_cancel *cancel; /* what the search looks at, NULL: nothing */
    grebe_cancel *given;  /* the caller's own */
} grb_py_interrupt;
int grb_py_interrupt_arm(grb_py_interrupt *self, grebe_cancel *given);
/* After the search: 1 if a SIGINT came (look at PyErr_CheckSignals). */
int grb_py_interrupt_disarm(grb_py_interrupt *self);

/* results.c */
int grb_py_results_init(PyObject *module);
PyObject *grb_py_hits_keys(PyObject *module, PyObject *hits);
PyObject *grb_py_hits_key(PyObject *module, PyObject *const *args,
                          Py_ssize_t count);
PyObject *grb_py_hits_scores(PyObject *module, PyObject *hits);
PyObject *grb_py_hits_score(PyObject *module, PyObject *const *args,
                            Py_ssize_t count);
PyObject *grb_py_hits_document(PyObject *module, PyObject *const *args,
                               Py_ssize_t count);
PyObject *grb_py_hits_facets(PyObject *module, PyObject *hits);
PyObject *grb_py_hits_plan(PyObject *module, PyObject *hits);
PyObject *grb_py_hits_passages(PyObject *module, PyObject *const *args,
                               Py_ssize_t count);

/* visits.c: callbacks that gather what they are given into a list. */
grebe_status grb_py_visit_term(void *context, const char *bytes, size_t size,
                               uint64_t df);
int grb_py_visits_init(PyObject *module);
grebe_status grb_py_visit_token(void *context, const grebe_token *token);
void grb_py_visit_line(void *context, const char *line);
/* Code points in the first `size` bytes of a UTF-8 text. */
size_t grb_py_code_points(const char *text, size_t size);

#endif
