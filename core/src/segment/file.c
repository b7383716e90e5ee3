/* segment/file.c - opening a segment file; every byte read goes through here.
 *
 * Open reads the header, the section table and the field table. Everything
 * else is reached through grb_segfile_view, which checks that the range lies
 * in its section and, at a page's first touch, the page's checksum.
 *
 * Invariant: no pointer into the file is handed out that was not checked.
 * Threads: any; the bits of verified pages are relaxed atomics: a page
 * verified twice is only work done twice.
 */
#include "segment/file.h"

static grebe_status corrupt_at(const grb_segfile *f, uint64_t at,
                               grebe_error *err, const char *what) {
    return grb_error_corrupt(err, f->region->name, at, "%s", what);
}

grebe_status grb_segfile_corrupt(const grb_segfile *f, uint32_t section,
                                 uint64_t at, grebe_error *err,
                                 const char *what) {
    return corrupt_at(f, f->sections[section].at + at, err, what);
}

/* ---- pages ---- */

static grebe_status page_verify(grb_segfile *f, const grb_section *section,
                                uint64_t page, grebe_error *err) {
    grebe_status status;
    grb_region *r = f->region;
    const uint8_t *bytes, *sum;
    const grb_section *sums = &f->sections[GRB_SECTION_CHECKSUMS];
    uint64_t at = section->at + page * GRB_SEGMENT_PAGE;
    uint64_t left = section->size - page * GRB_SEGMENT_PAGE;
    grb_arena arena;
    grb_arena_init(&arena, f->base.allocator, 0);
    GRB_TRY(r->ops->read(r, at, (size_t)GRB_MIN(left, GRB_SEGMENT_PAGE),
                         &arena, &bytes, err));
    GRB_TRY(r->ops->read(r, sums->at + (section->pages_at + page) * 4, 4,
                         &arena, &sum, err));
    uint64_t hash =
        grb_hash(bytes, (size_t)GRB_MIN(left, GRB_SEGMENT_PAGE), 0);
    if ((uint32_t)hash != grb_load32(sum)) {
        status = corrupt_at(f, at, err, "checksum of a page does not match");
        goto done;
    }
    uint64_t bit = section->pages_at + page;
    atomic_fetch_or_explicit(&f->verified[bit / 64], (uint64_t)1 << bit % 64,
                             memory_order_relaxed);
done:
    grb_arena_deinit(&arena);
    return status;
}

static grebe_status range_verify(grb_segfile *f, const grb_section *section,
                                 uint64_t at, uint64_t size,
                                 grebe_error *err) {
    grebe_status status = GREBE_OK;
    uint64_t page = at / GRB_SEGMENT_PAGE;
    uint64_t last = (at + size - 1) / GRB_SEGMENT_PAGE;
    for (; page <= last; page++) {
        uint64_t bit = section->pages_at + page;
        uint64_t word =
            atomic_load_explicit(&f->verified[bit / 64], memory_order_relaxed);
        if (GRB_UNLIKELY(!(word >> bit % 64 & 1)))
            GRB_TRY(page_verify(f, section, page, err));
    }
done:
    return status;
}

grebe_status grb_segfile_view(grb_segfile *f, uint32_t kind, uint64_t at,
                              uint64_t size, grb_arena *arena,
                              const uint8_t **out, grebe_error *err) {
    grebe_status status;
    const grb_section *section = &f->sections[kind];
    *out = grb_segfile_ready(f, kind, at, size);
    if (GRB_LIKELY(*out != NULL)) return GREBE_OK;
    if (GRB_UNLIKELY(at > section->size || size > section->size - at))
        return grb_segfile_corrupt(f, kind, at, err,
                                   "a range lies outside its section");
    if (size == 0) {
        *out = (const uint8_t *)"";
        return GREBE_OK;
    }
    if (f->verify != GREBE_VERIFY_NEVER)
        GRB_TRY(range_verify(f, section, at, size, err));
    if (f->region->bytes) {
        *out = f->region->bytes + section->at + at;
        return GREBE_OK;
    }
    status = f->region->ops->read(f->region, section->at + at, (size_t)size,
                                  arena, out, err);
done:
    return status;
}

