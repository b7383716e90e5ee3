/* python/values.c - single values, from Python and to Python.
 *
 * The rules are strict: a bool is not an int, a str is never a number, NaN is
 * refused. What does not fit a field is DocumentError naming the field; what
 * does not fit a query is TypeError or ValueError.
 *
 * Invariant: text handed on is valid UTF-8.
 * Threads: the GIL is held.
 * Owns: nothing; text is borrowed from the str it came from.
 */
#include "binding.h"

#include <math.h>

static const char *kind_name(grebe_kind kind) {
    switch (kind) {
    case GREBE_TEXT:
        return "str";
    case GREBE_KEYWORD:
        return "str";
    case GREBE_INT:
        return "int";
    case GREBE_DOUBLE:
        return "int or float";
    case GREBE_BOOL:
        return "bool";
    case GREBE_DATETIME:
        return "aware datetime, date, int or ISO 8601 str";
    case GREBE_BYTES:
        return "bytes-like";
    }
    return "value";
}

static int kind_refuse(PyObject *object, grebe_kind kind, const char *field) {
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_TypeError))
        return -1;
    PyErr_Clear();
    return grb_py_fail(GREBE_DOCUMENT, field, "field '%s' takes %s, not %s",
                       field, kind_name(kind), Py_TYPE(object)->tp_name);
}

int grb_py_text_read(PyObject *object, const char *field, const char **bytes,
                     size_t *size) {
    Py_ssize_t count;
    *bytes = PyUnicode_AsUTF8AndSize(object, &count);
    if (*bytes) {
        *size = (size_t)count;
        return 0;
    }
    if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) return -1;
    PyErr_Clear();
    return grb_py_fail(
        GREBE_DOCUMENT, field, "%s%s%s holds a lone surrogate and is no UTF-8",
        field ? "field '" : "text", field ? field : "", field ? "'" : "");
}

/* An int or what says __index__ of itself (numpy's integers do). */
static int int_read(PyObject *object, int64_t *out) {
    if (PyLong_CheckExact(object)) {
        *out = PyLong_AsLongLong(object);
    } else {
        PyObject *number = PyNumber_Index(object);
        if (!number) return -1;
        *out = PyLong_AsLongLong(number);
        Py_DECREF(number);
    }
    return *out == -1 && PyErr_Occurred() ? -1 : 0;
}

static int int_field_read(PyObject *object, const char *field, int64_t *out) {
    if (PyBool_Check(object) || !PyIndex_Check(object))
        return kind_refuse(object, GREBE_INT, field);
    if (int_read(object, out) == 0) return 0;
    if (!PyErr_ExceptionMatches(PyExc_OverflowError))
        return kind_refuse(object, GREBE_INT, field);
    PyErr_Clear();
    return grb_py_fail(GREBE_DOCUMENT, field,
                       "field '%s': the number does not fit in 64 bits",
                       field);
}

static int float_field_read(PyObject *object, const char *field, double *out) {
    if (PyFloat_Check(object)) {
        *out = PyFloat_AS_DOUBLE(object);
    } else if (PyLong_Check(object) && !PyBool_Check(object)) {
        *out = PyLong_AsDouble(object);
        if (*out == -1.0 && PyErr_Occurred()) {
            if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return -1;
            PyErr_Clear();
            return grb_py_fail(GREBE_DOCUMENT, field,
                               "field '%s': the number does not fit in a "
                               "float",
                               field);
        }
    } else {
        return kind_refuse(object, GREBE_DOUBLE, field);
    }
    if (!isnan(*out)) return 0;
    return grb_py_fail(GREBE_DOCUMENT, field, "field '%s': NaN is no value",
                       field);
}

/* The years that a date may lie in, 1 to 9999, in milliseconds. */
#define MS_FIRST INT64_C(-62135596800000)
#define MS_LAST INT64_C(253402300799999)

static int date_field_read(PyObject *object, const char *field, int64_t *ms) {
    if (grb_py_date_read(object, ms) == 0) {
        if (*ms >= MS_FIRST && *ms <= MS_LAST) return 0;
        return grb_py_fail(GREBE_DOCUMENT, field,
                           "field '%s': the date is outside the years 1 to "
                           "9999",
                           field);
    }
    if (PyErr_ExceptionMatches(PyExc_TypeError))
        return kind_refuse(object, GREBE_DATETIME, field);
    if (!PyErr_ExceptionMatches(PyExc_ValueError) &&
        !PyErr_ExceptionMatches(PyExc_OverflowError))
        return -1;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    grb_py_fail(GREBE_DOCUMENT, field, "field '%s': %S", field, value);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return -1;
}

static int bytes_read(PyObject *object, grebe_value *out, Py_buffer *buffer) {
    if (PyObject_GetBuffer(object, buffer, PyBUF_SIMPLE)) {
        buffer->obj = NULL;
        return -1;
    }
    out->as.text.bytes = buffer->buf;
    out->as.text.size = (size_t)buffer->len;
    return 0;
}

