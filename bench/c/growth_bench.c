/* bench/c/growth_bench.c - how cost grows with documents, in one index.
 *
 *   open growth FILE FOLDER QUERIES
 *   block DOCS     adds documents up to DOCS in all, commits, merges to one
 *                  segment, closes, opens again and searches
 *   close
 */
#include "wiki.h"

#include <malloc.h>

typedef struct bench {
    wiki_index wiki;
    query_set queries;
} bench;

/* The peak begins anew, so that each size has its own. */
static void peak_reset(void) {
    FILE *f = fopen("/proc/self/clear_refs", "w");
    if (!f) return;
    fputs("5", f);
    fclose(f);
}

/* What this step adds and what it costs; the corpus's own chunk is counted
 * out of the peak. */
static void grow(bench *b, uint64_t docs) {
    wiki_index *w = &b->wiki;
    uint64_t before = w->docs, written = io_bytes();
    double floor = (double)(w->text.bytes_room) / 1024;
    peak_reset();
    uint64_t load = wiki_add(w, docs, NULL), begin = now_ns();
    wiki_commit(w);
    load += now_ns() - begin;
    double peak = (double)memory_kib("VmHWM") - floor;
    begin = now_ns();
    wiki_merge(w);
    uint64_t merge = now_ns() - begin;
    printf("\"docs\": %llu, \"turns\": 1, \"figures\": {\"docs/s\": %.0f, "
           "\"MiB peak\": %.1f, \"MiB peak merge\": %.1f, \"merge s\": %.3f, "
           "\"MB\": %.3f, \"MB text\": %.3f, \"MB written\": %.3f",
           (unsigned long long)w->docs,
           (double)(w->docs - before) * 1e9 / (double)load, peak / 1024,
           ((double)memory_kib("VmHWM") - floor) / 1024, (double)merge / 1e9,
           folder_mb(w->folder), (double)w->text.bytes / 1e6,
           (double)(io_bytes() - written) / 1e6);
}

/* Closes and opens the index, with the memory that it holds then. */
static void reopen(bench *b) {
    wiki_index *w = &b->wiki;
    index_close(w);
    malloc_trim(0);
    long own = memory_kib("RssAnon"), mapped = memory_kib("RssFile");
    uint64_t begin = now_ns();
    index_open(w);
    uint64_t open = now_ns() - begin;
    grebe_search_request r = request_of(&b->queries.all[0], &modes[TOP_10]);
    uint64_t first = request_run((searching){w->index, NULL}, &r);
    printf(", \"open us\": %.1f, \"first query us\": %.1f, "
           "\"KiB open\": %ld, \"KiB mapped\": %ld}",
           (double)open / 1e3, (double)first / 1e3,
           memory_kib("RssAnon") - own, memory_kib("RssFile") - mapped);
}

static void block(bench *b, uint64_t docs) {
    if (docs <= b->wiki.docs) fail("block", "needs more than there are");
    printf("{");
    grow(b, docs);
    reopen(b);
    printf(", \"series\": {");
    classes_put((searching){b->wiki.index, NULL}, &b->queries,
                1u << TOP_10 | 1u << COUNT);
    printf("}}");
    answer_end();
}

int main(void) {
    static bench b;
    char line[8192], *words[8];
    int count;
    while ((count = command_read(line, sizeof line, words, 8)) > 0) {
        if (!strcmp(words[0], "open") && count == 5) {
            wiki_open(&b.wiki, "wiki", words[2], strdup(words[3]), NULL, 0);
            queries_read(&b.queries, words[4]);
            printf("{\"version\": \"%s\"}", grebe_version());
            answer_end();
        } else if (!strcmp(words[0], "block") && b.queries.count) {
            block(&b, strtoull(words[1], NULL, 10));
        } else {
            fail("command", words[0]);
        }
    }
    queries_free(&b.queries);
    wiki_close(&b.wiki);
    return 0;
}