grebe_status grb_segfile_verify(grb_segfile *f, grebe_error *err) {
    grebe_status status = GREBE_OK;
    for (uint32_t kind = 1; kind < GRB_SECTION_CHECKSUMS; kind++) {
        const grb_section *section = &f->sections[kind];
        for (uint64_t at = 0; at < section->size; at += GRB_SEGMENT_PAGE)
            GRB_TRY(page_verify(f, section, at / GRB_SEGMENT_PAGE, err));
    }
done:
    return status;
}

/* ---- open ---- */

static grebe_status header_check(grb_segfile *f, const uint8_t *h,
                                 const uint8_t uuid[16], uint64_t number,
                                 grebe_error *err) {
    uint32_t version = grb_load32(h + GRB_HEADER_VERSION);
    uint32_t flags = grb_load32(h + GRB_HEADER_INCOMPATIBLE);
    if (memcmp(h, GRB_SEGMENT_MAGIC, 8) != 0)
        return corrupt_at(f, 0, err, "this is not a segment file");
    if (version > GRB_SEGMENT_VERSION || (flags & ~GRB_SEGMENT_INCOMPATIBLE))
        return grb_error(err, GREBE_VERSION,
                         "%s has format %u with flags %x, this library reads "
                         "format %u with flags %x",
                         f->region->name, version, flags, GRB_SEGMENT_VERSION,
                         GRB_SEGMENT_INCOMPATIBLE);
    if (memcmp(h + GRB_HEADER_UUID, uuid, 16) != 0)
        return corrupt_at(f, GRB_HEADER_UUID, err,
                          "the file belongs to another index");
    if (grb_load64(h + GRB_HEADER_NUMBER) != number)
        return corrupt_at(f, GRB_HEADER_NUMBER, err,
                          "the file has another number");
    if (grb_load64(h + GRB_HEADER_FILE_SIZE) != f->region->size)
        return corrupt_at(f, GRB_HEADER_FILE_SIZE, err,
                          "the file has another size");
    f->max_doc = grb_load32(h + GRB_HEADER_MAX_DOC);
    f->term_count = grb_load32(h + GRB_HEADER_TERM_COUNT);
    f->seed = grb_load64(h + GRB_HEADER_SEED);
    f->sequence_base = grb_load64(h + GRB_HEADER_SEQUENCE);
    f->flags = grb_load32(h + GRB_HEADER_FLAGS);
    f->key_size = grb_load32(h + GRB_HEADER_KEY_SIZE);
    f->key_buckets = grb_load32(h + GRB_HEADER_KEY_BUCKETS);
    if (f->max_doc > GRB_SEGMENT_DOCS_MAX)
        return corrupt_at(f, GRB_HEADER_MAX_DOC, err, "too many documents");
    return GREBE_OK;
}

static bool section_sane(const grb_segfile *f, const grb_section *s) {
    return s->at <= f->region->size && s->size <= f->region->size - s->at &&
           s->at % 64 == 0;
}

/* Sections of kinds we do not know are passed over. */
static grebe_status sections_read(grb_segfile *f, const uint8_t *table,
                                  uint32_t count, grebe_error *err) {
    grb_section *sections = f->sections;
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *entry = table + (size_t)i * GRB_SEGMENT_ENTRY;
        uint32_t kind = grb_load32(entry);
        grb_section s = {grb_load64(entry + 8), grb_load64(entry + 16),
                         grb_load64(entry + 24)};
        if (kind == 0 || kind >= GRB_SECTION_END) continue;
        if (!section_sane(f, &s))
            return corrupt_at(f, GRB_SEGMENT_HEADER + i * GRB_SEGMENT_ENTRY,
                              err, "a section lies outside the file");
        sections[kind] = s;
    }
    f->page_total = sections[GRB_SECTION_CHECKSUMS].size / 4;
    for (uint32_t kind = 1; kind < GRB_SECTION_CHECKSUMS; kind++) {
        uint64_t pages =
            (sections[kind].size + GRB_SEGMENT_PAGE - 1) / GRB_SEGMENT_PAGE;
        if (sections[kind].pages_at > f->page_total ||
            pages > f->page_total - sections[kind].pages_at)
            return corrupt_at(f, GRB_SEGMENT_HEADER, err,
                              "pages without checksums");
    }
    size_t size = (size_t)(f->page_total / 64 + 1) * sizeof *f->verified;
    f->verified = grb_alloc_zero(f->base.allocator, size);
    return f->verified ? GREBE_OK : grb_error_memory(err, size);
}