int grb_py_value_read(PyObject *object, grebe_kind kind, const char *field,
                      grebe_value *out, Py_buffer *buffer) {
    out->kind = kind;
    switch (kind) {
    case GREBE_TEXT:
    case GREBE_KEYWORD:
        if (!PyUnicode_Check(object)) return kind_refuse(object, kind, field);
        return grb_py_text_read(object, field, &out->as.text.bytes,
                                &out->as.text.size);
    case GREBE_INT:
        return int_field_read(object, field, &out->as.integer);
    case GREBE_DOUBLE:
        return float_field_read(object, field, &out->as.number);
    case GREBE_BOOL:
        if (!PyBool_Check(object)) return kind_refuse(object, kind, field);
        out->as.boolean = object == Py_True;
        return 0;
    case GREBE_DATETIME:
        return date_field_read(object, field, &out->as.integer);
    case GREBE_BYTES:
        if (!PyObject_CheckBuffer(object))
            return kind_refuse(object, kind, field);
        if (bytes_read(object, out, buffer) == 0) return 0;
        PyErr_Clear();
        return grb_py_fail(GREBE_DOCUMENT, field,
                           "field '%s' takes a contiguous buffer", field);
    }
    return grb_py_fail(GREBE_INTERNAL, field, "unknown kind of field");
}

static int number_guess(PyObject *object, grebe_value *out) {
    out->kind = GREBE_INT;
    if (int_read(object, &out->as.integer) == 0) return 0;
    if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return -1;
    PyErr_Clear();
    PyErr_SetString(PyExc_ValueError, "the number does not fit in 64 bits");
    return -1;
}

/* A day as its ISO 8601 text: queries mean the whole of it. */
static int day_guess(PyObject *object, grebe_value *out, Py_buffer *buffer) {
    PyObject *text = PyObject_CallMethod(object, "isoformat", NULL);
    PyObject *bytes = text ? PyUnicode_AsUTF8String(text) : NULL;
    int result = bytes ? bytes_read(bytes, out, buffer) : -1;
    Py_XDECREF(text);
    Py_XDECREF(bytes); /* the buffer holds it */
    out->kind = GREBE_TEXT;
    return result;
}

int grb_py_value_guess(PyObject *object, grebe_value *out, Py_buffer *buffer) {
    if (PyUnicode_Check(object)) {
        out->kind = GREBE_TEXT;
        return grb_py_text_read(object, NULL, &out->as.text.bytes,
                                &out->as.text.size);
    }
    if (PyBool_Check(object)) {
        out->kind = GREBE_BOOL;
        out->as.boolean = object == Py_True;
        return 0;
    }
    if (PyFloat_Check(object)) {
        out->kind = GREBE_DOUBLE;
        out->as.number = PyFloat_AS_DOUBLE(object);
        if (!isnan(out->as.number)) return 0;
        PyErr_SetString(PyExc_ValueError, "NaN is no value");
        return -1;
    }
    if (PyIndex_Check(object)) return number_guess(object, out);
    if (grb_py_day_is(object)) return day_guess(object, out, buffer);
    if (grb_py_date_is(object)) {
        out->kind = GREBE_DATETIME;
        return grb_py_date_read(object, &out->as.integer);
    }
    if (PyObject_CheckBuffer(object)) {
        out->kind = GREBE_BYTES;
        return bytes_read(object, out, buffer);
    }
    PyErr_Format(PyExc_TypeError, "%s is not a value of a query",
                 Py_TYPE(object)->tp_name);
    return -1;
}

int grb_py_key_read(PyObject *object, grebe_value *out) {
    if (PyUnicode_Check(object)) {
        out->kind = GREBE_KEYWORD;
        return grb_py_text_read(object, NULL, &out->as.text.bytes,
                                &out->as.text.size);
    }
    if (!PyBool_Check(object) && PyIndex_Check(object)) {
        out->kind = GREBE_INT;
        if (int_read(object, &out->as.integer) == 0) return 0;
        if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return -1;
        PyErr_Clear();
        return grb_py_fail(GREBE_DOCUMENT, NULL,
                           "the key does not fit in 64 bits");
    }
    return grb_py_fail(GREBE_DOCUMENT, NULL, "a key is str or int, not %s",
                       Py_TYPE(object)->tp_name);
}

PyObject *grb_py_value_write(const grebe_value *value) {
    switch (value->kind) {
    case GREBE_TEXT:
    case GREBE_KEYWORD:
        return PyUnicode_DecodeUTF8(value->as.text.bytes,
                                    (Py_ssize_t)value->as.text.size, NULL);
    case GREBE_INT:
        return PyLong_FromLongLong(value->as.integer);
    case GREBE_DOUBLE:
        return PyFloat_FromDouble(value->as.number);
    case GREBE_BOOL:
        return PyBool_FromLong(value->as.boolean);
    case GREBE_DATETIME:
        return grb_py_date_write(value->as.integer);
    case GREBE_BYTES:
        return PyBytes_FromStringAndSize(value->as.text.bytes,
                                         (Py_ssize_t)value->as.text.size);
    }
    grb_py_fail(GREBE_INTERNAL, NULL, "unknown kind of value");
    return NULL;
}
