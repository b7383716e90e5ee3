/* lua/results.c - what hits hold, as Lua values.
 *
 * A hit is made when somebody asks for it and reads its stored fields when
 * somebody asks for one of them, once. Hits remember the hit asked for last,
 * so that hits[i].title, hits[i].year reads the document once.
 *
 * Invariant: a hit holds its hits, these hold the C hits and the names.
 * Threads: a Lua state belongs to one thread.
 * Owns: nothing.
 */
#include "binding.h"

static void hit_push(lua_State *L, int hits, uint64_t place) {
    grb_lua_handle *made = grb_lua_handle_new(L, GRB_LUA_HIT);
    made->place = place;
    lua_pushvalue(L, hits);
    lua_setiuservalue(L, -2, GRB_LUA_OWNER);
}

int grb_lua_hits_at(lua_State *L) {
    grb_lua_handle *self = grb_lua_handle_of(L, 1, GRB_LUA_HITS);
    lua_Integer i = lua_tointeger(L, 2);
    if (i < 1 || (uint64_t)i > grebe_hits_count(self->pointer)) {
        lua_pushnil(L);
        return 1;
    }
    uint64_t place = (uint64_t)i - 1;
    if (lua_getiuservalue(L, 1, GRB_LUA_LAST) == LUA_TUSERDATA &&
        self->place == place)
        return 1;
    hit_push(L, 1, place);
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, 1, GRB_LUA_LAST);
    self->place = place;
    return 1;
}

/* next(hits, rank): rank + 1 and its hit */
static int each_next(lua_State *L) {
    grb_lua_handle *self = grb_lua_handle_of(L, 1, GRB_LUA_HITS);
    lua_Integer i = lua_tointeger(L, 2);
    if (i < 0 || (uint64_t)i >= grebe_hits_count(self->pointer)) return 0;
    lua_pushinteger(L, i + 1);
    hit_push(L, 1, (uint64_t)i);
    return 2;
}

/* each(hits): for rank, hit in hits:each() do */
int grb_lua_hits_each(lua_State *L) {
    grb_lua_arguments(L, "each", 1);
    grb_lua_handle_of(L, 1, GRB_LUA_HITS);
    lua_pushcfunction(L, each_next);
    lua_pushvalue(L, 1);
    lua_pushinteger(L, 0);
    return 3;
}

/* Leaves only the fields of the list `load`; both on top of the stack. */
static void document_cut(lua_State *L) {
    int load = lua_gettop(L), document = load - 1;
    lua_Integer count = (lua_Integer)lua_rawlen(L, load);
    lua_newtable(L);
    for (lua_Integer i = 1; i <= count; i++) {
        lua_rawgeti(L, load, i);
        lua_pushvalue(L, -1);
        lua_rawget(L, document);
        lua_rawset(L, load + 1);
    }
    lua_replace(L, document);
    lua_settop(L, document);
}

/* Pushes a table of the stored fields. */
static void document_read(lua_State *L, int hits, uint64_t place) {
    grebe_error err;
    int names = lua_gettop(L) + 1;
    luaL_checkstack(L, 10, "documents");
    for (int own = 0;; own = 1) {
        grb_lua_schema *schema =
            grb_lua_handle_of(L, hits, GRB_LUA_HITS)->schema;
        lua_getiuservalue(L, hits, GRB_LUA_NAMES);
        grebe_document *document = grb_lua_document_target(L, schema, own);
        if (grebe_hits_document(grb_lua_pointer(L, hits, GRB_LUA_HITS), place,
                                document, &err))
            grb_lua_raise(L, &err);
        if (grb_lua_document_push(L, schema, names, document)) break;
        lua_settop(L, names - 1);
    }
    lua_replace(L, names);
    lua_settop(L, names);
    if (lua_getiuservalue(L, hits, GRB_LUA_PAGE) == LUA_TTABLE &&
        lua_getfield(L, -1, "load") == LUA_TTABLE) {
        lua_remove(L, -2);
        document_cut(L);
        return;
    }
    lua_settop(L, names);
}

