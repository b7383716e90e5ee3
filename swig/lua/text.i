/* lua/text.i - Lua strings, which may hold any byte.
 *
 * Names and paths are strings without NUL; a path may be nil.
 */
%typemap(in) (const char *text, size_t size) {
    size_t size;
    $1 = (char *)grb_lua_text(L, $input, "$1_name", &size);
    $2 = size;
}
%apply (const char *text, size_t size) {
    (const char *bytes, size_t size), (const char *prefix, size_t size),
    (const char *name, size_t size)
}

%typemap(in) const char *field {
    $1 = (char *)grb_lua_name(L, $input, "$1_name");
    if (!$1) grb_lua_fail(L, GREBE_TYPE, NULL, "$1_name is a string, not nil");
}
%apply const char *field { const char *name, const char *order }

%typemap(in) const char *path {
    $1 = (char *)grb_lua_name(L, $input, "path");
}

%typemap(out, noblock=1) const char * {
    lua_pushstring(L, $1);
    SWIG_arg++;
}
