/* python/handles.c - the Python type that owns a C handle.
 *
 * SWIG's own pointer objects can be made empty and then crash; this type
 * cannot be made from Python at all. What a public class closes it does by
 * dropping its handle: a call that still runs in another thread holds its
 * own reference, so nothing is freed under it. A closed object hands None to
 * the calls, and None is ClosedError.
 *
 * Invariant: `pointer` is a live C handle from creation to deallocation.
 * Threads: the GIL is held.
 * Owns: the C handle and a reference to the schema's handle.
 */
#include "binding.h"

PyTypeObject *grb_py_handle_type;
static PyTypeObject *types[GRB_PY_KIND_COUNT]; /* NULL: the base type */

static const char *const kind_names[GRB_PY_KIND_COUNT] = {
    "an index", "a searcher", "a page of hits", "a query",
    "a schema", "a snapshot", "a container",    "a cancel flag",
};

static void pointer_free(grb_py_kind kind, void *pointer) {
    switch (kind) {
    case GRB_PY_INDEX:
        grebe_index_free(pointer);
        break;
    case GRB_PY_SEARCHER:
        grebe_searcher_release(pointer);
        break;
    case GRB_PY_HITS:
        grebe_hits_release(pointer);
        break;
    case GRB_PY_QUERY:
        grebe_query_release(pointer);
        break;
    case GRB_PY_SCHEMA:
        grebe_schema_release(pointer);
        break;
    case GRB_PY_SNAPSHOT:
        grebe_snapshot_free(pointer);
        break;
    case GRB_PY_CONTAINER:
        grebe_container_free(pointer);
        break;
    case GRB_PY_CANCEL:
        grebe_cancel_free(pointer);
        break;
    case GRB_PY_KIND_COUNT:
        break;
    }
}

