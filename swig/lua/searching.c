/* lua/searching.c - one call a search: arguments in, hits out.
 *
 * Every option lies at its own place of the stack from the moment it was
 * read, so whatever the request points at is held until the search ends. The
 * handle of the hits is made before the search: nothing can be lost.
 *
 * Invariant: the target is known to be open after the last allocation.
 * Threads: a Lua state belongs to one thread.
 * Owns: nothing.
 */
#include "binding.h"

#define FILTERS_MAX 64
#define NS_A_SECOND 1e9
#define TIMEOUT_NS_MAX 9e18

enum {
    ARG_HANDLE = 1,
    ARG_QUERY,
    ARG_OPTIONS,
    ARG_FIELDS,
    ARG_WHERE,
    ARG_SORT,
    ARG_LIMIT,
    ARG_OFFSET,
    ARG_AFTER,
    ARG_SINCE,
    ARG_FACETS,
    ARG_HIGHLIGHT,
    ARG_TOTAL,
    ARG_TIMEOUT,
    ARG_PARTIAL,
    ARG_CANCEL,
    ARG_OP,
    ARG_LOAD,
    ARG_PLAN,
    ARG_PAGE, /* facets, highlights, load: kept by the hits; or nil */
    ARG_TOP = ARG_PAGE
};

static const char *const option_names[] = {
    "fields", "where",  "sort",      "limit", "offset",  "after",
    "since",  "facets", "highlight", "total", "timeout", "partial",
    "cancel", "op",     "load",      "plan",  NULL};

typedef struct searching {
    grb_lua_handle *target; /* index or searcher */
    const grebe_query *filters[FILTERS_MAX];
    uint64_t since;
    grebe_search_request request;
} searching;

static void where_add(lua_State *L, searching *self, int at) {
    static const grb_lua_reading strictly = {ARG_HANDLE, 0, GREBE_OR, 0};
    size_t count = self->request.filter_count;
    if (count == FILTERS_MAX)
        grb_lua_fail(L, GREBE_LIMIT, NULL, "where: more than %d filters",
                     FILTERS_MAX);
    self->filters[count] = grb_lua_query_push(L, at, &strictly);
    self->request.filters = self->filters;
    self->request.filter_count = count + 1;
}

/* The queries stay on the stack. */
static void where_read(lua_State *L, searching *self) {
    if (lua_isnil(L, ARG_WHERE)) return;
    if (!lua_istable(L, ARG_WHERE)) {
        where_add(L, self, ARG_WHERE);
        return;
    }
    luaL_checkstack(L, 2 * FILTERS_MAX + 8, "where");
    lua_Integer count = (lua_Integer)lua_rawlen(L, ARG_WHERE);
    for (lua_Integer i = 1; i <= count; i++) {
        lua_rawgeti(L, ARG_WHERE, i);
        where_add(L, self, lua_gettop(L));
    }
}

/* A list becomes one text at its place. */
static void sort_read(lua_State *L, searching *self) {
    if (lua_istable(L, ARG_SORT)) {
        luaL_Buffer buffer;
        size_t count = lua_rawlen(L, ARG_SORT);
        luaL_buffinit(L, &buffer);
        for (size_t i = 1; i <= count; i++) {
            if (i > 1) luaL_addstring(&buffer, ", ");
            if (lua_rawgeti(L, ARG_SORT, (lua_Integer)i) != LUA_TSTRING)
                grb_lua_fail(L, GREBE_TYPE, NULL, "sort holds strings, not %s",
                             grb_lua_type_name(L, -1));
            luaL_addvalue(&buffer);
        }
        luaL_pushresult(&buffer);
        lua_replace(L, ARG_SORT);
    }
    self->request.sort = grb_lua_name(L, ARG_SORT, "sort");
}

static void timeout_read(lua_State *L, searching *self) {
    if (lua_isnil(L, ARG_TIMEOUT)) return;
    double ns = grb_lua_number(L, ARG_TIMEOUT, "timeout") * NS_A_SECOND;
    if (!(ns >= 0))
        grb_lua_fail(L, GREBE_ARGUMENT, NULL,
                     "timeout is a number of seconds >= 0");
    self->request.timeout_ns = ns >= TIMEOUT_NS_MAX ? 0
                               : ns < 1             ? 1
                                                    : (uint64_t)ns;
}

