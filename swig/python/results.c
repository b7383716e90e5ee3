/* python/results.c - what hits hold, as Python objects.
 *
 * Scores are lent through the buffer protocol, so that numpy takes a page of
 * ten million in no time; a lender holds the hits. Stored
 * fields are read only when somebody asks for them.
 *
 * Invariant: a view keeps the hits it points into.
 * Threads: the GIL is held.
 * Owns: nothing.
 */
#include "binding.h"

typedef struct view {
    PyObject_HEAD grb_py_handle *hits; /* owned */
    const void *data;
    const char *format;
    Py_ssize_t size; /* of an item */
    Py_ssize_t count;
} view;

static PyTypeObject *view_type;

static void view_dealloc(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    Py_XDECREF(((view *)object)->hits);
    type->tp_free(object);
    Py_DECREF(type);
}

static int view_lend(PyObject *object, Py_buffer *buffer, int flags) {
    view *self = (view *)object;
    static const char nothing[8];
    const void *data = self->data ? self->data : nothing;
    if (PyBuffer_FillInfo(buffer, object, (void *)(uintptr_t)data,
                          self->count * self->size, 1, flags))
        return -1;
    buffer->itemsize = self->size;
    if (flags & PyBUF_FORMAT) buffer->format = (char *)(uintptr_t)self->format;
    if (flags & PyBUF_ND) buffer->shape = &self->count;
    if ((flags & PyBUF_STRIDES) == PyBUF_STRIDES)
        buffer->strides = &self->size;
    return 0;
}

static PyObject *view_refuse(PyTypeObject *type, PyObject *args,
                             PyObject *kwargs) {
    PyErr_SetString(PyExc_TypeError, "views come from hits");
    return NULL;
}

static PyType_Slot view_slots[] = {
    {Py_tp_dealloc, view_dealloc},
    {Py_tp_new, view_refuse},
    {Py_bf_getbuffer, view_lend},
    {Py_tp_doc, "Lends one array of a page of hits."},
    {0, NULL},
};

static PyType_Spec view_spec = {
    .name = "grebe_core.view",
    .basicsize = sizeof(view),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = view_slots,
};

int grb_py_results_init(PyObject *module) {
    view_type = (PyTypeObject *)PyType_FromSpec(&view_spec);
    return view_type ? 0 : -1;
}

static PyObject *view_new(grb_py_handle *hits, const void *data,
                          const char *format, size_t size) {
    view *self = (view *)view_type->tp_alloc(view_type, 0);
    if (!self) return NULL;
    Py_INCREF(hits);
    self->hits = hits;
    self->data = data;
    self->format = format;
    self->size = (Py_ssize_t)size;
    self->count = (Py_ssize_t)grebe_hits_count(hits->pointer);
    PyObject *memory = PyMemoryView_FromObject((PyObject *)self);
    Py_DECREF(self);
    return memory;
}

/* hits_scores(hits): a memoryview of floats */
PyObject *grb_py_hits_scores(PyObject *module, PyObject *object) {
    grb_py_handle *hits = grb_py_handle_of(object, GRB_PY_HITS);
    if (!hits) return NULL;
    return view_new(hits, grebe_hits_scores(hits->pointer), "f",
                    sizeof(float));
}

static PyObject *int_keys(const int64_t *keys, Py_ssize_t count) {
    PyObject *list = PyList_New(count);
    for (Py_ssize_t i = 0; list && i < count; i++) {
        PyObject *number = PyLong_FromLongLong(keys[i]);
        if (!number)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, number);
    }
    return list;
}

static PyObject *key_write(const grebe_hits *hits, uint64_t i) {
    grebe_value value;
    grebe_error err;
    if (grebe_hits_key(hits, i, &value, &err) == GREBE_OK)
        return grb_py_value_write(&value);
    grb_py_raise(&err);
    return NULL;
}

static int key_lacks(const grb_py_handle *hits) {
    return hits->schema->state->key == GREBE_NO_FIELD;
}

