/* bench/c/classes_bench.c - W7, W11 and the first search of W10, in C.
 *
 *   open queries FILE DOCS FOLDER QUERIES   W7: an index of the wiki's first
 *                                           documents, merged to one segment
 *   open deleted FILE DOCS FOLDER QUERIES   W11: 30 % of them are deleted in
 * the first block; a searcher of before and one of after take turns open first
 * FILE DOCS FOLDER QUERIES     W10: opens the folder, runs one query and
 * closes it block N, answers, close
 */
#include "wiki.h"

typedef struct bench {
    wiki_index wiki;
    query_set queries;
    grebe_searcher *before; /* W11: of what was there before the deletes */
    uint64_t turn;
} bench;

static searching newest(const bench *b) {
    return (searching){b->wiki.index, NULL};
}

static void bench_open(bench *b, char **words) {
    wiki_open(&b->wiki, "wiki", words[2], strdup(words[4]), NULL, 0);
    queries_read(&b->queries, words[5]);
    wiki_add(&b->wiki, strtoull(words[3], NULL, 10), NULL);
    wiki_commit(&b->wiki);
    wiki_merge(&b->wiki);
    if (*words[1] == 'f') index_close(&b->wiki);
    printf("{\"version\": \"%s\"}", grebe_version());
    answer_end();
}

static void queries_block(bench *b, size_t n) {
    uint64_t cpu = cpu_ns();
    printf("{\"series\": {");
    classes_put(newest(b), &b->queries, (1u << MODES) - 1);
    printf("}, \"cpu_ns\": %llu, \"turns\": %zu}",
           (unsigned long long)(cpu_ns() - cpu), n);
    answer_end();
}

/* ---- W11 ---- */

static void tenths_delete(bench *b) {
    char key[24];
    grebe_value v = {.kind = GREBE_KEYWORD};
    must(grebe_index_searcher(b->wiki.index, 0, &b->before, &wiki_err));
    v.as.text.bytes = key;
    for (uint64_t i = 0; i < b->wiki.docs; i++) {
        if (mix64(i + 11) % 10 >= 3) continue;
        v.as.text.size =
            (size_t)snprintf(key, sizeof key, "w%llu", (unsigned long long)i);
        must(grebe_index_delete(b->wiki.index, &v, NULL, &wiki_err));
    }
    wiki_commit(&b->wiki);
}

/* Time after the deletes over time before them, least of runs in turn. */
static double slower(bench *b, int mode) {
    searching ways[2] = {{NULL, b->before}, newest(b)};
    uint64_t sums[2] = {0, 0};
    for (size_t i = 0; i < b->queries.count; i++) {
        uint64_t least[2] = {UINT64_MAX, UINT64_MAX};
        grebe_search_request r = request_of(&b->queries.all[i], &modes[mode]);
        for (int run = 0; run < 2 * RUNS; run++) {
            uint64_t ns = request_run(ways[run % 2], &r);
            if (ns < least[run % 2]) least[run % 2] = ns;
        }
        sums[0] += least[0];
        sums[1] += least[1];
    }
    return (double)sums[1] / (double)sums[0];
}

static void deleted_block(bench *b, size_t n) {
    if (!b->before) tenths_delete(b);
    printf("{\"series\": {}, \"turns\": %zu, \"figures\": {\"slower TOP_10\": "
           "%.4f, \"slower COUNT\": %.4f}}",
           n, slower(b, TOP_10), slower(b, COUNT));
    answer_end();
}

/* ---- the first search after opening ---- */

/* Bytes that read calls gave this process. */
static uint64_t read_bytes(void) {
    char line[100];
    unsigned long long bytes = 0;
    FILE *f = fopen("/proc/self/io", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "rchar: %llu", &bytes) == 1) break;
    if (f) fclose(f);
    return bytes;
}

static void first_block(bench *b, size_t n) {
    uint64_t *open = take(n * 8), *first = take(n * 8), *both = take(n * 8);
    uint64_t read = 0, own = read_bytes();
    long mapped = 0;
    own = read_bytes() - own; /* what asking costs */
    for (size_t i = 0; i < n; i++, b->turn++) {
        const class_query *q = &b->queries.all[b->turn % b->queries.count];
        grebe_search_request r = request_of(q, &modes[TOP_10]);
        long kib = memory_kib("RssFile");
        uint64_t bytes = read_bytes();
        uint64_t t0 = now_ns();
        index_open(&b->wiki);
        uint64_t t1 = now_ns();
        read += read_bytes() - bytes - own;
        mapped += memory_kib("RssFile") - kib;
        first[i] = request_run(newest(b), &r);
        open[i] = t1 - t0;
        both[i] = open[i] + first[i];
        index_close(&b->wiki);
    }
    printf("{\"turns\": %zu, \"figures\": {\"bytes read\": %.0f, "
           "\"KiB mapped\": %.1f}, \"series\": {",
           n, (double)read / (double)n, (double)mapped / (double)n);
    series_put("open", open, n, ", ");
    series_put("first", first, n, ", ");
    series_put("both", both, n, "}}");
    answer_end();
    free(open);
    free(first);
    free(both);
}

int main(void) {
    static bench b;
    char line[8192], *words[8], kind = 0;
    int count;
    while ((count = command_read(line, sizeof line, words, 8)) > 0) {
        size_t n = count > 1 ? (size_t)atoi(words[1]) : 0;
        if (!strcmp(words[0], "open") && count == 6) {
            kind = *words[1];
            bench_open(&b, words);
        } else if (!strcmp(words[0], "block") && kind) {
            if (kind == 'q')
                queries_block(&b, n);
            else if (kind == 'd')
                deleted_block(&b, n);
            else
                first_block(&b, n);
        } else if (!strcmp(words[0], "answers") && kind != 'f') {
            tops_put(newest(&b), &b.queries);
        } else {
            fail("command", words[0]);
        }
    }
    grebe_searcher_release(b.before);
    queries_free(&b.queries);
    wiki_close(&b.wiki);
    return 0;
}
