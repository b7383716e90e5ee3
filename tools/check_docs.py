#!/usr/bin/env python3
"""Checks the Markdown: links, code of README.md, generated pages, rooms' pages.

Says which page and what is wrong; nothing is written.
"""

import pathlib
import re
import subprocess
import sys

import make_docs
import readme_table

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROOM_LINES_MAX = 40
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```\n?", re.S | re.M)
BLOCK = re.compile(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```\n", re.S)
# Places of one machine: nobody else has them.
MACHINE = re.compile(r"(?<![\w.])/(home|root|work|tmp|Users|mnt|opt|srv)/\w+")


def pages():
    """Every page of the tree, tracked or about to be."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if listed.returncode == 0:
        names = filter(None, listed.stdout.split("\0"))
        found = (ROOT / name for name in names)
    else:  # not a checkout
        hidden = {"build", ".venv", ".fresh"}
        found = (p for p in ROOT.rglob("*.md") if not hidden & set(p.parts))
    return sorted({path for path in found if path.exists()})


def anchors(text):
    """What `#name` may lead to in a page."""
    found = set(re.findall(r'<a id="([^"]+)"></a>', text))
    for heading in re.findall(r"^#+ (.+)$", FENCE.sub("", text), re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        plain = re.sub(r"[^\w\- ]", "", plain.lower())
        found.add(plain.replace(" ", "-"))
        # A heading of a function and others is found by the first.
        found.update(re.findall(r"^`(\w+)`", heading))
    return found


def link_faults(path, text):
    for target in LINK.findall(FENCE.sub("", text)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        if not file.exists():
            yield f"links to {target}, which is not there"
        elif anchor and file.suffix == ".md":
            if anchor not in anchors(file.read_text()):
                yield f"links to {target}, which has no such heading"


def readme_faults(text):
    """Blocks that are not the files they name."""
    shown = dict(BLOCK.findall(text))
    for language in ("py", "lua", "c"):
        name = f"examples/twenty_lines.{language}"
        if name not in shown:
            yield f"does not show {name}"
        elif shown[name] != (ROOT / name).read_text():
            yield f"shows other lines than {name} has"


def rooms():
    lines = (ROOT / "tools/layers.txt").read_text().splitlines()
    return [line.split(":")[0] for line in lines if line and not line.startswith("#")]


def room_faults():
    drawing = (ROOT / "docs/architecture.md").read_text().split("```")[1]
    for room in rooms():
        page = ROOT / "core/src" / room / "README.md"
        if not page.exists():
            yield f"core/src/{room}: no README.md"
        elif len(page.read_text().splitlines()) > ROOM_LINES_MAX:
            yield f"core/src/{room}/README.md: over {ROOM_LINES_MAX} lines"
        if not re.search(rf"\b{room}\b", drawing):
            yield f"docs/architecture.md: {room} is not in the drawing"


def faults():
    for path in pages():
        text, name = path.read_text(), path.relative_to(ROOT)
        found = list(link_faults(path, text))
        found += [f"names a machine's path {m[0]}" for m in MACHINE.finditer(text)]
        if name == pathlib.Path("README.md"):
            found += readme_faults(text)
        yield from (f"{name}: {fault}" for fault in found)
    yield from room_faults()
    yield from make_docs.stale()
    yield from readme_table.stale()


def main():
    found = list(faults())
    print("\n".join(found) or "docs: ok")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
