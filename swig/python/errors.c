/* python/errors.c - the one table from statuses to Python exceptions.
 *
 * The classes are made from GREBE_STATUS_LIST when the module is loaded, so a
 * new status has its exception without another line here; only a class that
 * is also one of Python's own needs its row in `kin`.
 *
 * Invariant: every class but Python's own carries word and code, and field,
 * key, file, offset and pid (None where they say nothing).
 * Threads: the GIL is held.
 * Owns: the classes, for the life of the process.
 */
#include "binding.h"

#include <errno.h>
#include <stdarg.h>

#define STATUS_MAX 64

static PyObject *classes[STATUS_MAX];
static PyObject *base;

/* Python's own class that an exception is as well, where it says more than
 * Exception. Read when the module is loaded: the classes are no constants. */
static PyObject *kin(const char *name) {
    const struct {
        const char *name;
        PyObject *python;
    } table[] = {
        {"SchemaError", PyExc_ValueError},
        {"QuerySyntaxError", PyExc_ValueError},
        {"DocumentError", PyExc_ValueError},
        {"MissingKeyError", PyExc_KeyError},
        {"NotFoundError", PyExc_FileNotFoundError},
        {"StorageError", PyExc_OSError},
        {"DeadlineError", PyExc_TimeoutError},
        {"ValueError", PyExc_ValueError},
        {"TypeError", PyExc_TypeError},
        {"MemoryError", PyExc_MemoryError},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].name, name) == 0) return table[i].python;
    return NULL;
}

static int text_put(PyObject *dict, const char *name, const char *text) {
    PyObject *value = PyUnicode_FromString(text);
    int result = value ? PyDict_SetItemString(dict, name, value) : -1;
    Py_XDECREF(value);
    return result;
}

/* KeyError prints its argument as repr; every class here prints the message.
 */
static PyObject *class_make(const char *name, const char *doc, PyObject *bases,
                            PyObject *dict) {
    char full[64];
    PyObject *str = PyObject_GetAttrString(PyExc_BaseException, "__str__");
    if (!str) return NULL;
    int bad = 0;
    if (strcmp(name, "MissingKeyError") == 0)
        bad = PyDict_SetItemString(dict, "__str__", str);
    Py_DECREF(str);
    if (bad) return NULL;
    PyOS_snprintf(full, sizeof full, "grebe.%s", name);
    return PyErr_NewExceptionWithDoc(full, doc, bases, dict);
}

static int base_make(PyObject *module) {
    PyObject *dict = PyDict_New();
    if (!dict) return -1;
    static const char *const names[] = {"word", "code",   "field", "key",
                                        "file", "offset", "pid"};
    int bad = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && !bad; i++)
        bad = PyDict_SetItemString(dict, names[i], Py_None);
    if (!bad) base = class_make("Error", "Any error of Grebe.", NULL, dict);
    Py_DECREF(dict);
    if (!base) return -1;
    Py_INCREF(base);
    return PyModule_AddObject(module, "Error", base);
}

static int class_add(PyObject *module, int code, const char *word,
                     const char *name, const char *doc) {
    PyObject *python = kin(name);
    size_t size = strlen(name);
    if (python &&
        (strcmp(name, "ValueError") == 0 || strcmp(name, "TypeError") == 0 ||
         strcmp(name, "MemoryError") == 0)) {
        Py_INCREF(python);
        classes[code] = python;
        return 0;
    }
    PyObject *dict = PyDict_New(), *number = PyLong_FromLong(code);
    PyObject *bases =
        python ? PyTuple_Pack(2, base, python) : PyTuple_Pack(1, base);
    PyObject *made = NULL;
    if (dict && number && bases && size < 40 &&
        text_put(dict, "word", word) == 0 &&
        PyDict_SetItemString(dict, "code", number) == 0)
        made = class_make(name, doc, bases, dict);
    Py_XDECREF(dict);
    Py_XDECREF(number);
    Py_XDECREF(bases);
    classes[code] = made;
    if (!made) return -1;
    Py_INCREF(made);
    return PyModule_AddObject(module, name, made);
}