/* hits_keys(hits): a list of the keys, best first */
PyObject *grb_py_hits_keys(PyObject *module, PyObject *object) {
    grb_py_handle *hits = grb_py_handle_of(object, GRB_PY_HITS);
    if (!hits) return NULL;
    if (key_lacks(hits)) {
        grb_py_fail(GREBE_SCHEMA, NULL, "the schema has no key field");
        return NULL;
    }
    Py_ssize_t count = (Py_ssize_t)grebe_hits_count(hits->pointer);
    const int64_t *numbers = grebe_hits_int_keys(hits->pointer);
    if (numbers && count) return int_keys(numbers, count);
    PyObject *list = PyList_New(count);
    for (Py_ssize_t i = 0; list && i < count; i++) {
        PyObject *key = key_write(hits->pointer, (uint64_t)i);
        if (!key)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, key);
    }
    return list;
}

/* A place in the page; the caller has checked sign and bound. */
static grb_py_handle *place_read(PyObject *const *args, Py_ssize_t count,
                                 uint64_t *place) {
    if (count < 2) {
        PyErr_SetString(PyExc_TypeError, "hits and a place");
        return NULL;
    }
    grb_py_handle *hits = grb_py_handle_of(args[0], GRB_PY_HITS);
    if (!hits) return NULL;
    Py_ssize_t number = PyNumber_AsSsize_t(args[1], PyExc_IndexError);
    if (number == -1 && PyErr_Occurred()) return NULL;
    if (number < 0 || (uint64_t)number >= grebe_hits_count(hits->pointer)) {
        PyErr_SetString(PyExc_IndexError, "there is no such hit");
        return NULL;
    }
    *place = (uint64_t)number;
    return hits;
}

/* hits_key(hits, i): the key, None without a key field */
PyObject *grb_py_hits_key(PyObject *module, PyObject *const *args,
                          Py_ssize_t count) {
    uint64_t i;
    grb_py_handle *hits = place_read(args, count, &i);
    if (!hits) return NULL;
    if (key_lacks(hits)) Py_RETURN_NONE;
    return key_write(hits->pointer, i);
}

/* hits_score(hits, i): float */
PyObject *grb_py_hits_score(PyObject *module, PyObject *const *args,
                            Py_ssize_t count) {
    uint64_t i;
    grb_py_handle *hits = place_read(args, count, &i);
    if (!hits) return NULL;
    const float *scores = grebe_hits_scores(hits->pointer);
    return PyFloat_FromDouble(scores ? scores[i] : Py_NAN);
}

/* Only the fields of `load`, in its order. */
static PyObject *dict_cut(PyObject *dict, PyObject *load) {
    PyObject *cut = PyDict_New();
    for (Py_ssize_t i = 0; cut && i < PyTuple_GET_SIZE(load); i++) {
        PyObject *name = PyTuple_GET_ITEM(load, i);
        PyObject *value = PyDict_GetItemWithError(dict, name);
        if (value ? PyDict_SetItem(cut, name, value) : !!PyErr_Occurred())
            Py_CLEAR(cut);
    }
    Py_DECREF(dict);
    return cut;
}

/* hits_document(hits, i): dict of the stored fields */
PyObject *grb_py_hits_document(PyObject *module, PyObject *const *args,
                               Py_ssize_t count) {
    uint64_t i;
    grebe_error err;
    PyObject *dict = NULL;
    grb_py_handle *hits = place_read(args, count, &i);
    if (!hits) return NULL;
    grb_py_schema *state = hits->schema->state;
    grebe_document *document = grb_py_document_lend(state);
    if (!document) return NULL;
    if (grebe_hits_document(hits->pointer, i, document, &err))
        grb_py_raise(&err);
    else
        dict = grb_py_document_write(state, document);
    grb_py_document_back(state, document);
    return dict && hits->load ? dict_cut(dict, hits->load) : dict;
}

