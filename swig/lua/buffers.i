/* lua/buffers.i - callbacks that gather, and the calls written by hand.
 *
 * The hot calls (add, get, commit, search and what reads hits), those with a
 * table of options and those that run the script's own functions stand in the
 * files of this folder under the names on the left.
 */

%define GRB_GATHER(type, function, push)
%typemap(in, numinputs=0) (type visit, void *context) {
    $1 = function;
    $2 = NULL;
}
%typemap(check) (type visit, void *context) {
    $2 = grb_lua_gather_begin(L);
}
%typemap(argout) (type visit, void *context) {
    grb_lua_gather_push(L, $2, push);
    SWIG_arg++;
}
%enddef

GRB_GATHER(grebe_term_visit, grb_lua_visit_term, grb_lua_push_term)
GRB_GATHER(grebe_token_visit, grb_lua_visit_token, grb_lua_push_token)
GRB_GATHER(grebe_line_visit, grb_lua_visit_line, grb_lua_push_line)
GRB_GATHER(grebe_name_visit, grb_lua_visit_line, grb_lua_push_line)

/* Served by hand. */
%ignore grebe_schema_field;
%ignore grebe_schema_find;
%ignore grebe_schema_key;
%ignore grebe_schema_count;
%ignore grebe_document_new;
%ignore grebe_document_add;
%ignore grebe_document_add_null;
%ignore grebe_document_add_text;
%ignore grebe_document_add_int;
%ignore grebe_document_add_double;
%ignore grebe_document_add_bool;
%ignore grebe_document_add_datetime;
%ignore grebe_document_add_bytes;
%ignore grebe_document_count;
%ignore grebe_document_value;
%ignore grebe_document_schema;
%ignore grebe_document_clear;
%ignore grebe_index_schema;
%ignore grebe_index_close;
%ignore grebe_index_closed;
%ignore grebe_index_add;
%ignore grebe_index_commit;
%ignore grebe_index_batch_begin;
%ignore grebe_index_batch_end;
%ignore grebe_index_batch_undo;
%ignore grebe_index_get;
%ignore grebe_index_search;
%ignore grebe_query_range;
%ignore grebe_query_bool;
%ignore grebe_query_dismax;
%ignore grebe_query_parse;
%ignore grebe_query_text;
%ignore grebe_searcher_schema;
%ignore grebe_searcher_search;
%ignore grebe_searcher_get;
%ignore grebe_searcher_explain;
%ignore grebe_searcher_scan;
%ignore grebe_hits_scores;
%ignore grebe_hits_key;
%ignore grebe_hits_int_keys;
%ignore grebe_hits_document;
%ignore grebe_hits_passage_count;
%ignore grebe_hits_passage;
%ignore grebe_hits_facet_size;
%ignore grebe_hits_facet;
%ignore grebe_hits_facet_missing;
%ignore grebe_hits_plan_size;
%ignore grebe_hits_plan;
%ignore grebe_hits_plan_operator;
%ignore grebe_container_close;

%{
static const luaL_Reg calls_by_hand[] = {
    {"kind", grb_lua_kind_tables},
    {"own_source", grb_lua_own_source},
    {"fail", grb_lua_fail_call},
    {"schema_attach", grb_lua_schema_attach},
    {"close", grb_lua_close},
    {"closed", grb_lua_closed},
    {"index_follow", grb_lua_index_follow},
    {"index_close", grb_lua_index_close},
    {"container_close", grb_lua_container_close},
    {"schema_fields", grb_lua_schema_fields},
    {"schema_refresh", grb_lua_index_schema},
    {"add", grb_lua_add},
    {"add_many", grb_lua_add_many},
    {"get", grb_lua_get},
    {"searcher_get", grb_lua_searcher_get},
    {"commit", grb_lua_commit},
    {"batch", grb_lua_batch},
    {"search", grb_lua_search},
    {"explain", grb_lua_explain},
    {"parse", grb_lua_parse},
    {"query_text", grb_lua_query_text},
    {"query_bool", grb_lua_query_bool},
    {"query_dismax", grb_lua_query_dismax},
    {"query_range", grb_lua_query_range},
    {"hits_keys", grb_lua_hits_keys},
    {"hits_scores", grb_lua_hits_scores},
    {"hits_facets", grb_lua_hits_facets},
    {"hits_plan", grb_lua_hits_plan},
    {"hits_each", grb_lua_hits_each},
    {"hits_tables", grb_lua_hits_tables},
    {"hit_pairs", grb_lua_hit_pairs},
    {"hit_text", grb_lua_hit_text},
    {NULL, NULL},
};
%}

%init %{
    grb_lua_errors_open(L);
    grb_lua_handles_open(L);
    grb_lua_visits_open(L);
    luaL_setfuncs(L, calls_by_hand, 0);
    grb_lua_handle_new(L, GRB_LUA_NULL);
    lua_setfield(L, -2, "null");
%}
