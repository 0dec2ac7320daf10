#!/bin/sh
# Installs Ringway from its tarball, or removes it.
#
#     ./install.sh [PREFIX]              below /usr/local, or PREFIX
#     ./install.sh --remove [PREFIX]     what it installed there, and nothing else
set -eu
here=$(cd "$(dirname "$0")" && pwd)

fail() {
	echo "install.sh: $*" >&2
	exit 1
}

remove() {
	list=$prefix/share/ringway/installed
	[ -e "$list" ] || fail "$list: not there, so nothing was installed below $prefix; name the prefix of the installation"
	while read -r name; do
		rm -f "$prefix/$name"
	done <"$list"
	# Folders that it had made, the deepest first; they stay where something else is in them.
	folders=$(sort -r "$prefix/share/ringway/folders")
	rm -f "$list" "$prefix/share/ringway/folders"
	echo "$folders" | while read -r name; do
		[ -z "$name" ] || rmdir "$prefix/$name" 2>/dev/null || true
	done
}

install_() {
	[ -d "$here/files" ] || fail "$here/files: not there; run it in the unpacked tarball"
	mkdir -p "$prefix" || fail "$prefix: can't be made; choose a PREFIX where you may write, or become root"
	cd "$here/files"
	known=$prefix/share/ringway/folders
	folders=$(find . -mindepth 1 -type d | sed 's|^\./||' | while read -r name; do [ -d "$prefix/$name" ] || echo "$name"; done)
	find . -mindepth 1 -type d | while read -r name; do mkdir -p "$prefix/$name"; done
	# A second installation keeps what the first one noted.
	printf '%s\n' "$folders" | sed '/^$/d' >>"$known"
	find . ! -type d | sed 's|^\./||' >"$prefix/share/ringway/installed"
	while read -r name; do
		rm -f "$prefix/$name"
		cp -P "$name" "$prefix/$name"
	done <"$prefix/share/ringway/installed"
	for name in lib/pkgconfig/ringway.pc lib/pkgconfig/ringway-netmap.pc share/ringway/ringway-memif@.service share/ringway/ringway.service; do
		sed "s|/usr/local|$prefix|g" "$name" >"$prefix/$name"
	done
}

action=install_
if [ "${1:-}" = --remove ]; then
	action=remove
	shift
fi
case $#-${1:-} in
0-* | 1-/*) ;;
*) echo "usage: ./install.sh [--remove] [PREFIX], PREFIX from /" >&2; exit 2 ;;
esac
prefix=${1:-/usr/local}
$action
# The loader finds libraries by its cache.
if [ "$(id -u)" -eq 0 ]; then
	PATH=$PATH:/sbin:/usr/sbin ldconfig
fi