static grebe_status head_read(grb_segfile *f, const uint8_t uuid[16],
                              uint64_t number, grb_arena *arena,
                              grebe_error *err) {
    grebe_status status;
    grb_region *r = f->region;
    const uint8_t *head;
    uint8_t copy[GRB_SEGMENT_HEADER +
                 GRB_SEGMENT_SECTIONS_MAX * GRB_SEGMENT_ENTRY];
    if (r->size < GRB_SEGMENT_HEADER)
        return corrupt_at(f, 0, err, "the file is too short");
    GRB_TRY(r->ops->read(r, 0, GRB_SEGMENT_HEADER, arena, &head, err));
    GRB_TRY(header_check(f, head, uuid, number, err));
    uint32_t count = grb_load32(head + GRB_HEADER_SECTIONS);
    uint64_t sum = grb_load64(head + GRB_HEADER_CHECKSUM);
    size_t size = GRB_SEGMENT_HEADER + (size_t)count * GRB_SEGMENT_ENTRY;
    if (count > GRB_SEGMENT_SECTIONS_MAX || size > r->size)
        return corrupt_at(f, GRB_HEADER_SECTIONS, err, "too many sections");
    GRB_TRY(r->ops->read(r, 0, size, arena, &head, err));
    memcpy(copy, head, size);
    grb_store64(copy + GRB_HEADER_CHECKSUM, 0);
    if (grb_hash(copy, size, 0) != sum)
        return corrupt_at(f, GRB_HEADER_CHECKSUM, err,
                          "checksum of the header does not match");
    status = sections_read(f, copy + GRB_SEGMENT_HEADER, count, err);
done:
    return status;
}

/* Places and counts against the sizes of the sections they lead into. */
static bool field_sane(const grb_segfile *f, const grb_segfield *field) {
    const grb_section *s = f->sections;
    uint64_t blocks = field->block_count, pages = field->page_count;
    uint64_t windows = ((uint64_t)f->max_doc + GRB_WINDOW - 1) / GRB_WINDOW;
    uint64_t index = blocks * 16;
    for (uint64_t n = blocks; n > GRB_TERM_FANOUT;) {
        n = (n + GRB_TERM_FANOUT - 1) / GRB_TERM_FANOUT;
        index += n * 8;
    }
    if (field->term_count > blocks * GRB_TERM_BLOCK ||
        (blocks && (blocks - 1) * GRB_TERM_BLOCK >= field->term_count) ||
        field->index_at > s[GRB_SECTION_TERM_INDEX].size ||
        index > s[GRB_SECTION_TERM_INDEX].size - field->index_at)
        return false;
    if ((field->flags & GRB_FIELD_LENGTHS) &&
        (field->lengths_at > s[GRB_SECTION_LENGTHS].size ||
         f->max_doc > s[GRB_SECTION_LENGTHS].size - field->lengths_at))
        return false;
    if (!(field->flags & GRB_FIELD_HAS_COLUMN)) return true;
    uint64_t orders =
        field->flags & GRB_FIELD_ORDERED
            ? (uint64_t)grb_order_runs(f->max_doc) * GRB_ORDER_ENTRY
            : 0;
    if (field->kind == GREBE_KEYWORD && field->ord_count != field->term_count)
        return false;
    return pages == windows &&
           field->column_at <= s[GRB_SECTION_COLUMN_INDEX].size &&
           pages * GRB_COLUMN_ENTRY + orders <=
               s[GRB_SECTION_COLUMN_INDEX].size - field->column_at;
}

static void field_parse(const uint8_t *entry, grb_segfield *field) {
    field->id = grb_load32(entry);
    field->kind = entry[4];
    field->flags = entry[5];
    field->term_count = grb_load32(entry + 8);
    field->block_count = grb_load32(entry + 12);
    field->page_count = grb_load32(entry + 16);
    field->ord_count = grb_load32(entry + 20);
    field->totals.doc_count = grb_load64(entry + 24);
    field->totals.term_total = grb_load64(entry + 32);
    field->index_at = grb_load64(entry + 40);
    field->lengths_at = grb_load64(entry + 48);
    field->column_at = grb_load64(entry + 56);
    atomic_init(&field->index, NULL);
}

