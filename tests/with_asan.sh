#!/usr/bin/env bash
# tests/with_asan.sh BUILD PYTHON [PYTEST-ARGUMENT...] - the model and Python's tests
# with a module that was built with -fsanitize=address,undefined.
#
# Python itself is not instrumented, so the sanitizer's library is loaded first.
# Its leak check is off: it cannot tell the interpreter's memory from ours. The
# tests count live handles instead. Tests of the pytest plugin and of the stubs
# are left out: they run other programs (type checkers, pytest) for minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
BUILD=$1 PYTHON=$2
shift 2

compiler=$(sed -n 's/^CMAKE_C_COMPILER:[A-Z]*=//p' "$BUILD/CMakeCache.txt")
library=$("$compiler" -print-file-name=libasan.so)
[ -e "$library" ] || { echo "with_asan: $compiler has no libasan.so" >&2; exit 1; }

python_with_asan() {
    LD_PRELOAD=$library \
        ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 \
        UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 \
        PYTHONMALLOC=malloc PYTHONDONTWRITEBYTECODE=1 \
        PYTHONPATH="$PWD/$BUILD/python:$PWD/bindings/python" \
        "$PYTHON" "$@"
}

python_with_asan tests/model/run.py --ops 4000
python_with_asan -m pytest -q -p no:cacheprovider tests/python \
    --ignore=tests/python/test_plugin.py -m "not bench" "$@"
