/* lua/values.c - single values, from Lua and to Lua.
 *
 * The rules are strict: a string is never a number and a number never a
 * string; an integer field takes a float only if its value is an integer. A
 * date is integer milliseconds since 1970 UTC, or ISO 8601 text with "Z" or
 * an offset.
 *
 * Invariant: reading a field's value allocates nothing and never raises.
 * Threads: a Lua state belongs to one thread.
 * Owns: nothing; texts are borrowed from the Lua string.
 */
#include "binding.h"

#include <math.h>

#include "doc/doc.h"

int grb_lua_integer(lua_State *L, int at, int64_t *out) {
    int exact;
    if (lua_type(L, at) != LUA_TNUMBER) return 0;
    *out = lua_tointegerx(L, at, &exact);
    return exact;
}

static const char *kind_words(grebe_kind kind) {
    switch (kind) {
    case GREBE_TEXT:
    case GREBE_KEYWORD:
    case GREBE_BYTES:
        return "a string";
    case GREBE_INT:
        return "an integer";
    case GREBE_DOUBLE:
        return "a number";
    case GREBE_BOOL:
        return "true or false";
    case GREBE_DATETIME:
        return "integer milliseconds or an ISO 8601 string with Z or an "
               "offset";
    }
    return "a value";
}

static grebe_status misfit(lua_State *L, int at, const grb_lua_field *field,
                           grebe_error *err) {
    char number[48];
    const char *given = grb_lua_type_name(L, at);
    if (lua_type(L, at) == LUA_TNUMBER) {
        snprintf(number, sizeof number, "the number " LUA_NUMBER_FMT,
                 lua_tonumber(L, at));
        given = number;
    }
    grb_lua_error_set(err, GREBE_DOCUMENT, field->name,
                      "field '%s' takes %s, not %s", field->name,
                      kind_words(field->kind), given);
    return GREBE_DOCUMENT;
}

static grebe_status date_read(lua_State *L, int at, const grb_lua_field *field,
                              grebe_value *out, grebe_error *err) {
    size_t size;
    if (lua_type(L, at) != LUA_TSTRING)
        return grb_lua_integer(L, at, &out->as.integer)
                   ? GREBE_OK
                   : misfit(L, at, field, err);
    const char *text = lua_tolstring(L, at, &size);
    if (grb_date_parse(text, size, &out->as.integer)) return GREBE_OK;
    grb_lua_error_set(err, GREBE_DOCUMENT, field->name,
                      "field '%s': '%.40s' is no ISO 8601 date of the years "
                      "1 to 9999 with Z or an offset (append Z for UTC)",
                      field->name, text);
    return GREBE_DOCUMENT;
}

static grebe_status string_read(lua_State *L, int at,
                                const grb_lua_field *field, grebe_value *out,
                                grebe_error *err) {
    if (lua_type(L, at) != LUA_TSTRING) return misfit(L, at, field, err);
    out->as.text.bytes = lua_tolstring(L, at, &out->as.text.size);
    return GREBE_OK;
}

grebe_status grb_lua_value_read(lua_State *L, int at,
                                const grb_lua_field *field, grebe_value *out,
                                grebe_error *err) {
    out->kind = field->kind;
    switch (field->kind) {
    case GREBE_TEXT:
    case GREBE_KEYWORD:
    case GREBE_BYTES:
        return string_read(L, at, field, out, err);
    case GREBE_INT:
        if (grb_lua_integer(L, at, &out->as.integer)) return GREBE_OK;
        return misfit(L, at, field, err);
    case GREBE_DOUBLE:
        if (lua_type(L, at) != LUA_TNUMBER) return misfit(L, at, field, err);
        out->as.number = lua_tonumber(L, at);
        return isnan(out->as.number) ? misfit(L, at, field, err) : GREBE_OK;
    case GREBE_BOOL:
        if (!lua_isboolean(L, at)) return misfit(L, at, field, err);
        out->as.boolean = lua_toboolean(L, at);
        return GREBE_OK;
    case GREBE_DATETIME:
        return date_read(L, at, field, out, err);
    }
    grb_lua_error_set(err, GREBE_INTERNAL, field->name, "unknown kind");
    return GREBE_INTERNAL;
}

/* A float of an integer's value is that integer, which serves integer and
 * float fields alike. */
static void number_guess(lua_State *L, int at, grebe_value *out) {
    out->kind = GREBE_INT;
    if (grb_lua_integer(L, at, &out->as.integer)) return;
    out->kind = GREBE_DOUBLE;
    out->as.number = lua_tonumber(L, at);
    if (isnan(out->as.number))
        grb_lua_fail(L, GREBE_ARGUMENT, NULL, "NaN is no value");
}

void grb_lua_value_guess(lua_State *L, int at, grebe_value *out) {
    switch (lua_type(L, at)) {
    case LUA_TNUMBER:
        number_guess(L, at, out);
        return;
    case LUA_TSTRING:
        out->kind = GREBE_TEXT;
        out->as.text.bytes = lua_tolstring(L, at, &out->as.text.size);
        return;
    case LUA_TBOOLEAN:
        out->kind = GREBE_BOOL;
        out->as.boolean = lua_toboolean(L, at);
        return;
    default:
        grb_lua_fail(L, GREBE_TYPE, NULL, "%s is not a value of a query",
                     grb_lua_type_name(L, at));
    }
}

void grb_lua_key_read(lua_State *L, int at, grebe_value *out) {
    if (lua_type(L, at) == LUA_TSTRING) {
        out->kind = GREBE_KEYWORD;
        out->as.text.bytes = lua_tolstring(L, at, &out->as.text.size);
        return;
    }
    out->kind = GREBE_INT;
    if (!grb_lua_integer(L, at, &out->as.integer))
        grb_lua_fail(
            L, GREBE_DOCUMENT, NULL, "a key is a string or an integer, not %s",
            lua_type(L, at) == LUA_TNUMBER ? luaL_tolstring(L, at, NULL)
                                           : grb_lua_type_name(L, at));
}

void grb_lua_value_push(lua_State *L, const grebe_value *value) {
    switch (value->kind) {
    case GREBE_TEXT:
    case GREBE_KEYWORD:
    case GREBE_BYTES:
        lua_pushlstring(L, value->as.text.bytes, value->as.text.size);
        return;
    case GREBE_INT:
    case GREBE_DATETIME:
        lua_pushinteger(L, value->as.integer);
        return;
    case GREBE_DOUBLE:
        lua_pushnumber(L, value->as.number);
        return;
    case GREBE_BOOL:
        lua_pushboolean(L, value->as.boolean);
        return;
    }
    lua_pushnil(L);
}
