/* bench/c/fts5_peer.c - W1, W2 and W12 of SQLite FTS5 in C: what that engine
 * costs without Python. The commands of cycle_bench.c:
 *
 *   open cycle SHAPE BASE BATCH soft|hard FOLDER|- fts|sql
 *   open term RANK
 *   block N, answers, close
 *
 * The statements are those of bench/engines/fts5_engine.py, prepared once.
 * "fts": key and keywords are full-text columns and a key is found by MATCH,
 * ordered by rank. "sql": they are SQL columns, FTS5 holds the text, and the
 * key is found by its unique SQL index, the cheapest a user of SQLite can do.
 */
#include "bench.h"

#include <sqlite3.h>

typedef struct peer {
    sqlite3 *db;
    sqlite3_stmt *del_d, *del_f, *ins_d, *ins_f, *begin, *commit, *find;
    sqlite3_int64 next_id;
    shape form;
    random64 random;
    sync_floor floor;
    uint64_t next;
    size_t batch;
    int hard, sql;
    char match[64];
} peer;

static void must(int ok, peer *p, const char *what) {
    if (!ok) fail(what, sqlite3_errmsg(p->db));
}

static void run(peer *p, const char *sql) {
    must(sqlite3_exec(p->db, sql, 0, 0, 0) == SQLITE_OK, p, sql);
}

static sqlite3_stmt *make(peer *p, const char *sql) {
    sqlite3_stmt *s;
    must(sqlite3_prepare_v3(p->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &s,
                            0) == SQLITE_OK,
         p, sql);
    return s;
}

static void step_done(peer *p, sqlite3_stmt *s) {
    must(sqlite3_step(s) == SQLITE_DONE, p, "step");
    sqlite3_reset(s);
}

static void names_put(char *to, char letter, uint32_t count,
                      const char *before, const char *after) {
    to += strlen(to);
    for (uint32_t i = 0; i < count; i++)
        to += sprintf(to, "%s%c%u%s", before, letter, i, after);
}

/* ", ?" times count. */
static void marks_put(char *to, uint32_t count) {
    to += strlen(to);
    for (uint32_t i = 0; i < count; i++) to += sprintf(to, ",?");
}

static void tables_make(peer *p) {
    const shape *s = &p->form;
    uint32_t in_fts = s->texts + (p->sql ? 0 : s->keywords + 1);
    char sql[4096];
    strcpy(sql, "CREATE TABLE d(_id INTEGER PRIMARY KEY, _key TEXT UNIQUE");
    names_put(sql, 'n', s->ints, ", ", " INTEGER");
    if (p->sql) names_put(sql, 's', s->keywords, ", ", " TEXT");
    run(p, strcat(sql, ")"));
    strcpy(sql, "CREATE VIRTUAL TABLE f USING fts5(");
    if (!p->sql) strcat(sql, "key, ");
    names_put(sql, 't', s->texts, "", ", ");
    if (!p->sql) names_put(sql, 's', s->keywords, "", ", ");
    run(p, strcat(sql, "tokenize='unicode61 remove_diacritics 0')"));

    strcpy(sql, "INSERT INTO d VALUES(?,?");
    marks_put(sql, s->ints + (p->sql ? s->keywords : 0));
    p->ins_d = make(p, strcat(sql, ")"));
    strcpy(sql, "INSERT INTO f(rowid");
    if (!p->sql) strcat(sql, ", key");
    names_put(sql, 't', s->texts, ", ", "");
    if (!p->sql) names_put(sql, 's', s->keywords, ", ", "");
    strcat(sql, ") VALUES(?");
    marks_put(sql, in_fts);
    p->ins_f = make(p, strcat(sql, ")"));
}

