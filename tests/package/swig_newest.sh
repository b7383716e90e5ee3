#!/usr/bin/env bash
# tests/package/swig_newest.sh PYTHON - both modules by the newest SWIG of PyPI,
# in a folder of their own, and their tests.
set -euo pipefail

PYTHON=$(realpath -s "$1")
TREE=$(cd "$(dirname "$0")/../.." && pwd)
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

"$PYTHON" -m venv "$WORK/venv"
"$WORK/venv/bin/pip" install -q --disable-pip-version-check --upgrade swig
"$WORK/venv/bin/swig" -version | sed -n 2p >&2

cmake -S "$TREE" -B "$WORK/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DGREBE_TESTS=OFF -DGREBE_WERROR=ON -DGREBE_PYTHON=ON -DGREBE_LUA=ON \
    -DGREBE_SWIG="$WORK/venv/bin/swig" -DPython3_EXECUTABLE="$PYTHON" >/dev/null
cmake --build "$WORK/build" >&2

cd "$TREE"
PYTHONPATH="$WORK/build/python:$TREE/bindings/python" \
    "$PYTHON" -m pytest -q tests/python
export LUA_PATH="$TREE/bindings/lua/?.lua;$TREE/bindings/lua/?/init.lua;;"
export LUA_CPATH="$WORK/build/lua/?.so;;"
busted --lua=lua5.4 tests/lua
lua5.4 examples/twenty_lines.lua
