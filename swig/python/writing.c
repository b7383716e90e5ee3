/* python/writing.c - one document in, one out, a commit: the hot calls.
 *
 * An add of a small document is shorter than giving the GIL away and taking
 * it back, so it keeps it; but a call that may wait for the writer while
 * another thread holds it must let go, or the two would wait for each other
 * for ever (the thread in a batch needs the GIL to end it). `work_count`
 * counts those other threads.
 *
 * Invariant: while the GIL is kept no other thread of this process can hold
 * an index's writer, or only for a call that needs no GIL to end.
 * Threads: the GIL is held where nothing else is said.
 * Owns: nothing.
 */
#include "../stats.h"
#include "binding.h"

/* From this on the call costs far more than the GIL's handover. */
#define SIZE_LARGE 4096u
/* Growing segments of this size are near enough to a freeze to let go. */
#define TAKEN_LARGE (4u << 20)
#define DOCS_LARGE 50000u

int grb_py_work_count;
static __thread int batches_mine;

void grb_py_work_begin(void) {
    grb_py_work_count++;
}

void grb_py_work_end(void) {
    grb_py_work_count--;
}

void grb_py_batch_count(int by) {
    batches_mine += by;
    grb_py_work_count += by;
}

int grb_py_must_release(void) {
    return grb_py_work_count > batches_mine;
}

size_t grb_py_document_size(const grebe_document *document) {
    size_t size = 0;
    uint32_t count = grebe_document_count(document), field;
    for (uint32_t i = 0; i < count; i++) {
        grebe_value value;
        if (grebe_document_value(document, i, &field, &value, NULL)) break;
        size += value.kind == GREBE_TEXT || value.kind == GREBE_KEYWORD ||
                        value.kind == GREBE_BYTES
                    ? value.as.text.size
                    : 8;
    }
    return size;
}

static grebe_status document_add(grb_py_handle *index,
                                 const grebe_document *document, int overwrite,
                                 grebe_error *err) {
    grebe_status status;
    size_t size = grb_py_document_size(document);
    index->taken_in += size;
    index->docs_taken++;
    if (size < SIZE_LARGE && index->taken_in < TAKEN_LARGE &&
        index->docs_taken < DOCS_LARGE && !grb_py_must_release())
        return grebe_index_add(index->pointer, document, overwrite, err);
    Py_BEGIN_ALLOW_THREADS status =
        grebe_index_add(index->pointer, document, overwrite, err);
    Py_END_ALLOW_THREADS return status;
}

/* add(index, mapping, overwrite) */
PyObject *grb_py_add(PyObject *module, PyObject *const *args,
                     Py_ssize_t count) {
    grebe_error err;
    grb_py_handle *index, *schema;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "add takes three");
    index = grb_py_handle_of(args[0], GRB_PY_INDEX);
    int overwrite = index ? PyObject_IsTrue(args[2]) : -1;
    if (overwrite < 0) return NULL;
    schema = index->schema;
    Py_INCREF(schema);
    PyObject *result = NULL;
    grebe_document *document = grb_py_document_lend(schema->state);
    if (!document) goto done;
    if (grb_py_document_read(schema->state, document, args[1], NULL) == 0) {
        if (document_add(index, document, overwrite, &err) == GREBE_OK) {
            result = Py_None;
            Py_INCREF(result);
        } else {
            grb_py_raise(&err);
        }
    }
    grb_py_document_back(schema->state, document);
done:
    Py_DECREF(schema);
    return result;
}

