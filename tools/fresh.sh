#!/usr/bin/env bash
# `./run fresh [COMMAND]`: a new Debian 12, a clean clone, the README's two
# commands in it (or COMMAND). Needs root and debootstrap.
#
# The system comes from the mirror that this machine's apt uses; apt's and
# pip's settings, proxies and certificates go along, so that it works behind a
# mirror. All mounts are made in a mount namespace of their own and vanish with
# this script, however it ends. The bare system stays in .fresh/base for the
# next time; GREBE_FRESH names another folder. GREBE_FRESH_AGAIN=1 goes on in the
# system of the last time with the newest commit.
set -euo pipefail
cd "$(dirname "$0")/.."

HERE=$PWD
FRESH=${GREBE_FRESH:-$HERE/.fresh}
ROOT=$FRESH/root

say() { printf '== fresh: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

[ "$(id -u)" = 0 ] || die "needs root (debootstrap and chroot do)"
command -v debootstrap >/dev/null || die "needs the package debootstrap"

if [ -z "${GREBE_FRESH_INSIDE:-}" ]; then
    export GREBE_FRESH_INSIDE=1
    exec unshare --mount --propagation private "$0" "$@"
fi

# The mirror of this machine, if it is a Debian 12, else Debian's own.
mirror() {
    local found
    found=$(apt-get indextargets --format '$(CODENAME) $(SITE)' 2>/dev/null |
        awk '$1 == "bookworm" { print $2; exit }')
    echo "${found:-http://deb.debian.org/debian}"
}

make_base() {
    [ -f "$FRESH/base/.complete" ] && return
    local from
    from=$(mirror)
    say "debootstrap bookworm from $from"
    rm -rf "$FRESH/base"
    mkdir -p "$FRESH"
    debootstrap --variant=minbase bookworm "$FRESH/base" "$from" \
        >"$FRESH/debootstrap.log" 2>&1 ||
        { tail -5 "$FRESH/debootstrap.log" >&2; die "debootstrap failed"; }
    touch "$FRESH/base/.complete"
}

# Copies a file or folder to the same place in the new system.
pass() {
    local what
    for what in "$@"; do
        [ -e "$what" ] || continue
        mkdir -p "$ROOT$(dirname "$what")"
        cp -aL "$what" "$ROOT$(dirname "$what")/"
    done
}

pass_settings() {
    pass /etc/resolv.conf /etc/hosts /etc/pip.conf
    pass /usr/local/share/ca-certificates /etc/ssl/certs/ca-certificates.crt
    if grep -qs '^VERSION_CODENAME=bookworm' /etc/os-release; then
        rm -f "$ROOT/etc/apt/sources.list"
        pass /etc/apt/sources.list /etc/apt/trusted.gpg.d
        pass /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources
        pass /usr/share/keyrings
    fi
    apt-config dump 2>/dev/null | grep -E '^Acquire::' \
        >"$ROOT/etc/apt/apt.conf.d/90fresh" || true
}

# Proxies, and pip's settings that are not folders of this machine.
environment() {
    env | grep -iE '^((https?|no|all)_proxy|PIP_[A-Z_]+|SSL_CERT_FILE|REQUESTS_CA_BUNDLE)=' |
        grep -vE '^PIP_FIND_LINKS=/' || true
}

mount_system() {
    mount -t proc proc "$ROOT/proc"
    mount --rbind /dev "$ROOT/dev"
    mount --rbind /sys "$ROOT/sys"
}

inside() {
    local settings
    mapfile -t settings < <(environment)
    env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        ${settings[@]+"${settings[@]}"} \
        chroot "$ROOT" /bin/bash -c "cd /grebe && $1"
}

if [ -n "${GREBE_FRESH_AGAIN:-}" ] && [ -d "$ROOT/grebe" ]; then
    say "the system of the last time, with the newest commit"
    git -C "$ROOT/grebe" pull -q --ff-only
else
    make_base
    say "a new system with a clean clone"
    rm -rf "$ROOT"
    cp -a --reflink=auto "$FRESH/base" "$ROOT"
    git clone -q --no-hardlinks "$HERE" "$ROOT/grebe"
    pass_settings
fi
mount_system

if [ $# -gt 0 ]; then commands=("$*"); else commands=("./run demo" "./run test"); fi
for command in "${commands[@]}"; do
    say "$command"
    began=$SECONDS
    inside "$command" || die "'$command' failed after $((SECONDS - began)) s"
    say "'$command' took $((SECONDS - began)) s"
done
say "done; the system is left in $ROOT"
