#!/usr/bin/env bash
# Installs the engines that bench/run.py sets beside Grebe, into build/peers
# and, for Xapian, from Debian. What cannot be installed is named and does not
# stop the rest: the benchmark names it again in its results.
set -uo pipefail
cd "$(dirname "$0")/.."
home=$PWD/build/peers
mkdir -p "$home"
absent=0

missing() { echo "peer absent: $1: $2" >&2; absent=$((absent + 1)); }

# Xapian's module belongs to the interpreter of Debian.
if ! /usr/bin/python3 -c 'import xapian' 2>/dev/null; then
    as_root=$([ "$(id -u)" = 0 ] || echo sudo)
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y \
        --no-install-recommends python3-xapian >&2 ||
        missing xapian "apt-get install python3-xapian failed"
fi

# PyPI's in a virtual environment, versions in bench/peers.txt.
if ! cmp -s bench/peers.txt "$home/venv/.stamp"; then
    python3 -m venv "$home/venv" &&
        "$home/venv/bin/pip" install -q --disable-pip-version-check \
            -r bench/peers.txt >&2 &&
        cp bench/peers.txt "$home/venv/.stamp" ||
        missing "tantivy, whoosh, bm25s" "pip install failed"
fi

# A JDK of 21 or newer: JAVA_HOME, then the usual places.
jdk_find() {
    local folder version
    for folder in "${JAVA_HOME:-}" /usr/lib/jvm/* "$HOME"/.sdkman/candidates/java/* \
        /opt/*jdk* /opt/java/*; do
        [ -x "$folder/bin/javac" ] || continue
        version=$("$folder/bin/javac" -version 2>&1 | sed 's/[^0-9]*\([0-9]*\).*/\1/')
        if [ "${version:-0}" -ge 21 ]; then echo "$folder"; return; fi
    done
}

jdk=$(jdk_find)
if [ -z "$jdk" ]; then
    missing lucene "no JDK of 21 or newer (JAVA_HOME, /usr/lib/jvm, ~/.sdkman)"
elif ! command -v mvn >/dev/null; then
    missing lucene "no mvn"
else
    export JAVA_HOME=$jdk
    mkdir -p "$home/java"
    if mvn -q -B -f bench/java/pom.xml \
        dependency:build-classpath -Dmdep.outputFile="$home/java/classpath" >&2; then
        echo "$jdk" >"$home/java/jdk"
    else
        missing lucene "mvn failed"
    fi
fi

# FTS5 without Python in between.
if ! cc -O2 -Wall -Wextra -Ibench/c -o "$home/fts5_peer" bench/c/fts5_peer.c \
    -lsqlite3; then
    missing "fts5 in C" "cc or libsqlite3-dev is missing"
fi

echo "peers: $absent of 6 absent" >&2