static void peer_open(peer *p, const char *shape_name, const char *folder) {
    char path[4200] = ":memory:";
    p->form = shape_of(shape_name);
    p->next_id = 1;
    if (folder) snprintf(path, sizeof path, "%s/index.db", folder);
    if (sqlite3_open(path, &p->db) != SQLITE_OK) fail(path, "cannot open");
    if (folder) {
        run(p, "PRAGMA journal_mode=WAL");
        run(p,
            p->hard ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
    }
    tables_make(p);
    p->del_d = make(p, "DELETE FROM d WHERE _key=? RETURNING _id");
    p->del_f = make(p, "DELETE FROM f WHERE rowid=?");
    p->begin = make(p, "BEGIN IMMEDIATE");
    p->commit = make(p, "COMMIT");
}

static void text_bind(sqlite3_stmt *s, int at, const char *text) {
    sqlite3_bind_text(s, at, text, -1, SQLITE_STATIC);
}

static void upsert(peer *p, const shape_doc *d) {
    const shape *s = &p->form;
    int at = 3;
    text_bind(p->del_d, 1, d->key);
    if (sqlite3_step(p->del_d) == SQLITE_ROW) {
        sqlite3_bind_int64(p->del_f, 1, sqlite3_column_int64(p->del_d, 0));
        step_done(p, p->del_f);
    }
    sqlite3_reset(p->del_d);
    sqlite3_bind_int64(p->ins_d, 1, p->next_id);
    text_bind(p->ins_d, 2, d->key);
    for (uint32_t i = 0; i < s->ints; i++)
        sqlite3_bind_int64(p->ins_d, at++, d->number[i]);
    for (uint32_t i = 0; p->sql && i < s->keywords; i++)
        text_bind(p->ins_d, at++, d->keyword[i]);
    step_done(p, p->ins_d);
    at = 1;
    sqlite3_bind_int64(p->ins_f, at++, p->next_id++);
    if (!p->sql) text_bind(p->ins_f, at++, d->key);
    for (uint32_t i = 0; i < s->texts; i++)
        text_bind(p->ins_f, at++, d->text[i]);
    for (uint32_t i = 0; !p->sql && i < s->keywords; i++)
        text_bind(p->ins_f, at++, d->keyword[i]);
    step_done(p, p->ins_f);
}

static void fill(peer *p, size_t count) {
    random64 r = {1};
    step_done(p, p->begin);
    for (size_t i = 0; i < count; i++) {
        shape_doc d;
        shape_make(&p->form, p->next++, &r, &d);
        upsert(p, &d);
        free(d.bytes);
    }
    step_done(p, p->commit);
}

static int search(peer *p, const char *what) {
    int hits = 0, rc;
    text_bind(p->find, 1, what);
    while ((rc = sqlite3_step(p->find)) == SQLITE_ROW) {
        volatile sqlite3_int64 id = sqlite3_column_int64(p->find, 0);
        volatile double rank = sqlite3_column_double(p->find, 1);
        (void)id;
        (void)rank;
        hits++;
    }
    must(rc == SQLITE_DONE, p, "search");
    sqlite3_reset(p->find);
    return hits;
}

static void cycle_open(peer *p, char **words) {
    const char *folder = strcmp(words[6], "-") ? words[6] : NULL;
    p->batch = (size_t)atoi(words[4]);
    p->hard = !strcmp(words[5], "hard");
    p->sql = !strcmp(words[7], "sql");
    p->random.state = 2;
    peer_open(p, words[2], folder);
    shape asked = p->form;
    size_t base = (size_t)atoi(words[3]);
    if (base && *words[2] == 'C') fail("base", "is of shape B: not with C");
    p->form = shape_of("B");
    if (base) fill(p, base);
    p->form = asked;
    p->find =
        make(p, p->sql ? "SELECT _id, 0 FROM d WHERE _key=?"
                       : "SELECT rowid, rank FROM f WHERE f MATCH ? ORDER "
                         "BY rank LIMIT 10");
    if (p->hard) floor_open(&p->floor, folder);
}

static void cycles(peer *p, size_t n) {
    uint64_t *whole = take(n * 8), *com = take(n * 8), *find = take(n * 8),
             *raw = take(n * 8);
    shape_doc *docs = shape_batch(&p->form, p->next, n * p->batch, &p->random);
    p->next += n * p->batch;
    uint64_t cpu = cpu_ns(), bytes = io_bytes();
    for (size_t i = 0; i < n; i++) {
        const shape_doc *d = docs + i * p->batch;
        const char *key = d[p->batch - 1].key;
        uint64_t t0 = now_ns();
        step_done(p, p->begin);
        for (size_t j = 0; j < p->batch; j++) upsert(p, &d[j]);
        uint64_t t1 = now_ns();
        step_done(p, p->commit);
        uint64_t t2 = now_ns();
        snprintf(p->match, sizeof p->match, "\"key\" : \"%s\"", key);
        int hits = search(p, p->sql ? key : p->match);
        uint64_t t3 = now_ns();
        if (hits != 1) fail(key, "was not found once");
        whole[i] = t3 - t0;
        com[i] = t2 - t1;
        find[i] = t3 - t2;
        if (p->hard) raw[i] = floor_step(&p->floor);
    }
    cpu = cpu_ns() - cpu;
    bytes = io_bytes() - bytes - (p->hard ? 4096 * n : 0);
    printf("{\"cpu_ns\": %llu, \"bytes\": %llu, \"turns\": %zu, "
           "\"series\": {",
           (unsigned long long)cpu, (unsigned long long)bytes, n);
    series_put("cycle", whole, n, ", ");
    series_put("commit", com, n, ", ");
    series_put("find", find, n, p->hard ? ", " : "");
    if (p->hard) series_put("floor", raw, n, "");
    printf("}}");
    answer_end();
    shape_batch_free(docs, n * p->batch);
    free(whole);
    free(com);
    free(find);
    free(raw);
}

/* ---- W12 ---- */

static void term_open(peer *p, char **words) {
    char word[8] = "";
    peer_open(p, "B", NULL);
    fill(p, 1000);
    word_put(word, (uint32_t)atoi(words[2]));
    snprintf(p->match, sizeof p->match, "\"t0\" : \"%s\"", word);
    p->find = make(p, "SELECT rowid, rank FROM f WHERE f MATCH ? ORDER BY "
                      "rank LIMIT 10");
}

static void term_answers(peer *p) {
    sqlite3_stmt *s = make(p, "SELECT count(*) FROM f WHERE f MATCH ?");
    text_bind(s, 1, p->match);
    must(sqlite3_step(s) == SQLITE_ROW, p, "count");
    printf("{\"total\": %lld}", (long long)sqlite3_column_int64(s, 0));
    answer_end();
    sqlite3_finalize(s);
}

static void term_block(peer *p, size_t n) {
    uint64_t *ns = take(n * 8), cpu = cpu_ns();
    for (size_t i = 0; i < n; i++) {
        uint64_t t = now_ns();
        if (search(p, p->match) < 1) fail(p->match, "no hits");
        ns[i] = now_ns() - t;
    }
    printf("{\"cpu_ns\": %llu, \"turns\": %zu, \"series\": {",
           (unsigned long long)(cpu_ns() - cpu), n);
    series_put("search", ns, n, "}}");
    answer_end();
    free(ns);
}

int main(void) {
    static peer p;
    char line[8192], *words[9], kind = 0;
    int count;
    while ((count = command_read(line, sizeof line, words, 9)) > 0) {
        if (!strcmp(words[0], "open") && count > 2) {
            kind = *words[1];
            if (kind == 'c' && count == 8)
                cycle_open(&p, words);
            else if (kind == 't')
                term_open(&p, words);
            else
                fail("open", words[1]);
            printf("{\"version\": \"%s\"}", sqlite3_libversion());
            answer_end();
        } else if (!strcmp(words[0], "block") && count == 2) {
            if (kind == 'c')
                cycles(&p, (size_t)atoi(words[1]));
            else
                term_block(&p, (size_t)atoi(words[1]));
        } else if (!strcmp(words[0], "answers") && kind == 't') {
            term_answers(&p);
        } else {
            fail("command", words[0]);
        }
    }
    return 0;
}
