/* analysis/word_break.h - classes of code points, made from Unicode's data
 * by tools/make_word_break.py. */
#ifndef GRB_WORD_BREAK_H
#define GRB_WORD_BREAK_H

#include "base/base.h"

/* Word_Break values of UAX #29; the flag marks Extended_Pictographic. */
enum {
    GRB_WB_OTHER,
    GRB_WB_CR,
    GRB_WB_LF,
    GRB_WB_NEWLINE,
    GRB_WB_EXTEND,
    GRB_WB_FORMAT,
    GRB_WB_ZWJ,
    GRB_WB_REGIONAL_INDICATOR,
    GRB_WB_KATAKANA,
    GRB_WB_HEBREW_LETTER,
    GRB_WB_ALETTER,
    GRB_WB_SINGLE_QUOTE,
    GRB_WB_DOUBLE_QUOTE,
    GRB_WB_MIDNUMLET,
    GRB_WB_MIDLETTER,
    GRB_WB_MIDNUM,
    GRB_WB_NUMERIC,
    GRB_WB_EXTENDNUMLET,
    GRB_WB_WSEGSPACE,
    GRB_WB_PICTOGRAPHIC = 0x20
};

#define GRB_CLASS_COUNT 33
#define GRB_CLASS_BLOCKS 224
#define GRB_CLASS_STAGE (0x110000 / 128)
#define GRB_STATE_COUNT 39
#define GRB_STATE_DEAD 0
#define GRB_STATE_START 1

extern const uint8_t grb_class_break[GRB_CLASS_COUNT];
extern const uint8_t grb_class_block[GRB_CLASS_STAGE];
extern const uint8_t grb_class_of[GRB_CLASS_BLOCKS * 128];
extern const uint8_t grb_token_next[GRB_STATE_COUNT][GRB_CLASS_COUNT];
extern const uint8_t grb_token_accept[GRB_STATE_COUNT];

static inline uint8_t grb_class(uint32_t code_point) {
    uint32_t block = grb_class_block[code_point >> 7];
    return grb_class_of[block << 7 | (code_point & 127)];
}

#endif
