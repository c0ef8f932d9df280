#!/usr/bin/env bash
# Makes the playground as a folder of files that any host of files can serve: editors/playground/build.sh DIR
# tilec.wasm.br and tilec.wasm.gz are for hosts that send what was compressed before; one that compresses by itself needs neither.
# QUALITY, 11 where nothing is said, is brotli's: 10 makes some 4 % more bytes in half the time.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=${1:?the folder to make}
mkdir -p "$dir/examples"
cp editors/playground/page/* "$dir"
cp "$(go env GOROOT)/lib/wasm/wasm_exec.js" "$dir"
# Without inlining the code is a fifth smaller; where time goes when programs run, it stays.
flags=(-gcflags=all=-l -gcflags=runtime= '-gcflags=internal/runtime/...=' '-gcflags=tilec/jit/cpu=' '-gcflags=tilec/jit/emu/...=')
GOOS=js GOARCH=wasm CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' "${flags[@]}" -o "$dir/tilec.wasm" ./cmd/tilec

list=() # of the examples, a line of JSON each
add() { # GROUP FILE...
    local group=$1 name
    shift
    for f in "$@"; do
        name=${f//\//-} # two folders may have files of one name
        cp "$f" "$dir/examples/$name"
        list+=("{\"group\": \"$group\", \"name\": \"$(basename "$f" .tile)\", \"file\": \"$name\"}")
    done
}
add "To begin with" cmd/tilec/starter/*.tile
add "Tutorial" docs/tutorial/*.tile
add "Cookbook" testdata/examples/*.tile
add "Standard library" stdlib/*.tile
add "Language models" gpt/*.tile
(IFS=,; echo "[${list[*]}]") >"$dir/examples/index.json"

if [ "${COMPRESS:-1}" = 1 ]; then
    node - "$dir/tilec.wasm" "${QUALITY:-11}" <<'JS'
const { readFileSync, writeFileSync } = require("node:fs");
const { brotliCompressSync, gzipSync, constants: c } = require("node:zlib");
const path = process.argv[2], wasm = readFileSync(path);
const br = brotliCompressSync(wasm, { params: { [c.BROTLI_PARAM_QUALITY]: +process.argv[3], [c.BROTLI_PARAM_LGWIN]: 24, [c.BROTLI_PARAM_SIZE_HINT]: wasm.length } });
const gz = gzipSync(wasm, { level: 9 });
writeFileSync(path + ".br", br);
writeFileSync(path + ".gz", gz);
console.log(`tilec.wasm: ${wasm.length} bytes, ${br.length} by brotli, ${gz.length} by gzip`);
JS
fi
