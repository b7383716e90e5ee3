"""Kinds of faults in texts: syntax, snippets, characters, positions, depth.

A function kind_NNN() belongs to case PB-NNN and raises Wrong.
"""

import html
import itertools
import random
import re
import sys
import threading
import time
from collections.abc import Callable

import grebe
from layouts import Wrong, same

Q = grebe.Q
SECONDS_MAX = 1.0


def made(docs: list[dict], **fields: grebe.Field) -> grebe.Index:
    """A small index with these documents, its key in front."""
    index = grebe.Index(grebe.Schema(id=grebe.key(), **fields))
    index.add_many({"id": str(i)} | doc for i, doc in enumerate(docs))
    index.commit()
    return index


def strict(index: grebe.Index, text: str) -> list[str] | type[Exception]:
    """Hits of a text that is read strictly, or the type of the error."""
    try:
        return index.search(where=text, sort="_order").ids
    except (grebe.QuerySyntaxError, grebe.LimitError, grebe.SchemaError) as error:
        same(bool(str(error)), True, "a message")
        if isinstance(error, grebe.QuerySyntaxError):
            same(0 <= error.offset <= len(text), True, f"a place in {text!r}")
        return type(error)


def kind_027() -> None:
    """What is no boolean, number or date matches nothing of such a field."""
    index = made(
        [{"f": True, "n": 1}, {"f": False, "n": 0}, {"f": False}],
        f=grebe.bool_(), n=grebe.int_(), d=grebe.datetime(),
    )  # fmt: skip
    same(strict(index, "f:true"), ["0"])
    same(strict(index, "f:false"), ["1", "2"])
    for bad in ("f:porsche", "f:no", 'f:"x y"', "n:porsche", "n:1.5", "d:monday",
                "n:99999999999999999999", "n:[a TO b]", "f:[true TO x]"):  # fmt: skip
        same(isinstance(strict(index, bad), type), True, f"{bad} was answered")


def kind_028() -> None:
    """Random scraps of syntax: an error with a place, never worse, never slow."""
    index = made([{"body": "hello world"}], body=grebe.text())
    rng = random.Random(28)
    scraps = [
        '"',
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        " TO ",
        "*",
        "?",
        "~",
        "^",
        ":",
        "\\",
        "+",
        "-",
        "!",
        "&&",
        "||",
        "AND",
        " OR ",
        "NOT ",
        "hello",
        "body:",
        " ",
        "1",
        "/",
        "\0",
        "é",
        "<",
        ">",
        "=",
        "@",
        "#",
        "2.5",
        "|",
        "&",
    ]
    refused = 0
    for _ in range(20_000):
        text = "".join(rng.choice(scraps) for _ in range(rng.randrange(1, 9)))
        refused += isinstance(strict(index, text), type)
        index.search(text)
    same(2000 < refused < 20_000, True, f"{refused} refused")
    same(index.search("hello").ids, ["0"], "afterwards")


def kind_029() -> None:
    """Any text is findable behind backslashes or in quotes; a wrong field is named."""
    words = ["graph", "FTG-Net", "a:b", "c++", "x/y", "u(v)", "[z]", "w^2", "q~", "!d"]
    index = made([{"t": word + " tail"} for word in words], t=grebe.text("whitespace"))
    for i, word in enumerate(words):
        escaped = re.sub(r'([+\-&|!(){}\[\]^"~*?:\\/])', r"\\\1", word)
        same(strict(index, escaped), [str(i)], escaped)
        same(strict(index, f't:"{word}"'), [str(i)], word)
    try:
        index.search(where="titel:graph")
        raise Wrong("an unknown field was answered")
    except grebe.QuerySyntaxError as error:
        same("titel" in str(error), True, str(error))


def kind_033() -> None:
    """Prefixes on analysed text are lower-cased, on keywords left alone."""
    index = made(
        [{"b": "Documentation ÉTÉ", "k": "Docu"}, {"b": "nothing", "k": "docu"}],
        b=grebe.text(), k=grebe.keyword(),
    )  # fmt: skip
    for text, want in (
        ("b:DOC*", ["0"]),
        ("b:doc*", ["0"]),
        ("b:Ét*", ["0"]),
        ("k:Doc*", ["0"]),
        ("k:doc*", ["1"]),
        ("k:DOC*", []),
    ):
        same(strict(index, text), want, text)


def kind_038() -> None:
    """Deep and long queries are refused or answered in no time, on small stacks."""
    index = made([{"body": "a"}], body=grebe.text())

    def ask() -> None:
        for depth in (1, 10, 100, 1000, 20_000, 100_000):
            for left, right in (
                ("(", ")"),
                ("-(", ")"),
                ("a AND (", ")"),
                ("+(", ")^2"),
                ("body:(", ")"),
                ("(", ""),
                ("", ")"),
            ):
                begin = time.monotonic()
                text = left * depth + "a" + right * depth
                found = strict(index, text)
                try:
                    index.search(text)  # a person's words: limits alone may raise
                except grebe.LimitError:
                    same(depth >= 100, True, f"{left} {depth} is no depth")
                same(time.monotonic() - begin < SECONDS_MAX, True, f"{left} {depth}")
                if depth <= 10 and left in ("(", "a AND ("):
                    same(found, ["0"] if right else grebe.QuerySyntaxError, left)

    ask()
    old = threading.stack_size(256 * 1024)
    failures: list[BaseException] = []
    thread = threading.Thread(target=lambda: _kept(ask, failures))
    thread.start()
    thread.join()
    threading.stack_size(old)
    if failures:
        raise failures[0]
    query, refused = Q.term("body", "a"), False
    for _ in range(5000):
        try:
            query = Q.bool(must=[query, Q.all()])
        except grebe.LimitError:
            refused = True
            break
    same(refused, True, "a deep tree")
    same(index.search("a").ids, ["0"], "afterwards")


