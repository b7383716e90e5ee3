/* lua/handles.c - the userdata that stand for C handles.
 *
 * What can be closed is closed by `<close>`, by close() or, last of all, by
 * the collector, in any order: C counts its own references, and a handle
 * whose pointer is gone says CLOSED. Methods are found in one table, what is
 * read like a field in another; any other name is an error.
 *
 * Invariant: the tag stands in every handle from its first moment.
 * Threads: a Lua state belongs to one thread.
 * Owns: the pointer of each handle and one count of its schema.
 */
#include "binding.h"

typedef struct kind_row {
    const char *type; /* name of the metatable */
    void (*release)(void *pointer);
} kind_row;

static void index_drop(void *p) {
    grebe_index_free(p);
}
static void searcher_drop(void *p) {
    grebe_searcher_release(p);
}
static void hits_drop(void *p) {
    grebe_hits_release(p);
}
static void query_drop(void *p) {
    grebe_query_release(p);
}
static void schema_drop(void *p) {
    grebe_schema_release(p);
}
static void snapshot_drop(void *p) {
    grebe_snapshot_free(p);
}
static void container_drop(void *p) {
    grebe_container_free(p);
}
static void cancel_drop(void *p) {
    grebe_cancel_free(p);
}
static void nothing_drop(void *p) {
    (void)p;
}

static const kind_row kinds[GRB_LUA_KIND_COUNT] = {
    [GRB_LUA_INDEX] = {"grebe.index", index_drop},
    [GRB_LUA_SEARCHER] = {"grebe.searcher", searcher_drop},
    [GRB_LUA_HITS] = {"grebe.hits", hits_drop},
    [GRB_LUA_HIT] = {"grebe.hit", nothing_drop},
    [GRB_LUA_QUERY] = {"grebe.query", query_drop},
    [GRB_LUA_SCHEMA] = {"grebe.schema", schema_drop},
    [GRB_LUA_SNAPSHOT] = {"grebe.snapshot", snapshot_drop},
    [GRB_LUA_CONTAINER] = {"grebe.container", container_drop},
    [GRB_LUA_CANCEL] = {"grebe.cancel", cancel_drop},
    [GRB_LUA_COMMIT_INFO] = {"grebe.commit_info", nothing_drop},
    [GRB_LUA_NULL] = {"grebe.null", nothing_drop},
};

static int user_values(grb_lua_kind kind) {
    switch (kind) {
    case GRB_LUA_INDEX:
    case GRB_LUA_SEARCHER:
    case GRB_LUA_SCHEMA:
        return GRB_LUA_NAMES;
    case GRB_LUA_HITS:
        return GRB_LUA_LAST;
    case GRB_LUA_HIT:
        return GRB_LUA_DOC;
    default:
        return 0;
    }
}

grb_lua_handle *grb_lua_handle_new(lua_State *L, grb_lua_kind kind) {
    size_t size = kind == GRB_LUA_COMMIT_INFO ? sizeof(grb_lua_handle)
                                              : offsetof(grb_lua_handle, info);
    luaL_checkstack(L, 4, "handles");
    grb_lua_handle *self = lua_newuserdatauv(L, size, user_values(kind));
    memset(self, 0, size);
    self->tag = &grb_lua_tag;
    self->kind = kind;
    luaL_setmetatable(L, kinds[kind].type);
    return self;
}

grb_lua_handle *grb_lua_handle_test(lua_State *L, int at) {
    grb_lua_handle *self;
    if (lua_type(L, at) != LUA_TUSERDATA) return NULL;
    self = lua_touserdata(L, at);
    if (lua_rawlen(L, at) < offsetof(grb_lua_handle, info)) return NULL;
    return self->tag == &grb_lua_tag ? self : NULL;
}

const char *grb_lua_type_name(lua_State *L, int at) {
    const grb_lua_handle *self = grb_lua_handle_test(L, at);
    return self ? kinds[self->kind].type : luaL_typename(L, at);
}

grb_lua_handle *grb_lua_handle_of(lua_State *L, int at, grb_lua_kind kind) {
    grb_lua_handle *self = grb_lua_handle_test(L, at);
    if (!self || self->kind != kind)
        grb_lua_fail(L, GREBE_TYPE, NULL, "a %s is wanted, not %s",
                     kinds[kind].type, grb_lua_type_name(L, at));
    else if (!self->pointer)
        grb_lua_fail(L, GREBE_CLOSED, NULL, "the %s has been closed",
                     kinds[kind].type + strlen("grebe."));
    return self;
}

void *grb_lua_pointer(lua_State *L, int at, grb_lua_kind kind) {
    return grb_lua_handle_of(L, at, kind)->pointer;
}

