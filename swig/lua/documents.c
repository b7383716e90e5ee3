/* lua/documents.c - documents: tables in, tables out.
 *
 * A table is walked in place into the schema's spare document, past every
 * metamethod. Nothing allocates on the way, so no finalizer can run between
 * the first field and the add. A list is 1..n without holes.
 *
 * Invariant: reading raises nothing a document can cause; a half-filled one is
 *            never handed on.
 * Threads: a Lua state belongs to one thread.
 * Owns: nothing.
 */
#include "binding.h"

static grebe_status scalar_add(lua_State *L, grebe_document *document,
                               const grb_lua_field *field, uint32_t id,
                               grebe_error *err) {
    grebe_value value;
    grebe_status status = grb_lua_value_read(L, -1, field, &value, err);
    if (status) return status;
    return grebe_document_add(document, id, &value, err);
}

static int null_is(lua_State *L, int at) {
    const grb_lua_handle *self = grb_lua_handle_test(L, at);
    return self && self->kind == GRB_LUA_NULL;
}

/* The list on top of the stack has the keys 1..n and no other; its n. */
static int list_shape(lua_State *L, lua_Integer *count) {
    lua_Integer length = (lua_Integer)lua_rawlen(L, -1), seen = 0;
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        lua_Integer key = lua_isinteger(L, -2) ? lua_tointeger(L, -2) : 0;
        seen++;
        lua_pop(L, 1);
        if (key < 1 || key > length) {
            lua_pop(L, 1);
            return 0;
        }
    }
    *count = seen;
    return seen == length;
}

static grebe_status item_refuse(lua_State *L, const grb_lua_field *field,
                                lua_Integer i, grebe_error *err) {
    grb_lua_error_set(err, GREBE_DOCUMENT, field->name,
                      "field '%s': item %lld of the list is a %s", field->name,
                      (long long)i, grb_lua_type_name(L, -1));
    return GREBE_DOCUMENT;
}

static grebe_status list_add(lua_State *L, grebe_document *document,
                             const grb_lua_field *field, uint32_t id,
                             grebe_error *err) {
    lua_Integer count = 0;
    grebe_status status = GREBE_OK;
    if (!(field->flags & GREBE_MANY)) {
        grb_lua_error_set(err, GREBE_DOCUMENT, field->name,
                          "field '%s' takes one value, not a table; declare "
                          "it with many = true",
                          field->name);
        return GREBE_DOCUMENT;
    }
    if (!list_shape(L, &count)) {
        grb_lua_error_set(err, GREBE_DOCUMENT, field->name,
                          "field '%s': a list has the keys 1..n, without "
                          "holes and without names",
                          field->name);
        return GREBE_DOCUMENT;
    }
    if (count == 0) return grebe_document_add_null(document, id, err);
    for (lua_Integer i = 1; i <= count && !status; i++) {
        int type = lua_rawgeti(L, -1, i);
        status = type == LUA_TTABLE || type == LUA_TNIL || null_is(L, -1)
                     ? item_refuse(L, field, i, err)
                     : scalar_add(L, document, field, id, err);
        lua_pop(L, 1);
    }
    return status;
}

/* Keeps the name that the schema lacks, or says so. */
static grebe_status unknown_take(lua_State *L, int unknown, grebe_error *err) {
    const char *name = lua_tostring(L, -2);
    if (!unknown) {
        grb_lua_error_set(err, GREBE_DOCUMENT, name,
                          "the schema has no field '%.100s'", name);
        return GREBE_DOCUMENT;
    }
    lua_pushvalue(L, -2);
    lua_pushboolean(L, 1);
    lua_rawset(L, unknown);
    return GREBE_OK;
}

/* The pair of name and value on top of the stack. */
static grebe_status pair_add(lua_State *L, const grb_lua_schema *schema,
                             grebe_document *document, int unknown,
                             grebe_error *err) {
    if (lua_type(L, -2) != LUA_TSTRING) {
        grb_lua_error_set(err, GREBE_DOCUMENT, NULL,
                          "a field's name is a string, not a %s",
                          luaL_typename(L, -2));
        return GREBE_DOCUMENT;
    }
    uint32_t id = grb_lua_field_find(L, schema, -2);
    if (id >= schema->count) return unknown_take(L, unknown, err);
    const grb_lua_field *field = &schema->fields[id];
    switch (lua_type(L, -1)) {
    case LUA_TTABLE:
        return list_add(L, document, field, id, err);
    case LUA_TUSERDATA:
        if (null_is(L, -1)) return grebe_document_add_null(document, id, err);
    }
    return scalar_add(L, document, field, id, err);
}

