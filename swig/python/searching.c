/* python/searching.c - one call a search: arguments in, Hits out.
 *
 * The public method hands its sixteen arguments over as they are; what is
 * left at its default costs one comparison here. Facets and highlights come
 * as tuples that the public classes have normalised.
 *
 * Invariant: everything the request points at is held until the search ends.
 * Threads: the GIL is given away while the search runs, but for an index so
 * small that the handover would cost more than the search.
 * Owns: the request's lists.
 */
#include "binding.h"

#include <math.h>

#define DOCS_RELEASE 2048u    /* from here on the GIL is given away */
#define DOCS_INTERRUPT 20000u /* from here on Ctrl-C is looked for */
#define FILTERS_MAX 64
#define NS_A_SECOND 1e9

enum {
    ARG_HANDLE,
    ARG_QUERY,
    ARG_FIELDS,
    ARG_WHERE,
    ARG_SORT,
    ARG_LIMIT,
    ARG_OFFSET,
    ARG_AFTER,
    ARG_SINCE,
    ARG_FACETS,
    ARG_HIGHLIGHT,
    ARG_TOTAL,
    ARG_TIMEOUT,
    ARG_PARTIAL,
    ARG_CANCEL,
    ARG_OP,
    ARG_LOAD,
    ARG_PLAN,
    ARG_COUNT
};

typedef struct searching {
    grb_py_handle *target; /* index or searcher; borrowed from the caller */
    grb_py_handle *schema; /* owned */
    PyObject *query;       /* owned handle or NULL */
    PyObject *wheres[FILTERS_MAX]; /* owned handles */
    const grebe_query *filters[FILTERS_MAX];
    PyObject *sort; /* owned text or NULL */
    grebe_facet_request *facets;
    grebe_highlight_request *highlights;
    uint64_t since;
    grebe_search_request request;
} searching;

static int count_read(const char *name, PyObject *object, uint64_t *out) {
    if (PyBool_Check(object) || !PyIndex_Check(object)) {
        PyErr_Format(PyExc_TypeError, "%s is an int, not %s", name,
                     Py_TYPE(object)->tp_name);
        return -1;
    }
    Py_ssize_t number = PyNumber_AsSsize_t(object, NULL);
    if (number < 0) {
        PyErr_Format(PyExc_ValueError, "%s cannot be negative: %R", name,
                     object);
        return -1;
    }
    *out = (uint64_t)number;
    return 0;
}

static int string_read(const char *name, PyObject *object, const char **out) {
    if (!PyUnicode_Check(object)) {
        PyErr_Format(PyExc_TypeError, "%s is str, not %s", name,
                     Py_TYPE(object)->tp_name);
        return -1;
    }
    Py_ssize_t size;
    *out = PyUnicode_AsUTF8AndSize(object, &size);
    if (*out && strlen(*out) == (size_t)size) return 0;
    PyErr_Clear();
    PyErr_Format(PyExc_ValueError, "%s cannot be %R", name, object);
    return -1;
}

static int where_add(searching *self, PyObject *object) {
    size_t at = self->request.filter_count;
    if (at == FILTERS_MAX)
        return grb_py_fail(GREBE_LIMIT, NULL, "where: more than %d filters",
                           FILTERS_MAX);
    PyObject *query =
        grb_py_query_of(self->schema->state, object, NULL, GREBE_OR, 0);
    if (!query) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "where holds str or Q, not None");
        return -1;
    }
    self->wheres[at] = query;
    self->filters[at] = ((grb_py_handle *)query)->pointer;
    self->request.filter_count = at + 1;
    self->request.filters = self->filters;
    return 0;
}

static int where_read(searching *self, PyObject *where) {
    if (where == Py_None) return 0;
    if (!PyList_Check(where) && !PyTuple_Check(where))
        return where_add(self, where);
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(where); i++)
        if (where_add(self, PySequence_Fast_GET_ITEM(where, i))) return -1;
    return 0;
}

