/* python/errors.i - a status that is not OK raises (errors.c has the table).
 *
 * The error lies on the wrapper's stack; nothing else remembers it.
 */
%typemap(in, numinputs=0, noblock=1) grebe_error *err {
    grebe_error error;
    error.message[0] = 0;
    $1 = &error;
}

%typemap(out, noblock=1) grebe_status {
    if ($1 != GREBE_OK) {
        grb_py_raise(&error);
        SWIG_fail;
    }
    $result = Py_None;
    Py_INCREF($result);
}
