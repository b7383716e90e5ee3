#!/usr/bin/env bash
# tests/package/run.sh PYTHON - every way in which Grebe is installed.
#
# A copy of the tree's files is installed by pip into an empty venv, built as
# sdist and wheel, made by luarocks into a folder, installed by cmake under a
# prefix and used from there by a project of its own. After each a search runs
# from what was installed, outside the tree. PYTHON has `build` and
# `auditwheel` (tools/python-packages.txt). Needs the network or a mirror of
# PyPI for the build requirements of pyproject.toml.
set -euo pipefail

PYTHON=$(realpath -s "$1")
HERE=$(cd "$(dirname "$0")" && pwd)
TREE=$(cd "$HERE/../.." && pwd)
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

# ccache finds the same objects again, although the folders have other names.
export TMPDIR=$WORK/tmp CCACHE_BASEDIR=$WORK CCACHE_NOHASHDIR=1
mkdir "$TMPDIR"
unset PYTHONPATH LUA_PATH LUA_CPATH

say() { printf -- '-- %s\n' "$*" >&2; }
die() { printf 'package: %s\n' "$*" >&2; exit 1; }

quiet() {
    "$@" >"$WORK/log" 2>&1 && return
    grep -A3 -E 'error:|Error |undefined' "$WORK/log" | head -30 >&2
    tail -15 "$WORK/log" >&2
    die "failed: $*"
}

# What a commit would hold, as a folder of its own.
tree_copy() {
    mkdir "$WORK/source"
    git -C "$TREE" ls-files -z --cached --others --exclude-standard |
        (cd "$TREE" && xargs -0 ls -d 2>/dev/null) |
        tar -C "$TREE" -cf - -T - | tar -C "$WORK/source" -xf -
}

venv_new() { "$PYTHON" -m venv "$WORK/$1"; }

pip_into() {
    local venv=$1; shift
    quiet "$WORK/$venv/bin/pip" install -q --disable-pip-version-check "$@"
}

search_in() {
    (cd "$WORK" && "$WORK/$1/bin/python" "$HERE/search.py" "$WORK/$1" &&
        "$WORK/$1/bin/grebe" --version)
}

test_pip() {
    say "pip install ."
    venv_new by_pip
    pip_into by_pip "$WORK/source"
    search_in by_pip
}

test_distributions() {
    say "sdist, and a wheel from it"
    quiet "$PYTHON" -m build --outdir "$WORK/dist" "$WORK/source"
    local sdist wheel
    sdist=$(echo "$WORK"/dist/grebe-*.tar.gz)
    wheel=$(echo "$WORK"/dist/grebe-*.whl)
    if tar -tf "$sdist" | grep -E '\.(o|so|a|pyc)$'; then
        die "the sdist has compiled files"
    fi
    venv_new by_wheel
    pip_into by_wheel "$wheel"
    search_in by_wheel
    (cd "$WORK" && "$WORK/by_wheel/bin/python" "$HERE/wheel.py" "$wheel")

    say "auditwheel show"
    "$PYTHON" -m auditwheel show "$wheel"

    say "the sdist by pip"
    venv_new by_sdist
    pip_into by_sdist "$sdist"
    search_in by_sdist
}

test_luarocks() {
    say "luarocks make"
    local rockspec tree=$WORK/rocks
    rockspec=$(cd "$WORK/source" && find . -maxdepth 1 -name '*.rockspec')
    [ -n "$rockspec" ] || die "there is no rockspec"
    (cd "$WORK/source" &&
        quiet luarocks --lua-version 5.4 make --tree "$tree" "$rockspec")
    (cd "$WORK" && LUA_PATH="$tree/share/lua/5.4/?.lua;$tree/share/lua/5.4/?/init.lua" \
        LUA_CPATH="$tree/lib/lua/5.4/?.so" lua5.4 "$HERE/search.lua")
}

# One consumer by find_package and by pkg-config, from a prefix.
test_cmake() {
    say "cmake --install"
    local prefix=$WORK/prefix way
    quiet cmake -S "$WORK/source" -B "$WORK/build" -G Ninja \
        -DGREBE_TESTS=OFF -DCMAKE_INSTALL_PREFIX="$prefix"
    quiet cmake --build "$WORK/build"
    quiet cmake --install "$WORK/build" --component library
    for header in "$prefix"/include/grebe/*.h; do
        cc -std=c99 -Wall -Wextra -pedantic -fsyntax-only -I"$prefix/include" "$header" ||
            die "$(basename "$header") is no C99"
        c++ -std=c++11 -x c++ -Wall -Wextra -pedantic -fsyntax-only \
            -I"$prefix/include" "$header" ||
            die "$(basename "$header") is no C++11"
    done
    export PKG_CONFIG_PATH
    PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name grebe.pc)")
    for way in package pkgconfig; do
        say "a consumer by $way"
        quiet cmake -S "$HERE/consumer" -B "$WORK/consumer-$way" -G Ninja \
            -DBY="$way" -DCMAKE_PREFIX_PATH="$prefix"
        quiet cmake --build "$WORK/consumer-$way"
        LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH") "$WORK/consumer-$way/consumer"
    done
}

tree_copy
test_pip
test_distributions
test_luarocks
test_cmake
say "packages: ok"