static void total_read(lua_State *L, searching *self) {
    static const char *const words[] = {"exact", NULL};
    if (lua_type(L, ARG_TOTAL) == LUA_TSTRING || lua_isnil(L, ARG_TOTAL)) {
        grb_lua_word(L, ARG_TOTAL, "total", words);
        return;
    }
    uint64_t most = grb_lua_count(L, ARG_TOTAL, "total", 0, INT64_MAX);
    self->request.total_max = most ? most : 1;
}

/* What a commit told, or its number. */
static void since_read(lua_State *L, searching *self) {
    const grb_lua_handle *info = grb_lua_handle_test(L, ARG_SINCE);
    if (lua_isnil(L, ARG_SINCE)) return;
    if (info && info->kind == GRB_LUA_COMMIT_INFO)
        self->since = info->info.number;
    else
        self->since = grb_lua_count(L, ARG_SINCE, "since", 0, INT64_MAX);
}

static void paging_read(lua_State *L, searching *self) {
    grebe_search_request *request = &self->request;
    request->limit = grb_lua_limit(L, ARG_LIMIT, "limit", 10);
    if (!lua_isnil(L, ARG_OFFSET))
        request->offset = grb_lua_count(L, ARG_OFFSET, "offset", 0, INT64_MAX);
    request->after = grb_lua_name(L, ARG_AFTER, "after");
    request->partial = grb_lua_flag(L, ARG_PARTIAL, "partial", 0);
    request->plan = grb_lua_flag(L, ARG_PLAN, "plan", 0);
    if (!lua_isnil(L, ARG_CANCEL))
        request->cancel = grb_lua_pointer(L, ARG_CANCEL, GRB_LUA_CANCEL);
}

/* The table the hits keep. */
static void page_set(lua_State *L, const char *name) {
    if (lua_isnil(L, ARG_PAGE)) {
        lua_newtable(L);
        lua_replace(L, ARG_PAGE);
    }
    lua_setfield(L, ARG_PAGE, name);
}

static void load_name(lua_State *L, const searching *self, int list) {
    if (lua_type(L, -1) != LUA_TSTRING)
        grb_lua_fail(L, GREBE_TYPE, NULL, "load holds strings, not %s",
                     grb_lua_type_name(L, -1));
    const grb_lua_handle *target =
        grb_lua_handle_of(L, ARG_HANDLE, self->target->kind);
    if (grb_lua_field_find(L, target->schema, -1) == GREBE_NO_FIELD)
        grb_lua_fail(L, GREBE_SCHEMA, lua_tostring(L, -1),
                     "load: the schema has no field '%s'",
                     lua_tostring(L, -1));
    lua_rawseti(L, list, (lua_Integer)lua_rawlen(L, list) + 1);
}

static void load_read(lua_State *L, const searching *self) {
    if (lua_isnil(L, ARG_LOAD)) return;
    lua_newtable(L);
    int list = lua_gettop(L);
    if (lua_istable(L, ARG_LOAD)) {
        lua_Integer count = (lua_Integer)lua_rawlen(L, ARG_LOAD);
        for (lua_Integer i = 1; i <= count; i++) {
            lua_rawgeti(L, ARG_LOAD, i);
            load_name(L, self, list);
        }
    } else {
        lua_pushvalue(L, ARG_LOAD);
        load_name(L, self, list);
    }
    page_set(L, "load");
}

static void requests_read(lua_State *L, searching *self) {
    grebe_facet_request *facets;
    grebe_highlight_request *passages;
    if (!lua_isnil(L, ARG_FACETS)) {
        self->request.facet_count =
            grb_lua_facets_read(L, ARG_FACETS, &facets);
        self->request.facets = facets;
        page_set(L, "facets");
    }
    if (!lua_isnil(L, ARG_HIGHLIGHT)) {
        self->request.highlight_count =
            grb_lua_highlights_read(L, ARG_HIGHLIGHT, &passages);
        self->request.highlights = passages;
        page_set(L, "highlights");
    }
    load_read(L, self);
}

static void target_read(lua_State *L, searching *self) {
    grb_lua_handle *handle = grb_lua_handle_test(L, ARG_HANDLE);
    int searcher = handle && handle->kind == GRB_LUA_SEARCHER;
    grebe_error err;
    self->target = grb_lua_handle_of(
        L, ARG_HANDLE, searcher ? GRB_LUA_SEARCHER : GRB_LUA_INDEX);
    if (!self->target->follows) return;
    if (grebe_index_refresh(self->target->pointer, NULL, &err))
        grb_lua_raise(L, &err);
    grb_lua_schema_refresh(L, ARG_HANDLE);
}

