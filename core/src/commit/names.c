/* commit/names.c - names of the files of an index, and removing the unnamed.
 *
 * A file that the root does not name, directly or through its state, is left
 * over from a crash, a failure or an earlier checkpoint.
 *
 * Invariant: only names that are letter for letter what this file would make
 * are ours; "seg-007" or "seg-x" of somebody else is never touched.
 * Threads: the writer's.
 * Owns: nothing.
 */
#include <inttypes.h>
#include <stdio.h>

#include "commit/files.h"

static const struct {
    const char *prefix;
    grb_file_kind kind;
} prefixes[] = {
    {"seg-", GRB_FILE_SEGMENT},
    {"state-", GRB_FILE_STATE},
    {"log-", GRB_FILE_LOG},
};

void grb_segment_file_name(uint64_t file_number, char out[32]) {
    snprintf(out, 32, "seg-%" PRIu64, file_number);
}

void grb_state_file_name(uint64_t number, char out[32]) {
    snprintf(out, 32, "state-%" PRIu64, number);
}

void grb_log_file_name(uint64_t number, char out[32]) {
    snprintf(out, 32, "log-%" PRIu64, number);
}

static bool number_parse(const char *text, uint64_t *out) {
    uint64_t v = 0;
    if (*text < '1' || *text > '9') return false;
    for (; *text >= '0' && *text <= '9'; text++) {
        if (v > (UINT64_MAX - 9) / 10) return false;
        v = v * 10 + (uint64_t)(*text - '0');
    }
    *out = v;
    return *text == 0;
}

grb_file_kind grb_file_name_parse(const char *name, uint64_t *number) {
    *number = 0;
    if (strcmp(name, GRB_ROOT_NAME) == 0) return GRB_FILE_ROOT;
    if (strcmp(name, GRB_ROOT_NEW_NAME) == 0) return GRB_FILE_ROOT_NEW;
    for (size_t i = 0; i < GRB_COUNT(prefixes); i++) {
        size_t size = strlen(prefixes[i].prefix);
        if (strncmp(name, prefixes[i].prefix, size) == 0 &&
            number_parse(name + size, number))
            return prefixes[i].kind;
    }
    return GRB_FILE_OTHER;
}

static bool segment_kept(const grb_keep *keep, uint64_t number) {
    for (uint32_t i = 0; i < keep->state->segment_count; i++)
        if (keep->state->segments[i].file_number == number) return true;
    for (size_t i = 0; i < keep->pinned_count; i++)
        if (keep->pinned[i] == number) return true;
    return false;
}

static bool file_kept(const grb_keep *keep, grb_file_kind kind,
                      uint64_t number) {
    switch (kind) {
    case GRB_FILE_ROOT_NEW:
        return false;
    case GRB_FILE_STATE:
        return number == keep->state_number;
    case GRB_FILE_LOG:
        return number == keep->log_number;
    case GRB_FILE_SEGMENT:
        return segment_kept(keep, number);
    default:
        return true;
    }
}

typedef struct sweep {
    const grb_keep *keep;
    grb_buf *names;
    uint64_t number_max;
} sweep;

static void sweep_visit(void *context, const char *name) {
    sweep *s = context;
    uint64_t number;
    grb_file_kind kind = grb_file_name_parse(name, &number);
    s->number_max = GRB_MAX(s->number_max, number);
    if (!file_kept(s->keep, kind, number))
        grb_buf_put(s->names, name, strlen(name) + 1);
}

grebe_status grb_files_unnamed(grb_directory *d, const grb_keep *keep,
                               grb_buf *names, uint64_t *number_max,
                               grebe_error *err) {
    sweep s = {keep, names, 0};
    grebe_status status = d->ops->list(d, sweep_visit, &s, err);
    if (status == GREBE_OK && names->failed) status = grb_error_memory(err, 0);
    *number_max = s.number_max;
    return status;
}

void grb_files_remove(grb_directory *d, const grb_buf *names) {
    for (size_t at = 0; at < names->size;) {
        const char *name = (const char *)names->bytes + at;
        (void)d->ops->remove(d, name, NULL);
        at += strlen(name) + 1;
    }
}
