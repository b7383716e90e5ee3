/* lua/errors.c - statuses as error tables.
 *
 * An error of Grebe is a table {word, code, message, field, key, file,
 * offset, pid, where} that prints as one line; `where` is the line of the
 * caller's script. A callback's own error is never touched.
 *
 * Invariant: nothing here is called with a core frame below it.
 * Threads: a Lua state belongs to one thread.
 * Owns: the metatable of errors and the set of this library's own sources.
 */
#include "binding.h"

#include <stdarg.h>
#include <stdio.h>

#define ERROR_TYPE "grebe.error"
#define SOURCES "grebe.sources"

const char grb_lua_tag = 0;

static int error_text(lua_State *L) {
    lua_getfield(L, 1, "where");
    lua_getfield(L, 1, "word");
    lua_getfield(L, 1, "message");
    lua_pushfstring(L, "%sgrebe %s: %s", luaL_optstring(L, -3, ""),
                    luaL_optstring(L, -2, "error"),
                    luaL_optstring(L, -1, "?"));
    return 1;
}

void grb_lua_errors_open(lua_State *L) {
    luaL_newmetatable(L, ERROR_TYPE);
    lua_pushcfunction(L, error_text);
    lua_setfield(L, -2, "__tostring");
    lua_pop(L, 1);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, SOURCES);
    lua_pop(L, 1);
}

/* own_source(): the calling file is a part of this library. */
int grb_lua_own_source(lua_State *L) {
    lua_Debug frame;
    luaL_getsubtable(L, LUA_REGISTRYINDEX, SOURCES);
    if (lua_getstack(L, 1, &frame) && lua_getinfo(L, "S", &frame)) {
        lua_pushboolean(L, 1);
        lua_setfield(L, -2, frame.source);
    }
    return 0;
}

/* Pushes "script.lua:12: " of the nearest line outside this library, or "".
 */
static void where_push(lua_State *L) {
    lua_Debug frame;
    luaL_getsubtable(L, LUA_REGISTRYINDEX, SOURCES);
    for (int level = 0; lua_getstack(L, level, &frame); level++) {
        lua_getinfo(L, "Sl", &frame);
        if (frame.currentline <= 0) continue;
        int own = lua_getfield(L, -1, frame.source) != LUA_TNIL;
        lua_pop(L, 1);
        if (own) continue;
        lua_pushfstring(L, "%s:%d: ", frame.short_src, frame.currentline);
        lua_remove(L, -2);
        return;
    }
    lua_pop(L, 1);
    lua_pushliteral(L, "");
}

static void error_fill(grebe_error *err, grebe_status status,
                       const char *field, const char *format, va_list args) {
    vsnprintf(err->message, sizeof err->message, format, args);
    err->status = status;
    err->os_error = 0;
    err->pid = 0;
    err->offset = GREBE_NO_OFFSET;
    err->key[0] = err->file[0] = '\0';
    snprintf(err->field, sizeof err->field, "%s", field ? field : "");
}

void grb_lua_error_set(grebe_error *err, grebe_status status,
                       const char *field, const char *format, ...) {
    va_list args;
    va_start(args, format);
    error_fill(err, status, field, format, args);
    va_end(args);
}

static void text_set(lua_State *L, const char *name, const char *text) {
    if (!text[0]) return;
    lua_pushstring(L, text);
    lua_setfield(L, -2, name);
}

void grb_lua_error_push(lua_State *L, const grebe_error *err) {
    luaL_checkstack(L, 6, "errors");
    lua_createtable(L, 0, 6);
    text_set(L, "word", grebe_status_word(err->status));
    text_set(L, "message",
             err->message[0] ? err->message
                             : grebe_status_meaning(err->status));
    text_set(L, "field", err->field);
    text_set(L, "key", err->key);
    text_set(L, "file", err->file);
    lua_pushinteger(L, err->status);
    lua_setfield(L, -2, "code");
    if (err->offset != GREBE_NO_OFFSET) {
        lua_pushinteger(L, (lua_Integer)err->offset);
        lua_setfield(L, -2, "offset");
    }
    if (err->pid) {
        lua_pushinteger(L, err->pid);
        lua_setfield(L, -2, "pid");
    }
    if (err->os_error) {
        lua_pushinteger(L, err->os_error);
        lua_setfield(L, -2, "errno");
    }
    where_push(L);
    lua_setfield(L, -2, "where");
    luaL_setmetatable(L, ERROR_TYPE);
}

int grb_lua_raise(lua_State *L, const grebe_error *err) {
    grb_lua_error_push(L, err);
    return lua_error(L);
}

int grb_lua_fail(lua_State *L, grebe_status status, const char *field,
                 const char *format, ...) {
    grebe_error err;
    va_list args;
    va_start(args, format);
    error_fill(&err, status, field, format, args);
    va_end(args);
    return grb_lua_raise(L, &err);
}

/* fail(code, message): raised by the Lua side. */
int grb_lua_fail_call(lua_State *L) {
    lua_Integer code = luaL_checkinteger(L, 1);
    return grb_lua_fail(L, (grebe_status)code, NULL, "%s",
                        luaL_checkstring(L, 2));
}

void grb_lua_arguments(lua_State *L, const char *name, int most) {
    int count = lua_gettop(L);
    if (strncmp(name, "grebe_", 6) == 0) name += 6;
    if (count > most)
        grb_lua_fail(L, GREBE_TYPE, NULL,
                     "%s takes at most %d arguments, got %d (a method is "
                     "called with ':')",
                     name, most, count);
    lua_settop(L, most);
}
