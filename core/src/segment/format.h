/* segment/format.h - the constants of a segment file; docs/format.md explains
 * each byte. All integers are little endian; sections begin at multiples of
 * 64; offsets inside a section count from its first byte. */
#ifndef GRB_SEGMENT_FORMAT_H
#define GRB_SEGMENT_FORMAT_H

#include "base/base.h"

#define GRB_SEGMENT_MAGIC "GREBESEG"
#define GRB_SEGMENT_VERSION 1u
/* Bits of the incompatible flag word that this version understands. */
#define GRB_SEGMENT_INCOMPATIBLE 0u
/* Compatible feature bits: a reader that does not know one may ignore it. */
#define GRB_SEGMENT_ORDERS 1u
#define GRB_SEGMENT_HEADER 128u
#define GRB_SEGMENT_ENTRY 32u
#define GRB_SEGMENT_SECTIONS_MAX 64u
#define GRB_SEGMENT_PAGE 16384u

typedef enum grb_section_kind {
    GRB_SECTION_FIELDS = 1,   /* field table with totals */
    GRB_SECTION_POSTINGS,     /* term blocks, posting lists, positions */
    GRB_SECTION_TERM_INDEX,   /* prefixes and places of term blocks */
    GRB_SECTION_LENGTHS,      /* a byte a document and field */
    GRB_SECTION_COLUMNS,      /* column pages */
    GRB_SECTION_COLUMN_INDEX, /* an entry a column page */
    GRB_SECTION_STORED,       /* compressed blocks of records */
    GRB_SECTION_STORED_INDEX,
    GRB_SECTION_KEY_OFFSETS,
    GRB_SECTION_KEYS, /* key bytes by document */
    GRB_SECTION_KEY_BUCKETS,
    GRB_SECTION_KEY_PREV,  /* pairs {document, older one} */
    GRB_SECTION_CHECKSUMS, /* u32 a page of every other section */
    GRB_SECTION_END
} grb_section_kind;

/* Places in the header. */
enum {
    GRB_HEADER_VERSION = 8,
    GRB_HEADER_COMPATIBLE = 12,
    GRB_HEADER_READ_ONLY = 16,
    GRB_HEADER_INCOMPATIBLE = 20,
    GRB_HEADER_UUID = 24,
    GRB_HEADER_NUMBER = 40,
    GRB_HEADER_FILE_SIZE = 48,
    GRB_HEADER_MAX_DOC = 56,
    GRB_HEADER_TERM_COUNT = 60,
    GRB_HEADER_SEED = 64,
    GRB_HEADER_SEQUENCE = 72,
    GRB_HEADER_FLAGS = 80,
    GRB_HEADER_KEY_SIZE = 84,
    GRB_HEADER_KEY_BUCKETS = 88,
    GRB_HEADER_SECTIONS = 92,
    GRB_HEADER_CHECKSUM = 96
};
/* Flags of the header: sequence is base + document; keys have one size;
 * sequence does not rise with documents. */
enum {
    GRB_SEGMENT_CONTIGUOUS = 1,
    GRB_SEGMENT_KEYS_FIXED = 2,
    GRB_SEGMENT_SCATTERED = 4
};

/* Field table: entries of 80 bytes. */
#define GRB_FIELD_ENTRY 80u
#define GRB_FIELD_SEQUENCE UINT32_MAX /* the column of sequences */
enum {
    GRB_FIELD_LENGTHS = 1,
    GRB_FIELD_HAS_COLUMN = 2,
    GRB_FIELD_MANY = 4,
    GRB_FIELD_ORDERED = 8 /* a directory of orders follows its entries */
};

/* Terms: blocks of 32, padded to 16 bytes; index entries hold the place of a
 * block and its size in units of 16 bytes. */
#define GRB_TERM_BLOCK 32u
#define GRB_TERM_SIZE 32766u
#define GRB_TERM_FAR 15u /* of a nibble: a varint of what is above follows */
#define GRB_TERM_FANOUT 16u
#define GRB_TERM_SIZE_BITS 20
/* How the postings of a term are kept: the two low bits of its payload. */
enum {
    GRB_FORM_INLINE = 0, /* one document with tf 1, in the payload */
    GRB_FORM_NEAR = 1,   /* one block, in the payload */
    GRB_FORM_SINGLE = 2, /* one block, elsewhere in the section */
    GRB_FORM_GROUPS = 3  /* groups of up to 32 blocks */
};
#define GRB_NEAR_DF 8u /* at most so many documents near the terms */
#define GRB_NEAR_SIZE 255u

