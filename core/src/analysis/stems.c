/* analysis/stems.c - the stem filter, and remembering stems.
 *
 * A text is mostly words seen a moment ago. Short words go through a table
 * with one place a hash value; a word found there costs a fifth of the
 * stemmer's work. The table is made when a stream meets its first long text:
 * a query's few words are not worth clearing it.
 *
 * Invariant: a token becomes what the stemmer makes of it, remembered or not.
 * Threads: one a stream.
 * Owns: the stream's table.
 */
#include "analysis/pipeline.h"

#define STEMS_BITS 12
#define WORD_SIZE_MAX 15u /* the last of 16 bytes is the size */
#define COUNT_WORTH 64u   /* tokens of a text for which a table is made */

/* A word and what its bytes are after stemming, little endian, zeros behind;
 * a size in the top byte. An unused place has size 0. */
typedef struct stem_entry {
    uint64_t word[2];
    uint64_t stem[2];
} stem_entry;

struct grb_stems {
    stem_entry entries[1 << STEMS_BITS];
};

void grb_stems_free(grb_stems *stems, const grebe_allocator *a) {
    grb_free(a, stems, sizeof *stems);
}

/* Ones in the first `count` bytes. */
static inline uint64_t bytes_mask(uint32_t count) {
    if (count >= 8) return UINT64_MAX;
    return (UINT64_C(1) << count * 8) - 1;
}

/* Stems one short word with the table's help. The 16 bytes at the token are
 * read and written back as a whole, which the copy's padding allows. */
static uint32_t word_stem(grb_stems *stems, char *bytes, uint32_t size) {
    uint64_t low = grb_word_load(bytes), high = grb_word_load(bytes + 8);
    uint64_t low_mask = bytes_mask(size);
    uint64_t high_mask = size > 8 ? bytes_mask(size - 8) : 0;
    uint64_t word[2] = {low & low_mask,
                        (high & high_mask) | (uint64_t)size << 56};
    uint64_t hash = (word[0] ^ word[1] * UINT64_C(0x9E3779B97F4A7C15)) *
                    UINT64_C(0xD6E8FEB86659FD93);
    stem_entry *entry = &stems->entries[hash >> (64 - STEMS_BITS)];
    if (GRB_LIKELY(entry->word[0] == word[0] && entry->word[1] == word[1])) {
        uint64_t tail = entry->stem[1] & bytes_mask(7);
        /* Most stems are beginnings of their words: nothing to write. */
        if (entry->stem[0] != word[0] || tail != (high & high_mask)) {
            grb_word_store(bytes, (low & ~low_mask) | entry->stem[0]);
            grb_word_store(bytes + 8, (high & ~high_mask) | tail);
        }
        return (uint32_t)(entry->stem[1] >> 56);
    }
    uint32_t stem_size = grb_porter_stem(bytes, size);
    entry->word[0] = word[0];
    entry->word[1] = word[1];
    entry->stem[0] = grb_word_load(bytes) & low_mask;
    entry->stem[1] =
        (grb_word_load(bytes + 8) & high_mask) | (uint64_t)stem_size << 56;
    return stem_size;
}

static grebe_status porter_run(const grb_filter *filter, const grb_text *text,
                               grb_tokens *tokens, grebe_error *err) {
    (void)filter, (void)text, (void)err;
    /* Without memory for the table the stemmer does it alone. */
    if (!tokens->stems && tokens->count >= COUNT_WORTH)
        tokens->stems =
            grb_alloc_zero(tokens->allocator, sizeof *tokens->stems);
    grb_stems *stems = tokens->stems;
    for (uint32_t i = 0; i < tokens->count; i++) {
        grb_token *token = &tokens->items[i];
        char *bytes = (char *)(uintptr_t)token->bytes; /* the copy */
        token->size = stems && token->size <= WORD_SIZE_MAX
                          ? word_stem(stems, bytes, token->size)
                          : grb_porter_stem(bytes, token->size);
    }
    return GREBE_OK;
}

const grb_filter grb_filter_porter = {porter_run};
