/* lua/writing.c - adding, reading back, committing, batches.
 *
 * A batch runs the script's function under lua_pcall, so that whatever it
 * raises undoes the batch first and then goes on as it was. While it runs it
 * cannot yield: a batch belongs to its thread and must not lie about.
 *
 * Invariant: the handle is looked at anew after any Lua code has run.
 * Threads: a Lua state belongs to one thread.
 * Owns: nothing.
 */
#include "../stats.h"
#include "binding.h"

/* Reads the document on top of the stack or at `at` and adds it. */
static grebe_status table_add(lua_State *L, grb_lua_handle *self, int at,
                              int unknown, const grb_lua_sink *sink,
                              grebe_error *err) {
    grebe_document *document;
    grebe_status status =
        grb_lua_document_read(L, self->schema, at, unknown, &document, err);
    if (status) return status;
    if (sink->loader) return grebe_loader_add(sink->loader, document, err);
    return grebe_index_add(self->pointer, document, sink->overwrite, err);
}

grebe_status grb_lua_table_add(lua_State *L, int at, int unknown,
                               const grb_lua_sink *sink, grebe_error *err) {
    grb_lua_handle *self = grb_lua_handle_of(L, 1, GRB_LUA_INDEX);
    grebe_status status = table_add(L, self, at, unknown, sink, err);
    if (status != GREBE_DOCUMENT && status != GREBE_SCHEMA &&
        status != GREBE_ARGUMENT)
        return status;
    if (!grb_lua_schema_refresh(L, 1)) return status;
    return table_add(L, self, at, unknown, sink, err);
}

/* add(index, document, {overwrite = true}) */
int grb_lua_add(lua_State *L) {
    static const char *const names[] = {"overwrite", NULL};
    grebe_error err;
    grb_lua_sink sink = {.overwrite = 1};
    grb_lua_arguments(L, "add", 3);
    if (!lua_isnil(L, 3)) {
        lua_settop(L, 4);
        grb_lua_options(L, 3, "add", names, 4);
        sink.overwrite = grb_lua_flag(L, 4, "overwrite", 1);
    }
    if (!lua_istable(L, 2))
        grb_lua_fail(L, GREBE_TYPE, NULL, "a document is a table, not %s",
                     grb_lua_type_name(L, 2));
    if (grb_lua_table_add(L, 2, 0, &sink, &err)) grb_lua_raise(L, &err);
    return 0;
}

/* Reads the document with this key of the handle at 1; `found` gets 0 or 1.
 */
static void key_read(lua_State *L, grb_lua_kind kind, const grebe_value *key,
                     grebe_document *document, int *found) {
    grebe_error err;
    void *pointer = grb_lua_pointer(L, 1, kind);
    grebe_status status =
        kind == GRB_LUA_INDEX
            ? grebe_index_get(pointer, key, document, found, &err)
            : grebe_searcher_get(pointer, key, document, found, &err);
    if (status) grb_lua_raise(L, &err);
}

static int found_push(lua_State *L, grb_lua_kind kind) {
    grebe_value key;
    int found = 0;
    grb_lua_arguments(L, "get", 2);
    grb_lua_key_read(L, 2, &key);
    for (int own = 0;; own = 1) {
        grb_lua_handle *self = grb_lua_handle_of(L, 1, kind);
        if (kind == GRB_LUA_INDEX) grb_lua_schema_refresh(L, 1);
        lua_settop(L, 2);
        lua_getiuservalue(L, 1, GRB_LUA_NAMES);
        grb_lua_schema *schema = self->schema;
        grebe_document *document = grb_lua_document_target(L, schema, own);
        key_read(L, kind, &key, document, &found);
        if (!found) lua_pushnil(L);
        if (!found || grb_lua_document_push(L, schema, 3, document)) return 1;
    }
}

/* get(index, key): a table or nil */
int grb_lua_get(lua_State *L) {
    return found_push(L, GRB_LUA_INDEX);
}

/* searcher_get(searcher, key): a table or nil */
int grb_lua_searcher_get(lua_State *L) {
    return found_push(L, GRB_LUA_SEARCHER);
}

static void info_push(lua_State *L, const grebe_commit_info *info) {
    grb_lua_handle_new(L, GRB_LUA_COMMIT_INFO)->info = *info;
}

/* commit(index, {soft = false, publish = true}) */
int grb_lua_commit(lua_State *L) {
    static const char *const names[] = {"soft", "publish", NULL};
    grebe_error err;
    grebe_commit_info info;
    grebe_commit_kind kind = GREBE_HARD;
    memset(&info, 0, sizeof info);
    grb_lua_arguments(L, "commit", 2);
    if (!lua_isnil(L, 2)) {
        lua_settop(L, 4);
        grb_lua_options(L, 2, "commit", names, 3);
        int publish = grb_lua_flag(L, 4, "publish", 1);
        if (grb_lua_flag(L, 3, "soft", 0))
            kind = GREBE_SOFT;
        else if (!publish)
            kind = GREBE_HARD_UNSEEN;
        if (kind == GREBE_SOFT && !publish)
            grb_lua_fail(L, GREBE_ARGUMENT, NULL,
                         "a soft commit is nothing but published");
    }
    grebe_index *index = grb_lua_pointer(L, 1, GRB_LUA_INDEX);
    if (grebe_index_commit(index, kind, &info, &err)) grb_lua_raise(L, &err);
    info_push(L, &info);
    return 1;
}

/* Undoes the batch and raises what is on top of the stack. */
static int batch_undo(lua_State *L) {
    grb_lua_handle *self = grb_lua_handle_of(L, 1, GRB_LUA_INDEX);
    if (grebe_index_batch_undo(self->pointer, NULL) == GREBE_OK)
        grb_lua_schema_refresh(L, 1);
    return lua_error(L);
}

/* batch(index, function, {soft = true}): what the commit did, then what the
 * function returned */
int grb_lua_batch(lua_State *L) {
    static const char *const names[] = {"soft", NULL};
    grebe_error err;
    grebe_commit_info info;
    memset(&info, 0, sizeof info);
    grb_lua_arguments(L, "batch", 3);
    lua_settop(L, 4);
    grb_lua_options(L, 3, "batch", names, 4);
    int soft = grb_lua_flag(L, 4, "soft", 1);
    if (!lua_isfunction(L, 2))
        grb_lua_fail(L, GREBE_TYPE, NULL, "batch takes a function, not %s",
                     grb_lua_type_name(L, 2));
    luaL_checkstack(L, 8, "batch");
    lua_pushvalue(L, 2);
    lua_pushvalue(L, 1);
    if (grebe_index_batch_begin(grb_lua_pointer(L, 1, GRB_LUA_INDEX), &err))
        grb_lua_raise(L, &err);
    if (lua_pcall(L, 1, LUA_MULTRET, 0)) return batch_undo(L);
    grebe_index *index = grb_lua_pointer(L, 1, GRB_LUA_INDEX);
    if (grebe_index_batch_end(index, soft ? GREBE_SOFT : GREBE_HARD, &info,
                              &err)) {
        grb_lua_error_push(L, &err);
        return batch_undo(L);
    }
    info_push(L, &info);
    lua_replace(L, 4);
    return lua_gettop(L) - 3;
}

void grb_lua_stats_push(lua_State *L, const grebe_index_stats *stats) {
#define ROW(name) {#name, stats->name},
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {
        GREBE_STATS_LIST(ROW)
    };
#undef ROW
    lua_createtable(L, 0, sizeof rows / sizeof *rows);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lua_pushinteger(L, (lua_Integer)rows[i].value);
        lua_setfield(L, -2, rows[i].name);
    }
}
