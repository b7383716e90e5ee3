/* bench/c/load_bench.c - W5 and W5t in C: bulk loading into a folder.
 *
 *   open CORPUS FILE DOCS FOLDER THREADS    CORPUS: wiki, packages, rfc or
 * taxi block N      N times all documents into a new index, one commit, one
 * merge; reading and cutting the file is outside the clock close
 */
#include "corpus.h"

#include <pthread.h>

#define THREADS_MAX 16

typedef struct load load;
typedef struct adder {
    load *of;
    grebe_document *document;
    size_t from, to; /* of the chunk */
    pthread_t thread;
    grebe_error err;
} adder;

struct load {
    corpus text;
    const char *kind, *file, *folder;
    uint64_t docs;
    size_t threads, turn;
    grebe_schema *schema;
    grebe_index *index;
    grebe_error err;
    adder adders[THREADS_MAX];
};

static void must(grebe_status status, const grebe_error *err) {
    if (status != GREBE_OK) fail(grebe_status_word(status), err->message);
}

static void *adder_run(void *context) {
    adder *a = context;
    for (size_t n = a->from; n < a->to; n++) {
        document_fill(&a->of->text, n, a->document);
        must(grebe_index_add(a->of->index, a->document, 0, &a->err), &a->err);
    }
    return NULL;
}

/* The documents of a chunk, shared out among the threads. */
static void chunk_add(load *l) {
    for (size_t i = 0; i < l->threads; i++) {
        adder *a = &l->adders[i];
        a->from = l->text.count * i / l->threads;
        a->to = l->text.count * (i + 1) / l->threads;
        if (i && pthread_create(&a->thread, NULL, adder_run, a))
            fail("thread", "cannot be made");
    }
    adder_run(&l->adders[0]);
    for (size_t i = 1; i < l->threads; i++)
        pthread_join(l->adders[i].thread, NULL);
}

typedef struct outcome {
    uint64_t load, merge;
    double mb, merged, written, peak;
} outcome;

static void index_begin(load *l, const char *path) {
    corpus_open(&l->text, l->kind, l->file);
    l->schema = schema_make(&l->text);
    must(grebe_index_open(path, l->schema, NULL, &l->index, &l->err), &l->err);
    for (size_t i = 0; i < l->threads; i++) {
        l->adders[i].of = l;
        must(grebe_document_new(l->schema, &l->adders[i].document, &l->err),
             &l->err);
    }
}

static void index_end(load *l) {
    for (size_t i = 0; i < l->threads; i++)
        grebe_document_free(l->adders[i].document);
    must(grebe_index_close(l->index, 0, &l->err), &l->err);
    grebe_index_free(l->index);
    grebe_schema_release(l->schema);
    corpus_close(&l->text);
}

static void commit(load *l) {
    must(grebe_index_commit(l->index, GREBE_HARD, NULL, &l->err), &l->err);
}

static void load_once(load *l, outcome *o) {
    char path[4200];
    uint64_t written = io_bytes(), done = 0, live, begin;
    snprintf(path, sizeof path, "%s/load%zu", l->folder, l->turn++);
    index_begin(l, path);
    o->load = 0;
    while (done < l->docs) {
        uint64_t left = l->docs - done;
        if (!corpus_next(&l->text, left < CHUNK ? left : CHUNK)) break;
        begin = now_ns();
        chunk_add(l);
        o->load += now_ns() - begin;
        done += l->text.count;
    }
    begin = now_ns();
    commit(l);
    o->load += now_ns() - begin;
    o->peak = (double)memory_kib("VmHWM") / 1024;
    o->mb = folder_mb(path);
    begin = now_ns();
    must(grebe_index_merge(l->index, &l->err), &l->err);
    commit(l);
    o->merge = now_ns() - begin;
    o->merged = folder_mb(path);
    o->written = (double)(io_bytes() - written) / 1e6;
    must(grebe_index_count(l->index, &live, &l->err), &l->err);
    if (live != done) fail("load", "documents are missing");
    l->docs = done;
    index_end(l);
    folder_empty(path);
    rmdir(path);
}

static void block(load *l, size_t n) {
    uint64_t *loads = take(n * 8), *wholes = take(n * 8);
    outcome o = {0};
    for (size_t i = 0; i < n; i++) {
        load_once(l, &o);
        loads[i] = o.load;
        wholes[i] = o.load + o.merge;
    }
    printf("{\"turns\": %zu, \"docs\": %llu, \"figures\": {\"MB\": %.3f, "
           "\"MB merged\": %.3f, \"MB written\": %.3f, \"MiB peak\": %.1f}, "
           "\"series\": {",
           n, (unsigned long long)(l->docs * n), o.mb, o.merged, o.written,
           o.peak);
    series_put("bulk", loads, n, ", ");
    series_put("whole", wholes, n, "}}");
    answer_end();
    free(loads);
    free(wholes);
}

int main(void) {
    static load l;
    char line[8192], *words[8];
    int count;
    while ((count = command_read(line, sizeof line, words, 8)) > 0) {
        if (!strcmp(words[0], "open") && count == 6) {
            l.kind = strdup(words[1]);
            l.file = strdup(words[2]);
            l.docs = strtoull(words[3], NULL, 10);
            l.folder = strdup(words[4]);
            l.threads = (size_t)atoi(words[5]);
            if (l.threads < 1 || l.threads > THREADS_MAX)
                fail("threads", "1 to 16");
            printf("{\"version\": \"%s\"}", grebe_version());
            answer_end();
        } else if (!strcmp(words[0], "block") && count == 2 && l.kind) {
            block(&l, (size_t)atoi(words[1]));
        } else {
            fail("command", words[0]);
        }
    }
    return 0;
}
