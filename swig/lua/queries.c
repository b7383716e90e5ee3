/* lua/queries.c - query handles from texts, fields and clauses.
 *
 * Texts that a script searches again and again are compiled once for a
 * schema; the tables that keep them are emptied when they are full and die
 * with the schema's names.
 *
 * Invariant: a compiled text belongs to this schema alone; once pointers of
 *            other handles are held, nothing allocates before the call.
 * Threads: a Lua state belongs to one thread.
 * Owns: the compiled queries, through the table of names.
 */
#include "binding.h"

#include <math.h>

#define FIELDS_MAX 256
#define TEXT_KEPT_MAX 1024
#define CLAUSES_MAX (GREBE_QUERY_CLAUSES_MAX + 1)

/* Reads "title^2" at `at`; `room` is for the name. */
static void field_split(lua_State *L, int at, char *room,
                        grebe_query_field *out) {
    const char *text = grb_lua_name(L, at, "a field");
    if (!text)
        grb_lua_fail(L, GREBE_TYPE, NULL, "fields holds strings, not nil");
    const char *caret = strchr(text, '^');
    size_t size = caret ? (size_t)(caret - text) : strlen(text);
    if (size > GREBE_FIELD_NAME_MAX)
        grb_lua_fail(L, GREBE_ARGUMENT, NULL,
                     "the name of a field is too long");
    memcpy(room, text, size);
    room[size] = '\0';
    out->name = room;
    out->boost = 1.0f;
    if (!caret) return;
    lua_pushstring(L, caret + 1);
    int is_number;
    lua_Number boost = lua_tonumberx(L, -1, &is_number);
    lua_pop(L, 1);
    if (!is_number || !(boost >= 0) || isinf(boost))
        grb_lua_fail(L, GREBE_ARGUMENT, NULL,
                     "%s: the boost is no number >= 0", text);
    out->boost = (float)boost;
}

/* Rows of the fields at `at`, in a block left on the stack. */
static size_t fields_read(lua_State *L, int at, grebe_query_field **out) {
    int single = lua_type(L, at) == LUA_TSTRING;
    if (!single && !lua_istable(L, at))
        grb_lua_fail(L, GREBE_TYPE, NULL,
                     "fields is a list of strings, not %s",
                     grb_lua_type_name(L, at));
    size_t count = single ? 1 : lua_rawlen(L, at);
    if (count < 1 || count > FIELDS_MAX)
        grb_lua_fail(L, GREBE_ARGUMENT, NULL, "fields: 1 to %d names",
                     FIELDS_MAX);
    *out = lua_newuserdatauv(
        L, count * (sizeof **out + GREBE_FIELD_NAME_MAX + 1), 0);
    char *rooms = (char *)(*out + count);
    for (size_t i = 0; i < count; i++) {
        char *room = rooms + i * (GREBE_FIELD_NAME_MAX + 1);
        if (single)
            lua_pushvalue(L, at);
        else
            lua_rawgeti(L, at, (lua_Integer)i + 1);
        field_split(L, lua_gettop(L), room, *out + i);
        lua_pop(L, 1);
    }
    return count;
}

/* The handle that has the schema: an index, a searcher, hits or a schema. */
static grb_lua_handle *schema_holder(lua_State *L, int at) {
    grb_lua_handle *self = grb_lua_handle_test(L, at);
    if (self && self->schema && self->pointer) return self;
    if (self && !self->pointer &&
        (self->kind == GRB_LUA_INDEX || self->kind == GRB_LUA_SEARCHER ||
         self->kind == GRB_LUA_HITS))
        return grb_lua_handle_of(L, at, self->kind);
    grb_lua_fail(L, GREBE_TYPE, NULL, "a schema or an index is wanted, not %s",
                 grb_lua_type_name(L, at));
    return NULL;
}

/* Leaves a query handle of the text at `at` on the stack, or fails. */
static grebe_status text_parse(lua_State *L, int at,
                               const grb_lua_reading *how, grebe_error *err) {
    size_t size;
    grebe_query_field *fields = NULL;
    grebe_query *query = NULL;
    grebe_parse_options options = {NULL, 0, how->op, how->forgiving};
    const char *text = lua_tolstring(L, at, &size);
    int top = lua_gettop(L);
    if (how->fields && !lua_isnil(L, how->fields))
        options.field_count = fields_read(L, how->fields, &fields);
    options.fields = fields;
    grb_lua_handle *made = grb_lua_handle_new(L, GRB_LUA_QUERY);
    const grb_lua_handle *holder = schema_holder(L, how->handle);
    grebe_status status = grebe_query_parse(holder->schema->schema, text, size,
                                            &options, &query, err);
    made->pointer = query;
    lua_insert(L, top + 1);
    lua_settop(L, top + 1);
    return status;
}

