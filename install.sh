#!/bin/sh
# Installs mylm from a release: the binary, the manual page and the completions.
#
#	sh install.sh [--from URL|DIR] [--prefix DIR]
#	sh install.sh --uninstall [--prefix DIR]
#
# The archive for this machine is taken from URL or DIR, which hold the files of
# one release, and must have the SHA-256 sum that checksums.txt there has for it.
# That finds a damaged or cut download; it does not prove who made the release.
# Nothing is installed unless the sum is right and the program runs.
#
#	MYLM_RELEASE_URL   the same as --from
#	MYLM_PREFIX        the same as --prefix; default: /usr/local for root, else ~/.local
#
# It needs tar, a program for SHA-256 (sha256sum, shasum or openssl), and for a URL
# curl or wget. Linux and macOS on amd64 and arm64; Windows has a zip and a Scoop
# manifest.
set -eu

# Whoever publishes a release sets this address (scripts/release does).
published=

fail() {
	echo "install.sh: $*" >&2
	exit 1
}

usage() {
	echo "usage: sh install.sh [--from URL|DIR] [--prefix DIR] | --uninstall [--prefix DIR]" >&2
	exit 2
}

has() { command -v "$1" >/dev/null 2>&1; }

# fetch NAME FILE: copies a file of the release.
fetch() {
	case $from in
	https://* | http://127.0.0.1[:/]* | http://localhost[:/]*)
		if has curl; then
			curl -fsSL --retry 2 --proto "=${from%%:*}" -o "$2" "$from/$1" || fail "cannot download $from/$1"
		elif has wget; then
			wget -q -O "$2" "$from/$1" || fail "cannot download $from/$1"
		else
			fail "curl or wget is needed to download $from/$1"
		fi
		;;
	http://*) fail "$from is not encrypted, so anybody on the way could replace the program: use https" ;;
	*) cp "${from#file://}/$1" "$2" || fail "cannot read ${from#file://}/$1" ;;
	esac
}

sha256() {
	if has sha256sum; then
		sha256sum "$1" | cut -d ' ' -f 1
	elif has shasum; then
		shasum -a 256 "$1" | cut -d ' ' -f 1
	elif has openssl; then
		openssl dgst -sha256 -r "$1" | cut -d ' ' -f 1
	else
		fail "sha256sum, shasum or openssl is needed to verify the download"
	fi
}

system() {
	case $(uname -s) in
	Linux) os=linux ;;
	Darwin) os=darwin ;;
	*) fail "no archive for $(uname -s) here: Windows has a zip and a Scoop manifest, other systems can build from source" ;;
	esac
	case $(uname -m) in
	x86_64 | amd64) arch=amd64 ;;
	aarch64 | arm64) arch=arm64 ;;
	*) fail "no archive for $(uname -m): build from source, see README.md" ;;
	esac
	# A shell under Rosetta takes an Apple processor for an Intel one.
	if [ $os = darwin ] && [ "$(sysctl -n sysctl.proc_translated 2>/dev/null || true)" = 1 ]; then
		arch=arm64
	fi
}

# files lists what is installed: the name in the archive, and below the prefix.
files() {
	cat <<LIST
mylm bin/mylm
share/mylm.1.gz share/man/man1/mylm.1.gz
share/mylm.bash share/bash-completion/completions/mylm
share/_mylm share/zsh/site-functions/_mylm
share/mylm.fish share/fish/vendor_completions.d/mylm.fish
LIST
}

install_files() {
	files | while read -r source target; do
		[ -e "$tmp/files/$source" ] || fail "$archive has no $source"
		mkdir -p "$prefix/$(dirname "$target")" || fail "cannot write below $prefix: choose another directory with --prefix"
		# A program that runs cannot be written, but its name can be given away.
		if ! cp "$tmp/files/$source" "$prefix/$target.new" || ! mv -f "$prefix/$target.new" "$prefix/$target"; then
			fail "cannot write $prefix/$target"
		fi
	done
}

uninstall() {
	there=$(files | while read -r _ target; do [ ! -e "$prefix/$target" ] || echo "$target"; done)
	[ "$there" ] || fail "nothing of mylm is in $prefix: choose another directory with --prefix"
	files | while read -r _ target; do
		[ ! -e "$prefix/$target" ] || rm -f "$prefix/$target" || fail "cannot remove $prefix/$target"
	done
	echo "mylm is removed from $prefix. Your configuration, sessions and memory are still there:"
	echo "  ${XDG_CONFIG_HOME:-${HOME:-~}/.config}/mylm  ${XDG_DATA_HOME:-${HOME:-~}/.local/share}/mylm"
}

main() {
	from=${MYLM_RELEASE_URL:-$published}
	prefix=${MYLM_PREFIX:-}
	remove=
	while [ $# -gt 0 ]; do
		case $1 in
		--from | --prefix)
			[ $# -ge 2 ] || usage
			[ "$1" = --from ] && from=$2 || prefix=$2
			shift
			;;
		--uninstall) remove=1 ;;
		*) usage ;;
		esac
		shift
	done
	if [ -z "$prefix" ]; then
		[ "$(id -u)" -eq 0 ] && prefix=/usr/local || prefix=${HOME:?"set HOME, or choose a directory with --prefix"}/.local
	fi
	[ -z "$remove" ] || { uninstall && return; }
	[ -n "$from" ] || fail "no address is set: give the release's URL or directory with --from"
	from=${from%/}

	system
	tmp=$(mktemp -d)
	trap 'rm -rf "$tmp"' EXIT
	trap 'exit 130' INT TERM
	fetch checksums.txt "$tmp/checksums.txt"
	archive=$(awk -v end="_${os}_${arch}.tar.gz" '
		substr($2, length($2) - length(end) + 1) == end && $2 ~ /^mylm_[^\/]*$/ { print $2 }' "$tmp/checksums.txt")
	case $archive in
	'') fail "checksums.txt lists no archive for $os/$arch" ;;
	*"
"*) fail "checksums.txt lists several archives for $os/$arch" ;;
	esac
	want=$(awk -v name="$archive" '$2 == name { print $1 }' "$tmp/checksums.txt")
	fetch "$archive" "$tmp/archive"
	got=$(sha256 "$tmp/archive")
	[ "$want" = "$got" ] || fail "$archive is damaged or not the one that was released: its SHA-256 is $got, checksums.txt has $want"

	mkdir "$tmp/files"
	tar -xzf "$tmp/archive" -C "$tmp/files" || fail "$archive cannot be unpacked"
	version=$("$tmp/files/mylm" version) || fail "the program in $archive does not run on this machine"
	install_files
	echo "$version"
	echo "is installed in $prefix/bin."
	case :$PATH: in
	*:"$prefix/bin":*) echo "Try: mylm ask -m demo \"what files are here?\"" ;;
	*)
		echo "That directory is not in your PATH. Add it, for instance in ~/.profile:"
		echo "  export PATH=\"$prefix/bin:\$PATH\""
		;;
	esac
}

# All of the script has arrived when this line is read.
main "$@"
