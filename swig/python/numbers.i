/* python/numbers.i - integers handed out, and predicates.
 *
 * Every int that the interface returns or hands out is a yes or no; every
 * count is a uint64_t.
 */
%typemap(out) int {
    $result = PyBool_FromLong($1);
}

%typemap(in, numinputs=0) uint64_t *count (uint64_t number = 0) {
    $1 = &number;
}
%typemap(argout) uint64_t *count {
    Py_XDECREF($result);
    $result = PyLong_FromUnsignedLongLong(*$1);
}
%apply uint64_t *count { uint64_t *number }

%typemap(in, numinputs=0) int *changed (int flag = 0) {
    $1 = &flag;
}
%typemap(argout) int *changed {
    Py_XDECREF($result);
    $result = PyBool_FromLong(*$1);
}