void grb_lua_arguments_open(lua_State *L, int count) {
    for (int at = 1; at <= count; at++) {
        const grb_lua_handle *self = grb_lua_handle_test(L, at);
        if (self && !self->pointer && user_values(self->kind))
            grb_lua_handle_of(L, at, self->kind);
    }
}

static grebe_schema *schema_ask(lua_State *L, grb_lua_handle *self) {
    grebe_error err;
    grebe_schema *schema = NULL;
    if (self->kind == GRB_LUA_SEARCHER)
        return grebe_searcher_schema(self->pointer);
    if (self->kind == GRB_LUA_SCHEMA)
        return grebe_schema_acquire(self->pointer);
    if (grebe_index_schema(self->pointer, &schema, &err))
        grb_lua_raise(L, &err);
    return schema;
}

void grb_lua_handle_attach(lua_State *L, int at, int parent) {
    grebe_error err;
    grb_lua_handle *self = lua_touserdata(L, at);
    grb_lua_handle *other = grb_lua_handle_test(L, parent);
    grebe_schema *schema = schema_ask(L, self);
    if (other && other->schema && other->schema->schema == schema) {
        grebe_schema_release(schema);
        self->schema = other->schema;
        self->schema->refs++;
        lua_getiuservalue(L, parent, GRB_LUA_NAMES);
    } else {
        self->schema = grb_lua_schema_new(schema, &err);
        if (!self->schema) grb_lua_raise(L, &err);
        grb_lua_names_push(L, self->schema);
    }
    lua_setiuservalue(L, at, GRB_LUA_NAMES);
}

/* Gives everything back; the handle says CLOSED from now on. */
static void handle_drop(grb_lua_handle *self) {
    void *pointer = self->pointer;
    self->pointer = NULL;
    if (pointer) kinds[self->kind].release(pointer);
    grb_lua_schema_release(self->schema);
    self->schema = NULL;
}

/* Work that is lost because nobody closed the index deserves a word. */
static void index_warn(lua_State *L, grb_lua_handle *self) {
    grebe_index_stats stats;
    const char *path;
    if (self->kind != GRB_LUA_INDEX || !self->pointer) return;
    if (grebe_index_closed(self->pointer)) return;
    path = grebe_index_path(self->pointer);
    if (!path[0] || grebe_index_stats_read(self->pointer, &stats, NULL))
        return;
    if (!stats.pending) return;
    lua_warning(L, "grebe: the index '", 1);
    lua_warning(L, path, 1);
    lua_warning(L, "' was collected with uncommitted work; close it", 0);
}

static int handle_collect(lua_State *L) {
    grb_lua_handle *self = grb_lua_handle_test(L, 1);
    if (!self) return 0;
    index_warn(L, self);
    handle_drop(self);
    return 0;
}

static grb_lua_handle *handle_any(lua_State *L, int at) {
    grb_lua_handle *self = grb_lua_handle_test(L, at);
    if (!self)
        grb_lua_fail(L, GREBE_TYPE, NULL, "a handle is wanted, not %s",
                     luaL_typename(L, at));
    return self;
}

static int handle_closable(grb_lua_kind kind) {
    return kind == GRB_LUA_INDEX || kind == GRB_LUA_CONTAINER ||
           kind == GRB_LUA_SEARCHER || kind == GRB_LUA_HITS ||
           kind == GRB_LUA_SNAPSHOT;
}

/* Lets go of what the handle kept in Lua. */
static void values_clear(lua_State *L, int at, grb_lua_kind kind) {
    for (int i = 1; i <= user_values(kind); i++) {
        lua_pushnil(L);
        lua_setiuservalue(L, at, i);
    }
}

static void handle_shut(lua_State *L, grb_lua_handle *self, int commit) {
    grebe_error err;
    grebe_status status = GREBE_OK;
    if (!self->pointer) return;
    if (self->kind == GRB_LUA_INDEX)
        status = grebe_index_close(self->pointer, commit, &err);
    else if (self->kind == GRB_LUA_CONTAINER)
        status = grebe_container_close(self->pointer, commit, &err);
    if (status) grb_lua_raise(L, &err);
    handle_drop(self);
    values_clear(L, 1, self->kind);
}

/* close(handle): searchers, hits, snapshots. Twice is silent. */
int grb_lua_close(lua_State *L) {
    grb_lua_arguments(L, "close", 1);
    grb_lua_handle *self = handle_any(L, 1);
    if (!handle_closable(self->kind))
        grb_lua_fail(L, GREBE_TYPE, NULL, "a %s is not closed",
                     kinds[self->kind].type);
    handle_shut(L, self, 1);
    return 0;
}

