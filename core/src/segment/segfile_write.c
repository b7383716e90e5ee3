/* segment/segfile_write.c - one segment file from one or several segments.
 *
 * Freeze and merge are the same: the documents of all sources in their order,
 * those that are dead left out. Each section reads the sources through
 * segment/reader.h once more and streams; what grows with the input is 4
 * bytes a document of sources with dead ones, key buckets, and the index of
 * term blocks - never postings, records or values.
 *
 * Invariant: on failure there is no file of that name. The same sources and
 * options give the same bytes.
 * Threads: one a call; sources are only read.
 * Owns: header, section table and field table (80 bytes a field: u32 field,
 *   u8 kind, u8 flags, u16 0, u32 terms, u32 term blocks, u32 column pages,
 *   u32 ordinals, u64 documents with the field, u64 sum of frequencies, u64
 *   places of index, lengths and column entries; zeros).
 */
#include "segment/write.h"

/* New ids of one source; `next` counts on. */
static void map_fill(const grb_source *source, uint32_t *map, uint32_t *next) {
    for (uint32_t doc = 0; doc < source->bounds.max_doc; doc++) {
        bool kept = !source->live || grb_bit(source->live, doc);
        map[doc] = kept ? (*next)++ : GRB_NO_DOC;
    }
}

static grebe_status maps_make(grb_segwriter *w, uint32_t **wanted) {
    size_t size = (w->count + 1) * sizeof(uint32_t *);
    uint32_t **map = grb_arena_zero(&w->map_arena, size);
    uint32_t *offset = grb_arena_zero(&w->map_arena, size);
    uint64_t total = 0;
    if (!map || !offset) return grb_error_memory(w->err, size);
    for (size_t s = 0; s < w->count; s++)
        total += w->sources[s].bounds.max_doc;
    if (total > GRB_SEGMENT_DOCS_MAX)
        return grb_error(w->err, GREBE_LIMIT,
                         "%llu documents in one segment, the limit is %u",
                         (unsigned long long)total, GRB_SEGMENT_DOCS_MAX);
    for (size_t s = 0; s < w->count; s++) {
        const grb_source *source = &w->sources[s];
        uint32_t max_doc = source->bounds.max_doc;
        offset[s] = w->max_doc;
        if (wanted) {
            map[s] = wanted[s];
        } else if (source->live) {
            map[s] = grb_arena_alloc(&w->map_arena,
                                     ((size_t)max_doc + 1) * sizeof **map);
            if (!map[s]) return grb_error_memory(w->err, max_doc);
        }
        if (map[s])
            map_fill(source, map[s], &w->max_doc);
        else
            w->max_doc += max_doc;
        w->dropped |= w->max_doc - offset[s] != max_doc;
    }
    w->map = map;
    w->offset = offset;
    return GREBE_OK;
}

static grebe_status fields_make(grb_segwriter *w) {
    w->field_count = w->schema->field_count + 1;
    size_t size = w->field_count * sizeof *w->fields;
    w->fields = grb_arena_zero(&w->map_arena, size);
    if (!w->fields) return grb_error_memory(w->err, size);
    for (uint32_t i = 0; i < w->schema->field_count; i++) {
        w->fields[i].id = i;
        w->fields[i].kind = (uint32_t)w->schema->fields[i].kind;
    }
    w->fields[w->schema->field_count].id = GRB_FIELD_SEQUENCE;
    w->fields[w->schema->field_count].kind = GREBE_INT;
    return GREBE_OK;
}

static bool field_used(const grb_written_field *f) {
    return f->flags || f->term_count || f->totals.doc_count;
}

static void fields_write(grb_segwriter *w) {
    grb_segout_begin(&w->out, GRB_SECTION_FIELDS);
    for (uint32_t i = 0; i < w->field_count; i++) {
        const grb_written_field *f = &w->fields[i];
        uint8_t entry[GRB_FIELD_ENTRY] = {0};
        if (!field_used(f)) continue;
        grb_store32(entry, f->id);
        entry[4] = (uint8_t)f->kind;
        entry[5] = (uint8_t)f->flags;
        grb_store32(entry + 8, f->term_count);
        grb_store32(entry + 12, f->block_count);
        grb_store32(entry + 16, f->page_count);
        grb_store32(entry + 20, f->ord_count);
        grb_store64(entry + 24, f->totals.doc_count);
        grb_store64(entry + 32, f->totals.term_total);
        grb_store64(entry + 40, f->index_at);
        grb_store64(entry + 48, f->lengths_at);
        grb_store64(entry + 56, f->column_at);
        grb_segout_put(&w->out, entry, sizeof entry);
    }
    grb_segout_end(&w->out);
}

static void header_make(const grb_segwriter *w,
                        uint8_t header[GRB_SEGMENT_HEADER]) {
    memset(header, 0, GRB_SEGMENT_HEADER);
    memcpy(header, GRB_SEGMENT_MAGIC, 8);
    grb_store32(header + GRB_HEADER_VERSION, GRB_SEGMENT_VERSION);
    memcpy(header + GRB_HEADER_UUID, w->options->uuid, 16);
    grb_store64(header + GRB_HEADER_NUMBER, w->options->file_number);
    grb_store32(header + GRB_HEADER_COMPATIBLE, w->compatible);
    grb_store32(header + GRB_HEADER_MAX_DOC, w->max_doc);
    grb_store32(header + GRB_HEADER_TERM_COUNT, w->term_total);
    grb_store64(header + GRB_HEADER_SEED, w->options->hash_seed);
    grb_store64(header + GRB_HEADER_SEQUENCE, w->sequence_base);
    grb_store32(header + GRB_HEADER_FLAGS, w->flags);
    grb_store32(header + GRB_HEADER_KEY_SIZE, w->key_size);
    grb_store32(header + GRB_HEADER_KEY_BUCKETS, w->key_buckets);
}

grebe_status grb_segfile_write(grb_directory *d, const char *name,
                               const grb_source *sources, size_t count,
                               const grb_segfile_options *options,
                               grb_segfile_written *written,
                               grebe_error *err) {
    grebe_status status;
    uint8_t header[GRB_SEGMENT_HEADER];
    bool created = false;
    grb_segwriter w;
    memset(&w, 0, sizeof w);
    w.allocator = d->allocator;
    w.schema = options->schema;
    w.sources = sources;
    w.count = count;
    w.options = options;
    w.err = err;
    grb_arena_init(&w.arena, w.allocator, 0);
    grb_arena_init(&w.field_arena, w.allocator, 0);
    grb_arena_init(&w.map_arena, w.allocator, 0);
    GRB_TRY(maps_make(&w, options->map));
    GRB_TRY(fields_make(&w));
    GRB_TRY(grb_segout_open(&w.out, d, name, err));
    created = true;
    w.out.sources = sources;
    w.out.source_count = count;
    GRB_TRY(grb_write_lengths(&w));
    GRB_TRY(grb_write_terms(&w));
    GRB_TRY(grb_write_columns(&w));
    GRB_TRY(grb_write_stored(&w));
    GRB_TRY(grb_write_keys(&w));
    fields_write(&w);
    header_make(&w, header);
    GRB_TRY(grb_segout_finish(&w.out, header, options->sync, &written->bytes));
    written->max_doc = w.max_doc;
done:
    grb_segout_close(&w.out);
    if (status != GREBE_OK && created) (void)d->ops->remove(d, name, NULL);
    grb_arena_deinit(&w.arena);
    grb_arena_deinit(&w.field_arena);
    grb_arena_deinit(&w.map_arena);
    return status;
}
