/* python/documents.i - values, keys, fields, options in; reports out. */

/* A value whose kind follows from its Python type (queries). */
%typemap(in) const grebe_value *value (grebe_value value, Py_buffer buffer) {
    buffer.obj = NULL;
    if (grb_py_value_guess($input, &value, &buffer)) SWIG_fail;
    $1 = &value;
}
%typemap(arginit) const grebe_value *value {
    buffer$argnum.obj = NULL;
}
%typemap(freearg) const grebe_value *value {
    if (buffer$argnum.obj) PyBuffer_Release(&buffer$argnum);
}

%typemap(in) const grebe_value *key (grebe_value value) {
    if (grb_py_key_read($input, &value)) SWIG_fail;
    $1 = &value;
}
%typemap(freearg) const grebe_value *key ""

/* (name, kind, flags, analyzer, default) */
%typemap(in) const grebe_field *field (grebe_field field, grebe_value value) {
    if (grb_py_field_read($input, &field, &value)) SWIG_fail;
    $1 = &field;
}

/* A dict of names and words, or None. */
%typemap(in) const grebe_open_options *options (grebe_open_options options) {
    $1 = NULL;
    if ($input != Py_None) {
        if (grb_py_options_read($input, &options)) SWIG_fail;
        $1 = &options;
    }
}

%typemap(in, numinputs=0) grebe_commit_info *info (grebe_commit_info info) {
    memset(&info, 0, sizeof info);
    $1 = &info;
}
%typemap(argout) grebe_commit_info *info {
    Py_XDECREF($result);
    $result = grb_py_commit_info($1);
}

%typemap(in, numinputs=0) grebe_index_stats *out (grebe_index_stats stats) {
    memset(&stats, 0, sizeof stats);
    $1 = &stats;
}
%typemap(argout) grebe_index_stats *out {
    Py_XDECREF($result);
    $result = grb_py_stats($1);
}
