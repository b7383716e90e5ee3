/* bench/c/corpus.h - corpora of JSON lines, cut into fields chunk by chunk
 * outside every clock, and the documents made from them.
 *
 * The cutter knows just what tools that make such files write: one flat object
 * a line, names unique within it.
 */
#ifndef CORPUS_H
#define CORPUS_H

#include "bench.h"

#include <dirent.h>
#include <sys/stat.h>

#include "grebe/grebe.h"

#define FIELDS_MAX 24
#define CHUNK 10000

typedef struct column {
    const char *from; /* name in the file */
    uint32_t place;   /* of an array's items */
    grebe_field field;
} column;

#define NUMBER GREBE_INDEXED | GREBE_COLUMN
#define TEXTS(title, body)                                                    \
    {                                                                         \
        {"id",                                                                \
         0,                                                                   \
         {"id", GREBE_KEYWORD, GREBE_KEY | GREBE_STORED, NULL, NULL}},        \
            {title,                                                           \
             0,                                                               \
             {"title", GREBE_TEXT, GREBE_INDEXED, "standard", NULL}},         \
            {body, 0, {"body", GREBE_TEXT, GREBE_INDEXED, "standard", NULL}}, \
        {                                                                     \
            NULL, 0, {                                                        \
                NULL, GREBE_TEXT, 0, NULL, NULL                               \
            }                                                                 \
        }                                                                     \
    }
static const column wiki[] = TEXTS("title", "body");
static const column packages[] = TEXTS("summary", "description");
static const column rfc[] = TEXTS("title", "text");
#define KEYWORD(name)                               \
    {                                               \
        name, 0, {                                  \
            name, GREBE_KEYWORD, NUMBER, NULL, NULL \
        }                                           \
    }
#define DOUBLE(name)                               \
    {                                              \
        name, 0, {                                 \
            name, GREBE_DOUBLE, NUMBER, NULL, NULL \
        }                                          \
    }
#define DATE(name)                                   \
    {                                                \
        name, 0, {                                   \
            name, GREBE_DATETIME, NUMBER, NULL, NULL \
        }                                            \
    }
#define PART(name, from, i)                        \
    {                                              \
        from, i, {                                 \
            name, GREBE_DOUBLE, NUMBER, NULL, NULL \
        }                                          \
    }
#define STORED_TEXT GREBE_INDEXED | GREBE_STORED
static const column kinds[] = {
    {"id", 0, {"id", GREBE_KEYWORD, GREBE_KEY | GREBE_STORED, NULL, NULL}},
    {"title", 0, {"title", GREBE_TEXT, STORED_TEXT, "standard", NULL}},
    {"body", 0, {"body", GREBE_TEXT, STORED_TEXT, "standard", NULL}},
    {"time_sec", 0, {"time_sec", GREBE_INT, NUMBER, NULL, NULL}},
    {"views", 0, {"views", GREBE_INT, NUMBER, NULL, NULL}},
    {NULL, 0, {NULL, GREBE_TEXT, 0, NULL, NULL}}};
static const column taxi[] = {
    {"id", 0, {"id", GREBE_KEYWORD, GREBE_KEY | GREBE_STORED, NULL, NULL}},
    KEYWORD("vendor_id"),
    KEYWORD("vendor_name"),
    KEYWORD("cab_color"),
    KEYWORD("rate_code_id"),
    KEYWORD("store_and_fwd_flag"),
    KEYWORD("payment_type"),
    KEYWORD("trip_type"),
    DATE("pickup_datetime"),
    DATE("dropoff_datetime"),
    {"passenger_count", 0, {"passengers", GREBE_INT, NUMBER, NULL, NULL}},
    DOUBLE("trip_distance"),
    DOUBLE("fare_amount"),
    DOUBLE("extra"),
    DOUBLE("mta_tax"),
    DOUBLE("improvement_surcharge"),
    DOUBLE("tip_amount"),
    DOUBLE("tolls_amount"),
    DOUBLE("total_amount"),
    PART("pickup_x", "pickup_location", 0),
    PART("pickup_y", "pickup_location", 1),
    PART("dropoff_x", "dropoff_location", 0),
    PART("dropoff_y", "dropoff_location", 1),
    {NULL, 0, {NULL, GREBE_TEXT, 0, NULL, NULL}}};

