/* lua/documents.i - values, keys, fields, options in; reports out. */

/* A value whose kind follows from its Lua type (queries). */
%typemap(in) const grebe_value *value (grebe_value value) {
    grb_lua_value_guess(L, $input, &value);
    $1 = &value;
}
%typemap(in) const grebe_value *key (grebe_value value) {
    grb_lua_key_read(L, $input, &value);
    $1 = &value;
}

/* {name, kind, flags, analyzer, default} */
%typemap(in) const grebe_field *field (grebe_field field,
                                                   grebe_value value) {
    grb_lua_field_read(L, $input, &field, &value);
    $1 = &field;
}

/* A table of names and words, or nil. */
%typemap(in) const grebe_open_options *options
    (grebe_open_options options) {
    grb_lua_open_options(L, $input, &options);
    $1 = &options;
}

%typemap(in, numinputs=0) grebe_index_stats *out (grebe_index_stats stats) {
    memset(&stats, 0, sizeof stats);
    $1 = &stats;
}
%typemap(argout) grebe_index_stats *out {
    grb_lua_stats_push(L, $1);
    SWIG_arg++;
}