/* to_tables(hits): the stored fields of every hit */
int grb_lua_hits_tables(lua_State *L) {
    grb_lua_arguments(L, "to_tables", 1);
    uint64_t count = grebe_hits_count(grb_lua_pointer(L, 1, GRB_LUA_HITS));
    lua_createtable(L, (int)count, 0);
    for (uint64_t i = 0; i < count; i++) {
        document_read(L, 1, i);
        lua_rawseti(L, 2, (lua_Integer)i + 1);
    }
    return 1;
}

/* Pushes the key of a hit, nil without a key field. */
static void key_push(lua_State *L, int at, uint64_t place) {
    grebe_value value;
    grebe_error err;
    const grb_lua_handle *hits = grb_lua_handle_of(L, at, GRB_LUA_HITS);
    if (hits->schema->key == GREBE_NO_FIELD) {
        lua_pushnil(L);
        return;
    }
    if (grebe_hits_key(hits->pointer, place, &value, &err))
        grb_lua_raise(L, &err);
    grb_lua_value_push(L, &value);
}

static void score_push(lua_State *L, int at, uint64_t place) {
    const grebe_hits *hits = grb_lua_pointer(L, at, GRB_LUA_HITS);
    const float *scores = grebe_hits_scores(hits);
    lua_pushnumber(L, scores ? (lua_Number)scores[place]
                             : (lua_Number)__builtin_nanf(""));
}

static int page_list(lua_State *L,
                     void (*push)(lua_State *L, int at, uint64_t place)) {
    uint64_t count = grebe_hits_count(grb_lua_pointer(L, 1, GRB_LUA_HITS));
    lua_settop(L, 1);
    lua_createtable(L, (int)count, 0);
    for (uint64_t i = 0; i < count; i++) {
        push(L, 1, i);
        lua_rawseti(L, 2, (lua_Integer)i + 1);
    }
    return 1;
}

/* hits_keys(hits): an array; SCHEMA without a key field */
int grb_lua_hits_keys(lua_State *L) {
    grb_lua_handle *self = grb_lua_handle_of(L, 1, GRB_LUA_HITS);
    if (self->schema->key == GREBE_NO_FIELD)
        return grb_lua_fail(L, GREBE_SCHEMA, NULL,
                            "the schema has no key field");
    return page_list(L, key_push);
}

/* hits_scores(hits): an array */
int grb_lua_hits_scores(lua_State *L) {
    return page_list(L, score_push);
}

/* Pushes the table that the request of that name left; 0 if there is none. */
static int page_push(lua_State *L, int hits, const char *name) {
    int top = lua_gettop(L);
    if (lua_getiuservalue(L, hits, GRB_LUA_PAGE) == LUA_TTABLE &&
        lua_getfield(L, -1, name) == LUA_TTABLE) {
        lua_replace(L, top + 1);
        return 1;
    }
    lua_settop(L, top);
    return 0;
}

