/* segment/segfile.h - immutable segments in one file each. */
#ifndef GRB_SEGFILE_H
#define GRB_SEGFILE_H

#include "segment/reader.h"
#include "store/store.h"

/* A segment to be copied into a new file. `live` (NULL: all) is a bitmap of
 * documents to keep; the others are dropped. */
typedef struct grb_source {
    grb_segment *segment;
    grb_bounds bounds;
    const uint64_t *live;
} grb_source;

typedef struct grb_segfile_options {
    const grebe_schema *schema;
    uint8_t uuid[16];
    uint64_t file_number;
    uint64_t hash_seed; /* of the key buckets; stored in the file */
    bool sync;          /* sync the file before returning */
    uint32_t **map;     /* for each source its documents' new ids, GRB_NO_DOC
                           where dropped; NULL: not wanted */
} grb_segfile_options;

typedef struct grb_segfile_written {
    uint32_t max_doc;
    uint64_t bytes;
} grb_segfile_written;

/* Writes `name` ("seg-N") from sources joined in their order: freeze (one or
 * several memory segments, all documents) and merge (dead ones dropped) are
 * both this. Streams section by section; never analyses, never decodes stored
 * records. On failure the file is removed. */
grebe_status grb_segfile_write(grb_directory *d, const char *name,
                               const grb_source *sources, size_t count,
                               const grb_segfile_options *options,
                               grb_segfile_written *written, grebe_error *err);

/* A source for grb_segfile_write, and for nothing else: `segment` (borrowed)
 * with its documents in another order; document i is order[i] (borrowed) of
 * it. Answers only what that asks for. (segment/reordered.c) */
grebe_status grb_reordered_new(const grebe_allocator *a, grb_segment *segment,
                               const grb_bounds *bounds, const uint32_t *order,
                               grb_segment **out, grebe_error *err);

/* Opens a segment: reads header and section table only. */
grebe_status grb_segfile_open(grb_directory *d, const char *name,
                              const uint8_t uuid[16], uint64_t file_number,
                              grebe_verify verify, grb_segment **out,
                              grebe_error *err);
/* What it shows: all of it. */
void grb_segfile_bounds(const grb_segment *segment, grb_bounds *out);

/* Gives pages of the file that were read back to the system, which still has
 * them; nothing for other kinds of segment. */
void grb_segfile_forget(grb_segment *segment);

/* Bytes of the file. */
uint64_t grb_segfile_size(const grb_segment *segment);

/* Blocks of each encoding and bytes of each kind, for check and tests.
 * `patched` are blocks of any encoding with exceptions in their documents. */
typedef struct grb_segfile_census {
    uint64_t block_run, block_bitmap, block_for, block_tail, term_inline;
    uint64_t block_patched;
    /* Of the section of terms and postings; the rest of it is term bytes,
     * places and heads of groups. */
    uint64_t bytes_docs, bytes_freqs, bytes_impacts, bytes_positions;
    uint64_t terms, postings, positions, docs;
    uint64_t key_buckets, key_overflow;
    uint64_t column_constant, column_for, column_ascending, column_sparse,
        column_many, column_dictionary;
    uint64_t stored_blocks, impacts;
} grb_segfile_census;

/* Reads every byte: page checksums, bounds, order of terms, documents,
 * positions, counts against totals, key buckets against keys. CORRUPT names
 * the first fault with file and offset. */
grebe_status grb_segfile_check(grb_segment *segment,
                               grb_segfile_census *census, grebe_error *err);

#endif
