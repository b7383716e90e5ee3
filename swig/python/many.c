/* python/many.c - many documents in one call.
 *
 * A list or a tuple is taken in chunks: documents are read with the GIL,
 * added without it, so two threads can fill two indexes at once. Any other
 * iterable runs Python code between two documents, which may look at the
 * index; there each document is added before the next is asked for. With
 * several threads a loader takes the chunks of any iterable, and its workers
 * go on while documents are read.
 *
 * Invariant: documents are added in the order given; what a document or its
 * values refuse is noted and the rest goes on; any other error ends the call
 * and what was added before stays.
 * Threads: the GIL is held but while a chunk is added. A loader's workers
 * never touch Python.
 * Owns: the chunk's documents.
 */
#include "binding.h"

#define CHUNK_MAX 32u
#define CHUNK_SIZE_MAX (256u << 10)

typedef struct adding {
    grb_py_handle *index;
    grb_py_handle *schema; /* held: another thread may add fields */
    int overwrite;
    grebe_loader *loader; /* NULL: one thread */
    PyObject *unknown;  /* a set, or NULL: unlisted fields are refused */
    PyObject *failures; /* [(position, key, error)] */
    uint64_t added;
    uint32_t count; /* documents waiting in the chunk */
    size_t size;
    grebe_document *documents[CHUNK_MAX];
    PyObject *sources[CHUNK_MAX]; /* owned while they wait */
    Py_ssize_t places[CHUNK_MAX];
    grebe_error errors[CHUNK_MAX];
} adding;

/* The document's key as far as it can be told, new reference. */
static PyObject *key_of(const adding *self, PyObject *source) {
    const grb_py_schema *state = self->schema->state;
    PyObject *key = NULL;
    if (state->key != GREBE_NO_FIELD && PyDict_Check(source))
        key = PyDict_GetItemWithError(source, state->fields[state->key].name);
    PyErr_Clear();
    if (!key) key = Py_None;
    Py_INCREF(key);
    return key;
}

/* Moves the exception that is set into the report if it is about a document.
 * Takes over `key`. 0, or -1 with the exception still set. */
static int failure_note(adding *self, Py_ssize_t place, PyObject *key) {
    PyObject *type, *value, *trace, *row = NULL;
    if (!PyErr_ExceptionMatches(grb_py_error_class(GREBE_DOCUMENT)) &&
        !PyErr_ExceptionMatches(grb_py_error_class(GREBE_LIMIT))) {
        Py_XDECREF(key);
        return -1;
    }
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (key) row = Py_BuildValue("nOO", place, key, value);
    int bad = !row || PyList_Append(self->failures, row);
    Py_XDECREF(row);
    Py_XDECREF(key);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return bad ? -1 : 0;
}

/* The same for the exception that a document's reading has raised. */
static int source_note(adding *self, Py_ssize_t place, PyObject *source) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *key = key_of(self, source);
    PyErr_Restore(type, value, trace);
    return failure_note(self, place, key);
}

static int status_fatal(grebe_status status) {
    return status != GREBE_OK && status != GREBE_DOCUMENT &&
           status != GREBE_LIMIT;
}

static void chunk_forget(adding *self) {
    for (uint32_t i = 0; i < self->count; i++) Py_CLEAR(self->sources[i]);
    self->count = 0;
    self->size = 0;
}

/* Adds what waits. 0 or -1. */
static int chunk_add(adding *self) {
    uint32_t count = self->count, done = 0;
    int bad = 0;
    void *index = self->index->pointer;
    Py_BEGIN_ALLOW_THREADS for (; done < count; done++) {
        grebe_error *err = &self->errors[done];
        err->status = GREBE_OK;
        grebe_status status =
            self->loader
                ? grebe_loader_add(self->loader, self->documents[done], err)
                : grebe_index_add(index, self->documents[done],
                                  self->overwrite, err);
        if (status == GREBE_OK) {
            self->added += !self->loader;
        } else if (self->loader || status_fatal(status)) {
            done++;
            break;
        }
    }
    Py_END_ALLOW_THREADS self->index->docs_taken += done;
    self->index->taken_in += self->size;
    for (uint32_t i = 0; i < done && !bad; i++) {
        if (self->errors[i].status == GREBE_OK) continue;
        grb_py_raise(&self->errors[i]);
        bad = source_note(self, self->places[i], self->sources[i]);
    }
    chunk_forget(self);
    return bad ? -1 : PyErr_CheckSignals();
}

