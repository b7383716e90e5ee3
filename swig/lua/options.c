/* lua/options.c - tables of named options, and single arguments.
 *
 * One walk over the table puts each option at its place of the stack, where
 * it is held whatever happens to the table; what is not listed is refused by
 * name, so a misspelt option never passes in silence.
 *
 * Invariant: a raised error leaves nothing behind.
 * Threads: a Lua state belongs to one thread.
 * Owns: nothing.
 */
#include "binding.h"

#include <math.h>

static int option_find(const char *const *names, const char *name) {
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0) return i;
    return -1;
}

void grb_lua_options(lua_State *L, int at, const char *what,
                     const char *const *names, int first) {
    if (lua_isnil(L, at)) return;
    if (!lua_istable(L, at))
        grb_lua_fail(L, GREBE_TYPE, NULL, "options of %s are a table, not %s",
                     what, grb_lua_type_name(L, at));
    luaL_checkstack(L, 4, "options");
    lua_pushnil(L);
    while (lua_next(L, at)) {
        int place = -1;
        if (lua_type(L, -2) == LUA_TSTRING)
            place = option_find(names, lua_tostring(L, -2));
        if (place < 0)
            grb_lua_fail(L, GREBE_ARGUMENT, NULL, "%s has no option %s", what,
                         luaL_tolstring(L, -2, NULL));
        lua_replace(L, first + place);
    }
}

uint64_t grb_lua_count(lua_State *L, int at, const char *name, uint64_t least,
                       uint64_t most) {
    int64_t number;
    if (!grb_lua_integer(L, at, &number))
        grb_lua_fail(L, lua_isnumber(L, at) ? GREBE_ARGUMENT : GREBE_TYPE,
                     NULL, "%s is an integer, not %s", name,
                     luaL_tolstring(L, at, NULL));
    if (number < 0 || (uint64_t)number < least || (uint64_t)number > most)
        grb_lua_fail(L, GREBE_ARGUMENT, NULL, "%s cannot be %lld", name,
                     (long long)number);
    return (uint64_t)number;
}

uint64_t grb_lua_limit(lua_State *L, int at, const char *name,
                       uint64_t otherwise) {
    if (lua_isnil(L, at)) return otherwise;
    if (lua_type(L, at) == LUA_TNUMBER && lua_tonumber(L, at) == HUGE_VAL)
        return GREBE_LIMIT_ALL;
    if (lua_type(L, at) == LUA_TSTRING &&
        strcmp(lua_tostring(L, at), "all") == 0)
        return GREBE_LIMIT_ALL;
    return grb_lua_count(L, at, name, 0, INT64_MAX);
}

int grb_lua_flag(lua_State *L, int at, const char *name, int otherwise) {
    if (lua_isnil(L, at)) return otherwise;
    if (!lua_isboolean(L, at))
        grb_lua_fail(L, GREBE_TYPE, NULL, "%s is true or false, not %s", name,
                     grb_lua_type_name(L, at));
    return lua_toboolean(L, at);
}

double grb_lua_number(lua_State *L, int at, const char *name) {
    if (lua_type(L, at) != LUA_TNUMBER)
        grb_lua_fail(L, GREBE_TYPE, NULL, "%s is a number, not %s", name,
                     grb_lua_type_name(L, at));
    return lua_tonumber(L, at);
}

const char *grb_lua_text(lua_State *L, int at, const char *name,
                         size_t *size) {
    *size = 0;
    if (lua_isnil(L, at)) return "";
    if (lua_type(L, at) != LUA_TSTRING)
        grb_lua_fail(L, GREBE_TYPE, NULL, "%s is a string, not %s", name,
                     grb_lua_type_name(L, at));
    return lua_tolstring(L, at, size);
}

const char *grb_lua_name(lua_State *L, int at, const char *name) {
    size_t size;
    if (lua_isnil(L, at)) return NULL;
    const char *text = grb_lua_text(L, at, name, &size);
    if (strlen(text) != size)
        grb_lua_fail(L, GREBE_ARGUMENT, NULL, "%s cannot hold NUL", name);
    return text;
}

int grb_lua_word(lua_State *L, int at, const char *name,
                 const char *const *words) {
    if (lua_isnil(L, at)) return 0;
    int place = lua_type(L, at) == LUA_TSTRING
                    ? option_find(words, lua_tostring(L, at))
                    : -1;
    if (place < 0)
        grb_lua_fail(L, GREBE_ARGUMENT, NULL, "%s cannot be %s", name,
                     luaL_tolstring(L, at, NULL));
    return place;
}

grebe_operator grb_lua_operator(lua_State *L, int at) {
    static const char *const words[] = {"or", "and", NULL};
    return (grebe_operator)grb_lua_word(L, at, "op", words);
}

enum {
    OPEN_MODE,
    OPEN_DURABILITY,
    OPEN_STORE,
    OPEN_VERIFY,
    OPEN_MERGING,
    OPEN_ADD_FIELDS,
    OPEN_DETERMINISTIC,
    OPEN_MEMORY_MAX,
    OPEN_DOCS_MAX,
    OPEN_FILTER_CACHE,
    OPEN_COUNT
};

void grb_lua_open_options(lua_State *L, int at, grebe_open_options *out) {
    static const char *const names[] = {
        "mode",       "durability",    "store",      "verify",   "merging",
        "add_fields", "deterministic", "memory_max", "docs_max",
        "filter_cache", NULL};
    static const char *const modes[] = {"w", "r", NULL};
    static const char *const durabilities[] = {"full", "none", NULL};
    static const char *const stores[] = {"mmap", "pread", "ram", NULL};
    static const char *const verifies[] = {"touch", "open", "never", NULL};
    static const char *const mergings[] = {"auto", "manual", NULL};
    int at0 = lua_gettop(L) + 1;
    luaL_checkstack(L, OPEN_COUNT, "options");
    lua_settop(L, at0 + OPEN_COUNT - 1);
    grb_lua_options(L, at, "open", names, at0);
    memset(out, 0, sizeof *out);
#define WORD(place, words) grb_lua_word(L, at0 + place, names[place], words)
    out->mode = (grebe_mode)WORD(OPEN_MODE, modes);
    out->durability = (grebe_durability)WORD(OPEN_DURABILITY, durabilities);
    out->store = (grebe_store_kind)WORD(OPEN_STORE, stores);
    out->verify = (grebe_verify)WORD(OPEN_VERIFY, verifies);
    out->merging = (grebe_merging)WORD(OPEN_MERGING, mergings);
#undef WORD
    out->add_fields = grb_lua_flag(L, at0 + OPEN_ADD_FIELDS, "add_fields", 0);
    out->deterministic =
        grb_lua_flag(L, at0 + OPEN_DETERMINISTIC, "deterministic", 0);
    if (!lua_isnil(L, at0 + OPEN_MEMORY_MAX))
        out->memory_max = grb_lua_count(L, at0 + OPEN_MEMORY_MAX, "memory_max",
                                        0, INT64_MAX);
    if (!lua_isnil(L, at0 + OPEN_DOCS_MAX))
        out->docs_max =
            grb_lua_count(L, at0 + OPEN_DOCS_MAX, "docs_max", 0, INT64_MAX);
    if (!lua_isnil(L, at0 + OPEN_FILTER_CACHE)) {
        out->filter_cache = grb_lua_count(L, at0 + OPEN_FILTER_CACHE,
                                          "filter_cache", 0, INT64_MAX);
        if (out->filter_cache == 0)
            out->filter_cache = GREBE_FILTER_CACHE_NONE;
    }
    lua_settop(L, at0 - 1);
}