/* Pushes an array of {value =, count =} of the hits at 1. */
static void facet_push(lua_State *L, size_t facet) {
    grebe_value value;
    grebe_error err;
    uint64_t count = 0, size = grebe_hits_facet_size(
                            grb_lua_pointer(L, 1, GRB_LUA_HITS), facet);
    lua_createtable(L, (int)size, 0);
    for (uint64_t i = 0; i < size; i++) {
        lua_createtable(L, 0, 2);
        if (grebe_hits_facet(grb_lua_pointer(L, 1, GRB_LUA_HITS), facet, i,
                             &value, &count, &err))
            grb_lua_raise(L, &err);
        grb_lua_value_push(L, &value);
        lua_setfield(L, -2, "value");
        lua_pushinteger(L, (lua_Integer)count);
        lua_setfield(L, -2, "count");
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
}

/* hits_facets(hits): field -> array, field -> documents without a value */
int grb_lua_hits_facets(lua_State *L) {
    grb_lua_handle_of(L, 1, GRB_LUA_HITS);
    lua_settop(L, 1);
    lua_newtable(L);
    lua_newtable(L);
    if (!page_push(L, 1, "facets")) return 2;
    lua_rawgeti(L, 4, 0);
    const grebe_facet_request *rows = lua_touserdata(L, 5);
    size_t count = lua_rawlen(L, 4);
    for (size_t i = 0; i < count; i++) {
        lua_rawgeti(L, 4, (lua_Integer)i + 1);
        facet_push(L, i);
        lua_rawset(L, 2);
        if (!rows[i].missing) continue;
        lua_rawgeti(L, 4, (lua_Integer)i + 1);
        lua_pushinteger(L, (lua_Integer)grebe_hits_facet_missing(
                               grb_lua_pointer(L, 1, GRB_LUA_HITS), i));
        lua_rawset(L, 3);
    }
    lua_settop(L, 3);
    return 2;
}

static void count_set(lua_State *L, const char *name, uint64_t count) {
    lua_pushinteger(L, (lua_Integer)count);
    lua_setfield(L, -2, name);
}

static void text_set(lua_State *L, const char *name, const char *text) {
    lua_pushstring(L, text);
    lua_setfield(L, -2, name);
}

static void operator_push(lua_State *L, const grebe_plan_operator *o) {
    lua_createtable(L, 0, 5);
    text_set(L, "role", o->role);
    text_set(L, "kind", o->kind);
    text_set(L, "field", o->field);
    text_set(L, "kept", o->kept);
    count_set(L, "docs", o->docs);
}

static void step_push(lua_State *L, const grebe_plan_step *s) {
    lua_createtable(L, 0, 13);
    text_set(L, "pass", s->pass);
    text_set(L, "pass_reason", s->pass_reason);
    text_set(L, "method", s->method);
    text_set(L, "reason", s->reason);
    count_set(L, "segment", s->segment);
    count_set(L, "docs", s->docs);
    count_set(L, "windows", s->windows);
    count_set(L, "blocks", s->blocks);
    count_set(L, "matched", s->matched);
    count_set(L, "scored", s->scored);
    count_set(L, "positions", s->positions);
    count_set(L, "work", s->work);
}

/* hits_plan(hits): an array of tables, one a pass and segment */
int grb_lua_hits_plan(lua_State *L) {
    const grebe_hits *hits = grb_lua_pointer(L, 1, GRB_LUA_HITS);
    uint64_t count = grebe_hits_plan_size(hits);
    lua_createtable(L, (int)count, 0);
    for (uint64_t i = 0; i < count; i++) {
        grebe_plan_step step;
        grebe_plan_operator o;
        if (grebe_hits_plan(hits, i, &step, NULL)) break;
        step_push(L, &step);
        lua_createtable(L, (int)step.operator_count, 0);
        for (uint64_t j = 0; j < step.operator_count; j++) {
            if (grebe_hits_plan_operator(hits, i, j, &o, NULL)) break;
            operator_push(L, &o);
            lua_rawseti(L, -2, (lua_Integer)j + 1);
        }
        lua_setfield(L, -2, "operators");
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

/* Pushes an array of the passages of one request. */
static void passage_push(lua_State *L, int at, uint64_t place,
                         size_t request) {
    size_t size = 0;
    uint32_t count = grebe_hits_passage_count(
        grb_lua_pointer(L, at, GRB_LUA_HITS), place, request);
    lua_createtable(L, (int)count, 0);
    for (uint32_t j = 0; j < count; j++) {
        const char *text = grebe_hits_passage(
            grb_lua_pointer(L, at, GRB_LUA_HITS), place, request, j, &size);
        lua_pushlstring(L, text ? text : "", text ? size : 0);
        lua_rawseti(L, -2, (lua_Integer)j + 1);
    }
}

/* Pushes field -> array of passages. */
static void passages_push(lua_State *L, int hits, uint64_t place) {
    lua_newtable(L);
    int result = lua_gettop(L);
    if (!page_push(L, hits, "highlights")) return;
    size_t count = lua_rawlen(L, -1);
    for (size_t request = 0; request < count; request++) {
        lua_rawgeti(L, result + 1, (lua_Integer)request + 1);
        passage_push(L, hits, place, request);
        lua_rawset(L, result);
    }
    lua_settop(L, result);
}

/* Pushes the table of stored fields that the hit at 1 keeps. */
static void doc_push(lua_State *L, const grb_lua_handle *self, int hits) {
    if (lua_getiuservalue(L, 1, GRB_LUA_DOC) == LUA_TTABLE) return;
    lua_pop(L, 1);
    document_read(L, hits, self->place);
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, 1, GRB_LUA_DOC);
}

/* Checks the hit at 1 and pushes its hits. */
static grb_lua_handle *hit_open(lua_State *L, grb_lua_handle **hits) {
    grb_lua_handle *self = grb_lua_handle_test(L, 1);
    if (!self || self->kind != GRB_LUA_HIT) {
        grb_lua_fail(L, GREBE_TYPE, NULL, "a hit is wanted, not %s",
                     grb_lua_type_name(L, 1));
        return NULL;
    }
    lua_getiuservalue(L, 1, GRB_LUA_OWNER);
    *hits = grb_lua_handle_of(L, -1, GRB_LUA_HITS);
    return self;
}

static int field_push(lua_State *L, const grb_lua_handle *self,
                      const grb_lua_handle *hits, const char *name) {
    if (grb_lua_field_find(L, hits->schema, 2) == GREBE_NO_FIELD)
        return grb_lua_fail(L, GREBE_SCHEMA, name,
                            "the schema has no field '%s'", name);
    doc_push(L, self, 3);
    lua_pushvalue(L, 2);
    lua_rawget(L, -2);
    return 1;
}

/* __index(hit, name): id, score, highlights, doc, or a stored field. */
int grb_lua_hit_index(lua_State *L) {
    grb_lua_handle *hits = NULL;
    lua_settop(L, 2);
    grb_lua_handle *self = hit_open(L, &hits);
    if (lua_type(L, 2) != LUA_TSTRING)
        return grb_lua_fail(L, GREBE_TYPE, NULL,
                            "a field's name is a string, not %s",
                            grb_lua_type_name(L, 2));
    const char *name = lua_tostring(L, 2);
    if (strcmp(name, "id") == 0)
        key_push(L, 3, self->place);
    else if (strcmp(name, "score") == 0)
        score_push(L, 3, self->place);
    else if (strcmp(name, "highlights") == 0)
        passages_push(L, 3, self->place);
    else if (strcmp(name, "doc") == 0)
        doc_push(L, self, 3);
    else
        return field_push(L, self, hits, name);
    return 1;
}

static int pairs_next(lua_State *L) {
    lua_settop(L, 2);
    if (lua_next(L, 1)) return 2;
    lua_pushnil(L);
    return 1;
}

/* __pairs(hit): its stored fields. */
int grb_lua_hit_pairs(lua_State *L) {
    grb_lua_handle *hits = NULL;
    lua_settop(L, 1);
    grb_lua_handle *self = hit_open(L, &hits);
    lua_pushcfunction(L, pairs_next);
    doc_push(L, self, 2);
    lua_pushnil(L);
    return 3;
}

/* __tostring(hit) */
int grb_lua_hit_text(lua_State *L) {
    grb_lua_handle *hits = NULL;
    lua_settop(L, 1);
    grb_lua_handle *self = hit_open(L, &hits);
    key_push(L, 2, self->place);
    lua_pushfstring(L, "grebe.hit: %s", luaL_tolstring(L, -1, NULL));
    return 1;
}

/* __index(info, name): what a commit did. */
int grb_lua_info_index(lua_State *L) {
    const grb_lua_handle *self = grb_lua_handle_test(L, 1);
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
    if (!self || self->kind != GRB_LUA_COMMIT_INFO)
        return grb_lua_fail(L, GREBE_TYPE, NULL, "no commit's report");
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {
        {"number", self->info.number},
        {"added", self->info.added},
        {"deleted", self->info.deleted},
        {"bytes", self->info.bytes},
        {"syncs", self->info.syncs},
        {"ns", self->info.ns},
        {"segments", self->info.segments},
        {"generation", self->info.generation},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0) {
            lua_pushinteger(L, (lua_Integer)rows[i].value);
            return 1;
        }
    if (strcmp(name, "changed") != 0)
        return grb_lua_fail(L, GREBE_ARGUMENT, NULL,
                            "grebe.commit_info has no '%s'", name);
    lua_pushboolean(L, self->info.changed);
    return 1;
}
