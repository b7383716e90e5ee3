/* tests/vectors/run.c - runs the behaviour vectors through the C interface.
 *
 * usage: vectors_run FOLDER [ID]. Every line of FOLDER/NAME.jsonl runs once a
 * layout; a difference is printed with the vector, the layout and the step.
 * README.md has the verbs.
 */
#define _XOPEN_SOURCE 700
#include <dirent.h>
#include <ftw.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runner.h"

static const layout layouts[] = {
    {"memory, soft, one", false, GREBE_SOFT, SPREAD_ONE},
    {"memory, soft, many", false, GREBE_SOFT, SPREAD_MANY},
    {"memory, soft, merged", false, GREBE_SOFT, SPREAD_MERGED},
    {"memory, soft, ordered", false, GREBE_SOFT, SPREAD_ORDERED},
    {"memory, hard, one", false, GREBE_HARD, SPREAD_ONE},
    {"memory, hard, many", false, GREBE_HARD, SPREAD_MANY},
    {"memory, hard, merged", false, GREBE_HARD, SPREAD_MERGED},
    {"memory, hard, ordered", false, GREBE_HARD, SPREAD_ORDERED},
    {"folder, soft, one", true, GREBE_SOFT, SPREAD_ONE},
    {"folder, soft, many", true, GREBE_SOFT, SPREAD_MANY},
    {"folder, soft, merged", true, GREBE_SOFT, SPREAD_MERGED},
    {"folder, soft, ordered", true, GREBE_SOFT, SPREAD_ORDERED},
    {"folder, hard, one", true, GREBE_HARD, SPREAD_ONE},
    {"folder, hard, many", true, GREBE_HARD, SPREAD_MANY},
    {"folder, hard, merged", true, GREBE_HARD, SPREAD_MERGED},
    {"folder, hard, ordered", true, GREBE_HARD, SPREAD_ORDERED},
};
#define LAYOUT_COUNT (sizeof layouts / sizeof *layouts)
#define FEATURES_MAX 64

typedef struct tally {
    char names[FEATURES_MAX][48];
    size_t vectors[FEATURES_MAX], runs[FEATURES_MAX], skips[FEATURES_MAX];
    size_t count, failures, steps;
    json_t *ids; /* seen so far */
} tally;

/* ---- saying what differs ---- */

void vector_fail(world *w, const char *format, ...) {
    va_list list;
    char message[MESSAGE_SIZE];
    if (w->failed) return;
    w->failed = true;
    int size = snprintf(message, sizeof message, "step %zu: ", w->step);
    va_start(list, format);
    vsnprintf(message + size, sizeof message - (size_t)size, format, list);
    va_end(list);
    if (strcmp(message, w->said) != 0)
        fprintf(stderr, "FAILED %s [%s] %s\n", w->id, w->layout->name,
                message);
    else
        fprintf(stderr, "  and [%s]\n", w->layout->name);
    strcpy(w->said, message);
}

static bool same(const json_t *a, const json_t *b, double tolerance) {
    const char *name;
    json_t *member;
    size_t i;
    if (json_is_real(a) || (json_is_number(a) && json_is_real(b))) {
        double x = json_number_value(a), y = json_number_value(b);
        return json_is_number(b) && fabs(x - y) <= tolerance * fabs(x);
    }
    if (json_typeof(a) != json_typeof(b)) return false;
    if (json_is_object(a)) {
        if (json_object_size(a) != json_object_size(b)) return false;
        json_object_foreach((json_t *)a, name, member) {
            json_t *other = json_object_get(b, name);
            if (!other || !same(member, other, tolerance)) return false;
        }
        return true;
    }
    if (!json_is_array(a)) return json_equal(a, b);
    if (json_array_size(a) != json_array_size(b)) return false;
    json_array_foreach((json_t *)a, i, member) {
        if (!same(member, json_array_get(b, i), tolerance)) return false;
    }
    return true;
}

void vector_same(world *w, const char *what, const json_t *wanted, json_t *got,
                 double tolerance) {
    size_t flags = JSON_ENCODE_ANY | JSON_COMPACT;
    if (!wanted) {
        vector_fail(w, "the step does not say what %s is expected", what);
    } else if (!same(wanted, got, tolerance)) {
        char *left = json_dumps(wanted, flags),
             *right = json_dumps(got, flags);
        vector_fail(w, "%s: expected %.600s, got %.600s", what, left, right);
        free(left);
        free(right);
    }
    json_decref(got);
}

void vector_subset(world *w, const char *what, json_t *wanted, json_t *got) {
    const char *name;
    json_t *member;
    char label[128];
    json_object_foreach(wanted, name, member) {
        json_t *value = json_object_get(got, name);
        snprintf(label, sizeof label, "%s of %s", what, name);
        if (value)
            vector_same(w, label, member, json_incref(value), 0);
        else
            vector_fail(w, "%s is not there", label);
    }
    json_decref(got);
}

/* ---- things with names ---- */

