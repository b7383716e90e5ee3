/* python/buffers.i - callbacks that gather, and the calls written by hand.
 *
 * The hot calls (add, get, commit, search and what reads hits) take their
 * arguments as a C array and never build a tuple; SWIG cannot write such
 * wrappers, so they are registered beside its own. They stand in the files of
 * this folder under the names on the left.
 */

%define GRB_GATHER(type, function)
%typemap(in, numinputs=0) (type visit, void *context) (PyObject *list) {
    list = PyList_New(0);
    if (!list) SWIG_fail;
    $1 = function;
    $2 = list;
}
%typemap(arginit) (type visit, void *context) {
    list$argnum = NULL;
}
%typemap(argout) (type visit, void *context) {
    Py_XDECREF($result);
    if (PyErr_Occurred()) {
        $result = NULL;
        SWIG_fail;
    }
    $result = list$argnum;
    list$argnum = NULL;
}
%typemap(freearg) (type visit, void *context) {
    Py_XDECREF(list$argnum);
}
%enddef

GRB_GATHER(grebe_term_visit, grb_py_visit_term)
GRB_GATHER(grebe_token_visit, grb_py_visit_token)
GRB_GATHER(grebe_line_visit, grb_py_visit_line)
GRB_GATHER(grebe_name_visit, grb_py_visit_line)

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
%ignore grebe_index_add;
%ignore grebe_index_commit;
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

%{
#define FAST(name, function)                                                  \
    {name, (PyCFunction)(void (*)(void))function, METH_FASTCALL, NULL}
#define ONE(name, function) {name, function, METH_O, NULL}

static PyMethodDef calls_by_hand[] = {
    FAST("types_set", grb_py_types_set),
    FAST("add", grb_py_add),
    FAST("add_many", grb_py_add_many),
    FAST("get", grb_py_get),
    FAST("commit", grb_py_commit),
    FAST("search", grb_py_search),
    FAST("explain", grb_py_explain),
    FAST("query", grb_py_query),
    FAST("query_bool", grb_py_query_bool),
    FAST("query_dismax", grb_py_query_dismax),
    FAST("query_range", grb_py_query_range),
    ONE("query_text", grb_py_query_text),
    ONE("schema_fields", grb_py_schema_fields),
    ONE("schema_refresh", grb_py_schema_refresh),
    ONE("hits_keys", grb_py_hits_keys),
    FAST("hits_key", grb_py_hits_key),
    ONE("hits_scores", grb_py_hits_scores),
    FAST("hits_score", grb_py_hits_score),
    FAST("hits_document", grb_py_hits_document),
    ONE("hits_facets", grb_py_hits_facets),
    ONE("hits_plan", grb_py_hits_plan),
    FAST("hits_passages", grb_py_hits_passages),
    {NULL, NULL, 0, NULL},
};

/* An exception that is set on the way out fails the import. */
static void module_fill(PyObject *module) {
    if (grb_py_handles_init(module) || grb_py_errors_init(module) ||
        grb_py_writing_init(module) || grb_py_results_init(module) ||
        grb_py_visits_init(module))
        return;
    PyModule_AddFunctions(module, calls_by_hand);
}
%}

%init %{
    module_fill(m);
%}
