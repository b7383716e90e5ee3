/* analysis/porter.c - Porter's stemmer for English.
 *
 * M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980, with
 * the two rules of step 2 that the author's later program and Lucene have:
 * "bli" -> "ble" in place of "abli" -> "able", and "logi" -> "log". Words of
 * one or two characters stay as they are. A word is worked on in place: no
 * rule makes it longer.
 *
 * Invariant: only whole ASCII suffixes are touched, so UTF-8 stays valid; all
 *   other bytes count as consonants.
 * Threads: any.
 * Owns: nothing.
 */
#include "analysis/pipeline.h"

/* Which bytes are consonants is asked all the time: a bit each, made once and
 * kept up. Of longer words the last 64 bytes have bits, for no rule reaches
 * further back; of the rest it is known how it counts. */
#define BITS 64u

typedef struct word {
    char *bytes;
    uint32_t size; /* of the whole */
    uint32_t stem; /* of what stands before the suffix found last */
    uint32_t head; /* bytes without bits */
    uint32_t head_measure;
    bool head_vowel;
    uint64_t consonants;
} word;

static const bool vowel_of[256] = {
    ['a'] = true, ['e'] = true, ['i'] = true, ['o'] = true, ['u'] = true};

/* A y is a consonant at the beginning and behind a vowel. */
static void consonants_find(word *w) {
    bool consonant = false, before;
    for (uint32_t i = 0; i < w->size; i++) {
        uint8_t byte = (uint8_t)w->bytes[i];
        before = consonant;
        consonant = byte == 'y' ? !before : !vowel_of[byte];
        if (i >= w->head)
            w->consonants |= (uint64_t)consonant << (i - w->head);
        if (GRB_UNLIKELY(w->head)) {
            if (i < w->head) w->head_vowel |= !consonant;
            if (i > 0 && i <= w->head) w->head_measure += consonant && !before;
        }
    }
}