static int committing_close(lua_State *L, grb_lua_kind kind) {
    grb_lua_arguments(L, "close", 2);
    grb_lua_handle *self = handle_any(L, 1);
    int commit = grb_lua_flag(L, 2, "commit", 1);
    if (self->kind != kind) grb_lua_handle_of(L, 1, kind);
    handle_shut(L, self, commit);
    return 0;
}

/* index_close(index, commit = true) */
int grb_lua_index_close(lua_State *L) {
    return committing_close(L, GRB_LUA_INDEX);
}

int grb_lua_container_close(lua_State *L) {
    return committing_close(L, GRB_LUA_CONTAINER);
}

/* __close(handle, error): after an error nothing is committed. */
static int handle_leave(lua_State *L) {
    handle_shut(L, handle_any(L, 1), lua_isnil(L, 2));
    return 0;
}

/* closed(handle) */
int grb_lua_closed(lua_State *L) {
    grb_lua_arguments(L, "closed", 1);
    grb_lua_handle *self = handle_any(L, 1);
    int closed = !self->pointer;
    if (!closed && self->kind == GRB_LUA_INDEX)
        closed = grebe_index_closed(self->pointer);
    lua_pushboolean(L, closed);
    return 1;
}

/* __index(handle, name): a method, or a property, which is a function of the
 * handle. Upvalues: methods, properties, name of the type. */
static int name_find(lua_State *L) {
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(2)) != LUA_TNIL) {
        lua_pushvalue(L, 1);
        lua_call(L, 1, 1);
        return 1;
    }
    return grb_lua_fail(L, GREBE_ARGUMENT, NULL, "%s has no '%s'",
                        lua_tostring(L, lua_upvalueindex(3)),
                        luaL_tolstring(L, 2, NULL));
}

/* Hits also answer to a place: a hit, or nil behind the last. */
static int hits_find(lua_State *L) {
    return lua_isinteger(L, 2) ? grb_lua_hits_at(L) : name_find(L);
}

static int write_refuse(lua_State *L) {
    return grb_lua_fail(L, GREBE_ARGUMENT, NULL, "a %s cannot be written to",
                        lua_tostring(L, lua_upvalueindex(1)));
}

static int null_text(lua_State *L) {
    lua_pushliteral(L, "grebe.null");
    return 1;
}

static void closure_set(lua_State *L, const char *type, const char *name,
                        lua_CFunction function) {
    lua_pushstring(L, type);
    lua_pushcclosure(L, function, 1);
    lua_setfield(L, -2, name);
}

static void function_set(lua_State *L, const char *name,
                         lua_CFunction function) {
    lua_pushcfunction(L, function);
    lua_setfield(L, -2, name);
}

static lua_CFunction kind_finder(grb_lua_kind kind) {
    switch (kind) {
    case GRB_LUA_HITS:
        return hits_find;
    case GRB_LUA_HIT:
        return grb_lua_hit_index;
    case GRB_LUA_COMMIT_INFO:
        return grb_lua_info_index;
    default:
        return name_find;
    }
}

/* The metatable of a kind, whose methods the Lua side fills in. */
static void kind_open(lua_State *L, grb_lua_kind kind) {
    const char *type = kinds[kind].type;
    luaL_newmetatable(L, type);
    function_set(L, "__gc", handle_collect);
    closure_set(L, type, "__newindex", write_refuse);
    if (handle_closable(kind)) function_set(L, "__close", handle_leave);
    lua_newtable(L);
    lua_newtable(L);
    lua_pushvalue(L, -2);
    lua_setfield(L, -4, "methods");
    lua_pushvalue(L, -1);
    lua_setfield(L, -4, "properties");
    lua_pushstring(L, type);
    lua_pushcclosure(L, kind_finder(kind), 3);
    lua_setfield(L, -2, "__index");
    lua_pushliteral(L, "grebe");
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 1);
}

void grb_lua_handles_open(lua_State *L) {
    for (int kind = 0; kind < GRB_LUA_KIND_COUNT; kind++)
        kind_open(L, (grb_lua_kind)kind);
    luaL_getmetatable(L, kinds[GRB_LUA_NULL].type);
    function_set(L, "__tostring", null_text);
    lua_pop(L, 1);
}

/* kind(name): metatable, methods and properties of a kind, for the Lua side
 * to fill in. */
int grb_lua_kind_tables(lua_State *L) {
    lua_pushfstring(L, "grebe.%s", luaL_checkstring(L, 1));
    lua_gettable(L, LUA_REGISTRYINDEX);
    luaL_checktype(L, -1, LUA_TTABLE);
    lua_getfield(L, -1, "methods");
    lua_getfield(L, -2, "properties");
    return 3;
}