/* A value as cut from the file. */
typedef struct cut {
    const char *text;
    size_t size;
    double number;
} cut;

/* A file that is read chunk by chunk; the cuts are of the last one. */
typedef struct corpus {
    const column *columns;
    uint32_t width;
    FILE *file;
    char *bytes_read; /* the lines of the chunk, each ends in NUL */
    size_t bytes_room;
    cut *cuts; /* count rows of `width` */
    size_t count, room;
    uint64_t bytes; /* of values, all chunks */
} corpus;

/* ---- reading ---- */

/* The value behind "name": in the line; NULL if it has none. */
static const char *value_find(const char *line, const char *name) {
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":", name);
    const char *at = strstr(line, quoted);
    return at ? at + strlen(quoted) : NULL;
}

/* 2015-05-15 20:45:35 as milliseconds since 1970. */
static double date_cut(const char *text) {
    int y, m, d, hour, minute, second;
    if (sscanf(text, "%d-%d-%d %d:%d:%d", &y, &m, &d, &hour, &minute,
               &second) != 6)
        fail("date", text);
    y -= m <= 2;
    int era = y / 400, of_era = y - era * 400;
    int of_year = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    int days = era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 +
               of_year - 719468;
    return (((days * 24.0 + hour) * 60 + minute) * 60 + second) * 1000;
}

/* Four hexadecimal digits of a code unit as UTF-8; surrogates are joined. */
static char *escape_put(const char **at, char *to) {
    unsigned code = (unsigned)strtoul(
        (char[5]){(*at)[1], (*at)[2], (*at)[3], (*at)[4], 0}, NULL, 16);
    *at += 4;
    if (code >= 0xd800 && code < 0xdc00 && (*at)[1] == '\\') {
        unsigned low = (unsigned)strtoul(
            (char[5]){(*at)[3], (*at)[4], (*at)[5], (*at)[6], 0}, NULL, 16);
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        *at += 6;
    }
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xc0 | code >> 6);
    } else if (code < 0x10000) {
        *to++ = (char)(0xe0 | code >> 12);
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
    } else {
        *to++ = (char)(0xf0 | code >> 18);
        *to++ = (char)(0x80 | (code >> 12 & 0x3f));
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
    }
    if (code >= 0x80) *to++ = (char)(0x80 | (code & 0x3f));
    return to;
}

/* The string that begins after the quote at `at`, unescaped in place. */
static size_t string_cut(const char *at) {
    static const char from[] = "ntrbf", made[] = "\n\t\r\b\f";
    char *begin = (char *)(uintptr_t)at, *to = begin;
    for (; *at && *at != '"'; at++) {
        if (*at != '\\') {
            *to++ = *at;
        } else if (*++at == 'u') {
            to = escape_put(&at, to);
        } else {
            const char *known = strchr(from, *at);
            *to++ = known ? made[known - from] : *at;
        }
    }
    return (size_t)(to - begin);
}

static void value_cut(const column *c, const char *at, cut *out) {
    if (*at == '[')
        for (uint32_t i = 0; i <= c->place; i++)
            at = i ? strchr(at, ',') + 1 : at + 1;
    if (*at != '"') {
        out->number = atof(at);
        return;
    }
    out->text = at + 1;
    out->size = string_cut(at + 1);
    if (c->field.kind == GREBE_DATETIME) out->number = date_cut(out->text);
}

BENCH_UNUSED static void corpus_open(corpus *c, const char *kind,
                                     const char *path) {
    memset(c, 0, sizeof *c);
    c->columns = *kind == 't'   ? taxi
                 : *kind == 'p' ? packages
                 : *kind == 'r' ? rfc
                 : *kind == 'k' ? kinds
                                : wiki;
    while (c->columns[c->width].from) c->width++;
    c->file = fopen(path, "rb");
    if (!c->file) fail(path, "cannot be read");
}

/* A line at `used` of the chunk's bytes; its size with the NUL, 0 at the
 * end. */