static grebe_status fields_read(grb_segfile *f, grb_arena *arena,
                                grebe_error *err) {
    grebe_status status;
    const uint8_t *bytes;
    const grebe_allocator *a = f->base.allocator;
    uint64_t size = f->sections[GRB_SECTION_FIELDS].size;
    uint64_t count = size / GRB_FIELD_ENTRY;
    if (size % GRB_FIELD_ENTRY || count > GREBE_FIELD_COUNT_MAX + 1u)
        return grb_segfile_corrupt(f, GRB_SECTION_FIELDS, 0, err,
                                   "size of the field table");
    GRB_TRY(
        grb_segfile_view(f, GRB_SECTION_FIELDS, 0, size, arena, &bytes, err));
    f->fields = grb_alloc_zero(a, (size_t)(count + 1) * sizeof *f->fields);
    if (!f->fields) return grb_error_memory(err, (size_t)size);
    f->field_count = (uint32_t)count;
    for (uint32_t i = 0; i < count; i++) {
        grb_segfield *field = &f->fields[i];
        field_parse(bytes + (size_t)i * GRB_FIELD_ENTRY, field);
        bool last = field->id == GRB_FIELD_SEQUENCE;
        if ((!last && field->id >= GREBE_FIELD_COUNT_MAX) ||
            (i && field->id <= f->fields[i - 1].id) || !field_sane(f, field))
            return grb_segfile_corrupt(f, GRB_SECTION_FIELDS,
                                       (uint64_t)i * GRB_FIELD_ENTRY, err,
                                       "an entry of the field table");
        if (last)
            f->sequence = field;
        else
            f->by_id_count = field->id + 1;
    }
    size_t by_id = ((size_t)f->by_id_count + 1) * sizeof *f->by_id;
    f->by_id = grb_alloc_zero(a, by_id);
    if (!f->by_id) return grb_error_memory(err, by_id);
    for (uint32_t i = 0; i < count; i++)
        if (f->fields[i].id != GRB_FIELD_SEQUENCE)
            f->by_id[f->fields[i].id] = i + 1;
    if (!(f->flags & GRB_SEGMENT_CONTIGUOUS) && !f->sequence && f->max_doc)
        return corrupt_at(f, GRB_HEADER_FLAGS, err, "no sequence");
done:
    return status;
}

/* Sizes of what is reached by document. */
static bool docs_sane(const grb_segfile *f) {
    const grb_section *s = f->sections;
    uint64_t docs = f->max_doc;
    if (s[GRB_SECTION_STORED_INDEX].size % GRB_STORED_ENTRY ||
        s[GRB_SECTION_KEY_PREV].size % 8 ||
        s[GRB_SECTION_KEY_BUCKETS].size !=
            (uint64_t)f->key_buckets * GRB_BUCKET)
        return false;
    if (f->key_buckets == 0) return true;
    if (f->flags & GRB_SEGMENT_KEYS_FIXED)
        return s[GRB_SECTION_KEYS].size == docs * f->key_size;
    uint64_t blocks = (docs + GRB_KEY_OFFSET_BLOCK - 1) / GRB_KEY_OFFSET_BLOCK;
    return s[GRB_SECTION_KEY_OFFSETS].size == blocks * 8 + docs * 4;
}

grb_segfield *grb_segfile_field(const grb_segfile *f, uint32_t field) {
    if (field >= f->by_id_count || f->by_id[field] == 0) return NULL;
    return &f->fields[f->by_id[field] - 1];
}

/* ---- the segment ---- */

static void segfile_destroy(grb_segment *s) {
    grb_segfile *f = (grb_segfile *)s;
    const grebe_allocator *a = f->base.allocator;
    for (uint32_t i = 0; f->fields && i < f->field_count; i++) {
        const uint8_t *index = atomic_load(&f->fields[i].index);
        if (index && f->region && !f->region->bytes)
            grb_free(a, (void *)(uintptr_t)index,
                     (size_t)f->fields[i].block_count * 16);
    }
    for (uint32_t i = 0; i < GRB_STORED_CACHE; i++)
        if (f->cache[i].bytes)
            grb_free(a, f->cache[i].bytes,
                     (size_t)f->cache[i].size +
                         (size_t)f->cache[i].count * sizeof(uint32_t));
    if (f->fields)
        grb_free(a, f->fields,
                 ((size_t)f->field_count + 1) * sizeof *f->fields);
    if (f->by_id)
        grb_free(a, f->by_id, ((size_t)f->by_id_count + 1) * sizeof *f->by_id);
    if (f->verified)
        grb_free(a, f->verified,
                 (size_t)(f->page_total / 64 + 1) * sizeof *f->verified);
    if (f->region) f->region->ops->close(f->region);
    pthread_mutex_destroy(&f->cache_lock);
    grb_free(a, f, sizeof *f);
}

