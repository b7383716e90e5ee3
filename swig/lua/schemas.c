/* lua/schemas.c - what Lua keeps beside a schema: names, ids, a document.
 *
 * Short Lua strings are interned, so as long as a name is held (in the table
 * of names that every handle of the schema keeps) its address decides which
 * field is meant. Longer names, and those that find no slot, ask the schema.
 *
 * Invariant: slots and spare document belong to `schema`, which never changes.
 * Threads: a Lua state belongs to one thread.
 * Owns: one reference of the schema and the spare document.
 */
#include "binding.h"

#include <stdlib.h>

#define SHORT_NAME_MAX 40u /* Lua interns strings up to here */

void grb_lua_schema_release(grb_lua_schema *self) {
    if (!self || --self->refs) return;
    grebe_document_free(self->spare);
    grebe_schema_release(self->schema);
    free(self->fields);
    free(self);
}

/* Takes over `schema`, also on failure. */
grb_lua_schema *grb_lua_schema_new(grebe_schema *schema, grebe_error *err) {
    uint32_t count = grebe_schema_count(schema);
    grebe_field field;
    grb_lua_schema *self = calloc(1, sizeof *self);
    if (!self) {
        grebe_schema_release(schema);
        grb_lua_error_set(err, GREBE_MEMORY, NULL, "no memory for a schema");
        return NULL;
    }
    self->refs = 1;
    self->schema = schema;
    self->key = grebe_schema_key(schema);
    self->fields = calloc(count + 1, sizeof *self->fields);
    if (!self->fields) {
        grb_lua_error_set(err, GREBE_MEMORY, NULL, "no memory for a schema");
        goto fail;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (grebe_schema_field(schema, i, &field, err)) goto fail;
        self->fields[i].name = field.name;
        self->fields[i].kind = field.kind;
        self->fields[i].flags = field.flags;
    }
    self->count = count;
    return self;
fail:
    grb_lua_schema_release(self);
    return NULL;
}

static uint32_t slot_of(const char *name) {
    return (uint32_t)((uintptr_t)name >> 4) * 2654435761u >> 16 &
           (GRB_LUA_SLOTS - 1);
}

static void slot_put(grb_lua_schema *self, const char *name, uint32_t id) {
    uint32_t at = slot_of(name);
    while (self->slots[at].name) at = (at + 1) & (GRB_LUA_SLOTS - 1);
    self->slots[at].name = name;
    self->slots[at].id = id;
}

#define HOLD_TYPE "grebe.hold"

static int hold_free(lua_State *L) {
    grb_lua_schema **hold = luaL_checkudata(L, 1, HOLD_TYPE);
    grb_lua_schema_release(*hold);
    *hold = NULL;
    return 0;
}

