/* python/visits.c - callbacks that gather what they are given into a list.
 *
 * The calls that use them keep the GIL, but for a check, whose lines take it
 * for a moment. A failure here is a Python exception
 * that stays set; the status returned only ends the run, and raising finds
 * the exception and leaves it.
 *
 * Invariant: a callback never raises across C frames.
 * Threads: the GIL is held, or taken.
 * Owns: the type Token.
 */
#include "binding.h"

size_t grb_py_code_points(const char *text, size_t size) {
    size_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += ((unsigned char)text[i] & 0xC0) != 0x80;
    return count;
}

/* Takes over `row`. */
static grebe_status row_append(PyObject *list, PyObject *row) {
    int bad = !row || PyList_Append(list, row);
    Py_XDECREF(row);
    return bad ? GREBE_MEMORY : GREBE_OK;
}

grebe_status grb_py_visit_term(void *context, const char *bytes, size_t size,
                               uint64_t df) {
    return row_append(context, /* the empty term may be no pointer */
                      Py_BuildValue("s#K", size ? bytes : "", (Py_ssize_t)size,
                                    (unsigned long long)df));
}

static PyStructSequence_Field token_fields[] = {
    {"text", "the term as it is indexed"},
    {"position", "of the token in the text, from 0"},
    {"start", "where it begins, in code points"},
    {"end", "where it ends, in code points"},
    {NULL, NULL},
};
static PyStructSequence_Desc token_desc = {
    "grebe.Token", "A token that an analyzer made.", token_fields, 4};
static PyTypeObject *token_type;

int grb_py_visits_init(PyObject *module) {
    token_type = PyStructSequence_NewType(&token_desc);
    if (!token_type) return -1;
    Py_INCREF(token_type);
    return PyModule_AddObject(module, "Token", (PyObject *)token_type);
}

/* Offsets of bytes; the public method makes code points of them. */
grebe_status grb_py_visit_token(void *context, const grebe_token *token) {
    PyObject *made = PyStructSequence_New(token_type);
    if (!made) return GREBE_MEMORY;
    PyObject *parts[] = {
        PyUnicode_DecodeUTF8(token->bytes, (Py_ssize_t)token->size, "replace"),
        PyLong_FromUnsignedLong(token->position),
        PyLong_FromUnsignedLong(token->start),
        PyLong_FromUnsignedLong(token->end),
    };
    int bad = 0;
    for (int i = 0; i < 4; i++) {
        PyStructSequence_SET_ITEM(made, i, parts[i]);
        bad |= !parts[i];
    }
    if (bad) Py_CLEAR(made);
    return row_append(context, made);
}

void grb_py_visit_line(void *context, const char *line) {
    PyGILState_STATE gil = PyGILState_Ensure();
    if (!PyErr_Occurred()) row_append(context, PyUnicode_FromString(line));
    PyGILState_Release(gil);
}
