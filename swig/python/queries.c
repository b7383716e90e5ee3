/* python/queries.c - query handles from texts, fields and clauses.
 *
 * The texts that a program searches again and again are compiled once for a
 * schema: text (with fields and operator, if given) -> query. The table is
 * emptied when it is full; it dies with the schema's handle.
 *
 * Invariant: a compiled text belongs to this schema alone.
 * Threads: the GIL is held.
 * Owns: the table, through the schema's state.
 */
#include "binding.h"

#include <math.h>

#define FIELDS_MAX 256
#define TEXT_ON_STACK 4096

/* "title^2" to a name and a boost; `name` is the caller's room. */
static int field_split(PyObject *object, char *name, grebe_query_field *out) {
    if (!PyUnicode_Check(object)) {
        PyErr_Format(PyExc_TypeError, "a field is str, not %s",
                     Py_TYPE(object)->tp_name);
        return -1;
    }
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(object, &size);
    if (!text) return -1;
    const char *caret = strchr(text, '^');
    size_t length = caret ? (size_t)(caret - text) : (size_t)size;
    out->boost = 1.0f;
    if (length > GREBE_FIELD_NAME_MAX) {
        PyErr_Format(PyExc_ValueError, "the field name %R is too long",
                     object);
        return -1;
    }
    memcpy(name, text, length);
    name[length] = 0;
    out->name = name;
    if (!caret) return 0;
    char *end;
    double boost = PyOS_string_to_double(caret + 1, &end, NULL);
    if (PyErr_Occurred() || *end || !(boost >= 0) || isinf(boost)) {
        PyErr_Clear();
        PyErr_Format(PyExc_ValueError, "%R: the boost is no number >= 0",
                     object);
        return -1;
    }
    out->boost = (float)boost;
    return 0;
}

/* Compiles with fields. `fields` is a tuple. */
static grebe_status fields_parse(grb_py_schema *state, PyObject *text,
                                 PyObject *fields,
                                 grebe_parse_options *options,
                                 grebe_query **out, grebe_error *err) {
    grebe_status status = GREBE_TYPE;
    Py_ssize_t count = PyTuple_GET_SIZE(fields), size;
    const char *bytes = PyUnicode_AsUTF8AndSize(text, &size);
    char(*names)[GREBE_FIELD_NAME_MAX + 1] = NULL;
    grebe_query_field *list = NULL;
    if (!bytes) goto done;
    if (count < 1 || count > FIELDS_MAX) {
        PyErr_Format(PyExc_ValueError, "fields: 1 to %d names", FIELDS_MAX);
        goto done;
    }
    names = PyMem_Malloc((size_t)count * sizeof *names);
    list = PyMem_Malloc((size_t)count * sizeof *list);
    if (!names || !list) {
        PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t i = 0; i < count; i++)
        if (field_split(PyTuple_GET_ITEM(fields, i), names[i], &list[i]))
            goto done;
    options->fields = list;
    options->field_count = (size_t)count;
    status = grebe_query_parse(state->schema, bytes, (size_t)size, options,
                               out, err);
done:
    PyMem_Free(names);
    PyMem_Free(list);
    return status;
}

/* A new query handle, or NULL. */
static PyObject *text_parse(grb_py_schema *state, PyObject *text,
                            PyObject *fields, grebe_operator op,
                            int forgiving) {
    grebe_query *query = NULL;
    grebe_error err;
    Py_ssize_t size;
    grebe_status status;
    grebe_parse_options options = {.op = op, .forgiving = forgiving};
    const char *bytes = PyUnicode_AsUTF8AndSize(text, &size);
    if (!bytes) {
        PyErr_Clear();
        PyErr_SetString(PyExc_ValueError,
                        "the query holds a lone surrogate and is no UTF-8");
        return NULL;
    }
    status = fields ? fields_parse(state, text, fields, &options, &query, &err)
                    : grebe_query_parse(state->schema, bytes, (size_t)size,
                                        &options, &query, &err);
    if (status) {
        grb_py_raise_in(&err, bytes, (size_t)size);
        return NULL;
    }
    return grb_py_handle_new(GRB_PY_QUERY, query, NULL);
}