static void request_read(lua_State *L, searching *self) {
    grb_lua_reading how = {ARG_HANDLE, ARG_FIELDS, GREBE_OR, 1};
    memset(&self->request, 0, sizeof self->request);
    self->since = 0;
    self->request.limit = 10;
    target_read(L, self);
    if (!lua_isnil(L, ARG_OPTIONS)) {
        grb_lua_options(L, ARG_OPTIONS, "search", option_names, ARG_FIELDS);
        how.op = grb_lua_operator(L, ARG_OP);
        where_read(L, self);
        sort_read(L, self);
        paging_read(L, self);
        since_read(L, self);
        total_read(L, self);
        timeout_read(L, self);
        requests_read(L, self);
    }
    if (!lua_isnil(L, ARG_QUERY))
        self->request.query = grb_lua_query_push(L, ARG_QUERY, &how);
}

static grebe_status search_run(searching *self, grebe_hits **out,
                               grebe_error *err) {
    grebe_searcher *searcher = NULL;
    grebe_status status;
    void *pointer = self->target->pointer;
    if (self->target->kind == GRB_LUA_SEARCHER) {
        if (grebe_searcher_number(pointer) >= self->since)
            return grebe_searcher_search(pointer, &self->request, out, err);
        grb_lua_error_set(err, GREBE_CONFLICT, NULL,
                          "the searcher is older than that commit");
        return GREBE_CONFLICT;
    }
    if (!self->since)
        return grebe_index_search(pointer, &self->request, out, err);
    status = grebe_index_searcher(pointer, self->since, &searcher, err);
    if (status) return status;
    status = grebe_searcher_search(searcher, &self->request, out, err);
    grebe_searcher_release(searcher);
    return status;
}

/* Lua's collector does not see the memory of hits: it is told about. */
static void memory_tell(lua_State *L, const grebe_hits *hits) {
    if (lua_gc(L, LUA_GCISRUNNING, 0))
        lua_gc(L, LUA_GCSTEP, 1 + (int)(grebe_hits_count(hits) / 32));
}

/* search(index or searcher, string or query or nil, options or nil): hits;
 * options may come alone. */
int grb_lua_search(lua_State *L) {
    searching self;
    grebe_error err;
    grebe_hits *hits = NULL;
    grb_lua_arguments(L, "search", ARG_OPTIONS);
    luaL_checkstack(L, 48, "search");
    if (lua_istable(L, ARG_QUERY) && lua_isnil(L, ARG_OPTIONS))
        lua_insert(L, ARG_QUERY);
    lua_settop(L, ARG_TOP);
    request_read(L, &self);
    grb_lua_handle *made = grb_lua_handle_new(L, GRB_LUA_HITS);
    grb_lua_handle_of(L, ARG_HANDLE, self.target->kind);
    if (search_run(&self, &hits, &err)) return grb_lua_raise(L, &err);
    made->pointer = hits;
    made->schema = self.target->schema;
    made->schema->refs++;
    lua_getiuservalue(L, ARG_HANDLE, GRB_LUA_NAMES);
    lua_setiuservalue(L, -2, GRB_LUA_NAMES);
    lua_pushvalue(L, ARG_PAGE);
    lua_setiuservalue(L, -2, GRB_LUA_PAGE);
    memory_tell(L, hits);
    return 1;
}

/* explain(searcher, key, string or query): text. The searcher is an index's
 * or stands by itself; a string is read strictly. */
int grb_lua_explain(lua_State *L) {
    static const grb_lua_reading strictly = {1, 0, GREBE_OR, 0};
    grebe_value key;
    grebe_error err;
    size_t size = 4096, needed = 0;
    grb_lua_arguments(L, "explain", 3);
    grb_lua_handle_of(L, 1, GRB_LUA_SEARCHER);
    const grebe_query *query = grb_lua_query_push(L, 3, &strictly);
    grb_lua_key_read(L, 2, &key);
    for (;;) {
        char *room = lua_newuserdatauv(L, size, 0);
        grebe_searcher *searcher = grb_lua_pointer(L, 1, GRB_LUA_SEARCHER);
        if (grebe_searcher_explain(searcher, query, &key, room, size, &needed,
                                   &err))
            return grb_lua_raise(L, &err);
        if (needed < size) {
            lua_pushlstring(L, room, needed);
            return 1;
        }
        size = needed + 1;
    }
}