static int sort_read(searching *self, PyObject *sort) {
    if (sort == Py_None) return 0;
    if (PyList_Check(sort) || PyTuple_Check(sort)) {
        PyObject *comma = PyUnicode_FromString(", ");
        if (!comma) return -1;
        self->sort = PyUnicode_Join(comma, sort);
        Py_DECREF(comma);
        if (!self->sort) return -1;
    } else {
        Py_INCREF(sort);
        self->sort = sort;
    }
    return string_read("sort", self->sort, &self->request.sort);
}

static int timeout_read(searching *self, PyObject *timeout) {
    if (timeout == Py_None) return 0;
    double seconds = PyFloat_AsDouble(timeout);
    if (seconds == -1.0 && PyErr_Occurred()) return -1;
    if (!(seconds >= 0)) {
        PyErr_SetString(PyExc_ValueError,
                        "timeout is a number of seconds >= 0");
        return -1;
    }
    double ns = seconds * NS_A_SECOND;
    self->request.timeout_ns = ns >= 9e18 ? 0 : ns < 1 ? 1 : (uint64_t)ns;
    return 0;
}

static int total_read(searching *self, PyObject *total) {
    if (total == Py_None) return 0;
    if (PyUnicode_Check(total)) {
        if (PyUnicode_CompareWithASCIIString(total, "exact") == 0) return 0;
        PyErr_Format(PyExc_ValueError,
                     "total is \"exact\" or a number, not %R", total);
        return -1;
    }
    if (count_read("total", total, &self->request.total_max)) return -1;
    if (self->request.total_max == 0) self->request.total_max = 1;
    return 0;
}

static int op_read(PyObject *op, grebe_operator *out) {
    *out = GREBE_OR;
    if (PyUnicode_Check(op)) {
        if (PyUnicode_CompareWithASCIIString(op, "or") == 0) return 0;
        *out = GREBE_AND;
        if (PyUnicode_CompareWithASCIIString(op, "and") == 0) return 0;
    }
    PyErr_Format(PyExc_ValueError, "op is \"or\" or \"and\", not %R", op);
    return -1;
}

/* Rows of (field, limit, offset, mincount, sort, prefix, missing). */
static int facets_read(searching *self, PyObject *rows) {
    if (rows == Py_None) return 0;
    size_t count = (size_t)PyTuple_GET_SIZE(rows);
    self->facets = PyMem_Calloc(count + 1, sizeof *self->facets);
    if (!self->facets) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        grebe_facet_request *facet = &self->facets[i];
        unsigned long long limit, offset, mincount;
        Py_ssize_t size = 0;
        int sort;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(rows, (Py_ssize_t)i),
                              "sKKKiz#i", &facet->field, &limit, &offset,
                              &mincount, &sort, &facet->prefix, &size,
                              &facet->missing))
            return -1;
        facet->limit = limit;
        facet->offset = offset;
        facet->mincount = mincount;
        facet->sort = (grebe_facet_sort)sort;
        facet->prefix_size = (size_t)size;
    }
    self->request.facets = self->facets;
    self->request.facet_count = count;
    return 0;
}

/* Rows of (field, pre, post, size, snippets, encoder). */
static int highlights_read(searching *self, PyObject *rows) {
    if (rows == Py_None) return 0;
    size_t count = (size_t)PyTuple_GET_SIZE(rows);
    self->highlights = PyMem_Calloc(count + 1, sizeof *self->highlights);
    if (!self->highlights) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        grebe_highlight_request *row = &self->highlights[i];
        int encoder;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(rows, (Py_ssize_t)i), "szzIIi",
                              &row->field, &row->pre, &row->post, &row->size,
                              &row->snippets, &encoder))
            return -1;
        row->encoder = (grebe_encoder)encoder;
    }
    self->request.highlights = self->highlights;
    self->request.highlight_count = count;
    return 0;
}

/* A CommitInfo or its number. */
static int since_read(searching *self, PyObject *since) {
    if (since == Py_None) return 0;
    if (PyTuple_Check(since) && PyTuple_GET_SIZE(since) > 0)
        since = PyTuple_GET_ITEM(since, 0);
    return count_read("since", since, &self->since);
}