def _kept(call: Callable[[], None], failures: list[BaseException]) -> None:
    try:
        call()
    except BaseException as error:
        failures.append(error)


def kind_057() -> None:
    """Snippets are pieces of the source, cut between characters, at any size."""
    rng = random.Random(57)
    parts = ["тайник ", "Посвящается ", "\U0001f44a", "é", "e\u0301 ", "word ", "日本語",
             "हिन्दी ", ". ", "\u200d", "\n", "👨‍👩‍👧 ", "ß"]  # fmt: skip
    docs = [
        {"b": "".join(rng.choice(parts) for _ in range(rng.randrange(300))) + " needle "
              + "".join(rng.choice(parts) for _ in range(rng.randrange(300)))}
        for _ in range(40)
    ]  # fmt: skip
    index = made(docs, b=grebe.text())
    for size in (*range(1, 60), 100, 119, 120, 500, 10_000):
        shown = grebe.Highlight("b", size=size, snippets=rng.choice((1, 3)))
        for hit in index.search("needle", limit=None, highlight=[shown]):
            passages = hit.highlights["b"]
            for passage in passages:
                plain = passage.replace("<em>", "").replace("</em>", "")
                same(plain in hit["b"], True, f"{size}: {passage!r}")
            if size >= 10:  # else the word itself may have to be cut
                same(any("<em>needle</em>" in p for p in passages), True, str(size))


def kind_060() -> None:
    """With the encoder no markup of the source is left, without it all of it."""
    rng = random.Random(60)
    parts = [
        "<b>",
        "</b>",
        "&",
        "&amp;",
        '"',
        "'",
        "<script>",
        "x ",
        " needle ",
        "<em>",
    ]
    texts = [
        "".join(rng.choice(parts) for _ in range(30)) + " needle" for _ in range(200)
    ]
    index = made([{"b": text} for text in texts], b=grebe.text())
    for encoder in (None, "html"):
        shown = grebe.Highlight("b", pre="\1", post="\2", size=5000, encoder=encoder)
        hits = index.search("needle", limit=None, highlight=[shown])
        same(len(hits), 200)
        for hit in hits:
            plain = re.sub("[\1\2]", "", "".join(hit.highlights["b"]))
            if encoder is None:
                same(plain, hit["b"].strip())
                continue
            same(re.search("[<>]|&(?!(amp|lt|gt|quot|#x?[0-9A-Fa-f]+);)", plain), None)
            back = html.unescape(plain)
            same(back, hit["b"].strip())


def kind_062() -> None:
    """Marks stay with the letter before them, in every script that has them."""
    words = ["அம்மா", "हिन्दी", "भाषा", "ภาษาไทย", "é", "e\u0301", "עִבְרִית", "العَرَبِيَّة",
             "ქართული", "ελληνικά", "বাংলা", "ಕನ್ನಡ", "a\u0308\u0323b"]  # fmt: skip
    index = made([{"b": f"x {word} y"} for word in words], b=grebe.text())
    for i, word in enumerate(words):
        same(index.search(Q.phrase("b", f"x {word} y")).ids, [str(i)], word)
        same(index.search(Q.match("b", word, op="and")).ids, [str(i)], word)
        tokens = [t.text for t in index.analyze("b", word)]
        same(len(tokens), 1, f"{word} is {tokens}")


def kind_065() -> None:
    """Every code point is stored and given back; halves of pairs are refused."""
    points = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    chunks = [points[i : i + 4096] for i in range(0, len(points), 4096)]
    texts = ["".join(map(chr, chunk)) for chunk in chunks]
    index = made([{"b": text} for text in texts], b=grebe.text())
    for i, text in enumerate(texts):
        same(index.get(str(i))["b"] == text, True, f"chunk {i}")
    for point in (0xD800, 0xDBFF, 0xDC00, 0xDFFF):
        try:
            index.add({"id": "bad", "b": f"a{chr(point)}b"})
            raise Wrong(f"U+{point:04X} was taken")
        except grebe.DocumentError:
            continue


def kind_068() -> None:
    """Stop words leave gaps on both sides alike."""
    words = ("soup", "the", "day", "of")
    texts = [
        " ".join(p) for n in (1, 2, 3, 4, 5) for p in itertools.product(words, repeat=n)
    ]
    index = made([{"t": text} for text in texts], t=grebe.text("en"))

    def placed(text: str) -> list[tuple[str, int]]:
        found = [(w, i) for i, w in enumerate(text.split()) if w in ("soup", "day")]
        return [(w, i - found[0][1]) for w, i in found]

    def holds(text: str, phrase: list[tuple[str, int]]) -> bool:
        there = {(i, w) for i, w in enumerate(text.split())}
        return any(all((at + i, w) in there for w, i in phrase) for at in range(5))

    for phrase in texts[:340:7]:
        want = placed(phrase)
        found = index.search(Q.phrase("t", phrase), limit=None, sort="_order").ids
        match = [str(i) for i, t in enumerate(texts) if want and holds(t, want)]
        same(found, match, phrase)


KINDS: dict[str, Callable[[], None]] = {
    "PB-" + name[5:]: function
    for name, function in list(globals().items())
    if name.startswith("kind_")
}

if __name__ == "__main__":
    sys.exit("run.py is the entry")
