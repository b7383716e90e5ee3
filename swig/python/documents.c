/* python/documents.c - documents: Mappings in, dicts out.
 *
 * A dict is walked in place; any other Mapping is asked for its items. Python
 * code may run while a value is read (__index__, a time zone, an iterator), so
 * key and value are held meanwhile.
 *
 * Invariant: a document that could not be filled is never handed on.
 * Threads: the GIL is held.
 * Owns: nothing.
 */
#include "binding.h"

static int null_add(grebe_document *document, uint32_t id) {
    grebe_error err;
    if (grebe_document_add_null(document, id, &err) == GREBE_OK) return 0;
    grb_py_raise(&err);
    return -1;
}

static int scalar_add(grebe_document *document, const grb_py_field *field,
                      uint32_t id, PyObject *object) {
    grebe_value value;
    grebe_error err;
    Py_buffer buffer;
    buffer.obj = NULL;
    const char *name = PyUnicode_AsUTF8(field->name);
    if (!name || grb_py_value_read(object, field->kind, name, &value, &buffer))
        return -1;
    grebe_status status = grebe_document_add(document, id, &value, &err);
    if (buffer.obj) PyBuffer_Release(&buffer);
    if (status == GREBE_OK) return 0;
    grb_py_raise(&err);
    return -1;
}

static int item_check(const char *name, PyObject *item, Py_ssize_t i) {
    if (item != Py_None && !PyList_Check(item) && !PyTuple_Check(item) &&
        !PyDict_Check(item))
        return 0;
    return grb_py_fail(GREBE_DOCUMENT, name,
                       "field '%s': item %zd of the list is %s", name, i,
                       item == Py_None ? "None" : Py_TYPE(item)->tp_name);
}

/* The items of a list; it may change under us, so its size is read anew. */
static int list_add(grebe_document *document, const grb_py_field *field,
                    uint32_t id, PyObject *list) {
    const char *name = PyUnicode_AsUTF8(field->name);
    if (!name) return -1;
    if (!(field->flags & GREBE_MANY))
        return grb_py_fail(GREBE_DOCUMENT, name,
                           "field '%s' takes one value, not a %s; declare it "
                           "with many=True",
                           name, Py_TYPE(list)->tp_name);
    if (PySequence_Fast_GET_SIZE(list) == 0) return null_add(document, id);
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list); i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(list, i);
        Py_INCREF(item);
        int bad =
            item_check(name, item, i) || scalar_add(document, field, id, item);
        Py_DECREF(item);
        if (bad) return -1;
    }
    return 0;
}

static int unknown_take(PyObject *name, PyObject *unknown) {
    if (unknown) return PySet_Add(unknown, name);
    const char *text = PyUnicode_AsUTF8(name);
    if (!text) return -1;
    return grb_py_fail(GREBE_DOCUMENT, text, "the schema has no field '%s'",
                       text);
}

static int pair_add(grb_py_schema *state, grebe_document *document,
                    PyObject *name, PyObject *value, PyObject *unknown) {
    int64_t id = grb_py_field_find(state, name);
    if (id < 0) return -1;
    if (id == GREBE_NO_FIELD) return unknown_take(name, unknown);
    const grb_py_field *field = &state->fields[id];
    if (value == Py_None) return null_add(document, (uint32_t)id);
    if (PyList_Check(value) || PyTuple_Check(value))
        return list_add(document, field, (uint32_t)id, value);
    return scalar_add(document, field, (uint32_t)id, value);
}

static int dict_read(grb_py_schema *state, grebe_document *document,
                     PyObject *dict, PyObject *unknown) {
    PyObject *name, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(dict, &at, &name, &value)) {
        Py_INCREF(name);
        Py_INCREF(value);
        int bad = pair_add(state, document, name, value, unknown);
        Py_DECREF(name);
        Py_DECREF(value);
        if (bad) return -1;
    }
    return 0;
}

/* Any other Mapping, through items(). */
static int items_read(grb_py_schema *state, grebe_document *document,
                      PyObject *mapping, PyObject *unknown) {
    int result = -1;
    PyObject *items = PyMapping_Items(mapping);
    if (!items) return -1;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items); i++) {
        PyObject *pair = PyList_GET_ITEM(items, i);
        if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2) {
            PyErr_SetString(PyExc_TypeError, "items() must give pairs");
            goto done;
        }
        if (pair_add(state, document, PyTuple_GET_ITEM(pair, 0),
                     PyTuple_GET_ITEM(pair, 1), unknown))
            goto done;
    }
    result = 0;
done:
    Py_DECREF(items);
    return result;
}

static int mapping_is(PyObject *object) {
    if (!PyMapping_Check(object) || PyUnicode_Check(object) ||
        PyBytes_Check(object) || PyList_Check(object) || PyTuple_Check(object))
        return 0;
    return PyObject_HasAttrString(object, "items");
}

/* Puts the document's key, as far as it can be told, on the exception. */
static void key_tell(grb_py_schema *state, PyObject *mapping) {
    PyObject *type, *value, *trace;
    if (state->key == GREBE_NO_FIELD || !PyDict_Check(mapping)) return;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *key =
        PyDict_GetItemWithError(mapping, state->fields[state->key].name);
    if (!key) PyErr_Clear();
    Py_XINCREF(key);
    PyErr_Restore(type, value, trace);
    if (key && (PyUnicode_Check(key) || PyLong_Check(key)))
        grb_py_error_key(key);
    Py_XDECREF(key);
}

int grb_py_document_read(grb_py_schema *state, grebe_document *document,
                         PyObject *mapping, PyObject *unknown) {
    int bad;
    if (PyDict_Check(mapping)) {
        bad = dict_read(state, document, mapping, unknown);
    } else if (mapping_is(mapping)) {
        bad = items_read(state, document, mapping, unknown);
    } else {
        PyErr_Format(PyExc_TypeError,
                     "a document is a mapping of names to values, not %s",
                     Py_TYPE(mapping)->tp_name);
        return -1;
    }
    if (bad) key_tell(state, mapping);
    return bad;
}

/* Appends to the field's list, which the first value makes. */
static int many_put(PyObject *dict, PyObject *name, PyObject *value) {
    PyObject *list = PyDict_GetItemWithError(dict, name);
    if (list) return PyList_Append(list, value);
    if (PyErr_Occurred()) return -1;
    list = PyList_New(1);
    if (!list) return -1;
    Py_INCREF(value);
    PyList_SET_ITEM(list, 0, value);
    int bad = PyDict_SetItem(dict, name, list);
    Py_DECREF(list);
    return bad;
}

PyObject *grb_py_document_write(grb_py_schema *state,
                                const grebe_document *document) {
    PyObject *dict = PyDict_New();
    uint32_t count = grebe_document_count(document), id;
    for (uint32_t i = 0; dict && i < count; i++) {
        grebe_value value;
        grebe_error err;
        PyObject *object = NULL;
        int bad = 1;
        if (grebe_document_value(document, i, &id, &value, &err))
            grb_py_raise(&err);
        else if (id >= state->count)
            grb_py_fail(GREBE_INTERNAL, NULL, "unknown field %d", (int)id);
        else
            object = grb_py_value_write(&value);
        if (object) {
            PyObject *name = state->fields[id].name;
            bad = state->fields[id].flags & GREBE_MANY
                      ? many_put(dict, name, object)
                      : PyDict_SetItem(dict, name, object);
        }
        Py_XDECREF(object);
        if (bad) Py_CLEAR(dict);
    }
    return dict;
}
