/* lua/many.c - many documents in one call.
 *
 * With several threads a loader takes the documents that this thread reads;
 * the loop then runs under lua_pcall, so that whatever the script raises finds
 * the loader ended.
 *
 * Invariant: documents are added in the order given; what a document is
 *            refused for is noted and the rest goes on.
 * Threads: a Lua state belongs to one thread; workers never touch it.
 * Owns: the loader while it is needed.
 */
#include <stdbool.h>

#include "binding.h"

enum {
    MANY_INDEX = 1,
    MANY_SOURCE,
    MANY_OPTIONS,
    MANY_OVERWRITE,
    MANY_ERRORS,
    MANY_IGNORE,
    MANY_THREADS,
    MANY_FAILURES,
    MANY_UNKNOWN,
    MANY_TOP = MANY_UNKNOWN,
    MANY_CALL /* the call's `many` */
};

typedef struct many {
    grb_lua_sink sink;
    int unknown;
    lua_Integer added;
} many;

/* Pushes the next document; 0 at the end, with nothing pushed. */
static int source_next(lua_State *L, lua_Integer position) {
    if (lua_istable(L, MANY_SOURCE)) {
        if (position > (lua_Integer)lua_rawlen(L, MANY_SOURCE)) return 0;
        lua_rawgeti(L, MANY_SOURCE, position);
        return 1;
    }
    lua_pushvalue(L, MANY_SOURCE);
    lua_call(L, 0, 1);
    if (!lua_isnil(L, -1)) return 1;
    lua_pop(L, 1);
    return 0;
}

/* Notes {position, key, error}. */
static void failure_note(lua_State *L, lua_Integer position,
                         const grebe_error *err) {
    lua_createtable(L, 0, 3);
    lua_pushinteger(L, position);
    lua_setfield(L, -2, "position");
    grb_lua_error_push(L, err);
    lua_getfield(L, -1, "key");
    lua_setfield(L, -3, "key");
    lua_setfield(L, -2, "error");
    lua_rawseti(L, MANY_FAILURES,
                (lua_Integer)lua_rawlen(L, MANY_FAILURES) + 1);
}

/* Raises the first failure with what else there is to know. */
static int failures_raise(lua_State *L, lua_Integer added) {
    lua_rawgeti(L, MANY_FAILURES, 1);
    lua_getfield(L, -1, "error");
    lua_pushinteger(L, added);
    lua_setfield(L, -2, "added");
    lua_pushvalue(L, MANY_FAILURES);
    lua_setfield(L, -2, "failures");
    return lua_error(L);
}

static void many_read(lua_State *L, many *call, int *report) {
    static const char *const names[] = {"overwrite", "errors",
                                        "ignore_unknown", "threads", NULL};
    static const char *const words[] = {"raise", "return", NULL};
    grb_lua_arguments(L, "add_many", MANY_OPTIONS);
    lua_settop(L, MANY_TOP);
    grb_lua_handle_of(L, MANY_INDEX, GRB_LUA_INDEX);
    grb_lua_options(L, MANY_OPTIONS, "add_many", names, MANY_OVERWRITE);
    call->sink.overwrite = grb_lua_flag(L, MANY_OVERWRITE, "overwrite", 1);
    if (grb_lua_flag(L, MANY_IGNORE, "ignore_unknown", 0))
        call->unknown = MANY_UNKNOWN;
    *report = grb_lua_word(L, MANY_ERRORS, "errors", words);
    if (!lua_istable(L, MANY_SOURCE) && !lua_isfunction(L, MANY_SOURCE))
        grb_lua_fail(L, GREBE_TYPE, NULL,
                     "add_many takes an array of documents or a function "
                     "that gives the next one, not %s",
                     grb_lua_type_name(L, MANY_SOURCE));
    lua_newtable(L);
    lua_replace(L, MANY_FAILURES);
    lua_newtable(L);
    lua_replace(L, MANY_UNKNOWN);
}