static void handle_dealloc(PyObject *object) {
    grb_py_handle *self = (grb_py_handle *)object;
    PyTypeObject *type = Py_TYPE(object);
    grb_py_schema_free(self->state);
    if (self->pointer) pointer_free(self->kind, self->pointer);
    Py_CLEAR(self->schema);
    Py_CLEAR(self->facets);
    Py_CLEAR(self->passages);
    Py_CLEAR(self->load);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyObject *handle_refuse(PyTypeObject *type, PyObject *args,
                               PyObject *kwargs) {
    PyErr_Format(PyExc_TypeError, "%s objects come from the library's calls",
                 type->tp_name);
    return NULL;
}

static PyObject *handle_reduce(PyObject *self, PyObject *ignored) {
    PyErr_Format(PyExc_TypeError, "cannot pickle or copy %s objects",
                 Py_TYPE(self)->tp_name);
    return NULL;
}

static PyMethodDef handle_methods[] = {
    {"__reduce_ex__", handle_reduce, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot handle_slots[] = {
    {Py_tp_dealloc, handle_dealloc},
    {Py_tp_new, handle_refuse},
    {Py_tp_methods, handle_methods},
    {Py_tp_doc, "Owns one handle of the C library; private."},
    {0, NULL},
};

static PyType_Spec handle_spec = {
    .name = "grebe_core.handle",
    .basicsize = sizeof(grb_py_handle),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = handle_slots,
};

int grb_py_handles_init(PyObject *module) {
    PyObject *type = PyType_FromSpec(&handle_spec);
    if (!type) return -1;
    grb_py_handle_type = (PyTypeObject *)type;
    Py_INCREF(type);
    return PyModule_AddObject(module, "handle", type);
}

/* types_set(hits=, query=, cancel=) by place: the public subclasses. */
PyObject *grb_py_types_set(PyObject *module, PyObject *const *args,
                           Py_ssize_t count) {
    static const grb_py_kind kinds[] = {GRB_PY_HITS, GRB_PY_QUERY,
                                        GRB_PY_CANCEL};
    if (count != 3) return PyErr_Format(PyExc_TypeError, "three classes");
    for (int i = 0; i < 3; i++) {
        PyTypeObject *type = (PyTypeObject *)args[i];
        if (!PyType_Check(args[i]) ||
            !PyType_IsSubtype(type, grb_py_handle_type))
            return PyErr_Format(PyExc_TypeError, "not a class of handles");
        Py_INCREF(type);
        Py_XSETREF(types[kinds[i]], type);
    }
    Py_RETURN_NONE;
}

/* An index looks at its writer for it, and another thread may hold that. */
static grebe_schema *index_schema(grebe_index *index) {
    grebe_schema *schema = NULL;
    grebe_status status;
    grebe_error err;
    if (!grb_py_must_release()) {
        status = grebe_index_schema(index, &schema, &err);
    } else {
        Py_BEGIN_ALLOW_THREADS status =
            grebe_index_schema(index, &schema, &err);
        Py_END_ALLOW_THREADS
    }
    if (status) grb_py_raise(&err);
    return schema;
}

/* The schema of an index or a searcher: `known` again if it is the same. */
static grb_py_handle *schema_ask(grb_py_kind kind, void *pointer,
                                 grb_py_handle *known) {
    grebe_schema *schema = kind == GRB_PY_SEARCHER
                               ? grebe_searcher_schema(pointer)
                               : index_schema(pointer);
    if (!schema) return NULL;
    if (known && known->pointer == schema) {
        grebe_schema_release(schema);
        Py_INCREF(known);
        return known;
    }
    return (grb_py_handle *)grb_py_handle_new(GRB_PY_SCHEMA, schema, NULL);
}

static int parts_fill(grb_py_handle *self, grb_py_handle *schema) {
    if (self->kind == GRB_PY_SCHEMA) {
        self->state = grb_py_schema_new(self->pointer);
        return self->state ? 0 : -1;
    }
    if (self->kind == GRB_PY_INDEX || self->kind == GRB_PY_SEARCHER) {
        self->schema = schema_ask(self->kind, self->pointer, schema);
        return self->schema ? 0 : -1;
    }
    Py_XINCREF(schema);
    self->schema = schema;
    return 0;
}

PyObject *grb_py_handle_new(grb_py_kind kind, void *pointer,
                            grb_py_handle *schema) {
    PyTypeObject *type = types[kind] ? types[kind] : grb_py_handle_type;
    grb_py_handle *self = (grb_py_handle *)type->tp_alloc(type, 0);
    if (!self) {
        pointer_free(kind, pointer);
        return NULL;
    }
    self->pointer = pointer;
    self->kind = kind;
    if (parts_fill(self, schema)) Py_CLEAR(self);
    return (PyObject *)self;
}

int grb_py_handle_refresh(grb_py_handle *index) {
    grb_py_handle *fresh =
        schema_ask(index->kind, index->pointer, index->schema);
    if (!fresh) return -1;
    Py_XSETREF(index->schema, fresh);
    return 0;
}

/* schema_refresh(index): takes in fields added or taken back meanwhile */
PyObject *grb_py_schema_refresh(PyObject *module, PyObject *object) {
    grb_py_handle *index = grb_py_handle_of(object, GRB_PY_INDEX);
    if (!index || grb_py_handle_refresh(index)) return NULL;
    Py_RETURN_NONE;
}

grb_py_handle *grb_py_handle_of(PyObject *object, grb_py_kind kind) {
    if (PyObject_TypeCheck(object, grb_py_handle_type)) {
        grb_py_handle *self = (grb_py_handle *)object;
        if (self->kind == kind && self->pointer) return self;
    }
    if (object == Py_None)
        grb_py_fail(GREBE_CLOSED, NULL, "the %s has been closed",
                    strchr(kind_names[kind], ' ') + 1);
    else
        PyErr_Format(PyExc_TypeError, "%s is wanted, not %s", kind_names[kind],
                     Py_TYPE(object)->tp_name);
    return NULL;
}

void *grb_py_pointer(PyObject *object, grb_py_kind kind) {
    grb_py_handle *self = grb_py_handle_of(object, kind);
    return self ? self->pointer : NULL;
}
