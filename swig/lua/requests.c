/* lua/requests.c - facets and highlights of a search.
 *
 * Both are a name, or a table in which names stand in a row and options
 * behind a name: { "tags", year = 5, author = { limit = 20, prefix = "a" } }.
 * The rows lie in a block; a table keeps it together with every string that
 * it points at, and the hits keep that table to know the fields.
 *
 * Invariant: keep[i] is the field of row i, keep[0] the block.
 * Threads: a Lua state belongs to one thread.
 * Owns: nothing beside Lua values.
 */
#include "binding.h"

#define ROWS_MAX 1000u

/* Reads a row: field at `field`, its options (or nil) at `how`. */
typedef void (*row_read)(lua_State *L, void *row, int field, int how,
                         int keep);

typedef struct row_kind {
    const char *name;
    size_t size;
    row_read read;
} row_kind;

/* Holds the string at `at` for as long as the rows live. */
static const char *string_keep(lua_State *L, int at, int keep,
                               const char *name) {
    const char *text = grb_lua_name(L, at, name);
    if (!text) return NULL;
    lua_pushvalue(L, at);
    lua_pushboolean(L, 1);
    lua_rawset(L, keep);
    return text;
}

static size_t entries_count(lua_State *L, int at, const row_kind *kind) {
    size_t count = 0;
    if (lua_type(L, at) == LUA_TSTRING) return 1;
    if (!lua_istable(L, at))
        grb_lua_fail(L, GREBE_TYPE, NULL, "%s is a name or a table, not %s",
                     kind->name, grb_lua_type_name(L, at));
    for (lua_pushnil(L); lua_next(L, at); lua_pop(L, 1)) count++;
    if (count > ROWS_MAX)
        grb_lua_fail(L, GREBE_LIMIT, NULL, "%s: more than %d fields",
                     kind->name, (int)ROWS_MAX);
    return count;
}

/* The pair of key and value on top becomes field and options. */
static void entry_turn(lua_State *L, const row_kind *kind) {
    if (lua_type(L, -2) == LUA_TSTRING) return;
    lua_remove(L, -2);
    if (lua_istable(L, -1)) {
        lua_getfield(L, -1, "field");
        lua_insert(L, -2);
    } else {
        lua_pushnil(L);
    }
    if (lua_type(L, -2) != LUA_TSTRING)
        grb_lua_fail(L, GREBE_TYPE, NULL, "%s: a field is a string, not %s",
                     kind->name, grb_lua_type_name(L, -2));
}

static void entry_read(lua_State *L, const row_kind *kind, char *block,
                       size_t i, int keep) {
    int top = lua_gettop(L);
    lua_pushvalue(L, top - 1);
    lua_rawseti(L, keep, (lua_Integer)i + 1);
    kind->read(L, block + i * kind->size, top - 1, top, keep);
    lua_settop(L, top);
}

static size_t rows_read(lua_State *L, int at, const row_kind *kind,
                        void **out) {
    luaL_checkstack(L, 24, kind->name);
    size_t count = entries_count(L, at, kind), i = 0;
    lua_createtable(L, (int)count, 1);
    int keep = lua_gettop(L);
    *out = lua_newuserdatauv(L, (count + 1) * kind->size, 0);
    memset(*out, 0, (count + 1) * kind->size);
    lua_rawseti(L, keep, 0);
    if (lua_type(L, at) == LUA_TSTRING) {
        lua_pushvalue(L, at);
        lua_pushnil(L);
        entry_read(L, kind, *out, 0, keep);
        lua_settop(L, keep);
        return 1;
    }
    lua_pushnil(L);
    while (i < count && lua_next(L, at)) {
        int key = lua_gettop(L) - 1;
        lua_pushvalue(L, key);
        lua_pushvalue(L, key + 1);
        entry_turn(L, kind);
        entry_read(L, kind, *out, i++, keep);
        lua_settop(L, key);
    }
    lua_settop(L, keep);
    return i;
}

