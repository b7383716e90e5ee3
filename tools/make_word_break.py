#!/usr/bin/env python3
"""Make core/src/analysis/word_break_table.c from the Unicode data files.

Every code point gets a class. Two machines read classes: the rules of UAX #29
(word_break.c) want the Word_Break value, and the tokenizer (standard.c) runs
an automaton built here from a grammar of tokens. Code points that neither can
tell apart share a class, so that one byte and two look-ups suffice.

Usage: tools/make_word_break.py [folder of the Unicode files] > table.c
The folder is /usr/share/unicode (Debian: unicode-data) by default.
"""
import sys
from collections import defaultdict
from pathlib import Path

CODE_POINTS = 0x110000
BLOCK = 128


def property_read(path, column=1):
    """{value: set of code points} of a file of ranges."""
    values = defaultdict(set)
    for line in path.read_text(encoding="utf-8").splitlines():
        parts = [part.strip() for part in line.split("#")[0].split(";")]
        if len(parts) <= column:
            continue
        first, _, last = parts[0].partition("..")
        values[parts[column]].update(
            range(int(first, 16), int(last or first, 16) + 1)
        )
    return values


# ---- a little algebra of automata: a fragment is (start, end) of an NFA ----


class Nfa:
    def __init__(self):
        self.arcs = []  # per state: [(frozenset of classes or None, state)]

    def state(self):
        self.arcs.append([])
        return len(self.arcs) - 1

    def one(self, classes):
        a, b = self.state(), self.state()
        self.arcs[a].append((frozenset(classes), b))
        return a, b

    def seq(self, *parts):
        for (_, end), (start, _) in zip(parts, parts[1:]):
            self.arcs[end].append((None, start))
        return parts[0][0], parts[-1][1]

    def alt(self, *parts):
        a, b = self.state(), self.state()
        for start, end in parts:
            self.arcs[a].append((None, start))
            self.arcs[end].append((None, b))
        return a, b

    def opt(self, part):
        a, b = self.state(), self.state()
        self.arcs[a] += [(None, part[0]), (None, b)]
        self.arcs[part[1]].append((None, b))
        return a, b

    def plus(self, part):
        a, b = self.state(), self.state()
        self.arcs[a].append((None, part[0]))
        self.arcs[part[1]] += [(None, part[0]), (None, b)]
        return a, b

    def star(self, part):
        return self.opt(self.plus(part))

    def closure(self, states):
        seen = set(states)
        todo = list(seen)
        while todo:
            for label, target in self.arcs[todo.pop()]:
                if label is None and target not in seen:
                    seen.add(target)
                    todo.append(target)
        return frozenset(seen)

    def dfa(self, fragment, class_count):
        """Rows of next states and the list of accepting flags; state 0 is
        dead, state 1 the start."""
        start = self.closure([fragment[0]])
        number = {frozenset(): 0, start: 1}
        order, rows = [frozenset(), start], []
        for states in order:
            row = []
            for c in range(class_count):
                target = self.closure(
                    t
                    for s in states
                    for label, t in self.arcs[s]
                    if label is not None and c in label
                )
                if target not in number:
                    number[target] = len(order)
                    order.append(target)
                row.append(number[target])
            rows.append(row)
        return rows, [fragment[1] in states for states in order]


def dfa_minimise(rows, accept):
    """Moore's partition refinement; states 0 and 1 keep their numbers."""
    group = [int(a) for a in accept]
    while True:
        keys, fresh = {}, []
        for s, row in enumerate(rows):
            key = (group[s], tuple(group[t] for t in row))
            fresh.append(keys.setdefault(key, len(keys)))
        if len(keys) == len(set(group)):
            break
        group = fresh
    first = {}
    for s, g in enumerate(group):
        first.setdefault(g, s)
    kept = sorted(first.values())
    number = {group[s]: i for i, s in enumerate(kept)}
    return (
        [[number[group[t]] for t in rows[s]] for s in kept],
        [accept[s] for s in kept],
    )


# ---- the grammar of tokens ----