static void segfile_totals(const grb_segment *s, const grb_bounds *b,
                           uint32_t field, grb_field_totals *out) {
    const grb_segfield *f = grb_segfile_field((const grb_segfile *)s, field);
    memset(out, 0, sizeof *out);
    if (f) *out = f->totals;
}

static uint64_t segfile_memory(const grb_segment *s) {
    const grb_segfile *f = (const grb_segfile *)s;
    return sizeof *f + (uint64_t)f->field_count * sizeof *f->fields +
           (uint64_t)f->by_id_count * sizeof *f->by_id + f->page_total / 8;
}

static const grb_segment_ops segfile_ops = {
    .destroy = segfile_destroy,
    .totals = segfile_totals,
    .term_find = grb_segfile_term_find,
    .terms_open = grb_segfile_terms_open,
    .postings_open = grb_segfile_postings_open,
    .lengths = grb_segfile_lengths,
    .column_open = grb_segfile_column_open,
    .stored = grb_segfile_stored,
    .key_newest = grb_segfile_key_newest,
    .key_older = grb_segfile_key_older,
    .key_touch = grb_segfile_key_touch,
    .key_bytes = grb_segfile_key_bytes,
    .sequence = grb_segfile_sequence,
    .memory = segfile_memory,
};

/* Ids of file segments have the top bit set, those in memory have not. */
static uint64_t id_next(void) {
    static _Atomic uint64_t last;
    return (uint64_t)1 << 63 |
           (atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1);
}

grebe_status grb_segfile_open(grb_directory *d, const char *name,
                              const uint8_t uuid[16], uint64_t file_number,
                              grebe_verify verify, grb_segment **out,
                              grebe_error *err) {
    grebe_status status;
    grb_segfile *f = grb_alloc_zero(d->allocator, sizeof *f);
    grb_arena arena;
    *out = NULL;
    if (!f) return grb_error_memory(err, sizeof *f);
    grb_arena_init(&arena, d->allocator, 0);
    f->base.ops = &segfile_ops;
    f->base.allocator = d->allocator;
    atomic_init(&f->base.refs, 1);
    f->base.id = id_next();
    f->base.file_number = file_number;
    f->verify = verify;
    pthread_mutex_init(&f->cache_lock, NULL);
    GRB_TRY(d->ops->region_open(d, name, &f->region, err));
    GRB_TRY(head_read(f, uuid, file_number, &arena, err));
    GRB_TRY(fields_read(f, &arena, err));
    f->base.scattered = f->flags & GRB_SEGMENT_SCATTERED;
    if (!docs_sane(f)) {
        status = corrupt_at(f, GRB_SEGMENT_HEADER, err,
                            "sizes of sections do not fit the documents");
        goto done;
    }
    if (verify == GREBE_VERIFY_OPEN) GRB_TRY(grb_segfile_verify(f, err));
    *out = &f->base;
done:
    grb_arena_deinit(&arena);
    if (status != GREBE_OK) segfile_destroy(&f->base);
    return status;
}

void grb_segfile_bounds(const grb_segment *segment, grb_bounds *out) {
    const grb_segfile *f = (const grb_segfile *)segment;
    out->max_doc = f->max_doc;
    out->term_count = f->term_count;
    out->totals = NULL;
}

void grb_segfile_forget(grb_segment *segment) {
    if (segment->ops != &segfile_ops) return;
    grb_region *r = ((grb_segfile *)segment)->region;
    if (r->ops->forget) r->ops->forget(r);
}

uint64_t grb_segfile_size(const grb_segment *segment) {
    return ((const grb_segfile *)segment)->region->size;
}