static size_t line_read(corpus *c, size_t used) {
    size_t size = 0;
    for (;;) {
        if (used + size + (1 << 16) > c->bytes_room) {
            c->bytes_room = 2 * c->bytes_room + (1 << 20);
            c->bytes_read = realloc(c->bytes_read, c->bytes_room);
            if (!c->bytes_read) fail("memory", "none left");
        }
        char *at = c->bytes_read + used;
        if (!fgets(at + size, 1 << 16, c->file)) break;
        size += strlen(at + size);
        if (at[size - 1] == '\n') break;
    }
    return size ? size + 1 : 0;
}

static void line_cut(corpus *c, char *line, cut *row) {
    const char *at[FIELDS_MAX];
    /* Cutting changes the line: look for all values before. */
    for (uint32_t i = 0; i < c->width; i++)
        at[i] = value_find(line, c->columns[i].from);
    for (uint32_t i = 0; i < c->width; i++) {
        row[i] = (cut){"", 0, 0};
        if (at[i]) value_cut(&c->columns[i], at[i], &row[i]);
        c->bytes += row[i].size ? row[i].size : 8;
    }
}

/* The next documents, at most so many; returns their number. */
BENCH_UNUSED static size_t corpus_next(corpus *c, size_t most) {
    size_t used = 0, size, at = 0;
    for (c->count = 0; c->count < most && (size = line_read(c, used));
         c->count++)
        used += size;
    if (c->count > c->room) {
        c->room = c->count;
        free(c->cuts);
        c->cuts = take(c->room * c->width * sizeof *c->cuts);
    }
    for (size_t n = 0; n < c->count; n++) {
        char *line = c->bytes_read + at;
        at += strlen(line) + 1;
        line_cut(c, line, c->cuts + n * c->width);
    }
    return c->count;
}

BENCH_UNUSED static void corpus_close(corpus *c) {
    fclose(c->file);
    free(c->bytes_read);
    free(c->cuts);
}

/* ---- documents ---- */

BENCH_UNUSED static grebe_schema *schema_make(const corpus *c) {
    grebe_schema *schema;
    grebe_error err;
    grebe_schema_new(&schema, NULL);
    for (uint32_t i = 0; i < c->width; i++)
        if (grebe_schema_add(schema, &c->columns[i].field, &err))
            fail("schema", err.message);
    return schema;
}

BENCH_UNUSED static void document_fill(const corpus *c, size_t n,
                                       grebe_document *d) {
    const cut *row = c->cuts + n * c->width;
    grebe_document_clear(d);
    for (uint32_t i = 0; i < c->width; i++) {
        switch (c->columns[i].field.kind) {
        case GREBE_DOUBLE:
            grebe_document_add_double(d, i, row[i].number, NULL);
            break;
        case GREBE_INT:
            grebe_document_add_int(d, i, (int64_t)row[i].number, NULL);
            break;
        case GREBE_DATETIME:
            grebe_document_add_datetime(d, i, (int64_t)row[i].number, NULL);
            break;
        default:
            grebe_document_add_text(d, i, row[i].text, row[i].size, NULL);
        }
    }
}

/* Megabytes of the files in a folder. */
BENCH_UNUSED static double folder_mb(const char *folder) {
    DIR *dir = opendir(folder);
    double bytes = 0;
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char path[4400];
        struct stat s;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (!stat(path, &s) && S_ISREG(s.st_mode)) bytes += (double)s.st_size;
    }
    if (dir) closedir(dir);
    return bytes / 1e6;
}

/* Removes the files in a folder, if there is one. */
BENCH_UNUSED static void folder_empty(const char *folder) {
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char path[4400];
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (e->d_name[0] != '.') unlink(path);
    }
    if (dir) closedir(dir);
}

/* A line of /proc/self/status: RssAnon is what no file backs. */
BENCH_UNUSED static long memory_kib(const char *kind) {
    char line[200], form[40];
    long kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    snprintf(form, sizeof form, "%s: %%ld", kind);
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, form, &kib) == 1) break;
    if (f) fclose(f);
    return kib;
}

#endif