def grammar_build(nfa, cls):
    """`cls(name, ...)`: the classes of all code points with one of these
    properties. Tokens are what Lucene's standard tokenizer makes of a text:
    the words of UAX #29 that hold a letter, digit, ideograph or emoji, with
    runs of South-East Asian letters kept whole."""
    one, seq, alt = nfa.one, nfa.seq, nfa.alt
    opt, star, plus = nfa.opt, nfa.star, nfa.plus

    ignored = cls("Extend", "Format", "ZWJ")  # WB4
    selectors = cls("text_selector", "emoji_selector")

    def ex(*names):
        return seq(one(cls(*names)), star(one(ignored)))

    def ex_bare(*names):  # the selectors keep their meaning for emoji
        return seq(one(cls(*names)), star(one(ignored - selectors)))

    digits = ("Numeric", "digit_wide")
    letters = ("letter", "Hebrew_Letter")

    def joined(*names):
        return star(ex("ExtendNumLet")) if not names else ex(*names)

    def numbers():  # WB8, 11, 12, 13a
        mid = joined("MidNum", "MidNumLet", "Single_Quote")
        return seq(
            ex(*digits), star(seq(alt(joined(), mid), ex(*digits)))
        )

    def word():  # WB5 to 7, 13a
        mid = joined("MidLetter", "MidNumLet", "Single_Quote")
        return seq(
            ex(*letters), star(seq(alt(joined(), mid), ex(*letters)))
        )

    def hebrew():  # WB7a to 7c
        return seq(
            ex("Hebrew_Letter"),
            alt(
                ex("Single_Quote"),
                seq(ex("Double_Quote"), ex("Hebrew_Letter")),
            ),
        )

    def katakana():  # WB13
        return seq(
            ex("Katakana"), star(seq(joined(), ex("Katakana")))
        )

    def piece():
        return alt(katakana(), plus(alt(hebrew(), numbers(), word())))

    words = seq(
        joined(),
        piece(),
        star(seq(plus(ex("ExtendNumLet")), piece())),
        joined(),
    )

    def picture():
        zwj = cls("ZWJ")
        return alt(
            seq(
                star(one(zwj)),
                ex_bare("picture"),
                opt(one(cls("emoji_selector"))),
            ),
            seq(
                opt(seq(star(one(zwj)), ex_bare("modifier_base"))),
                ex_bare("modifier"),
            ),
        )

    emoji = alt(
        seq(
            picture(),
            alt(
                star(seq(one(cls("ZWJ")), picture())),
                seq(plus(one(cls("tag"))), one(cls("tag_end"))),
            ),
        ),
        seq(
            ex_bare("keycap_base"),
            opt(one(cls("emoji_selector"))),
            ex_bare("keycap"),
        ),
        seq(ex("Regional_Indicator"), ex("Regional_Indicator")),
    )
    return alt(
        words,
        emoji,
        plus(ex("complex_context")),
        ex("han"),
        ex("hiragana"),
    )


# ---- properties to classes ----


def properties_read(folder):
    word_break = property_read(folder / "auxiliary/WordBreakProperty.txt")
    emoji = property_read(folder / "emoji/emoji-data.txt")
    scripts = property_read(folder / "Scripts.txt")
    lines = property_read(folder / "LineBreak.txt")
    digits = property_read(
        folder / "extracted/DerivedGeneralCategory.txt"
    )["Nd"]
    keycap_base = set(map(ord, "0123456789#*"))
    never = (
        word_break["Regional_Indicator"]
        | keycap_base
        | emoji["Emoji_Modifier"]
        | {0xA9, 0xAE, 0x2122, 0x3030, 0x303D}
    )
    out = dict(word_break)
    out.update(
        pictographic=emoji["Extended_Pictographic"],
        picture=emoji["Extended_Pictographic"] | (emoji["Emoji"] - never),
        modifier=emoji["Emoji_Modifier"],
        modifier_base=emoji["Emoji_Modifier_Base"],
        keycap_base=keycap_base,
        keycap={0x20E3},
        text_selector={0xFE0E},
        emoji_selector={0xFE0F},
        tag=set(range(0xE0020, 0xE007F)),
        tag_end={0xE007F},
        digit_wide=digits & set(range(0xFF00, 0xFFF0)),
        han=scripts["Han"],
        hiragana=scripts["Hiragana"],
        complex_context=lines["SA"],
        # The Armenian apostrophe became a letter after the data that Lucene
        # 10 reads; its answers are what the tokenizer is measured by.
        letter=word_break["ALetter"] - {0x55A},
    )
    return out, sorted(word_break)