enum {
    FACET_FIELD = 1,
    FACET_LIMIT,
    FACET_OFFSET,
    FACET_MINCOUNT,
    FACET_SORT,
    FACET_PREFIX,
    FACET_MISSING
};

static void facet_read(lua_State *L, void *block, int field, int how,
                       int keep) {
    static const char *const names[] = {"field",    "limit", "offset",
                                        "mincount", "sort",  "prefix",
                                        "missing",  NULL};
    static const char *const sorts[] = {"count", "value", NULL};
    grebe_facet_request *row = block;
    int at = lua_gettop(L);
    row->field = string_keep(L, field, keep, "a facet's field");
    row->mincount = 1;
    if (lua_isboolean(L, how) && lua_toboolean(L, how)) return;
    lua_settop(L, at + FACET_MISSING);
    if (lua_istable(L, how) || lua_isnil(L, how)) {
        grb_lua_options(L, how, "a facet", names, at + 1);
    } else {
        lua_pushvalue(L, how);
        lua_replace(L, at + FACET_LIMIT);
    }
    row->limit = grb_lua_limit(L, at + FACET_LIMIT, "limit", 10);
    if (!row->limit)
        grb_lua_fail(L, GREBE_ARGUMENT, NULL, "a facet's limit cannot be 0");
    row->offset = grb_lua_limit(L, at + FACET_OFFSET, "offset", 0);
    row->mincount = grb_lua_limit(L, at + FACET_MINCOUNT, "mincount", 1);
    row->sort =
        (grebe_facet_sort)grb_lua_word(L, at + FACET_SORT, "sort", sorts);
    row->missing = grb_lua_flag(L, at + FACET_MISSING, "missing", 0);
    if (lua_isnil(L, at + FACET_PREFIX)) return;
    row->prefix =
        grb_lua_text(L, at + FACET_PREFIX, "prefix", &row->prefix_size);
    lua_pushvalue(L, at + FACET_PREFIX);
    lua_pushboolean(L, 1);
    lua_rawset(L, keep);
}

size_t grb_lua_facets_read(lua_State *L, int at, grebe_facet_request **out) {
    static const row_kind kind = {"facets", sizeof **out, facet_read};
    void *block;
    size_t count = rows_read(L, at, &kind, &block);
    *out = block;
    return count;
}

enum {
    PASSAGE_FIELD = 1,
    PASSAGE_PRE,
    PASSAGE_POST,
    PASSAGE_SIZE,
    PASSAGE_SNIPPETS,
    PASSAGE_ENCODER
};

static uint32_t passage_count(lua_State *L, int at, const char *name) {
    if (lua_isnil(L, at)) return 0;
    return (uint32_t)grb_lua_count(L, at, name, 1, UINT32_MAX);
}

static void passage_read(lua_State *L, void *block, int field, int how,
                         int keep) {
    static const char *const names[] = {"field",    "pre",     "post", "size",
                                        "snippets", "encoder", NULL};
    static const char *const encoders[] = {"none", "html", NULL};
    grebe_highlight_request *row = block;
    int at = lua_gettop(L);
    row->field = string_keep(L, field, keep, "a highlight's field");
    if (lua_isboolean(L, how) && lua_toboolean(L, how)) return;
    lua_settop(L, at + PASSAGE_ENCODER);
    grb_lua_options(L, how, "a highlight", names, at + 1);
    row->pre = string_keep(L, at + PASSAGE_PRE, keep, "pre");
    row->post = string_keep(L, at + PASSAGE_POST, keep, "post");
    row->size = passage_count(L, at + PASSAGE_SIZE, "size");
    row->snippets = passage_count(L, at + PASSAGE_SNIPPETS, "snippets");
    row->encoder = (grebe_encoder)grb_lua_word(L, at + PASSAGE_ENCODER,
                                               "encoder", encoders);
}

size_t grb_lua_highlights_read(lua_State *L, int at,
                               grebe_highlight_request **out) {
    static const row_kind kind = {"highlight", sizeof **out, passage_read};
    void *block;
    size_t count = rows_read(L, at, &kind, &block);
    *out = block;
    return count;
}