named *thing_find(world *w, const char *name) {
    static named nothing;
    for (size_t i = 0; i < w->thing_count; i++)
        if (strcmp(w->things[i].name, name) == 0) return &w->things[i];
    vector_fail(w, "nothing is named \"%s\"", name);
    return &nothing;
}

named *thing_make(world *w, const char *name) {
    for (size_t i = 0; i < w->thing_count; i++)
        if (strcmp(w->things[i].name, name) == 0) return &w->things[i];
    if (w->thing_count == NAMES_MAX) {
        fprintf(stderr, "%s: more than %d names\n", w->id, NAMES_MAX);
        exit(2);
    }
    named *thing = &w->things[w->thing_count++];
    snprintf(thing->name, sizeof thing->name, "%s", name);
    return thing;
}

named *thing_of(world *w, json_t *step) {
    json_t *on = json_object_get(step, "on");
    return on ? thing_find(w, json_string_value(on)) : &w->things[0];
}

uint64_t index_dead(grebe_index *index) {
    grebe_index_stats stats;
    if (!index || grebe_index_stats_read(index, &stats, NULL)) return 0;
    return stats.docs_deleted;
}

/* ---- steps ---- */

static void error_compare(world *w, json_t *wanted, grebe_status status,
                          const grebe_error *err) {
    json_t *got = json_pack("{s:s,s:s,s:s}", "word", grebe_status_word(status),
                            "field", err->field, "key", err->key);
    json_t *rest = json_copy(wanted);
    const char *part = json_string_value(json_object_get(wanted, "message"));
    if (err->offset != GREBE_NO_OFFSET)
        json_object_set_new(got, "offset",
                            json_integer((json_int_t)err->offset));
    if (part && !strstr(err->message, part))
        vector_fail(w, "the message lacks \"%s\": %s", part, err->message);
    json_object_del(rest, "message");
    vector_subset(w, "error", rest, got);
    json_decref(rest);
}

static const verb *verb_find(json_t *step) {
    const char *name;
    json_t *member;
    json_object_foreach(step, name, member) {
        for (const verb *v = verbs_writing; v->name; v++)
            if (strcmp(v->name, name) == 0) return v;
        for (const verb *v = verbs_reading; v->name; v++)
            if (strcmp(v->name, name) == 0) return v;
        break; /* the verb is the first member */
    }
    return NULL;
}

static void step_run(world *w, json_t *step) {
    grebe_error err = {.offset = GREBE_NO_OFFSET};
    json_t *wanted = json_object_get(step, "error");
    const verb *v = verb_find(step);
    if (!v) {
        vector_fail(w, "the first member is no verb");
        return;
    }
    grebe_status status =
        v->run(w, step, json_object_get(step, v->name), &err);
    if (w->failed) return;
    if (wanted && status)
        error_compare(w, wanted, status, &err);
    else if (wanted)
        vector_fail(w, "%s: an error is expected", v->name);
    else if (status)
        vector_fail(w, "%s: %s: %s", v->name, grebe_status_word(status),
                    err.message);
}

void steps_run(world *w, json_t *steps) {
    json_t *step;
    size_t i;
    json_array_foreach(steps, i, step) {
        if (w->failed) return;
        w->step++;
        step_run(w, step);
    }
}

/* ---- vectors ---- */

static int path_remove(const char *path, const struct stat *st, int flag,
                       struct FTW *place) {
    return remove(path);
}

static void world_start(world *w, json_t *vector) {
    grebe_error err;
    json_t *wanted = json_object_get(vector, "error");
    w->things[0].name[0] = '\0';
    w->thing_count = 1;
    w->docs_max =
        (uint64_t)json_integer_value(json_object_get(vector, "docs_max"));
    grebe_status status = index_start(w, json_object_get(vector, "schema"),
                                      json_object_get(vector, "open"), &err);
    if (status && wanted)
        error_compare(w, wanted, status, &err);
    else if (status)
        vector_fail(w, "open: %s: %s", grebe_status_word(status), err.message);
    else if (wanted)
        vector_fail(w, "open: an error is expected");
}

/* Closes everything; a folder must stand a full check. */
static void world_end(world *w, uint64_t handles) {
    grebe_error err;
    grebe_index *main_index = w->things[0].index;
    if (main_index && !w->failed && grebe_index_close(main_index, 1, &err))
        vector_fail(w, "close: %s", err.message);
    for (size_t i = 0; i < w->thing_count; i++) {
        grebe_index_free(w->things[i].index);
        grebe_searcher_release(w->things[i].searcher);
        grebe_snapshot_free(w->things[i].snapshot);
    }
    if (w->layout->folder && main_index && !w->failed &&
        grebe_exists(w->path) && grebe_check(w->path, NULL, NULL, &err))
        vector_fail(w, "check: %s", err.message);
    if (grebe_live_handles() != handles)
        vector_fail(w, "%d handles are left",
                    (int)(grebe_live_handles() - handles));
    if (w->layout->folder) nftw(w->path, path_remove, 8, FTW_DEPTH | FTW_PHYS);
}