int grb_py_errors_init(PyObject *module) {
    if (base_make(module)) return -1;
#define CLASS_ADD(name, code, word, python, text) \
    if (class_add(module, code, word, python, text)) return -1;
    GREBE_STATUS_LIST(CLASS_ADD)
#undef CLASS_ADD
    return 0;
}

PyObject *grb_py_error_class(grebe_status status) {
    PyObject *found = NULL;
    if ((int)status > 0 && (int)status < STATUS_MAX) found = classes[status];
    return found ? found : PyExc_RuntimeError;
}

/* Strings of an error may be cut in the middle of a character. */
static PyObject *text_of(const char *text) {
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

static void attribute_set(PyObject *exception, const char *name,
                          PyObject *value) {
    if (value) {
        if (PyObject_SetAttrString(exception, name, value)) PyErr_Clear();
        Py_DECREF(value);
    } else {
        PyErr_Clear();
    }
}

static PyObject *exception_make(PyObject *class, const grebe_error *err,
                                const char *message) {
    PyObject *text =
        text_of(message[0] ? message : grebe_status_meaning(err->status));
    PyObject *made = NULL;
    if (!text) return NULL;
    int number = err->os_error;
    if (!number && err->status == GREBE_NOT_FOUND) number = ENOENT;
    if (number && PyObject_IsSubclass(class, PyExc_OSError) == 1) {
        PyObject *file = err->file[0] ? text_of(err->file) : NULL;
        made = file ? PyObject_CallFunction(class, "iOO", number, text, file)
                    : PyObject_CallFunction(class, "iO", number, text);
        Py_XDECREF(file);
    } else {
        made = PyObject_CallFunctionObjArgs(class, text, NULL);
    }
    Py_DECREF(text);
    return made;
}

void grb_py_raise(const grebe_error *err) {
    if (PyErr_Occurred()) return;
    if (err->status == GREBE_MEMORY) {
        PyErr_NoMemory();
        return;
    }
    PyObject *class = grb_py_error_class(err->status);
    PyObject *made = exception_make(class, err, err->message);
    if (!made) return;
    if (PyObject_IsInstance(made, base) == 1) {
        if (err->field[0]) attribute_set(made, "field", text_of(err->field));
        if (err->key[0]) attribute_set(made, "key", text_of(err->key));
        if (err->file[0]) attribute_set(made, "file", text_of(err->file));
        if (err->offset != GREBE_NO_OFFSET)
            attribute_set(made, "offset",
                          PyLong_FromUnsignedLongLong(err->offset));
        if (err->pid)
            attribute_set(made, "pid", PyLong_FromLongLong(err->pid));
    }
    PyErr_SetObject((PyObject *)Py_TYPE(made), made);
    Py_DECREF(made);
}

void grb_py_raise_in(const grebe_error *err, const char *text, size_t size) {
    grebe_error copy = *err;
    if (copy.status == GREBE_SYNTAX && copy.offset != GREBE_NO_OFFSET)
        copy.offset = grb_py_code_points(
            text, copy.offset < size ? (size_t)copy.offset : size);
    grb_py_raise(&copy);
}

int grb_py_fail(grebe_status status, const char *field, const char *format,
                ...) {
    va_list args;
    va_start(args, format);
    PyObject *text = PyUnicode_FromFormatV(format, args);
    va_end(args);
    if (!text) return -1;
    PyObject *class = grb_py_error_class(status);
    PyObject *made = PyObject_CallFunctionObjArgs(class, text, NULL);
    Py_DECREF(text);
    if (!made) return -1;
    if (field && PyObject_IsInstance(made, base) == 1)
        attribute_set(made, "field", text_of(field));
    PyErr_SetObject(class, made);
    Py_DECREF(made);
    return -1;
}

void grb_py_error_key(PyObject *key) {
    PyObject *type, *value, *trace;
    if (!key || !PyErr_Occurred()) return;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (value && PyObject_IsInstance(value, base) == 1) {
        PyObject *old = PyObject_GetAttrString(value, "key");
        if (old == Py_None) {
            PyObject *text = PyObject_Str(key);
            attribute_set(value, "key", text);
        }
        Py_XDECREF(old);
        PyErr_Clear();
    }
    PyErr_Restore(type, value, trace);
}