static int target_read(searching *self, PyObject *object) {
    int searcher = PyObject_TypeCheck(object, grb_py_handle_type) &&
                   ((grb_py_handle *)object)->kind == GRB_PY_SEARCHER;
    self->target =
        grb_py_handle_of(object, searcher ? GRB_PY_SEARCHER : GRB_PY_INDEX);
    if (!self->target) return -1;
    self->schema = self->target->schema;
    Py_INCREF(self->schema);
    return 0;
}

static int query_read(searching *self, PyObject *const *args) {
    grebe_operator op;
    PyObject *fields = args[ARG_FIELDS];
    if (op_read(args[ARG_OP], &op)) return -1;
    self->query = grb_py_query_of(self->schema->state, args[ARG_QUERY],
                                  fields == Py_None ? NULL : fields, op, 1);
    if (self->query)
        self->request.query = ((grb_py_handle *)self->query)->pointer;
    return self->query || !PyErr_Occurred() ? 0 : -1;
}

static int paging_read(searching *self, PyObject *const *args) {
    grebe_search_request *request = &self->request;
    PyObject *after = args[ARG_AFTER], *cancel = args[ARG_CANCEL];
    request->limit = GREBE_LIMIT_ALL;
    if (args[ARG_LIMIT] != Py_None &&
        count_read("limit", args[ARG_LIMIT], &request->limit))
        return -1;
    if (count_read("offset", args[ARG_OFFSET], &request->offset)) return -1;
    if (after != Py_None && string_read("after", after, &request->after))
        return -1;
    request->partial = PyObject_IsTrue(args[ARG_PARTIAL]);
    if (cancel != Py_None) {
        request->cancel = grb_py_pointer(cancel, GRB_PY_CANCEL);
        if (!request->cancel) return -1;
    }
    request->plan = PyObject_IsTrue(args[ARG_PLAN]);
    return request->partial < 0 || request->plan < 0 ? -1 : 0;
}

/* load: names of the stored fields that hits are to have. */
static int load_check(searching *self, PyObject *load) {
    if (load == Py_None) return 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(load); i++) {
        PyObject *name = PyTuple_GET_ITEM(load, i);
        int64_t id = PyUnicode_Check(name)
                         ? grb_py_field_find(self->schema->state, name)
                         : -1;
        if (id == -2) return -1;
        if (id == -1) {
            PyErr_SetString(PyExc_TypeError, "load: names of fields are str");
            return -1;
        }
        if (id == GREBE_NO_FIELD)
            return grb_py_fail(GREBE_SCHEMA, PyUnicode_AsUTF8(name),
                               "load: the schema has no field %R", name);
    }
    return 0;
}

static grebe_status request_run(searching *self, grebe_hits **out,
                                grebe_error *err) {
    grebe_searcher *searcher = NULL;
    grebe_status status;
    if (self->target->kind == GRB_PY_SEARCHER)
        return grebe_searcher_search(self->target->pointer, &self->request,
                                     out, err);
    if (!self->since)
        return grebe_index_search(self->target->pointer, &self->request, out,
                                  err);
    status = grebe_index_searcher(self->target->pointer, self->since,
                                  &searcher, err);
    if (status) return status;
    status = grebe_searcher_search(searcher, &self->request, out, err);
    grebe_searcher_release(searcher);
    return status;
}

static uint64_t docs_seen(const searching *self) {
    uint64_t count = UINT64_MAX;
    if (self->target->kind == GRB_PY_SEARCHER)
        return grebe_searcher_count(self->target->pointer);
    if (grebe_index_count(self->target->pointer, &count, NULL)) return 0;
    return count;
}

/* Runs until the search ends by itself: a SIGINT whose Python handler does
 * not raise begins it anew. */
static grebe_status search_run(searching *self, grebe_hits **out,
                               grebe_error *err) {
    grebe_status status;
    grb_py_interrupt interrupt = {0};
    grebe_cancel *given = self->request.cancel;
    uint64_t docs = docs_seen(self);
    if (docs < DOCS_RELEASE) return request_run(self, out, err);
    for (;;) {
        if (docs >= DOCS_INTERRUPT) {
            if (grb_py_interrupt_arm(&interrupt, given)) return GREBE_MEMORY;
            self->request.cancel = interrupt.cancel;
        }
        Py_BEGIN_ALLOW_THREADS status = request_run(self, out, err);
        Py_END_ALLOW_THREADS if (!grb_py_interrupt_disarm(
                                     &interrupt)) return status;
        if (PyErr_CheckSignals()) {
            if (status == GREBE_OK) grebe_hits_release(*out);
            return GREBE_CANCELLED;
        }
        if (status != GREBE_CANCELLED) return status;
    }
}