/* get(index or searcher, key): dict or None */
PyObject *grb_py_get(PyObject *module, PyObject *const *args,
                     Py_ssize_t count) {
    grebe_error err;
    grebe_value key;
    int found = 0;
    grebe_status status;
    if (count != 2) return PyErr_Format(PyExc_TypeError, "get takes two");
    grb_py_handle *self = (grb_py_handle *)args[0];
    int searcher = PyObject_TypeCheck(args[0], grb_py_handle_type) &&
                   self->kind == GRB_PY_SEARCHER;
    self =
        grb_py_handle_of(args[0], searcher ? GRB_PY_SEARCHER : GRB_PY_INDEX);
    if (!self || grb_py_key_read(args[1], &key)) return NULL;
    grb_py_handle *schema = self->schema;
    Py_INCREF(schema);
    PyObject *result = NULL;
    grebe_document *document = grb_py_document_lend(schema->state);
    if (!document) goto done;
    if (searcher) {
        status =
            grebe_searcher_get(self->pointer, &key, document, &found, &err);
    } else if (!grb_py_must_release()) {
        status = grebe_index_get(self->pointer, &key, document, &found, &err);
    } else {
        Py_BEGIN_ALLOW_THREADS status =
            grebe_index_get(self->pointer, &key, document, &found, &err);
        Py_END_ALLOW_THREADS
    }
    if (status) {
        grb_py_raise(&err);
    } else if (found) {
        result = grb_py_document_write(schema->state, document);
    } else {
        result = Py_None;
        Py_INCREF(result);
    }
    grb_py_document_back(schema->state, document);
done:
    Py_DECREF(schema);
    return result;
}

/* commit(index, kind): CommitInfo */
PyObject *grb_py_commit(PyObject *module, PyObject *const *args,
                        Py_ssize_t count) {
    grebe_error err;
    grebe_commit_info info;
    grebe_status status;
    if (count != 2) return PyErr_Format(PyExc_TypeError, "commit takes two");
    grb_py_handle *index = grb_py_handle_of(args[0], GRB_PY_INDEX);
    long kind = index ? PyLong_AsLong(args[1]) : -1;
    if (kind < GREBE_SOFT || kind > GREBE_HARD_UNSEEN) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "no such kind of commit");
        return NULL;
    }
    memset(&info, 0, sizeof info);
    if (kind == GREBE_SOFT && !grb_py_must_release()) {
        status = grebe_index_commit(index->pointer, GREBE_SOFT, &info, &err);
    } else {
        grb_py_work_begin();
        Py_BEGIN_ALLOW_THREADS status = grebe_index_commit(
            index->pointer, (grebe_commit_kind)kind, &info, &err);
        Py_END_ALLOW_THREADS grb_py_work_end();
    }
    if (status == GREBE_OK) return grb_py_commit_info(&info);
    grb_py_raise(&err);
    return NULL;
}

static PyStructSequence_Field info_fields[] = {
    {"number", "of this commit; numbers only rise"},
    {"generation", "of the root on disk, 0 in memory"},
    {"added", "documents added since the commit before"},
    {"deleted", "documents removed since the commit before"},
    {"bytes", "written by this commit"},
    {"syncs", "of the device made by this commit"},
    {"ns", "nanoseconds it took"},
    {"segments", "in the view after it"},
    {"changed", "False if there was nothing to commit"},
    {NULL, NULL},
};
static PyStructSequence_Desc info_desc = {
    "grebe.CommitInfo", "What a commit did.", info_fields, 9};
static PyTypeObject *info_type;

int grb_py_writing_init(PyObject *module) {
    info_type = PyStructSequence_NewType(&info_desc);
    if (!info_type) return -1;
    Py_INCREF(info_type);
    return PyModule_AddObject(module, "CommitInfo", (PyObject *)info_type);
}

PyObject *grb_py_commit_info(const grebe_commit_info *info) {
    const uint64_t numbers[] = {info->number,  info->generation, info->added,
                                info->deleted, info->bytes,      info->syncs,
                                info->ns,      info->segments};
    PyObject *made = PyStructSequence_New(info_type);
    for (int i = 0; made && i < 8; i++) {
        PyObject *number = PyLong_FromUnsignedLongLong(numbers[i]);
        if (!number) {
            Py_CLEAR(made);
            break;
        }
        PyStructSequence_SET_ITEM(made, i, number);
    }
    if (made)
        PyStructSequence_SET_ITEM(made, 8, PyBool_FromLong(info->changed));
    return made;
}

PyObject *grb_py_stats(const grebe_index_stats *stats) {
#define ROW(name) {#name, stats->name},
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {
        GREBE_STATS_LIST(ROW)
    };
#undef ROW
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict && i < sizeof rows / sizeof *rows; i++) {
        PyObject *number = PyLong_FromUnsignedLongLong(rows[i].value);
        if (!number || PyDict_SetItemString(dict, rows[i].name, number))
            Py_CLEAR(dict);
        Py_XDECREF(number);
    }
    return dict;
}
