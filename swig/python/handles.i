/* python/handles.i - every C handle is one grebe_core.handle (handles.c).
 *
 * SWIG's own pointer objects are not used: they can be made empty, and then
 * they crash. None in place of a handle is ClosedError.
 */
%{
#include "binding.h"
%}

%define GRB_HANDLE(type, kind)
%typemap(in) type *, const type * {
    $1 = (type *)grb_py_pointer($input, kind);
    if (!$1) SWIG_fail;
}
%typemap(in, numinputs=0) type **out (type *made = NULL) {
    $1 = &made;
}
%typemap(argout) type **out {
    Py_XDECREF($result);
    $result = grb_py_handle_new(kind, *$1, NULL);
}
%enddef

GRB_HANDLE(grebe_index, GRB_PY_INDEX)
GRB_HANDLE(grebe_searcher, GRB_PY_SEARCHER)
GRB_HANDLE(grebe_hits, GRB_PY_HITS)
GRB_HANDLE(grebe_query, GRB_PY_QUERY)
GRB_HANDLE(grebe_schema, GRB_PY_SCHEMA)
GRB_HANDLE(grebe_snapshot, GRB_PY_SNAPSHOT)
GRB_HANDLE(grebe_container, GRB_PY_CONTAINER)
GRB_HANDLE(grebe_cancel, GRB_PY_CANCEL)

/* Opening takes a schema or none; adding a field to none is an error. */
%typemap(in) grebe_schema *schema {
    $1 = NULL;
    if ($input != Py_None) {
        $1 = (grebe_schema *)grb_py_pointer($input, GRB_PY_SCHEMA);
        if (!$1) SWIG_fail;
    }
}
%exception grebe_schema_add {
    if (!arg1) {
        PyErr_SetString(PyExc_TypeError, "a schema is wanted, not None");
        SWIG_fail;
    }
    $action
}
