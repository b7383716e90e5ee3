/* bench/c/bench.h - what the benchmark programs in C share: clocks, the made
 * documents, and the lines that bench/run.py reads.
 *
 * The documents follow from SplitMix64 exactly as in bench/shapes.py and
 * bench/java, so that every engine gets the same ones. Everything here is
 * static: each program is one file.
 */
#ifndef BENCH_H
#define BENCH_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define BENCH_UNUSED __attribute__((unused))
#define SHAPE_TEXTS_MAX 10
#define SHAPE_KEYWORDS_MAX 20
#define SHAPE_INTS_MAX 10

/* ---- clocks ---- */

static inline uint64_t clock_ns(clockid_t which) {
    struct timespec t;
    clock_gettime(which, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t now_ns(void) {
    return clock_ns(CLOCK_MONOTONIC);
}
static inline uint64_t cpu_ns(void) {
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

BENCH_UNUSED static void fail(const char *what, const char *why) {
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static void *take(size_t size) {
    void *block = calloc(1, size ? size : 1);
    if (!block) fail("memory", "none left");
    return block;
}

/* ---- made documents ---- */

static inline uint64_t mix64(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

typedef struct random64 {
    uint64_t state;
} random64;

static inline uint64_t random_next(random64 *r) {
    return mix64(r->state += 0x9e3779b97f4a7c15u);
}

/* 0 <= result < n, from the top 31 bits. */
static inline uint32_t random_below(random64 *r, uint32_t n) {
    return (uint32_t)((random_next(r) >> 33) % n);
}

/* Skewed towards small ranks: n * u * u * u, left to right. */
static inline uint32_t random_rank(random64 *r, uint32_t n) {
    double u = (double)(random_next(r) >> 11) * 0x1.0p-53;
    return (uint32_t)(n * u * u * u);
}

/* Three syllables, six letters; rank 0 is "bababa". */
static inline void word_put(char *to, uint32_t rank) {
    static const char consonants[] = "bcdfghjklmnpqrstvwxz";
    static const char vowels[] = "aeiou";
    uint32_t part[3] = {rank / 10000 % 100, rank / 100 % 100, rank % 100};
    for (int i = 0; i < 3; i++) {
        to[2 * i] = consonants[part[i] / 5];
        to[2 * i + 1] = vowels[part[i] % 5];
    }
}

/* One document; strings are owned by the document and end in NUL. */
typedef struct shape_doc {
    char key[24];
    char *text[SHAPE_TEXTS_MAX];
    char keyword[SHAPE_KEYWORDS_MAX][8];
    int64_t number[SHAPE_INTS_MAX];
    char *bytes;
} shape_doc;

typedef struct shape {
    uint32_t texts, words, keywords, ints;
    int wide; /* of S: its numbers are up to 2^31 and the last up to 2^53 */
} shape;

/* A: 8 words. B: 100 words. C: 10 texts of 5 words, 20 keywords, 10 ints.
 * S: 2 texts of 4 words, 3 wide ints. */
static shape shape_of(const char *name) {
    if (*name == 'A') return (shape){1, 8, 0, 0, 0};
    if (*name == 'B') return (shape){1, 100, 0, 0, 0};
    if (*name == 'C') return (shape){10, 5, 20, 10, 0};
    if (*name == 'S') return (shape){2, 4, 0, 3, 1};
    fail("shape", name);
    return (shape){0};
}

static void shape_make(const shape *s, uint64_t number, random64 *r,
                       shape_doc *d) {
    size_t size = s->words * 7;
    memset(d, 0, sizeof *d);
    snprintf(d->key, sizeof d->key, "k%llu", (unsigned long long)number);
    d->bytes = take(s->texts * size);
    for (uint32_t i = 0; i < s->texts; i++) {
        char *at = d->text[i] = d->bytes + i * size;
        for (uint32_t j = 0; j < s->words; j++, at += 7) {
            word_put(at, random_rank(r, 20000));
            at[6] = j + 1 < s->words ? ' ' : 0;
        }
    }
    for (uint32_t i = 0; i < s->keywords; i++)
        word_put(d->keyword[i], random_rank(r, 1000));
    for (uint32_t i = 0; i < s->ints; i++) {
        if (!s->wide)
            d->number[i] = random_below(r, 1000000);
        else if (i < 2)
            d->number[i] = random_below(r, 1u << 31);
        else
            d->number[i] = (int64_t)(random_next(r) >> 11);
    }
}

static shape_doc *shape_batch(const shape *s, uint64_t first, size_t count,
                              random64 *r) {
    shape_doc *docs = take(count * sizeof *docs);
    for (size_t i = 0; i < count; i++) shape_make(s, first + i, r, &docs[i]);
    return docs;
}

static void shape_batch_free(shape_doc *docs, size_t count) {
    for (size_t i = 0; i < count; i++) free(docs[i].bytes);
    free(docs);
}

/* ---- the raw sync: the least that a durable commit can cost ---- */

#define FLOOR_SIZE (64u << 20)

typedef struct sync_floor {
    int fd;
    off_t at;
    char block[4096];
} sync_floor;

BENCH_UNUSED static void floor_open(sync_floor *f, const char *folder) {
    char path[4200];
    static char fill[1 << 20];
    snprintf(path, sizeof path, "%s/floor.bin", folder);
    memset(fill, 1, sizeof fill);
    memset(f, 2, sizeof *f);
    f->at = 0;
    f->fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (f->fd < 0) fail(path, "cannot be made");
    for (off_t at = 0; at < FLOOR_SIZE; at += (off_t)sizeof fill)
        if (pwrite(f->fd, fill, sizeof fill, at) != (ssize_t)sizeof fill)
            fail(path, "cannot be written");
    fsync(f->fd);
    unlink(path);
}

/* Nanoseconds of 4 KiB at the next offset, written before, and a data sync. */
BENCH_UNUSED static uint64_t floor_step(sync_floor *f) {
    uint64_t t = now_ns();
    if (pwrite(f->fd, f->block, 4096, f->at) != 4096 || fdatasync(f->fd))
        fail("floor", "write or sync failed");
    t = now_ns() - t;
    f->at = (f->at + 4096) % FLOOR_SIZE;
    return t;
}

/* Bytes given to write calls by this process. */
BENCH_UNUSED static uint64_t io_bytes(void) {
    char line[100];
    unsigned long long bytes = 0;
    FILE *f = fopen("/proc/self/io", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "wchar: %llu", &bytes) == 1) break;
    if (f) fclose(f);
    return bytes;
}

BENCH_UNUSED static long rss_kib(void) {
    char line[200];
    long kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmRSS: %ld", &kib) == 1) break;
    if (f) fclose(f);
    return kib;
}

/* ---- lines for bench/run.py: one JSON object an answer ---- */

static void series_put(const char *name, const uint64_t *ns, size_t count,
                       const char *after) {
    printf("\"%s\": [", name);
    for (size_t i = 0; i < count; i++)
        printf(i ? ",%llu" : "%llu", (unsigned long long)ns[i]);
    printf("]%s", after);
}

static void answer_end(void) {
    putchar('\n');
    fflush(stdout);
}

BENCH_UNUSED static long peak_kib(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* Reads the next command: words split at spaces. 0 at the end of input and
 * after "close", which is answered with the memory held. */
static int command_read(char *line, size_t size, char **words, int max) {
    int count = 0;
    if (!fgets(line, (int)size, stdin)) return 0;
    line[strcspn(line, "\n")] = 0;
    for (char *w = strtok(line, " "); w && count < max; w = strtok(NULL, " "))
        words[count++] = w;
    if (count == 0 || strcmp(words[0], "close") != 0) return count;
    printf("{\"rss_kib\": %ld, \"peak_kib\": %ld}", rss_kib(), peak_kib());
    answer_end();
    return 0;
}

#endif
