#!/usr/bin/env python3
"""Makes docs/api/*.md and docs/errors.md from the public headers.

`--check` writes nothing and says which pages are out of date.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADERS = ROOT / "core/include/grebe"
DOCS = ROOT / "docs"
ORDER = ["status", "schema", "document", "query", "index", "search", "container"]
MADE = "Made by tools/make_docs.py from core/include/grebe/{}; do not edit."
STATUS = re.compile(r'X\((\w+), (\d+), "(\w+)", "(\w+)",\s*"([^"]+)"\)')


def blocks(source):
    """(comment, code) of each paragraph; braces hold a paragraph together."""
    source = re.sub(r"#ifdef __cplusplus\n.*?#endif\n", "", source, flags=re.S)
    source = re.sub(r"#if defined\(SWIG\).*?#endif\n", "", source, flags=re.S)
    waiting, depth = [], 0
    for line in [*source.splitlines(), ""]:
        if line.strip() or depth:
            waiting.append(line)
            inside = "\n".join(waiting)
            code = re.sub(r"/\*.*?(\*/|$)", "", inside, flags=re.S)
            depth = code.count("{") - code.count("}")
            depth += inside.count("/*") - inside.count("*/")
        elif waiting:
            found = re.match(r"(/\*.*?\*/)?\n?(.*)", "\n".join(waiting), flags=re.S)
            yield prose(found[1] or ""), found[2].strip("\n")
            waiting = []


def prose(comment):
    """A comment as paragraphs of Markdown."""
    inner = comment.removeprefix("/*").removesuffix("*/")
    lines = [re.sub(r"^ ?\* ?", "", line) for line in inner.splitlines()]
    text = "\n".join(lines).strip()
    text = re.sub(r"(?<!`)(\bgrebe_\w+|\bGREBE_\w+)", r"`\1`", text)
    return re.sub(r"``", "`", text)


def names(code):
    return re.findall(r"\b(grebe_\w+)\(", code)


def is_noise(code):
    lines = [line for line in code.splitlines() if line.strip()]
    return all(re.match(r"#(include|ifndef|endif|define GREBE_\w+_H$)", x) for x in lines)


def fence(code):
    if "GREBE_API" in code:
        code = re.sub(r"GREBE_API ?", "", code)
        code = re.sub(r"\n {4,}", " ", code)  # arguments on lines of their own
    return "```c\n" + wrapped(code) + "\n```"


def wrapped(code):
    """Declarations in one line where they fit into 80 columns."""
    result = []
    for line in code.splitlines():
        if len(line) <= 80 or "(" not in line:
            result.append(line)
            continue
        head, _, arguments = line.partition("(")
        result += [head + "(", *("    " + a for a in folded(arguments, 76))]
    return "\n".join(result)


def folded(arguments, width):
    line = ""
    for word in arguments.split():
        if line and len(line) + 1 + len(word) > width:
            yield line
            line = word
        else:
            line = f"{line} {word}".strip()
    yield line


def page(name):
    """The page of one header."""
    source = (HEADERS / f"{name}.h").read_text()
    parts = [f"<!-- {MADE.format(name + '.h')} -->", f"# grebe/{name}.h"]
    for comment, code in blocks(source):
        if "GREBE_STATUS_LIST(X)" in code:
            parts.append(comment + "\n\nThe list: [errors.md](../errors.md).")
        elif is_noise(code):
            comment = re.sub(r"^grebe/\w+\.h - ", "", comment)
            if comment:
                parts.append(comment[0].upper() + comment[1:])
        elif "GREBE_API" in code:
            parts.append(heading(names(code)))
            parts += [fence(code), comment]
        else:
            parts += [comment, fence(code)]
    return "\n\n".join(part for part in parts if part) + "\n"


def heading(functions):
    """A heading to which links of every name lead."""
    anchors = "".join(f'<a id="{name}"></a>' for name in functions[1:])
    more = f" and {len(functions) - 1} more" if len(functions) > 1 else ""
    lead = f"{anchors}\n\n" if anchors else ""
    return f"{lead}## `{functions[0]}`{more}"


def functions(name):
    """(function, comment) of one header."""
    for comment, code in blocks((HEADERS / f"{name}.h").read_text()):
        if "GREBE_API" in code:
            yield from ((function, comment) for function in names(code))


def index_page():
    """Every function with the beginning of its comment."""
    parts = [
        f"<!-- {MADE.format('*.h')} -->",
        "# The C interface",
        "`#include <grebe/grebe.h>` has all of it. Conventions: every call that can"
        " fail returns a `grebe_status` and takes a `grebe_error *` last"
        " ([errors](../errors.md)); who frees what is in"
        " [ownership.md](../ownership.md).",
    ]
    for name in ORDER:
        rows = [f"## [{name}.h]({name}.md)", "", "| function | |", "|---|---|"]
        for comment, code in blocks((HEADERS / f"{name}.h").read_text()):
            if "GREBE_API" not in code:
                continue
            first = re.split(r"(?<=[.;:])\s", comment.replace("\n", " "))[0]
            first = first.rstrip(";:.").replace("|", "\\|")
            for function in names(code):
                rows.append(f"| [`{function}`]({name}.md#{function}) | {first} |")
                first = "as above"
        parts.append("\n".join(rows))
    return "\n\n".join(parts) + "\n"


def statuses():
    """(name, code, word, python, meaning) of each."""
    source = (HEADERS / "status.h").read_text()
    joined = re.sub(r"\s*\\\n\s*", " ", source)
    return STATUS.findall(joined)


def errors_page():
    """The statuses in all three languages, and who returns them."""
    said = {}
    for name in ORDER:
        for function, comment in functions(name):
            for word in set(re.findall(r"\b[A-Z][A-Z_]{3,}\b", comment)):
                said.setdefault(word, []).append((name, function))
    parts = [
        f"<!-- {MADE.format('status.h')} -->",
        "# Errors",
        "C returns the status and fills the caller's `grebe_error`. Python raises the"
        " class; Lua raises a table with the word in `word`. All three carry what is"
        " known of `field`, `key`, `file`, `offset`, `pid`. Codes are stable. After a"
        " failed call the handle is as it was before, except after POISONED.",
        "\n".join(
            ["| code | C | word | Python | meaning |", "|---|---|---|---|---|"]
            + [
                f"| {code} | `GREBE_{name}` | `{word}` | `{python}` | {meaning} |"
                for name, code, word, python, meaning in statuses()
            ]
        ),
        "## Who says so",
        "What the headers name; MEMORY, CLOSED and FORKED may come from every call that"
        " takes a handle.",
    ]
    rows = []
    for name, *_ in statuses():
        links = [f"[`{f}`](api/{header}.md#{f})" for header, f in said.get(name, [])]
        if links and name not in ("MEMORY", "CLOSED", "FORKED"):
            rows.append(f"- **{name}**: " + ", ".join(links))
    parts.append("\n".join(rows))
    return "\n\n".join(parts) + "\n"


def pages():
    made = {DOCS / "api" / f"{name}.md": page(name) for name in ORDER}
    made[DOCS / "api" / "README.md"] = index_page()
    made[DOCS / "errors.md"] = errors_page()
    return made


def stale():
    """Pages that are not as they would be made now."""
    for path, text in pages().items():
        if not path.exists() or path.read_text() != text:
            yield f"{path.relative_to(ROOT)} is out of date: ./run docs"


def main(arguments):
    if arguments == ["--check"]:
        found = list(stale())
        print("\n".join(found) or "generated pages: ok")
        return bool(found)
    for path, text in pages().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    print(f"{len(pages())} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