/* Keeps the query on top of the stack in the table at `names`, whose schema
 * it holds. */
static void text_keep(lua_State *L, grb_lua_schema *schema, int at, int names,
                      lua_Integer which) {
    if (lua_rawlen(L, at) > TEXT_KEPT_MAX) return;
    if (schema->queries >= GRB_LUA_QUERIES_MAX) {
        schema->queries = 0;
        lua_newtable(L);
        lua_rawseti(L, names, GRB_LUA_STRICT);
        lua_newtable(L);
        lua_rawseti(L, names, GRB_LUA_FORGIVING);
    }
    schema->queries++;
    lua_rawgeti(L, names, which);
    lua_pushvalue(L, at);
    lua_pushvalue(L, -3);
    lua_rawset(L, -3);
    lua_pop(L, 1);
}

/* Leaves the query on the stack, or fails and leaves what it will. */
static grebe_status text_compile(lua_State *L, int at,
                                 const grb_lua_reading *how,
                                 grebe_error *err) {
    grb_lua_handle *self = schema_holder(L, how->handle);
    lua_Integer which = how->forgiving ? GRB_LUA_FORGIVING : GRB_LUA_STRICT;
    if (how->op != GREBE_OR || (how->fields && !lua_isnil(L, how->fields)))
        return text_parse(L, at, how, err);
    grb_lua_schema *schema = self->schema;
    lua_getiuservalue(L, how->handle, GRB_LUA_NAMES);
    int names = lua_gettop(L);
    lua_rawgeti(L, names, which);
    lua_pushvalue(L, at);
    if (lua_rawget(L, -2) == LUA_TNIL) {
        lua_settop(L, names);
        grebe_status status = text_parse(L, at, how, err);
        if (status) return status;
        if (self->schema == schema) text_keep(L, schema, at, names, which);
    }
    lua_replace(L, names);
    lua_settop(L, names);
    return GREBE_OK;
}

grebe_query *grb_lua_query_push(lua_State *L, int at,
                                const grb_lua_reading *how) {
    grebe_error err;
    luaL_checkstack(L, 8, "queries");
    if (lua_type(L, at) != LUA_TSTRING) {
        grb_lua_handle *self = grb_lua_handle_test(L, at);
        if (!self || self->kind != GRB_LUA_QUERY)
            grb_lua_fail(L, GREBE_TYPE, NULL,
                         "a query is a string or made by grebe.q, not %s",
                         grb_lua_type_name(L, at));
        lua_pushvalue(L, at);
        return grb_lua_pointer(L, at, GRB_LUA_QUERY);
    }
    grebe_status status = text_compile(L, at, how, &err);
    if (status == GREBE_SYNTAX) {
        /* Perhaps about a field that another handle has added. */
        grb_lua_handle *self = grb_lua_handle_test(L, how->handle);
        if (self->kind == GRB_LUA_INDEX &&
            grb_lua_schema_refresh(L, how->handle))
            status = text_compile(L, at, how, &err);
    }
    if (status) grb_lua_raise(L, &err);
    return grb_lua_pointer(L, -1, GRB_LUA_QUERY);
}

/* parse(index, searcher or schema, text, fields, op): a query, read strictly
 */
int grb_lua_parse(lua_State *L) {
    grb_lua_arguments(L, "parse", 4);
    grb_lua_reading how = {1, 3, grb_lua_operator(L, 4), 0};
    schema_holder(L, 1);
    grb_lua_query_push(L, 2, &how);
    return 1;
}

int grb_lua_query_text(lua_State *L) {
    luaL_Buffer buffer;
    const grebe_query *query = grb_lua_pointer(L, 1, GRB_LUA_QUERY);
    size_t size = grebe_query_text(query, NULL, 0);
    char *room = luaL_buffinitsize(L, &buffer, size + 1);
    grebe_query_text(query, room, size + 1);
    luaL_pushresultsize(&buffer, size);
    return 1;
}