static bool listed(json_t *list, const char *word) {
    json_t *item;
    size_t i;
    if (!list) return true;
    json_array_foreach(list, i, item) {
        if (strcmp(json_string_value(item), word) == 0) return true;
    }
    return false;
}

static bool reopens(json_t *steps) {
    json_t *step;
    size_t i;
    json_array_foreach(steps, i, step) {
        if (json_object_get(step, "reopen")) return true;
    }
    return false;
}

static size_t feature_find(tally *t, const char *name) {
    for (size_t i = 0; i < t->count; i++)
        if (strcmp(t->names[i], name) == 0) return i;
    if (t->count == FEATURES_MAX) exit(2);
    snprintf(t->names[t->count], sizeof t->names[0], "%s", name);
    return t->count++;
}

static void vector_run(tally *t, json_t *vector, const char *folder) {
    char said[MESSAGE_SIZE] = "";
    json_t *reference = json_array(),
           *steps = json_object_get(vector, "steps");
    json_t *id = json_object_get(vector, "id");
    const char *feature =
        json_string_value(json_object_get(vector, "feature"));
    size_t place = feature_find(t, feature ? feature : "none");
    bool only_folder = reopens(steps);
    if (!json_is_string(id) ||
        json_object_get(t->ids, json_string_value(id))) {
        fprintf(stderr, "FAILED: a vector's id is missing or repeated: %s\n",
                json_string_value(id));
        t->failures++;
    }
    json_object_set_new(t->ids, json_string_value(id), json_true());
    if (!listed(json_object_get(vector, "in"), "c")) {
        t->skips[place]++;
        json_decref(reference);
        return;
    }
    t->vectors[place]++;
    for (size_t i = 0; i < LAYOUT_COUNT; i++) {
        world w = {.layout = &layouts[i],
                   .id = json_string_value(id),
                   .reference = reference,
                   .said = said};
        uint64_t handles = grebe_live_handles();
        if (only_folder && !layouts[i].folder) continue;
        snprintf(w.path, sizeof w.path, "%s/ix", folder);
        world_start(&w, vector);
        steps_run(&w, steps);
        world_end(&w, handles);
        t->runs[place]++;
        t->steps += w.step;
        t->failures += w.failed;
    }
    json_decref(reference);
}

static void file_run(tally *t, const char *path, const char *only,
                     const char *folder) {
    char *line = NULL;
    size_t room = 0, number = 0;
    FILE *file = fopen(path, "r");
    if (!file) {
        perror(path);
        exit(2);
    }
    while (getline(&line, &room, file) > 0) {
        json_error_t err;
        json_t *vector = json_loads(line, JSON_ALLOW_NUL, &err);
        number++;
        if (!vector) {
            fprintf(stderr, "FAILED %s:%zu: %s\n", path, number, err.text);
            t->failures++;
            continue;
        }
        vector = json_expand(vector);
        const char *id = json_string_value(json_object_get(vector, "id"));
        if (!only || (id && strcmp(id, only) == 0))
            vector_run(t, vector, folder);
        json_decref(vector);
    }
    free(line);
    fclose(file);
}

static int name_is_vectors(const struct dirent *entry) {
    const char *end = strrchr(entry->d_name, '.');
    return end && strcmp(end, ".jsonl") == 0;
}

static int tally_print(const tally *t, double seconds) {
    size_t vectors = 0, runs = 0;
    for (size_t i = 0; i < t->count; i++) {
        printf("%-16s %4zu vectors, %5zu runs", t->names[i], t->vectors[i],
               t->runs[i]);
        if (t->skips[i]) printf(", %zu not in C", t->skips[i]);
        printf("\n");
        vectors += t->vectors[i];
        runs += t->runs[i];
    }
    printf("C: %zu vectors, %zu runs in %zu layouts, %zu steps, %zu failures, "
           "%.1f s\n",
           vectors, runs, LAYOUT_COUNT, t->steps, t->failures, seconds);
    return t->failures != 0 || vectors == 0;
}

int main(int count, char **arguments) {
    static tally t;
    struct dirent **entries;
    struct timespec from, to;
    char folder[256], path[1024];
    const char *base = getenv("TMPDIR");
    if (!base) base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    if (count < 2) {
        fprintf(stderr, "usage: vectors_run FOLDER [ID]\n");
        return 2;
    }
    snprintf(folder, sizeof folder, "%s/grebe-vectors-XXXXXX", base);
    int found = scandir(arguments[1], &entries, name_is_vectors, alphasort);
    if (found < 0 || !mkdtemp(folder)) {
        perror(arguments[1]);
        return 2;
    }
    t.ids = json_object();
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < found; i++) {
        snprintf(path, sizeof path, "%s/%s", arguments[1], entries[i]->d_name);
        file_run(&t, path, count > 2 ? arguments[2] : NULL, folder);
        free(entries[i]);
    }
    free(entries);
    clock_gettime(CLOCK_MONOTONIC, &to);
    rmdir(folder);
    json_decref(t.ids);
    return tally_print(&t, (double)(to.tv_sec - from.tv_sec) +
                               (double)(to.tv_nsec - from.tv_nsec) / 1e9);
}
