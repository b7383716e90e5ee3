/* lua/handles.i - every C handle is one userdata (handles.c).
 *
 * SWIG's own pointer objects are not used: theirs is one metatable for each
 * class with slow look-ups, and nothing says whether they are open. A handle
 * that a call makes exists before the call ("check" comes after all
 * arguments), so nothing can be lost.
 */
%define GRB_HANDLE(type, kind)
%typemap(in) type *, const type * {
    $1 = (type *)grb_lua_pointer(L, $input, kind);
}
%typemap(in, numinputs=0) type **out (type *made, int made_at) {
    made_at = 0;
    made = NULL;
    $1 = &made;
}
%typemap(check) type **out {
    grb_lua_handle_new(L, kind);
    made_at$argnum = lua_gettop(L);
}
%typemap(argout) type **out {
    ((grb_lua_handle *)lua_touserdata(L, made_at$argnum))->pointer = *$1;
    if (kind == GRB_LUA_INDEX || kind == GRB_LUA_SEARCHER)
        grb_lua_handle_attach(L, made_at$argnum, 1);
    lua_pushvalue(L, made_at$argnum);
    SWIG_arg++;
}
%enddef

GRB_HANDLE(grebe_index, GRB_LUA_INDEX)
GRB_HANDLE(grebe_searcher, GRB_LUA_SEARCHER)
GRB_HANDLE(grebe_hits, GRB_LUA_HITS)
GRB_HANDLE(grebe_query, GRB_LUA_QUERY)
GRB_HANDLE(grebe_schema, GRB_LUA_SCHEMA)
GRB_HANDLE(grebe_snapshot, GRB_LUA_SNAPSHOT)
GRB_HANDLE(grebe_container, GRB_LUA_CONTAINER)
GRB_HANDLE(grebe_cancel, GRB_LUA_CANCEL)

/* Opening takes a schema or none. */
%typemap(in) grebe_schema *schema {
    $1 = NULL;
    if (!lua_isnil(L, $input))
        $1 = (grebe_schema *)grb_lua_pointer(L, $input, GRB_LUA_SCHEMA);
}
/* Deleting takes a text too, read strictly for the index at 1. */
%typemap(in) const grebe_query *query {
    static const grb_lua_reading strictly = {1, 0, GREBE_OR, 0};
    $1 = grb_lua_query_push(L, $input, &strictly);
}