static int request_read(searching *self, PyObject *const *args) {
    return target_read(self, args[ARG_HANDLE]) || query_read(self, args) ||
           where_read(self, args[ARG_WHERE]) ||
           sort_read(self, args[ARG_SORT]) || paging_read(self, args) ||
           since_read(self, args[ARG_SINCE]) ||
           facets_read(self, args[ARG_FACETS]) ||
           highlights_read(self, args[ARG_HIGHLIGHT]) ||
           total_read(self, args[ARG_TOTAL]) ||
           timeout_read(self, args[ARG_TIMEOUT]) ||
           load_check(self, args[ARG_LOAD]);
}

static void request_free(searching *self) {
    for (size_t i = 0; i < self->request.filter_count; i++)
        Py_DECREF(self->wheres[i]);
    PyMem_Free(self->facets);
    PyMem_Free(self->highlights);
    Py_XDECREF(self->query);
    Py_XDECREF(self->sort);
    Py_XDECREF(self->schema);
}

static PyObject *kept(PyObject *object) {
    if (object == Py_None) return NULL;
    Py_INCREF(object);
    return object;
}

/* search(17 arguments): Hits */
PyObject *grb_py_search(PyObject *module, PyObject *const *args,
                        Py_ssize_t count) {
    searching self;
    grebe_hits *hits = NULL;
    grebe_error err;
    PyObject *result = NULL;
    if (count != ARG_COUNT)
        return PyErr_Format(PyExc_TypeError, "search: %d arguments",
                            ARG_COUNT);
    memset(&self, 0, sizeof self);
    if (request_read(&self, args)) goto done;
    if (self.since && self.target->kind == GRB_PY_SEARCHER &&
        grebe_searcher_number(self.target->pointer) < self.since) {
        grb_py_fail(GREBE_CONFLICT, NULL,
                    "the searcher is older than that commit");
        goto done;
    }
    if (search_run(&self, &hits, &err)) {
        grb_py_raise(&err);
        goto done;
    }
    result = grb_py_handle_new(GRB_PY_HITS, hits, self.schema);
    if (result) {
        grb_py_handle *handle = (grb_py_handle *)result;
        handle->facets = kept(args[ARG_FACETS]);
        handle->passages = kept(args[ARG_HIGHLIGHT]);
        handle->load = kept(args[ARG_LOAD]);
    }
done:
    request_free(&self);
    return result;
}

static PyObject *explanation(grebe_searcher *searcher,
                             const grebe_query *query,
                             const grebe_value *key) {
    grebe_error err;
    size_t size = 4096, needed = 0;
    PyObject *result = NULL;
    char *room = NULL;
    for (int turn = 0; turn < 2; turn++) {
        char *more = PyMem_Realloc(room, size);
        if (!more) {
            PyErr_NoMemory();
            goto done;
        }
        room = more;
        if (grebe_searcher_explain(searcher, query, key, room, size, &needed,
                                   &err)) {
            grb_py_raise(&err);
            goto done;
        }
        if (needed < size) break;
        size = needed + 1;
    }
    result = PyUnicode_DecodeUTF8(room, (Py_ssize_t)strlen(room), "replace");
done:
    PyMem_Free(room);
    return result;
}

/* explain(searcher, Q, key): str */
PyObject *grb_py_explain(PyObject *module, PyObject *const *args,
                         Py_ssize_t count) {
    grebe_value key;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "explain: three");
    void *searcher = grb_py_pointer(args[0], GRB_PY_SEARCHER);
    void *query = searcher ? grb_py_pointer(args[1], GRB_PY_QUERY) : NULL;
    if (!query || grb_py_key_read(args[2], &key)) return NULL;
    return explanation(searcher, query, &key);
}
