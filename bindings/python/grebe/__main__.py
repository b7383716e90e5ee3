"""The command line, `grebe` or `python -m grebe`:

    grebe check [--stats] FOLDER
    grebe search [--limit N] FOLDER QUERY
"""

import sys

import grebe


def _search(folder, query, limit):
    with grebe.open(folder, mode="r") as ix:
        hits = ix.search(query, limit=limit)
        print(f"{hits.total} documents")
        for hit in hits:
            print(f"{hit.score:9.4f}  {hit.id}  {dict(hit)}")


def main(arguments=None):
    """Runs the command line; returns the exit status."""
    import argparse

    parser = argparse.ArgumentParser(prog="grebe", description="Grebe's indexes")
    parser.add_argument("--version", action="version", version=grebe.__version__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("check", help="check every byte of an index")
    one.add_argument("folder")
    one.add_argument(
        "--stats", action="store_true", help="how many blocks of each encoding"
    )
    two = commands.add_parser("search", help="search an index")
    two.add_argument("folder")
    two.add_argument("query")
    two.add_argument("--limit", type=int, default=10)
    given = parser.parse_args(arguments)
    try:
        if given.command == "check":
            lines = grebe.check(given.folder)
            shown = lines if given.stats else [x for x in lines if x[:1] != " "]
            print("\n".join(shown))
        else:
            _search(given.folder, given.query, given.limit)
    except grebe.Error as error:
        print(f"grebe: {error.word}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