/* Tells the error which document it is about. */
static void key_tell(lua_State *L, const grb_lua_schema *schema, int at,
                     grebe_error *err) {
    if (err->key[0] || schema->key == GREBE_NO_FIELD) return;
    lua_pushstring(L, schema->fields[schema->key].name);
    lua_rawget(L, at);
    if (lua_type(L, -1) == LUA_TSTRING)
        snprintf(err->key, sizeof err->key, "%s", lua_tostring(L, -1));
    else if (lua_isinteger(L, -1))
        snprintf(err->key, sizeof err->key, LUA_INTEGER_FMT,
                 lua_tointeger(L, -1));
    lua_pop(L, 1);
}

grebe_status grb_lua_document_read(lua_State *L, grb_lua_schema *schema,
                                   int at, int unknown, grebe_document **out,
                                   grebe_error *err) {
    grebe_status status = GREBE_OK;
    grebe_document *document = grb_lua_document_spare(schema, err);
    *out = document;
    if (!document) return GREBE_MEMORY;
    if (!lua_istable(L, at)) {
        grb_lua_error_set(err, GREBE_DOCUMENT, NULL,
                          "a document is a table, not %s",
                          grb_lua_type_name(L, at));
        return GREBE_DOCUMENT;
    }
    lua_pushnil(L);
    while (!status && lua_next(L, at)) {
        status = pair_add(L, schema, document, unknown, err);
        lua_pop(L, 1);
    }
    if (status) {
        lua_pop(L, 1);
        key_tell(L, schema, at, err);
    }
    return status;
}

/* Puts the value on top into the list of a field of many values. */
static void many_put(lua_State *L, int table) {
    lua_pushvalue(L, -2);
    if (lua_rawget(L, table) == LUA_TNIL) {
        lua_pop(L, 1);
        lua_createtable(L, 1, 0);
        lua_pushvalue(L, -3);
        lua_pushvalue(L, -2);
        lua_rawset(L, table);
    }
    lua_insert(L, -2);
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    lua_pop(L, 2);
}

#define OWN_TYPE "grebe.document"

static int own_free(lua_State *L) {
    grebe_document **own = luaL_checkudata(L, 1, OWN_TYPE);
    grebe_document_free(*own);
    *own = NULL;
    return 0;
}

grebe_document *grb_lua_document_target(lua_State *L, grb_lua_schema *schema,
                                        int own) {
    grebe_error err;
    grebe_document *spare;
    if (!own) {
        lua_pushnil(L);
        spare = grb_lua_document_spare(schema, &err);
        if (!spare) grb_lua_raise(L, &err);
        return spare;
    }
    grebe_document **place = lua_newuserdatauv(L, sizeof *place, 0);
    *place = NULL;
    if (luaL_newmetatable(L, OWN_TYPE)) {
        lua_pushcfunction(L, own_free);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    if (grebe_document_new(schema->schema, place, &err))
        grb_lua_raise(L, &err);
    return *place;
}

int grb_lua_document_push(lua_State *L, const grb_lua_schema *schema,
                          int names, const grebe_document *document) {
    grebe_error err;
    grebe_value value;
    uint32_t id = 0, count = grebe_document_count(document);
    uint64_t uses = schema->uses;
    int own = document != schema->spare;
    luaL_checkstack(L, 6, "documents");
    lua_createtable(L, 0,
                    (int)(count < schema->count ? count : schema->count));
    int table = lua_gettop(L);
    for (uint32_t i = 0; i < count && (own || schema->uses == uses); i++) {
        if (grebe_document_value(document, i, &id, &value, &err))
            grb_lua_raise(L, &err);
        if (id >= schema->count)
            grb_lua_fail(L, GREBE_INTERNAL, NULL, "unknown field %d", (int)id);
        lua_rawgeti(L, names, (lua_Integer)id + 1);
        grb_lua_value_push(L, &value);
        if (schema->fields[id].flags & GREBE_MANY)
            many_put(L, table);
        else
            lua_rawset(L, table);
    }
    if (own || schema->uses == uses) return 1;
    lua_pop(L, 1);
    return 0;
}