/* Reads one document into the chunk. 0 or -1. */
static int chunk_take(adding *self, Py_ssize_t place, PyObject *source) {
    grebe_error err;
    grebe_document **slot = &self->documents[self->count];
    if (*slot) {
        grebe_document_clear(*slot);
    } else if (grebe_document_new(self->schema->pointer, slot, &err)) {
        grb_py_raise(&err);
        return -1;
    }
    if (grb_py_document_read(self->schema->state, *slot, source,
                             self->unknown)) {
        if (PyErr_ExceptionMatches(PyExc_TypeError) &&
            !PyMapping_Check(source)) {
            PyErr_Clear();
            grb_py_fail(GREBE_DOCUMENT, NULL,
                        "a document is a mapping of names to values, not %s",
                        Py_TYPE(source)->tp_name);
        }
        return source_note(self, place, source);
    }
    self->size += grb_py_document_size(*slot);
    self->places[self->count] = place;
    Py_INCREF(source);
    self->sources[self->count++] = source;
    return 0;
}

static int chunk_full(const adding *self) {
    return self->count == CHUNK_MAX || self->size > CHUNK_SIZE_MAX;
}

static int list_run(adding *self, PyObject *list) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list); i++) {
        PyObject *source = PySequence_Fast_GET_ITEM(list, i);
        Py_INCREF(source);
        int bad = chunk_take(self, i, source);
        Py_DECREF(source);
        if (!bad && chunk_full(self)) bad = chunk_add(self);
        if (bad) return -1;
    }
    return self->count ? chunk_add(self) : 0;
}

/* Adds what the failed call had read before, keeping its exception. */
static void rest_add(adding *self) {
    PyObject *type, *value, *trace;
    if (!self->count) return;
    PyErr_Fetch(&type, &value, &trace);
    if (chunk_add(self)) PyErr_Clear();
    PyErr_Restore(type, value, trace);
}

static int iterable_run(adding *self, PyObject *iterable) {
    PyObject *iterator = PyObject_GetIter(iterable), *source;
    int bad = 0;
    if (!iterator) return -1;
    for (Py_ssize_t i = 0; !bad && (source = PyIter_Next(iterator)); i++) {
        bad = chunk_take(self, i, source);
        Py_DECREF(source);
        if (!bad && self->count && (!self->loader || chunk_full(self)))
            bad = chunk_add(self);
    }
    Py_DECREF(iterator);
    if (bad || PyErr_Occurred()) return -1;
    return self->count ? chunk_add(self) : 0;
}

/* ---- loading on several threads ---- */

/* The key of a document that was refused, new reference. */
static PyObject *refused_key(const adding *self,
                             const grebe_document *document) {
    uint32_t field;
    grebe_value value;
    for (uint32_t i = 0; i < grebe_document_count(document); i++)
        if (grebe_document_value(document, i, &field, &value, NULL) ==
                GREBE_OK &&
            field == self->schema->state->key)
            return grb_py_value_write(&value);
    Py_RETURN_NONE;
}

/* Place in the caller's order of the loader's document `n`, which did not get
 * those of the first `known` failures, rows by rising places; `*passed` of
 * them stand before the document asked for last. */
static Py_ssize_t place_of(const adding *self, uint64_t n, Py_ssize_t known,
                           Py_ssize_t *passed) {
    Py_ssize_t place = (Py_ssize_t)n + *passed;
    for (; *passed < known; ++*passed, place++) {
        PyObject *row = PyList_GET_ITEM(self->failures, *passed);
        if (PyLong_AsSsize_t(PyTuple_GET_ITEM(row, 0)) > place) break;
    }
    return place;
}