static inline uint64_t bits_below(const word *w, uint32_t size) {
    uint32_t n = size - w->head;
    return n >= BITS ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

static inline bool is_consonant(const word *w, uint32_t i) {
    return w->consonants >> (i - w->head) & 1;
}

/* The measure m of the first `size` bytes, [C](VC){m}[V], 2 standing for
 * more as well: no rule asks further. */
static inline uint32_t measure(const word *w, uint32_t size) {
    uint64_t below = bits_below(w, size);
    uint64_t ends = w->consonants & (~w->consonants << 1) & below;
    ends &= ~UINT64_C(1); /* nothing stands before the first */
    uint32_t m = w->head_measure + (ends != 0) + ((ends & (ends - 1)) != 0);
    return GRB_MIN(m, 2);
}

static inline bool has_vowel(const word *w, uint32_t size) {
    return w->head_vowel || (~w->consonants & bits_below(w, size));
}

/* Ends in two equal consonants; bytes of longer characters are not taken for
 * a character. */
static inline bool ends_double(const word *w) {
    uint32_t n = w->size;
    return n >= 2 && w->bytes[n - 1] == w->bytes[n - 2] &&
           (w->bytes[n - 1] & 0x80) == 0 && is_consonant(w, n - 1);
}

/* The first `size` bytes end consonant, vowel, consonant, the last none of
 * w, x, y: "hop", not "snow". */
static inline bool ends_short(const word *w, uint32_t size) {
    if (size < 3) return false;
    char last = w->bytes[size - 1];
    return (w->consonants >> (size - 3 - w->head) & 7) == 5 && last != 'w' &&
           last != 'x' && last != 'y';
}

static inline bool ends_with(word *w, const char *suffix) {
    uint32_t size = (uint32_t)strlen(suffix);
    if (size > w->size || memcmp(w->bytes + w->size - size, suffix, size) != 0)
        return false;
    w->stem = w->size - size;
    return true;
}

/* No suffix has a y. */
static inline void suffix_set(word *w, const char *to) {
    uint32_t size = (uint32_t)strlen(to);
    for (uint32_t i = 0; i < size; i++) {
        uint64_t bit = UINT64_C(1) << (w->stem + i - w->head);
        w->bytes[w->stem + i] = to[i];
        w->consonants &= ~bit;
        if (!vowel_of[(uint8_t)to[i]]) w->consonants |= bit;
    }
    w->size = w->stem + size;
}

static inline void suffix_add(word *w, const char *more) {
    w->stem = w->size;
    suffix_set(w, more);
}

/* True if the suffix is there, whether the measure lets it go or not: the
 * first rule that fits is the only one tried. */
static inline bool replaces(word *w, const char *suffix, const char *to) {
    if (!ends_with(w, suffix)) return false;
    if (measure(w, w->stem) > 0) suffix_set(w, to);
    return true;
}

/* Plurals, -ed and -ing. */
static void step_1ab(word *w) {
    if (w->bytes[w->size - 1] == 's') {
        if (ends_with(w, "sses"))
            w->size -= 2;
        else if (ends_with(w, "ies"))
            suffix_set(w, "i");
        else if (w->bytes[w->size - 2] != 's')
            w->size--;
    }
    if (ends_with(w, "eed")) {
        if (measure(w, w->stem) > 0) w->size--;
        return;
    }
    if (!(ends_with(w, "ed") || ends_with(w, "ing")) || !has_vowel(w, w->stem))
        return;
    w->size = w->stem;
    if (ends_with(w, "at") || ends_with(w, "bl") || ends_with(w, "iz")) {
        suffix_add(w, "e");
    } else if (ends_double(w)) {
        char last = w->bytes[w->size - 1];
        if (last != 'l' && last != 's' && last != 'z') w->size--;
    } else if (measure(w, w->size) == 1 && ends_short(w, w->size)) {
        suffix_add(w, "e");
    }
}

static void step_1c(word *w) {
    if (ends_with(w, "y") && has_vowel(w, w->stem)) suffix_set(w, "i");
}

/* Double suffixes to single ones. The suffixes of a step are kept apart by the
 * last letter but one (step 2) or the last (step 3), so that a word is
 * compared with few. */
static bool step_2(word *w) {
    if (w->size < 2) return false;
    switch (w->bytes[w->size - 2]) {
    case 'a':
        return replaces(w, "ational", "ate") || replaces(w, "tional", "tion");
    case 'c':
        return replaces(w, "enci", "ence") || replaces(w, "anci", "ance");
    case 'e':
        return replaces(w, "izer", "ize");
    case 'g':
        return replaces(w, "logi", "log");
    case 'l':
        return replaces(w, "bli", "ble") || replaces(w, "alli", "al") ||
               replaces(w, "entli", "ent") || replaces(w, "eli", "e") ||
               replaces(w, "ousli", "ous");
    case 'o':
        return replaces(w, "ization", "ize") || replaces(w, "ation", "ate") ||
               replaces(w, "ator", "ate");
    case 's':
        return replaces(w, "alism", "al") || replaces(w, "iveness", "ive") ||
               replaces(w, "fulness", "ful") || replaces(w, "ousness", "ous");
    case 't':
        return replaces(w, "aliti", "al") || replaces(w, "iviti", "ive") ||
               replaces(w, "biliti", "ble");
    default:
        return false;
    }
}

/* -ic-, -full, -ness and the like. */
static bool step_3(word *w) {
    switch (w->bytes[w->size - 1]) {
    case 'e':
        return replaces(w, "icate", "ic") || replaces(w, "ative", "") ||
               replaces(w, "alize", "al");
    case 'i':
        return replaces(w, "iciti", "ic");
    case 'l':
        return replaces(w, "ical", "ic") || replaces(w, "ful", "");
    case 's':
        return replaces(w, "ness", "");
    default:
        return false;
    }
}

/* Finds the suffix that step 4 takes off. */
static bool suffix_find(word *w) {
    switch (w->bytes[w->size - 2]) {
    case 'a':
        return ends_with(w, "al");
    case 'c':
        return ends_with(w, "ance") || ends_with(w, "ence");
    case 'e':
        return ends_with(w, "er");
    case 'i':
        return ends_with(w, "ic");
    case 'l':
        return ends_with(w, "able") || ends_with(w, "ible");
    case 'n':
        return ends_with(w, "ant") || ends_with(w, "ement") ||
               ends_with(w, "ment") || ends_with(w, "ent");
    case 'o':
        if (ends_with(w, "ion"))
            return w->stem > 0 && (w->bytes[w->stem - 1] == 's' ||
                                   w->bytes[w->stem - 1] == 't');
        return ends_with(w, "ou");
    case 's':
        return ends_with(w, "ism");
    case 't':
        return ends_with(w, "ate") || ends_with(w, "iti");
    case 'u':
        return ends_with(w, "ous");
    case 'v':
        return ends_with(w, "ive");
    case 'z':
        return ends_with(w, "ize");
    default:
        return false;
    }
}

static void step_4(word *w) {
    if (w->size >= 2 && suffix_find(w) && measure(w, w->stem) > 1)
        w->size = w->stem;
}

/* A final -e, and -ll to -l. */
static void step_5(word *w) {
    if (w->bytes[w->size - 1] == 'e') {
        uint32_t m = measure(w, w->size - 1);
        if (m > 1 || (m == 1 && !ends_short(w, w->size - 1))) w->size--;
    }
    if (w->bytes[w->size - 1] == 'l' && ends_double(w) &&
        measure(w, w->size) > 1)
        w->size--;
}

/* Fewer than three UTF-16 units, as Lucene counts characters. */
static bool is_short(const char *bytes, uint32_t size) {
    uint32_t units = 0;
    if (size > 8) return false;
    for (uint32_t i = 0; i < size; i++) {
        units += ((unsigned char)bytes[i] & 0xC0) != 0x80;
        units += (unsigned char)bytes[i] >= 0xF0;
    }
    return units < 3;
}

uint32_t grb_porter_stem(char *bytes, uint32_t size) {
    if (is_short(bytes, size)) return size;
    word w = {
        .bytes = bytes, .size = size, .head = size > BITS ? size - BITS : 0};
    consonants_find(&w);
    step_1ab(&w);
    step_1c(&w);
    (void)(step_2(&w), step_3(&w));
    step_4(&w);
    step_5(&w);
    return w.size;
}