static size_t list_count(lua_State *L, int at, const char *name) {
    if (!lua_istable(L, at))
        grb_lua_fail(L, GREBE_TYPE, NULL, "%s holds queries, not %s", name,
                     grb_lua_type_name(L, at));
    return lua_rawlen(L, at);
}

/* query_bool({occur, query, occur, query ...}, mm) */
int grb_lua_query_bool(lua_State *L) {
    grebe_error err;
    grebe_query *query = NULL;
    grb_lua_arguments(L, "bool", 2);
    size_t count = list_count(L, 1, "bool") / 2;
    uint32_t least = lua_isnil(L, 2)
                         ? 0
                         : (uint32_t)grb_lua_count(L, 2, "mm", 0, UINT32_MAX);
    if (count > CLAUSES_MAX) count = CLAUSES_MAX;
    grebe_clause *rows = lua_newuserdatauv(L, (count + 1) * sizeof *rows, 0);
    grb_lua_handle *made = grb_lua_handle_new(L, GRB_LUA_QUERY);
    for (size_t i = 0; i < count; i++) {
        lua_rawgeti(L, 1, (lua_Integer)(2 * i) + 1);
        lua_rawgeti(L, 1, (lua_Integer)(2 * i) + 2);
        rows[i].occur = (grebe_occur)lua_tointeger(L, -2);
        rows[i].query = grb_lua_pointer(L, -1, GRB_LUA_QUERY);
        lua_pop(L, 2);
    }
    if (grebe_query_bool(rows, count, least, &query, &err))
        grb_lua_raise(L, &err);
    made->pointer = query;
    return 1;
}

/* query_dismax({query ...}, tie) */
int grb_lua_query_dismax(lua_State *L) {
    grebe_error err;
    grebe_query *query = NULL;
    grb_lua_arguments(L, "dismax", 2);
    size_t count = list_count(L, 1, "dismax");
    double tie = lua_isnil(L, 2) ? 0 : grb_lua_number(L, 2, "tie");
    if (count > CLAUSES_MAX) count = CLAUSES_MAX;
    grebe_query **rows = lua_newuserdatauv(L, (count + 1) * sizeof *rows, 0);
    grb_lua_handle *made = grb_lua_handle_new(L, GRB_LUA_QUERY);
    for (size_t i = 0; i < count; i++) {
        lua_rawgeti(L, 1, (lua_Integer)i + 1);
        rows[i] = grb_lua_pointer(L, -1, GRB_LUA_QUERY);
        lua_pop(L, 1);
    }
    if (grebe_query_dismax(rows, count, (float)tie, &query, &err))
        grb_lua_raise(L, &err);
    made->pointer = query;
    return 1;
}

enum {
    RANGE_FIELD = 1,
    RANGE_TABLE,
    RANGE_GTE,
    RANGE_GT,
    RANGE_LTE,
    RANGE_LT
};

static const grebe_value *bound_read(lua_State *L, int closed, int open,
                                     grebe_value *room, int *is_open) {
    *is_open = !lua_isnil(L, open);
    if (*is_open && !lua_isnil(L, closed))
        grb_lua_fail(L, GREBE_ARGUMENT, NULL,
                     "range takes one bound of each side, not both");
    int at = *is_open ? open : closed;
    if (lua_isnil(L, at)) return NULL;
    grb_lua_value_guess(L, at, room);
    return room;
}

/* query_range(field, {gte, gt, lte, lt}) */
int grb_lua_query_range(lua_State *L) {
    static const char *const names[] = {"gte", "gt", "lte", "lt", NULL};
    grebe_error err;
    grebe_value lower, upper;
    grebe_range range;
    grebe_query *query = NULL;
    grb_lua_arguments(L, "range", 2);
    lua_settop(L, RANGE_LT);
    const char *field = grb_lua_name(L, RANGE_FIELD, "a field");
    if (!field) grb_lua_fail(L, GREBE_TYPE, NULL, "a field is a string");
    grb_lua_options(L, RANGE_TABLE, "range", names, RANGE_GTE);
    range.lower =
        bound_read(L, RANGE_GTE, RANGE_GT, &lower, &range.lower_open);
    range.upper =
        bound_read(L, RANGE_LTE, RANGE_LT, &upper, &range.upper_open);
    grb_lua_handle *made = grb_lua_handle_new(L, GRB_LUA_QUERY);
    if (grebe_query_range(field, &range, &query, &err)) grb_lua_raise(L, &err);
    made->pointer = query;
    return 1;
}