/* What a text is known by: itself in the commonest case. New reference. */
static PyObject *text_key(PyObject *text, PyObject *fields, grebe_operator op,
                          int forgiving) {
    if (!fields && op == GREBE_OR && forgiving && PyUnicode_CheckExact(text)) {
        Py_INCREF(text);
        return text;
    }
    return Py_BuildValue("OOii", text, fields ? fields : Py_None, (int)op,
                         forgiving);
}

static PyObject *text_compile(grb_py_schema *state, PyObject *text,
                              PyObject *fields, grebe_operator op,
                              int forgiving) {
    PyObject *query = NULL;
    if (!state->queries && !(state->queries = PyDict_New())) return NULL;
    PyObject *key = text_key(text, fields, op, forgiving);
    if (!key) return NULL;
    query = PyDict_GetItemWithError(state->queries, key);
    if (query) {
        Py_INCREF(query);
    } else if (!PyErr_Occurred()) {
        query = text_parse(state, text, fields, op, forgiving);
        if (query && PyDict_GET_SIZE(state->queries) >= GRB_PY_QUERIES_MAX)
            PyDict_Clear(state->queries);
        if (query && PyUnicode_GET_LENGTH(text) <= 1024 &&
            PyDict_SetItem(state->queries, key, query))
            Py_CLEAR(query);
    }
    Py_DECREF(key);
    return query;
}

PyObject *grb_py_query_of(grb_py_schema *state, PyObject *object,
                          PyObject *fields, grebe_operator op, int forgiving) {
    if (object == Py_None) return NULL;
    if (PyUnicode_Check(object)) {
        PyObject *tuple = NULL;
        if (fields && PyUnicode_Check(fields)) {
            tuple = PyTuple_Pack(1, fields);
            if (!tuple) return NULL;
        } else if (fields) {
            tuple = PySequence_Tuple(fields);
            if (!tuple) return NULL;
        }
        PyObject *query = text_compile(state, object, tuple, op, forgiving);
        Py_XDECREF(tuple);
        return query;
    }
    if (PyObject_TypeCheck(object, grb_py_handle_type) &&
        ((grb_py_handle *)object)->kind == GRB_PY_QUERY) {
        Py_INCREF(object);
        return object;
    }
    PyErr_Format(PyExc_TypeError, "a query is str or Q, not %s",
                 Py_TYPE(object)->tp_name);
    return NULL;
}

/* query(index, searcher or schema, str or Q, fields or None, and, forgiving)
 */
PyObject *grb_py_query(PyObject *module, PyObject *const *args,
                       Py_ssize_t count) {
    if (count != 5) return PyErr_Format(PyExc_TypeError, "query: five");
    grb_py_handle *self = (grb_py_handle *)args[0];
    if (PyObject_TypeCheck(args[0], grb_py_handle_type) && self->schema)
        self = self->schema;
    else
        self = grb_py_handle_of(args[0], args[0] == Py_None ? GRB_PY_INDEX
                                                            : GRB_PY_SCHEMA);
    if (!self) return NULL;
    if (args[1] == Py_None)
        return PyErr_Format(PyExc_TypeError, "a query is str or Q, not None");
    Py_INCREF(self);
    PyObject *query = grb_py_query_of(
        self->state, args[1], args[2] == Py_None ? NULL : args[2],
        PyObject_IsTrue(args[3]) == 1 ? GREBE_AND : GREBE_OR,
        PyObject_IsTrue(args[4]) == 1);
    Py_DECREF(self);
    return query;
}

PyObject *grb_py_query_text(PyObject *module, PyObject *object) {
    char room[TEXT_ON_STACK];
    const grebe_query *query = grb_py_pointer(object, GRB_PY_QUERY);
    if (!query) return NULL;
    size_t size = grebe_query_text(query, room, sizeof room);
    if (size < sizeof room)
        return PyUnicode_DecodeUTF8(room, (Py_ssize_t)size, "replace");
    char *text = PyMem_Malloc(size + 1);
    if (!text) return PyErr_NoMemory();
    grebe_query_text(query, text, size + 1);
    PyObject *result = PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, "replace");
    PyMem_Free(text);
    return result;
}

static PyObject *query_wrap(grebe_status status, grebe_query *query,
                            const grebe_error *err) {
    if (status == GREBE_OK)
        return grb_py_handle_new(GRB_PY_QUERY, query, NULL);
    grb_py_raise(err);
    return NULL;
}