/* Adds one document after the other. */
static int many_add(lua_State *L) {
    many *call = lua_touserdata(L, MANY_CALL);
    grebe_error err;
    for (lua_Integer i = 1; source_next(L, i); i++) {
        grebe_status status = grb_lua_table_add(
            L, MANY_CALL + 1, call->unknown, &call->sink, &err);
        if (status == GREBE_OK)
            call->added++;
        else if (status == GREBE_DOCUMENT || status == GREBE_LIMIT)
            failure_note(L, i, &err);
        else
            grb_lua_raise(L, &err);
        lua_settop(L, MANY_CALL);
    }
    return 0;
}

/* ---- on several threads ---- */

/* Position of the next failure known before, 0 if there is none. */
static lua_Integer position_known(lua_State *L, int known, lua_Integer at) {
    if (lua_rawgeti(L, known, at) == LUA_TTABLE)
        lua_getfield(L, -1, "position");
    lua_Integer position = lua_tointeger(L, -1);
    lua_settop(L, known);
    return position;
}

/* Joins what the loader refused with what was refused before it saw it, whose
 * places it does not count. */
static int refused_join(lua_State *L) {
    many *call = lua_touserdata(L, MANY_CALL);
    const int known = MANY_CALL + 1;
    grebe_document *document;
    grebe_error err;
    uint64_t n;
    lua_Integer passed = 1, position;
    lua_pushvalue(L, MANY_FAILURES);
    lua_newtable(L);
    lua_replace(L, MANY_FAILURES);
    for (bool more = true; more;) {
        more = grebe_loader_refused(call->sink.loader, &n, &document, &err);
        if (more) grebe_document_free(document);
        while ((position = position_known(L, known, passed)) &&
               (!more || position < (lua_Integer)n + passed + 1)) {
            lua_rawgeti(L, known, passed++);
            lua_rawseti(L, MANY_FAILURES,
                        (lua_Integer)lua_rawlen(L, MANY_FAILURES) + 1);
        }
        if (more) failure_note(L, (lua_Integer)n + passed, &err);
    }
    lua_pushvalue(L, MANY_FAILURES);
    return 1;
}

/* Calls with the arguments of add_many; 0, or an error on the stack. */
static int many_call(lua_State *L, lua_CFunction function, int results) {
    lua_pushcfunction(L, function);
    for (int i = 1; i <= MANY_CALL; i++) lua_pushvalue(L, i);
    return lua_pcall(L, MANY_CALL, results, 0);
}

/* Whatever the script raises, what came before it is added and the threads
 * end. */
static void many_load(lua_State *L, many *call, uint32_t threads) {
    grebe_error err;
    uint64_t added = 0;
    luaL_checkstack(L, MANY_CALL + 8, "add_many");
    if (grebe_loader_new(grb_lua_pointer(L, MANY_INDEX, GRB_LUA_INDEX),
                         threads, call->sink.overwrite, &call->sink.loader,
                         &err))
        grb_lua_raise(L, &err);
    int bad = many_call(L, many_add, 0);
    grebe_status status =
        grebe_loader_finish(call->sink.loader, &added, &err);
    call->added = (lua_Integer)added;
    if (!bad && !status) {
        bad = many_call(L, refused_join, 1);
        if (!bad) lua_replace(L, MANY_FAILURES);
    }
    grebe_loader_free(call->sink.loader);
    if (bad) lua_error(L);
    if (status) grb_lua_raise(L, &err);
}

/* ---- the call ---- */

/* add_many(index, array or function, {overwrite, errors, ignore_unknown,
 * threads}) */
int grb_lua_add_many(lua_State *L) {
    int report;
    many call = {.added = 0};
    many_read(L, &call, &report);
    uint64_t threads = 1;
    if (!lua_isnil(L, MANY_THREADS))
        threads = grb_lua_count(L, MANY_THREADS, "threads", 0, UINT32_MAX);
    lua_pushlightuserdata(L, &call);
    if (threads == 1)
        many_add(L);
    else
        many_load(L, &call, (uint32_t)threads);
    if (report == 0 && lua_rawlen(L, MANY_FAILURES) > 0)
        return failures_raise(L, call.added);
    if (report == 0 && !call.unknown) return 0;
    lua_pushvalue(L, report ? MANY_FAILURES : MANY_UNKNOWN);
    return 1;
}
