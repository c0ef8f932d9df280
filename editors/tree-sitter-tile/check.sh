#!/usr/bin/env bash
# Generates the parser, runs its corpus, and parses every program of the repository that `tilec check` accepts, which must give no ERROR:
#
#   editors/tree-sitter-tile/check.sh TILEC [DIR]
#
# TILEC is the program; DIR, a temporary folder where it is left out, gets the parser. Needed: tree-sitter (0.22 or later, Debian's package
# tree-sitter-cli or npm's), node and a C compiler.
set -euo pipefail

[ $# -ge 1 ] && [ $# -le 2 ] || { echo 'usage: check.sh TILEC [DIR]' >&2; exit 2; }
fail() {
    printf 'check.sh: %s\n' "$1" >&2
    exit 1
}
tilec=$(command -v "$1") || fail "there is no program $1"
tilec=$(realpath "$tilec")
for tool in tree-sitter node cc; do
    command -v "$tool" >/dev/null || fail "$tool is not installed"
done
here=$(cd "$(dirname "$0")" && pwd)
repository=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
dir=${2:-$work/generated}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)

# tree-sitter finds grammars by a folder of folders, and writes beside grammar.js.
grammar=$dir/tree-sitter-tile
rm -rf "$grammar"
mkdir -p "$grammar"
cp -r "$here"/{grammar.js,package.json,src,queries,test} "$grammar"
export TREE_SITTER_DIR=$dir/configuration
mkdir -p "$TREE_SITTER_DIR"
printf '{"parser-directories": ["%s"]}\n' "$dir" >"$TREE_SITTER_DIR/config.json"
cd "$grammar"
flags=()
if tree-sitter generate --help | grep -q -- --no-bindings; then flags=(--no-bindings); fi # later ones make none
tree-sitter generate "${flags[@]}"
tree-sitter test

# Programs: files, and those in archives, each archive in a folder of its own for its imports.
find "$repository" -name node_modules -prune -o -name .git -prune -o -name '*.tile' -print >"$work/files"
for archive in "$repository"/testdata/*/*.txtar; do
    folder=$work/archives/$(basename "$archive" .txtar)
    mkdir -p "$folder"
    awk -v folder="$folder" '
        /^-- .* --$/ { file = $2; if (file ~ /\.tile$/) { path = folder "/" file; parent = path; sub(/\/[^\/]*$/, "", parent); system("mkdir -p \"" parent "\""); printf "" >path } else path = ""; next }
        path != "" { print >path }' "$archive"
done
find "$work/archives" -name '*.tile' >>"$work/files"
while read -r file; do
    if "$tilec" check "$file" >/dev/null 2>&1; then printf '%s\n' "$file"; fi
done <"$work/files" >"$work/accepted"
count=$(wc -l <"$work/accepted")
[ "$count" -gt 100 ] || fail "only $count programs are accepted by $tilec"
if ! tree-sitter parse --quiet --paths "$work/accepted" >"$work/out" 2>&1; then
    grep -E 'ERROR|MISSING' "$work/out" || cat "$work/out"
    fail "tilec check accepts these, and the grammar does not"
fi
if grep -E 'ERROR|MISSING' "$work/out"; then fail "tilec check accepts these, and the grammar does not"; fi

tree-sitter query queries/highlights.scm "$repository/stdlib/nn.tile" >"$work/captures"
grep -q 'function.builtin' "$work/captures" || fail "the colours find no operation in stdlib/nn.tile"

echo "$count programs have a tree without errors"
