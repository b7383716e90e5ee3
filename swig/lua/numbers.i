/* lua/numbers.i - integers as integers (SWIG would make floats of them).
 *
 * Every int that the interface returns or hands out is a yes or no; every
 * count is a uint64_t.
 */
%typemap(out, noblock=1) int {
    lua_pushboolean(L, $1);
    SWIG_arg++;
}
%typemap(out, noblock=1) uint64_t, uint32_t, size_t {
    lua_pushinteger(L, (lua_Integer)$1);
    SWIG_arg++;
}

%typemap(in) uint64_t {
    $1 = lua_isnil(L, $input)
             ? 0
             : grb_lua_count(L, $input, "$1_name", 0, INT64_MAX);
}
%typemap(in) uint32_t {
    $1 = lua_isnil(L, $input)
             ? 0
             : (uint32_t)grb_lua_count(L, $input, "$1_name", 0, UINT32_MAX);
}
/* A commit number, or what a commit told. */
%typemap(in) uint64_t since {
    const grb_lua_handle *told = grb_lua_handle_test(L, $input);
    $1 = 0;
    if (told && told->kind == GRB_LUA_COMMIT_INFO)
        $1 = told->info.number;
    else if (!lua_isnil(L, $input))
        $1 = grb_lua_count(L, $input, "since", 0, INT64_MAX);
}
%typemap(in) float {
    $1 = (float)grb_lua_number(L, $input, "$1_name");
}
/* SWIG's own checks read any userdata as theirs: none may be left. */
%typemap(in) grebe_status status {
    $1 = (grebe_status)grb_lua_count(L, $input, "code", 0, INT32_MAX);
}
%typemap(in) grebe_operator op {
    $1 = grb_lua_operator(L, $input);
}

%typemap(in, numinputs=0) uint64_t *count (uint64_t number) {
    number = 0;
    $1 = &number;
}
%typemap(argout) uint64_t *count {
    lua_pushinteger(L, (lua_Integer)*$1);
    SWIG_arg++;
}
%apply uint64_t *count { uint64_t *number }

%typemap(in, numinputs=0) int *changed (int flag) {
    flag = 0;
    $1 = &flag;
}
%typemap(argout) int *changed {
    lua_pushboolean(L, *$1);
    SWIG_arg++;
}