def bytes_print(name, values, kind="uint8_t"):
    print(f"const {kind} {name} = {{")
    line = "   "
    for value in values:
        item = f"{value},"
        if len(line) + len(item) + 1 > 79:
            print(line)
            line = "   "
        line += (" " if line == "   " else "") + item
    print(line + "\n};\n")


def main():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/unicode")
    properties, word_breaks = properties_read(folder)
    signatures = [()] * CODE_POINTS
    for name in sorted(properties):
        for c in properties[name]:
            signatures[c] += (name,)
    numbers = {(): 0}
    classes = [
        numbers.setdefault(s, len(numbers)) for s in signatures
    ]

    def cls(*names):
        return frozenset(
            n for s, n in numbers.items() if set(s) & set(names)
        )

    nfa = Nfa()
    fragment = grammar_build(nfa, cls)
    rows, accept = dfa_minimise(*nfa.dfa(fragment, len(numbers)))
    # Classes alike in both machines are one.
    kinds = {}
    merged = {}
    for s, n in numbers.items():
        wb = next((w for w in word_breaks if w in s), "Other")
        key = (wb, "pictographic" in s, tuple(row[n] for row in rows))
        merged[n] = kinds.setdefault(key, len(kinds))
    blocks = {}
    stage = []
    for at in range(0, CODE_POINTS, BLOCK):
        block = tuple(merged[c] for c in classes[at : at + BLOCK])
        stage.append(blocks.setdefault(block, len(blocks)))
    assert len(blocks) <= 256 and len(kinds) <= 64 and len(rows) <= 128

    print("/* analysis/word_break_table.c - made by tools/make_word_break.py.")
    print(" *")
    print(" * Code points to classes in two look-ups, and what the two readers"
          "\n * of text want to know of a class. Do not edit: run the tool.")
    print(" *\n * Invariant: the data is Unicode 15.0's.")
    print(" * Threads: constant data.\n * Owns: nothing.\n */")
    print("/* clang-format off */")
    print('#include "analysis/word_break.h"\n')
    names = {w: "GRB_WB_" + w.upper() for w in word_breaks + ["Other"]}
    print("/* The UAX #29 value of each class. */")
    print("const uint8_t grb_class_break[GRB_CLASS_COUNT] = {")
    for wb, pictographic, _ in kinds:
        print(f"    {names[wb]}"
              + (" | GRB_WB_PICTOGRAPHIC" if pictographic else "") + ",")
    print("};\n")
    print("/* Next state of the tokenizer by state and class; state 0 is the"
          "\n * end of the way. */")
    print("const uint8_t grb_token_next[GRB_STATE_COUNT][GRB_CLASS_COUNT] = {")
    for s in range(len(rows)):
        row = [key[2][s] for key in kinds]
        line = "    {"
        for value in row:
            item = f"{value},"
            if len(line) + len(item) > 78:
                print(line)
                line = "     "
            line += item
        print(line.rstrip(",") + "},")
    print("};\n")
    print("/* Whether a token may end in a state. */")
    bytes_print("grb_token_accept[GRB_STATE_COUNT]", map(int, accept))
    print(f"/* Block of each {BLOCK} code points. */")
    bytes_print("grb_class_block[GRB_CLASS_STAGE]", stage)
    print("/* Classes by block and place. */")
    flat = [n for block in blocks for n in block]
    bytes_print(f"grb_class_of[GRB_CLASS_BLOCKS * {BLOCK}]", flat)
    print(
        f"{len(kinds)} classes, {len(rows)} states, {len(blocks)} blocks",
        file=sys.stderr,
    )


main()