/* query_bool([(occur, Q)], should_min) */
PyObject *grb_py_query_bool(PyObject *module, PyObject *const *args,
                            Py_ssize_t count) {
    grebe_query *query = NULL;
    grebe_error err;
    if (count != 2 || !PyList_Check(args[0]))
        return PyErr_Format(PyExc_TypeError, "query_bool: a list, a number");
    size_t size = (size_t)PyList_GET_SIZE(args[0]);
    unsigned long should_min = PyLong_AsUnsignedLong(args[1]);
    if (should_min > UINT32_MAX) {
        if (PyErr_Occurred()) PyErr_Clear();
        return PyErr_Format(PyExc_ValueError, "mm is a number >= 0");
    }
    grebe_clause *clauses = PyMem_Malloc((size + 1) * sizeof *clauses);
    if (!clauses) return PyErr_NoMemory();
    for (size_t i = 0; i < size; i++) {
        int occur;
        PyObject *part, *row = PyList_GET_ITEM(args[0], (Py_ssize_t)i);
        if (!PyTuple_Check(row) || !PyArg_ParseTuple(row, "iO", &occur, &part))
            goto fail;
        clauses[i].occur = (grebe_occur)occur;
        clauses[i].query = grb_py_pointer(part, GRB_PY_QUERY);
        if (!clauses[i].query) goto fail;
    }
    grebe_status status =
        grebe_query_bool(clauses, size, (uint32_t)should_min, &query, &err);
    PyMem_Free(clauses);
    return query_wrap(status, query, &err);
fail:
    PyMem_Free(clauses);
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "a clause is (occur, Q)");
    return NULL;
}

/* query_dismax([Q], tie) */
PyObject *grb_py_query_dismax(PyObject *module, PyObject *const *args,
                              Py_ssize_t count) {
    grebe_query *query = NULL;
    grebe_error err;
    if (count != 2 || !PyList_Check(args[0]))
        return PyErr_Format(PyExc_TypeError, "query_dismax: a list, a number");
    size_t size = (size_t)PyList_GET_SIZE(args[0]);
    double tie = PyFloat_AsDouble(args[1]);
    if (tie == -1.0 && PyErr_Occurred()) return NULL;
    grebe_query **parts = PyMem_Malloc((size + 1) * sizeof *parts);
    if (!parts) return PyErr_NoMemory();
    for (size_t i = 0; i < size; i++) {
        parts[i] = grb_py_pointer(PyList_GET_ITEM(args[0], (Py_ssize_t)i),
                                  GRB_PY_QUERY);
        if (!parts[i]) {
            PyMem_Free(parts);
            return NULL;
        }
    }
    grebe_status status =
        grebe_query_dismax(parts, size, (float)tie, &query, &err);
    PyMem_Free(parts);
    return query_wrap(status, query, &err);
}

/* query_range(field, lower, upper, lower_open, upper_open); None: no bound */
PyObject *grb_py_query_range(PyObject *module, PyObject *const *args,
                             Py_ssize_t count) {
    grebe_query *query = NULL;
    grebe_error err;
    grebe_value lower, upper;
    grebe_range range = {0};
    Py_buffer first = {0}, second = {0};
    PyObject *result = NULL;
    if (count != 5 || !PyUnicode_Check(args[0]))
        return PyErr_Format(PyExc_TypeError, "a field is str");
    const char *field = PyUnicode_AsUTF8(args[0]);
    if (!field) return NULL;
    if (args[1] != Py_None) {
        if (grb_py_value_guess(args[1], &lower, &first)) goto done;
        range.lower = &lower;
    }
    if (args[2] != Py_None) {
        if (grb_py_value_guess(args[2], &upper, &second)) goto done;
        range.upper = &upper;
    }
    range.lower_open = PyObject_IsTrue(args[3]) == 1;
    range.upper_open = PyObject_IsTrue(args[4]) == 1;
    grebe_status status = grebe_query_range(field, &range, &query, &err);
    result = query_wrap(status, query, &err);
done:
    if (first.obj) PyBuffer_Release(&first);
    if (second.obj) PyBuffer_Release(&second);
    return result;
}