static PyObject *facet_rows(const grebe_hits *hits, size_t facet) {
    PyObject *list = PyList_New(0);
    uint64_t size = grebe_hits_facet_size(hits, facet);
    for (uint64_t i = 0; list && i < size; i++) {
        grebe_value value;
        grebe_error err;
        uint64_t count = 0;
        PyObject *row = NULL, *object = NULL;
        if (grebe_hits_facet(hits, facet, i, &value, &count, &err))
            grb_py_raise(&err);
        else
            object = grb_py_value_write(&value);
        if (object)
            row = Py_BuildValue("NK", object, (unsigned long long)count);
        if (!row || PyList_Append(list, row)) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

/* hits_facets(hits): [(field, [(value, count)], missing or None)] */
PyObject *grb_py_hits_facets(PyObject *module, PyObject *object) {
    grb_py_handle *hits = grb_py_handle_of(object, GRB_PY_HITS);
    if (!hits) return NULL;
    PyObject *list = PyList_New(0);
    Py_ssize_t count = hits->facets ? PyTuple_GET_SIZE(hits->facets) : 0;
    for (Py_ssize_t i = 0; list && i < count; i++) {
        PyObject *request = PyTuple_GET_ITEM(hits->facets, i);
        PyObject *rows = facet_rows(hits->pointer, (size_t)i), *row = NULL;
        PyObject *missing = Py_None;
        Py_INCREF(missing);
        if (PyObject_IsTrue(PyTuple_GET_ITEM(request, 6)) == 1)
            Py_SETREF(missing,
                      PyLong_FromUnsignedLongLong(
                          grebe_hits_facet_missing(hits->pointer, (size_t)i)));
        if (rows && missing)
            row = PyTuple_Pack(3, PyTuple_GET_ITEM(request, 0), rows, missing);
        Py_XDECREF(rows);
        Py_XDECREF(missing);
        if (!row || PyList_Append(list, row)) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

static PyObject *operators_of(const grebe_hits *hits, uint64_t step,
                              uint64_t count) {
    PyObject *list = PyList_New(0);
    for (uint64_t i = 0; list && i < count; i++) {
        grebe_plan_operator o;
        grebe_error err;
        PyObject *row = NULL;
        if (grebe_hits_plan_operator(hits, step, i, &o, &err))
            grb_py_raise(&err);
        else
            row = Py_BuildValue("{sssssssssK}", "role", o.role, "kind", o.kind,
                                "field", o.field, "kept", o.kept, "docs",
                                (unsigned long long)o.docs);
        if (!row || PyList_Append(list, row)) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

static PyObject *step_of(const grebe_hits *hits, uint64_t i) {
    grebe_plan_step s;
    grebe_error err;
    if (grebe_hits_plan(hits, i, &s, &err)) {
        grb_py_raise(&err);
        return NULL;
    }
    PyObject *operators = operators_of(hits, i, s.operator_count);
    if (!operators) return NULL;
#define COUNT(name) #name, (unsigned long long)s.name
    return Py_BuildValue(
        "{sssssssssKsKsKsKsKsKsKsKsN}", "pass", s.pass, "pass_reason",
        s.pass_reason, "method", s.method, "reason", s.reason, COUNT(segment),
        COUNT(docs), COUNT(windows), COUNT(blocks), COUNT(matched),
        COUNT(scored), COUNT(positions), COUNT(work), "operators", operators);
#undef COUNT
}

/* hits_plan(hits): a list of dicts, one a pass and segment */
PyObject *grb_py_hits_plan(PyObject *module, PyObject *object) {
    grb_py_handle *hits = grb_py_handle_of(object, GRB_PY_HITS);
    if (!hits) return NULL;
    uint64_t count = grebe_hits_plan_size(hits->pointer);
    PyObject *list = PyList_New(0);
    for (uint64_t i = 0; list && i < count; i++) {
        PyObject *row = step_of(hits->pointer, i);
        if (!row || PyList_Append(list, row)) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

static PyObject *passages_of(const grebe_hits *hits, uint64_t i,
                             size_t request) {
    uint32_t count = grebe_hits_passage_count(hits, i, request);
    PyObject *list = PyList_New(count);
    for (uint32_t j = 0; list && j < count; j++) {
        size_t size = 0;
        const char *text = grebe_hits_passage(hits, i, request, j, &size);
        PyObject *passage =
            text ? PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, "replace")
                 : PyUnicode_FromString("");
        if (!passage)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, j, passage);
    }
    return list;
}

/* hits_passages(hits, i): {field: [passage]} */
PyObject *grb_py_hits_passages(PyObject *module, PyObject *const *args,
                               Py_ssize_t count) {
    uint64_t i;
    grb_py_handle *hits = place_read(args, count, &i);
    PyObject *dict = hits ? PyDict_New() : NULL;
    Py_ssize_t requests =
        hits && hits->passages ? PyTuple_GET_SIZE(hits->passages) : 0;
    for (Py_ssize_t k = 0; dict && k < requests; k++) {
        PyObject *field =
            PyTuple_GET_ITEM(PyTuple_GET_ITEM(hits->passages, k), 0);
        PyObject *list = passages_of(hits->pointer, i, (size_t)k);
        if (!list || PyDict_SetItem(dict, field, list)) Py_CLEAR(dict);
        Py_XDECREF(list);
    }
    return dict;
}
