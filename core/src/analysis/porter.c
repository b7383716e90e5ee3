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

typedef struct word {
    char *bytes;
    uint32_t size; /* of the whole */
    uint32_t stem; /* of what stands before the suffix found last */
} word;

typedef struct rule {
    const char *suffix;
    const char *to;
} rule;

/* y is a vowel behind a consonant: y-y-y alternates, hence the count. */
static bool is_consonant(const word *w, uint32_t i) {
    switch (w->bytes[i]) {
    case 'a':
    case 'e':
    case 'i':
    case 'o':
    case 'u':
        return false;
    case 'y':
        break;
    default:
        return true;
    }
    uint32_t first = i;
    while (first > 0 && w->bytes[first - 1] == 'y') first--;
    bool consonant = first == 0 || !is_consonant(w, first - 1);
    return (i - first) % 2 == 0 ? consonant : !consonant;
}

/* The measure m of the first `size` bytes, [C](VC){m}[V]; no more than
 * `enough` is counted. */
static uint32_t measure(const word *w, uint32_t size, uint32_t enough) {
    uint32_t m = 0;
    bool was_vowel = false, consonant = false;
    for (uint32_t i = 0; i < size && m < enough; i++) {
        consonant =
            w->bytes[i] == 'y' ? i == 0 || !consonant : is_consonant(w, i);
        m += was_vowel && consonant;
        was_vowel = !consonant;
    }
    return m;
}

static bool has_vowel(const word *w, uint32_t size) {
    for (uint32_t i = 0; i < size; i++)
        if (!is_consonant(w, i)) return true;
    return false;
}

/* Ends in two equal consonants; bytes of longer characters are not taken for
 * a character. */
static bool ends_double(const word *w) {
    uint32_t n = w->size;
    return n >= 2 && w->bytes[n - 1] == w->bytes[n - 2] &&
           (w->bytes[n - 1] & 0x80) == 0 && is_consonant(w, n - 1);
}

/* The first `size` bytes end consonant, vowel, consonant, the last none of
 * w, x, y: "hop", not "snow". */
static bool ends_short(const word *w, uint32_t size) {
    if (size < 3) return false;
    char last = w->bytes[size - 1];
    return is_consonant(w, size - 1) && !is_consonant(w, size - 2) &&
           is_consonant(w, size - 3) && last != 'w' && last != 'x' &&
           last != 'y';
}

static bool ends_with(word *w, const char *suffix) {
    uint32_t size = (uint32_t)strlen(suffix);
    if (size > w->size || memcmp(w->bytes + w->size - size, suffix, size) != 0)
        return false;
    w->stem = w->size - size;
    return true;
}

static void suffix_set(word *w, const char *to) {
    uint32_t size = (uint32_t)strlen(to);
    memcpy(w->bytes + w->stem, to, size);
    w->size = w->stem + size;
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
        if (measure(w, w->stem, 1) > 0) w->size--;
        return;
    }
    if (!(ends_with(w, "ed") || ends_with(w, "ing")) || !has_vowel(w, w->stem))
        return;
    w->size = w->stem;
    if (ends_with(w, "at") || ends_with(w, "bl") || ends_with(w, "iz")) {
        w->bytes[w->size++] = 'e';
    } else if (ends_double(w)) {
        char last = w->bytes[w->size - 1];
        if (last != 'l' && last != 's' && last != 'z') w->size--;
    } else if (measure(w, w->size, 2) == 1 && ends_short(w, w->size)) {
        w->bytes[w->size++] = 'e';
    }
}

static void step_1c(word *w) {
    if (ends_with(w, "y") && has_vowel(w, w->stem))
        w->bytes[w->size - 1] = 'i';
}

/* The first rule whose suffix fits is the only one tried. */
static void rules_apply(word *w, const rule *rules, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!ends_with(w, rules[i].suffix)) continue;
        if (measure(w, w->stem, 1) > 0) suffix_set(w, rules[i].to);
        return;
    }
}

/* The lists of a step are kept apart by the last letter but one (step 2) or
 * the last (step 3), so that most words compare with few suffixes. */
#define RULES_APPLY(w, ...)                        \
    do {                                           \
        static const rule rules[] = {__VA_ARGS__}; \
        rules_apply(w, rules, GRB_COUNT(rules));   \
    } while (0)

/* Double suffixes to single ones. */
static void step_2(word *w) {
    if (w->size < 2) return;
    switch (w->bytes[w->size - 2]) {
    case 'a':
        RULES_APPLY(w, {"ational", "ate"}, {"tional", "tion"});
        break;
    case 'c':
        RULES_APPLY(w, {"enci", "ence"}, {"anci", "ance"});
        break;
    case 'e':
        RULES_APPLY(w, {"izer", "ize"});
        break;
    case 'l':
        RULES_APPLY(w, {"bli", "ble"}, {"alli", "al"}, {"entli", "ent"},
                    {"eli", "e"}, {"ousli", "ous"});
        break;
    case 'o':
        RULES_APPLY(w, {"ization", "ize"}, {"ation", "ate"}, {"ator", "ate"});
        break;
    case 's':
        RULES_APPLY(w, {"alism", "al"}, {"iveness", "ive"}, {"fulness", "ful"},
                    {"ousness", "ous"});
        break;
    case 't':
        RULES_APPLY(w, {"aliti", "al"}, {"iviti", "ive"}, {"biliti", "ble"});
        break;
    case 'g':
        RULES_APPLY(w, {"logi", "log"});
        break;
    default:
        break;
    }
}

/* -ic-, -full, -ness and the like. */
static void step_3(word *w) {
    switch (w->bytes[w->size - 1]) {
    case 'e':
        RULES_APPLY(w, {"icate", "ic"}, {"ative", ""}, {"alize", "al"});
        break;
    case 'i':
        RULES_APPLY(w, {"iciti", "ic"});
        break;
    case 'l':
        RULES_APPLY(w, {"ical", "ic"}, {"ful", ""});
        break;
    case 's':
        RULES_APPLY(w, {"ness", ""});
        break;
    default:
        break;
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
    if (w->size >= 2 && suffix_find(w) && measure(w, w->stem, 2) > 1)
        w->size = w->stem;
}

/* A final -e, and -ll to -l. */
static void step_5(word *w) {
    if (w->bytes[w->size - 1] == 'e') {
        uint32_t m = measure(w, w->size - 1, 2);
        if (m > 1 || (m == 1 && !ends_short(w, w->size - 1))) w->size--;
    }
    if (w->bytes[w->size - 1] == 'l' && ends_double(w) &&
        measure(w, w->size, 2) > 1)
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
    word w = {bytes, size, 0};
    step_1ab(&w);
    step_1c(&w);
    if (w.size < 2) return w.size;
    step_2(&w);
    step_3(&w);
    step_4(&w);
    step_5(&w);
    return w.size;
}