/* Group header: last doc, size of the blocks, size of positions, blocks. */
#define GRB_GROUP_HEADER 16u
#define GRB_GROUP_BLOCKS 32u

/* Column pages: entries of 56 bytes. */
#define GRB_COLUMN_ENTRY 56u
enum { GRB_PAGE_CONSTANT = 0, GRB_PAGE_FOR = 1, GRB_PAGE_ASCENDING = 2 };
enum { GRB_PAGE_ANY = 1, GRB_PAGE_ALL = 2, GRB_PAGE_MANY = 4 };

/* Orders: runs of 65,536 documents, every 64th value first. */
#define GRB_ORDER_RUN 65536u
#define GRB_ORDER_STEP 64u
#define GRB_ORDER_ENTRY 16u
#define GRB_ORDER_MIN 8192u /* values: fewer are compared one by one */
static inline uint32_t grb_order_samples(uint32_t count) {
    return (count + GRB_ORDER_STEP - 1) / GRB_ORDER_STEP;
}
static inline uint64_t grb_order_size(uint32_t count) {
    return (uint64_t)grb_order_samples(count) * 8 + (uint64_t)count * 2;
}
static inline uint32_t grb_order_runs(uint32_t max_doc) {
    return (uint32_t)(((uint64_t)max_doc + GRB_ORDER_RUN - 1) / GRB_ORDER_RUN);
}

/* Stored blocks. */
#define GRB_STORED_BLOCK 16384u
#define GRB_STORED_ENTRY 16u

/* Key buckets: ten 16-bit fingerprints, ten documents, count, overflow. */
#define GRB_BUCKET 64u
#define GRB_BUCKET_KEYS 10u
#define GRB_BUCKET_DOCS 20u
#define GRB_BUCKET_COUNT 60u
#define GRB_BUCKET_OVERFLOW 61u
/* Key offsets: u64 base, then 256 ends relative to it. */
#define GRB_KEY_OFFSET_BLOCK 256u
#define GRB_KEY_OFFSET_SIZE (8u + 4u * GRB_KEY_OFFSET_BLOCK)

static inline uint16_t grb_load16(const uint8_t *at) {
    uint16_t v;
    memcpy(&v, at, sizeof v);
    return v;
}
static inline uint32_t grb_load32(const uint8_t *at) {
    uint32_t v;
    memcpy(&v, at, sizeof v);
    return v;
}
static inline uint64_t grb_load64(const uint8_t *at) {
    uint64_t v;
    memcpy(&v, at, sizeof v);
    return v;
}
static inline void grb_store32(uint8_t *at, uint32_t v) {
    memcpy(at, &v, sizeof v);
}
static inline void grb_store64(uint8_t *at, uint64_t v) {
    memcpy(at, &v, sizeof v);
}

/* First 8 bytes of a term as a big-endian number, zeros behind a short one. */
static inline uint64_t grb_term_prefix(const void *bytes, size_t size) {
    uint8_t head[8] = {0};
    uint64_t v;
    if (size) memcpy(head, bytes, size < 8 ? size : 8);
    memcpy(&v, head, 8);
    return __builtin_bswap64(v);
}
/* Byte order of two strings. */
static inline int grb_bytes_order(const void *a, size_t a_size, const void *b,
                                  size_t b_size) {
    size_t shared = a_size < b_size ? a_size : b_size;
    int order = shared ? memcmp(a, b, shared) : 0;
    return order ? order : (a_size > b_size) - (a_size < b_size);
}
static inline uint32_t grb_key_bucket(uint64_t hash, uint32_t bucket_count) {
    return (uint32_t)((hash >> 32) * bucket_count >> 32);
}
static inline uint16_t grb_key_print(uint64_t hash) {
    return (uint16_t)hash;
}

#endif