static int refused_note(adding *self) {
    uint64_t n;
    grebe_document *document;
    grebe_error err;
    int bad = 0;
    Py_ssize_t known = PyList_GET_SIZE(self->failures), passed = 0;
    while (!bad &&
           grebe_loader_refused(self->loader, &n, &document, &err)) {
        PyObject *key = refused_key(self, document);
        grebe_document_free(document);
        Py_ssize_t place = place_of(self, n, known, &passed);
        grb_py_raise(&err);
        bad = failure_note(self, place, key);
    }
    return bad ? -1 : PyList_Sort(self->failures);
}

/* Waits for the workers. What failed before, if anything, stays the error. */
static int loader_finish(adding *self, int bad) {
    PyObject *type, *value, *trace;
    grebe_error err;
    grebe_status status;
    PyErr_Fetch(&type, &value, &trace);
    Py_BEGIN_ALLOW_THREADS status =
        grebe_loader_finish(self->loader, &self->added, &err);
    Py_END_ALLOW_THREADS if (bad) {
        PyErr_Restore(type, value, trace);
        return -1;
    }
    if (status == GREBE_OK) return refused_note(self);
    grb_py_raise(&err);
    return -1;
}

/* Numbers beyond 32 bits are refused by the core as well. */
static uint32_t threads_of(long threads) {
    return threads < 0 || threads > INT32_MAX ? 0 : (uint32_t)threads;
}

static int loader_begin(adding *self, uint32_t threads) {
    grebe_error err;
    if (grebe_loader_new(self->index->pointer, threads, self->overwrite,
                         &self->loader, &err) == GREBE_OK)
        return 0;
    grb_py_raise(&err);
    return -1;
}

/* ---- the call ---- */

static adding *adding_new(PyObject *const *args) {
    grb_py_handle *index = grb_py_handle_of(args[0], GRB_PY_INDEX);
    int overwrite = index ? PyObject_IsTrue(args[2]) : -1;
    if (overwrite < 0) return NULL;
    adding *self = PyMem_Malloc(sizeof *self);
    if (!self) {
        PyErr_NoMemory();
        return NULL;
    }
    memset(self, 0, offsetof(adding, errors));
    self->failures = PyList_New(0);
    self->index = index;
    self->schema = index->schema;
    self->overwrite = overwrite;
    self->unknown = args[3] == Py_None ? NULL : args[3];
    Py_INCREF(self->index);
    Py_INCREF(self->schema);
    return self;
}

static void adding_free(adding *self) {
    chunk_forget(self);
    grebe_loader_free(self->loader);
    for (uint32_t i = 0; i < CHUNK_MAX; i++)
        grebe_document_free(self->documents[i]);
    Py_XDECREF(self->failures);
    Py_DECREF(self->schema);
    Py_DECREF(self->index);
    PyMem_Free(self);
}

/* add_many(index, iterable, overwrite, set or None, threads): (added,
 * failures) */
PyObject *grb_py_add_many(PyObject *module, PyObject *const *args,
                          Py_ssize_t count) {
    PyObject *result = NULL;
    if (count != 5) return PyErr_Format(PyExc_TypeError, "add_many: five");
    long threads = PyLong_AsLong(args[4]);
    if (threads == -1 && PyErr_Occurred()) return NULL;
    adding *self = adding_new(args);
    if (!self) return NULL;
    if (!self->failures) goto done;
    if (threads != 1 && loader_begin(self, threads_of(threads))) goto done;
    int bad = PyList_CheckExact(args[1]) || PyTuple_CheckExact(args[1])
                  ? list_run(self, args[1])
                  : iterable_run(self, args[1]);
    if (bad) rest_add(self);
    if (self->loader) bad = loader_finish(self, bad);
    if (!bad) result = Py_BuildValue("KO", self->added, self->failures);
done:
    adding_free(self);
    return result;
}