/* Pushes what will hold one count of a schema. */
static grb_lua_schema **hold_push(lua_State *L) {
    grb_lua_schema **hold = lua_newuserdatauv(L, sizeof *hold, 0);
    *hold = NULL;
    if (luaL_newmetatable(L, HOLD_TYPE)) {
        lua_pushcfunction(L, hold_free);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    return hold;
}

/* The hold on top of the stack becomes the table of names. */
static void names_fill(lua_State *L, grb_lua_schema *self) {
    lua_createtable(L, (int)self->count, 3);
    lua_insert(L, -2);
    lua_rawseti(L, -2, GRB_LUA_HOLD);
    for (uint32_t i = 0; i < self->count; i++) {
        const char *name = lua_pushstring(L, self->fields[i].name);
        if (i < GRB_LUA_SLOTS_MAX && lua_rawlen(L, -1) <= SHORT_NAME_MAX)
            slot_put(self, name, i);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_newtable(L);
    lua_rawseti(L, -2, GRB_LUA_STRICT);
    lua_newtable(L);
    lua_rawseti(L, -2, GRB_LUA_FORGIVING);
}

void grb_lua_names_push(lua_State *L, grb_lua_schema *self) {
    luaL_checkstack(L, 6, "names");
    *hold_push(L) = self;
    self->refs++;
    names_fill(L, self);
}

uint32_t grb_lua_field_find(lua_State *L, const grb_lua_schema *self, int at) {
    size_t size;
    const char *name = lua_tolstring(L, at, &size);
    uint32_t slot = slot_of(name);
    for (; self->slots[slot].name; slot = (slot + 1) & (GRB_LUA_SLOTS - 1))
        if (self->slots[slot].name == name) return self->slots[slot].id;
    return grebe_schema_find(self->schema, name, size);
}

grebe_document *grb_lua_document_spare(grb_lua_schema *self,
                                       grebe_error *err) {
    self->uses++;
    if (self->spare)
        grebe_document_clear(self->spare);
    else if (grebe_document_new(self->schema, &self->spare, err))
        self->spare = NULL;
    return self->spare;
}

/* Reads {name, kind, flags, analyzer, default} into `out`, which borrows from
 * the table. */
void grb_lua_field_read(lua_State *L, int at, grebe_field *out,
                        grebe_value *value) {
    grebe_error err;
    grb_lua_field field;
    if (!lua_istable(L, at))
        grb_lua_fail(L, GREBE_TYPE, NULL, "a field is a table");
    luaL_checkstack(L, 6, "fields");
    for (int i = 1; i <= 5; i++) lua_rawgeti(L, at, i);
    int top = lua_gettop(L);
    out->name = grb_lua_name(L, top - 4, "the name of a field");
    out->kind = (grebe_kind)lua_tointeger(L, top - 3);
    out->flags = (uint32_t)lua_tointeger(L, top - 2);
    out->analyzer = grb_lua_name(L, top - 1, "analyzer");
    out->default_value = NULL;
    if (!out->name)
        grb_lua_fail(L, GREBE_TYPE, NULL, "the name of a field is a string");
    if (lua_isnil(L, top)) return;
    field.name = out->name;
    field.kind = out->kind;
    field.flags = out->flags;
    if (grb_lua_value_read(L, top, &field, value, &err)) {
        err.status = GREBE_SCHEMA;
        grb_lua_raise(L, &err);
    }
    out->default_value = value;
}

/* schema_fields(index, searcher or schema): rows of {name, kind, flags,
 * analyzer, default} in the order of the ids. */
int grb_lua_schema_fields(lua_State *L) {
    grebe_error err;
    grebe_field field;
    grb_lua_arguments(L, "schema", 1);
    grb_lua_handle *self = grb_lua_handle_test(L, 1);
    if (!self || !self->schema) self = grb_lua_handle_of(L, 1, GRB_LUA_INDEX);
    const grb_lua_schema *schema = self->schema;
    lua_getiuservalue(L, 1, GRB_LUA_NAMES);
    lua_createtable(L, (int)schema->count, 0);
    for (uint32_t i = 0; i < schema->count; i++) {
        if (grebe_schema_field(schema->schema, i, &field, &err))
            grb_lua_raise(L, &err);
        lua_createtable(L, 5, 0);
        lua_pushstring(L, field.name);
        lua_rawseti(L, -2, 1);
        lua_pushinteger(L, field.kind);
        lua_rawseti(L, -2, 2);
        lua_pushinteger(L, field.flags);
        lua_rawseti(L, -2, 3);
        lua_pushstring(L, field.analyzer);
        lua_rawseti(L, -2, 4);
        if (field.default_value)
            grb_lua_value_push(L, field.default_value);
        else
            lua_pushnil(L);
        lua_rawseti(L, -2, 5);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

int grb_lua_schema_refresh(lua_State *L, int at) {
    grebe_error err;
    grebe_schema *schema = NULL;
    grb_lua_handle *self = grb_lua_handle_of(L, at, GRB_LUA_INDEX);
    if (grebe_index_schema(self->pointer, &schema, &err))
        grb_lua_raise(L, &err);
    int same = schema == self->schema->schema;
    grebe_schema_release(schema);
    if (same) return 0;
    luaL_checkstack(L, 6, "names");
    grb_lua_schema **hold = hold_push(L);
    void *pointer = grb_lua_pointer(L, at, GRB_LUA_INDEX);
    if (grebe_index_schema(pointer, &schema, &err)) grb_lua_raise(L, &err);
    *hold = grb_lua_schema_new(schema, &err);
    if (!*hold) grb_lua_raise(L, &err);
    grb_lua_schema *made = *hold;
    names_fill(L, made);
    grb_lua_handle_of(L, at, GRB_LUA_INDEX);
    lua_setiuservalue(L, at, GRB_LUA_NAMES);
    grb_lua_schema_release(self->schema);
    self->schema = made;
    made->refs++;
    return 1;
}

/* index_schema(index): takes in new fields; true if there were any. */
int grb_lua_index_schema(lua_State *L) {
    grb_lua_arguments(L, "schema", 1);
    lua_pushboolean(L, grb_lua_schema_refresh(L, 1));
    return 1;
}

/* index_follow(index): another process writes it, so each search looks for
 * new fields too. */
int grb_lua_index_follow(lua_State *L) {
    grb_lua_handle_of(L, 1, GRB_LUA_INDEX)->follows = 1;
    return 0;
}

/* schema_attach(schema): the same handle, ready to read texts for. */
int grb_lua_schema_attach(lua_State *L) {
    const grb_lua_handle *self = grb_lua_handle_of(L, 1, GRB_LUA_SCHEMA);
    lua_settop(L, 1);
    if (!self->schema) grb_lua_handle_attach(L, 1, 1);
    return 1;
}
