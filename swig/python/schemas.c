/* python/schemas.c - what Python keeps beside a schema.
 *
 * Names of fields are looked up by the address of the interned str that the
 * caller uses again and again: a hit costs one comparison. One spare document
 * serves all adds and reads; a call that Python code interrupts with another
 * one gets a document of its own.
 *
 * Invariant: `names` holds references, so no address in it can be reused.
 * Threads: the GIL is held.
 * Owns: names, compiled texts, the spare document.
 */
#include "binding.h"

static int fields_read(grb_py_schema *state) {
    grebe_field field;
    grebe_error err;
    for (uint32_t i = 0; i < state->count; i++) {
        if (grebe_schema_field(state->schema, i, &field, &err)) {
            grb_py_raise(&err);
            return -1;
        }
        state->fields[i].kind = field.kind;
        state->fields[i].flags = field.flags;
        state->fields[i].name = PyUnicode_InternFromString(field.name);
        if (!state->fields[i].name) return -1;
    }
    return 0;
}

grb_py_schema *grb_py_schema_new(grebe_schema *schema) {
    grb_py_schema *state = PyMem_Calloc(1, sizeof *state);
    if (!state) goto fail;
    state->schema = schema;
    state->count = grebe_schema_count(schema);
    state->key = grebe_schema_key(schema);
    state->fields = PyMem_Calloc(state->count + 1, sizeof *state->fields);
    if (!state->fields) goto fail;
    if (fields_read(state)) {
        grb_py_schema_free(state);
        return NULL;
    }
    return state;
fail:
    grb_py_schema_free(state);
    PyErr_NoMemory();
    return NULL;
}

void grb_py_schema_free(grb_py_schema *state) {
    if (!state) return;
    for (uint32_t i = 0; state->fields && i < state->count; i++)
        Py_XDECREF(state->fields[i].name);
    for (size_t i = 0; i < GRB_PY_KEY_SLOTS; i++)
        Py_XDECREF(state->names[i].name);
    Py_XDECREF(state->queries);
    grebe_document_free(state->spare);
    PyMem_Free(state->fields);
    PyMem_Free(state);
}

int64_t grb_py_field_find(grb_py_schema *state, PyObject *name) {
    size_t slot = ((uintptr_t)name >> 4) & (GRB_PY_KEY_SLOTS - 1);
    grb_py_name *known = &state->names[slot];
    if (known->name == name) return known->id;
    if (!PyUnicode_Check(name))
        return grb_py_fail(GREBE_DOCUMENT, NULL,
                           "names of fields are str, not %s",
                           Py_TYPE(name)->tp_name) -
               1;
    const char *bytes;
    size_t size;
    if (grb_py_text_read(name, NULL, &bytes, &size)) return -2;
    uint32_t id = grebe_schema_find(state->schema, bytes, size);
    if (id == GREBE_NO_FIELD) return GREBE_NO_FIELD;
    if (PyUnicode_CheckExact(name) && PyUnicode_CHECK_INTERNED(name)) {
        Py_INCREF(name);
        known->id = id;
        Py_XSETREF(known->name, name);
    }
    return id;
}

grebe_document *grb_py_document_lend(grb_py_schema *state) {
    grebe_document *document = state->spare;
    grebe_error err;
    state->spare = NULL;
    if (document) {
        grebe_document_clear(document);
    } else if (grebe_document_new(state->schema, &document, &err)) {
        grb_py_raise(&err);
        return NULL;
    }
    return document;
}

void grb_py_document_back(grb_py_schema *state, grebe_document *document) {
    if (state->spare) {
        grebe_document_free(document);
        return;
    }
    state->spare = document;
}

static PyObject *field_write(const grebe_field *field) {
    PyObject *value;
    if (field->default_value) {
        value = grb_py_value_write(field->default_value);
    } else {
        value = Py_None;
        Py_INCREF(value);
    }
    if (!value) return NULL;
    return Py_BuildValue("siIzN", field->name, (int)field->kind, field->flags,
                         field->analyzer, value);
}

/* [(name, kind, flags, analyzer, default)] in the order of the schema. */
PyObject *grb_py_schema_fields(PyObject *module, PyObject *schema) {
    grebe_field field;
    grebe_error err;
    grb_py_handle *self;
    if (PyObject_TypeCheck(schema, grb_py_handle_type) &&
        ((grb_py_handle *)schema)->schema)
        schema = (PyObject *)((grb_py_handle *)schema)->schema;
    self = grb_py_handle_of(schema, GRB_PY_SCHEMA);
    PyObject *list = self ? PyList_New(0) : NULL;
    for (uint32_t i = 0; list && i < self->state->count; i++) {
        PyObject *tuple = NULL;
        if (grebe_schema_field(self->pointer, i, &field, &err))
            grb_py_raise(&err);
        else
            tuple = field_write(&field);
        if (!tuple || PyList_Append(list, tuple)) Py_CLEAR(list);
        Py_XDECREF(tuple);
    }
    return list;
}

