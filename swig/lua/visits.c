/* lua/visits.c - what the core's callbacks gather.
 *
 * A callback runs below core frames, so it touches nothing of Lua: it appends
 * a row to a block of its own. Only when the core call is over do the rows
 * become Lua values. The block hangs on a userdata, so an error on the way
 * (Lua's memory may run out) loses nothing.
 *
 * Invariant: no function of Lua is called from a callback.
 * Threads: callbacks run in the calling thread.
 * Owns: the block, through its userdata.
 */
#include "binding.h"

#include <stdlib.h>

#define GATHERING_TYPE "grebe.gathering"

typedef struct gathering {
    char *bytes;
    size_t size;
    size_t room;
    uint64_t count;
    int failed; /* no memory; what came after is lost */
} gathering;

typedef struct row_head {
    uint64_t numbers[3];
    size_t size;
} row_head;

static int gathering_free(lua_State *L) {
    gathering *self = luaL_checkudata(L, 1, GATHERING_TYPE);
    free(self->bytes);
    memset(self, 0, sizeof *self);
    return 0;
}

void grb_lua_visits_open(lua_State *L) {
    luaL_newmetatable(L, GATHERING_TYPE);
    lua_pushcfunction(L, gathering_free);
    lua_setfield(L, -2, "__gc");
    lua_pop(L, 1);
}

void *grb_lua_gather_begin(lua_State *L) {
    luaL_checkstack(L, 8, "lists");
    gathering *self = lua_newuserdatauv(L, sizeof *self, 0);
    memset(self, 0, sizeof *self);
    luaL_setmetatable(L, GATHERING_TYPE);
    return self;
}

static grebe_status row_append(gathering *self, const row_head *head,
                               const char *bytes) {
    size_t needed = self->size + sizeof *head + head->size;
    if (self->failed) return GREBE_MEMORY;
    if (needed > self->room) {
        size_t room = self->room * 2 > needed ? self->room * 2 : needed + 256;
        char *more = realloc(self->bytes, room);
        self->failed = !more;
        if (!more) return GREBE_MEMORY;
        self->bytes = more;
        self->room = room;
    }
    memcpy(self->bytes + self->size, head, sizeof *head);
    if (head->size)
        memcpy(self->bytes + self->size + sizeof *head, bytes, head->size);
    self->size = needed;
    self->count++;
    return GREBE_OK;
}

grebe_status grb_lua_visit_term(void *context, const char *bytes, size_t size,
                                uint64_t df) {
    row_head head = {{df, 0, 0}, size};
    return row_append(context, &head, bytes);
}

grebe_status grb_lua_visit_token(void *context, const grebe_token *token) {
    row_head head = {{token->position, token->start, token->end}, token->size};
    return row_append(context, &head, token->bytes);
}

void grb_lua_visit_line(void *context, const char *line) {
    row_head head = {{0, 0, 0}, strlen(line)};
    row_append(context, &head, line);
}

void grb_lua_push_term(lua_State *L, const uint64_t numbers[3],
                       const char *bytes, size_t size) {
    lua_createtable(L, 0, 2);
    lua_pushlstring(L, bytes, size);
    lua_setfield(L, -2, "term");
    lua_pushinteger(L, (lua_Integer)numbers[0]);
    lua_setfield(L, -2, "docs");
}

void grb_lua_push_token(lua_State *L, const uint64_t numbers[3],
                        const char *bytes, size_t size) {
    lua_createtable(L, 0, 4);
    lua_pushlstring(L, bytes, size);
    lua_setfield(L, -2, "text");
    lua_pushinteger(L, (lua_Integer)numbers[0]);
    lua_setfield(L, -2, "position");
    lua_pushinteger(L, (lua_Integer)numbers[1]);
    lua_setfield(L, -2, "start");
    lua_pushinteger(L, (lua_Integer)numbers[2]);
    lua_setfield(L, -2, "stop");
}

void grb_lua_push_line(lua_State *L, const uint64_t numbers[3],
                       const char *bytes, size_t size) {
    (void)numbers;
    lua_pushlstring(L, bytes, size);
}

void grb_lua_gather_push(lua_State *L, void *context, grb_lua_row_push push) {
    gathering *self = context;
    row_head head;
    if (self->failed)
        grb_lua_fail(L, GREBE_MEMORY, NULL, "no memory for a list");
    lua_createtable(L, (int)self->count, 0);
    size_t at = 0;
    for (lua_Integer i = 1; at < self->size; i++) {
        memcpy(&head, self->bytes + at, sizeof head);
        push(L, head.numbers, self->bytes + at + sizeof head, head.size);
        lua_rawseti(L, -2, i);
        at += sizeof head + head.size;
    }
}
