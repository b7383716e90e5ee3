/* engine/check.c - does a folder hold an index, and is all of it well?
 *
 * Takes no lock: root and state are read, then every segment file byte by
 * byte, then the log is replayed into memory that is thrown away.
 * Threads: any. Owns: nothing.
 */
#include "engine/container.h"

#include <stdio.h>

bool grb_index_exists(const char *path) {
    grb_directory *d;
    bool exists = false;
    if (grb_directory_open_folder(&grb_allocator_malloc, path,
                                  GREBE_STORE_PREAD, false, &d,
                                  NULL) != GREBE_OK)
        return false;
    if (grb_durable_exists(d, &exists, NULL) != GREBE_OK) exists = false;
    grb_directory_close(d);
    return exists;
}

typedef struct report {
    grebe_line_visit visit;
    void *context;
} report;

static void line_number(const report *r, const char *name, uint64_t n) {
    char line[160];
    if (!r->visit || !n) return;
    snprintf(line, sizeof line, "  %-24s %12llu", name, (unsigned long long)n);
    r->visit(r->context, line);
}

static void census_report(const report *r, const char *name,
                          const grb_segfile_census *c, uint32_t dead) {
    char line[160];
    if (!r->visit) return;
    snprintf(line, sizeof line, "%s: %llu documents, %u of them dead", name,
             (unsigned long long)c->docs, dead);
    r->visit(r->context, line);
    line_number(r, "terms", c->terms);
    line_number(r, "terms inline", c->term_inline);
    line_number(r, "postings", c->postings);
    line_number(r, "positions", c->positions);
    line_number(r, "blocks run", c->block_run);
    line_number(r, "blocks bitmap", c->block_bitmap);
    line_number(r, "blocks FOR", c->block_for);
    line_number(r, "blocks tail", c->block_tail);
    line_number(r, "... with exceptions", c->block_patched);
    line_number(r, "impact pairs", c->impacts);
    line_number(r, "bytes of documents", c->bytes_docs);
    line_number(r, "bytes of frequencies", c->bytes_freqs);
    line_number(r, "bytes of impacts", c->bytes_impacts);
    line_number(r, "bytes of positions", c->bytes_positions);
    line_number(r, "key buckets", c->key_buckets);
    line_number(r, "key buckets overflowed", c->key_overflow);
    line_number(r, "column pages constant", c->column_constant);
    line_number(r, "column pages FOR", c->column_for);
    line_number(r, "column pages ascending", c->column_ascending);
    line_number(r, "column pages sparse", c->column_sparse);
    line_number(r, "column pages many", c->column_many);
    line_number(r, "column dictionaries", c->column_dictionary);
    line_number(r, "stored blocks", c->stored_blocks);
}

static grebe_status leaves_check(const grb_snapshot *s, const report *r,
                                 grebe_error *err) {
    for (uint32_t i = 0; i < grb_snapshot_leaf_count(s); i++) {
        grb_leaf leaf;
        grb_segfile_census census = {0};
        char name[32];
        grb_snapshot_leaf(s, i, &leaf);
        uint32_t dead =
            grb_view_dead_count(leaf.view, s->epoch, leaf.bounds.max_doc);
        if (!leaf.segment->file_number) {
            census.docs = leaf.bounds.max_doc;
            census_report(r, "log", &census, dead);
            continue;
        }
        grebe_status status = grb_segfile_check(leaf.segment, &census, err);
        if (status != GREBE_OK) return status;
        grb_segment_file_name(leaf.segment->file_number, name);
        census_report(r, name, &census, dead);
    }
    return GREBE_OK;
}

grebe_status grb_index_check(const char *path, grebe_line_visit visit,
                             void *context, grebe_error *err) {
    grebe_status status;
    report r = {.visit = visit, .context = context};
    grb_engine *engine = NULL;
    grb_snapshot *s = NULL;
    char line[160];
    grebe_open_options options = {.mode = GREBE_READ,
                                  .store = GREBE_STORE_PREAD,
                                  .verify = GREBE_VERIFY_OPEN};
    GRB_TRY(grb_engine_open(path, NULL, &options, NULL, &engine, err));
    s = grb_line_snapshot(engine->writer->line);
    if (visit) {
        snprintf(line, sizeof line,
                 "commit %llu, %llu documents, %u segments, %u fields",
                 (unsigned long long)s->number, (unsigned long long)s->live,
                 grb_snapshot_leaf_count(s), s->schema->field_count);
        visit(context, line);
    }
    GRB_TRY(leaves_check(s, &r, err));
done:
    grb_snapshot_release(s);
    grb_engine_release(engine);
    return status;
}
