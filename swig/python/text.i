/* python/text.i - str to UTF-8 and back.
 *
 * Names are str without NUL; texts may hold anything but lone surrogates;
 * paths are str, bytes or os.PathLike, None where the C call takes NULL.
 */
%typemap(in) (const char *text, size_t size) {
    if (!PyUnicode_Check($input)) {
        PyErr_Format(PyExc_TypeError, "a text is str, not %s",
                     Py_TYPE($input)->tp_name);
        SWIG_fail;
    }
    if (grb_py_text_read($input, NULL, (const char **)&$1, &$2)) SWIG_fail;
}
%apply (const char *text, size_t size) {
    (const char *bytes, size_t size), (const char *prefix, size_t size),
    (const char *name, size_t size)
}

%typemap(in) const char *field {
    size_t size;
    if (!PyUnicode_Check($input)) {
        PyErr_Format(PyExc_TypeError, "a name is str, not %s",
                     Py_TYPE($input)->tp_name);
        SWIG_fail;
    }
    if (grb_py_text_read($input, NULL, (const char **)&$1, &size)) SWIG_fail;
    if (strlen($1) != size) {
        PyErr_SetString(PyExc_ValueError, "a name cannot hold NUL");
        SWIG_fail;
    }
}
%apply const char *field { const char *name }
%typemap(freearg) const char *field, const char *name ""

%typemap(in) const char *path (PyObject *held = NULL) {
    $1 = NULL;
    if ($input != Py_None) {
        if (!PyUnicode_FSConverter($input, &held)) SWIG_fail;
        $1 = PyBytes_AS_STRING(held);
    }
}
%typemap(freearg) const char *path {
    Py_XDECREF(held$argnum);
}