int grb_py_field_read(PyObject *tuple, grebe_field *out, grebe_value *value) {
    int kind;
    unsigned flags;
    PyObject *given;
    Py_buffer buffer = {0};
    if (!PyTuple_Check(tuple)) {
        PyErr_SetString(PyExc_TypeError, "a field is a tuple of five");
        return -1;
    }
    if (!PyArg_ParseTuple(tuple, "siIzO", &out->name, &kind, &flags,
                          &out->analyzer, &given))
        return -1;
    out->kind = (grebe_kind)kind;
    out->flags = flags;
    out->default_value = NULL;
    if (given == Py_None) return 0;
    if (grb_py_value_read(given, out->kind, out->name, value, &buffer)) {
        PyObject *type, *error, *trace;
        PyErr_Fetch(&type, &error, &trace);
        PyErr_NormalizeException(&type, &error, &trace);
        grb_py_fail(GREBE_SCHEMA, out->name, "default: %S", error);
        Py_XDECREF(type);
        Py_XDECREF(error);
        Py_XDECREF(trace);
        return -1;
    }
    /* The tuple keeps the object, and an exported buffer of bytes is stable.
     */
    if (buffer.obj) PyBuffer_Release(&buffer);
    out->default_value = value;
    return 0;
}

/* Place of a word in a NULL-ended list; -1 with ValueError. */
static int word_find(const char *option, PyObject *object,
                     const char *const *words) {
    const char *given =
        PyUnicode_Check(object) ? PyUnicode_AsUTF8(object) : NULL;
    for (int i = 0; given && words[i]; i++)
        if (strcmp(words[i], given) == 0) return i;
    PyErr_Clear();
    PyErr_Format(PyExc_ValueError, "%s cannot be %R", option, object);
    return -1;
}

static int count_read(const char *option, PyObject *object, uint64_t *out) {
    if (PyBool_Check(object) || !PyLong_Check(object)) {
        PyErr_Format(PyExc_TypeError, "%s is an int, not %s", option,
                     Py_TYPE(object)->tp_name);
        return -1;
    }
    *out = PyLong_AsUnsignedLongLong(object);
    if (*out != UINT64_MAX || !PyErr_Occurred()) return 0;
    PyErr_Clear();
    PyErr_Format(PyExc_ValueError, "%s cannot be %R", option, object);
    return -1;
}

/* An option misspelt must not be an option ignored. */
static int options_check(PyObject *dict) {
    static const char *const names[] = {
        "mode",       "durability",    "store",      "verify",  "merging",
        "add_fields", "deterministic", "memory_max", "docs_max",
        "filter_cache"};
    PyObject *name, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(dict, &at, &name, &value)) {
        size_t i = 0, count = sizeof names / sizeof *names;
        if (!PyUnicode_Check(name)) i = count;
        while (i < count && PyUnicode_CompareWithASCIIString(name, names[i]))
            i++;
        if (i < count) continue;
        PyErr_Format(PyExc_TypeError, "there is no option %R", name);
        return -1;
    }
    return 0;
}

int grb_py_options_read(PyObject *dict, grebe_open_options *out) {
    static const char *const modes[] = {"w", "r", NULL};
    static const char *const durabilities[] = {"full", "none", NULL};
    static const char *const stores[] = {"mmap", "pread", "ram", NULL};
    static const char *const verifies[] = {"touch", "open", "never", NULL};
    static const char *const mergings[] = {"auto", "manual", NULL};
    const struct {
        const char *name;
        const char *const *words;
        unsigned *place;
    } choices[] = {{"mode", modes, (unsigned *)&out->mode},
                   {"durability", durabilities, (unsigned *)&out->durability},
                   {"store", stores, (unsigned *)&out->store},
                   {"verify", verifies, (unsigned *)&out->verify},
                   {"merging", mergings, (unsigned *)&out->merging}};
    memset(out, 0, sizeof *out);
    if (!PyDict_Check(dict)) {
        PyErr_SetString(PyExc_TypeError, "options are a dict");
        return -1;
    }
    if (options_check(dict)) return -1;
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        PyObject *given = PyDict_GetItemString(dict, choices[i].name);
        int place =
            given ? word_find(choices[i].name, given, choices[i].words) : 0;
        if (place < 0) return -1;
        *choices[i].place = (unsigned)place;
    }
    PyObject *given = PyDict_GetItemString(dict, "add_fields");
    out->add_fields = given && PyObject_IsTrue(given) == 1;
    given = PyDict_GetItemString(dict, "deterministic");
    out->deterministic = given && PyObject_IsTrue(given) == 1;
    given = PyDict_GetItemString(dict, "memory_max");
    if (given && count_read("memory_max", given, &out->memory_max)) return -1;
    given = PyDict_GetItemString(dict, "docs_max");
    if (given && count_read("docs_max", given, &out->docs_max)) return -1;
    given = PyDict_GetItemString(dict, "filter_cache");
    if (given && count_read("filter_cache", given, &out->filter_cache))
        return -1;
    if (given && out->filter_cache == 0)
        out->filter_cache = GREBE_FILTER_CACHE_NONE;
    return 0;
}
