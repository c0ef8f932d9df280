#!/usr/bin/env bash
# The extension in a real VS Code (code-server) in a real Chromium, clicked through as a user would:
#
#   editors/vscode/test/e2e/run.sh DIR [PICTURES]
#
# DIR gets code-server, the packaged extension and a tilec built of this checkout, 350 MB, and keeps them for the next time;
# PICTURES, DIR/pictures where it is left out, gets a picture of each step. Needed: Node 20, Go, make, g++, python3 for native modules, and
# chromium and rg, Debian's packages chromium, ripgrep and a font such as fonts-dejavu-core. What comes over the network comes from npm's registry.
set -euo pipefail

fail() {
    printf 'e2e: %s\n' "$1" >&2
    exit 1
}

[ $# -ge 1 ] && [ $# -le 2 ] || { echo 'usage: run.sh DIR [PICTURES]' >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
dir=$(cd "$1" && pwd)
pictures=${2:-$dir/pictures}
mkdir -p "$pictures"
pictures=$(cd "$pictures" && pwd)

for tool in node npm go make g++ python3 rg "${CHROMIUM:=chromium}"; do
    command -v "$tool" >/dev/null || fail "$tool is not installed"
done
case $(node --version) in
v20.*) ;;
*) fail "code-server 4.100.3 needs Node 20, and this is $(node --version)" ;;
esac
CHROMIUM=$(command -v "$CHROMIUM")
export CHROMIUM

# Native modules are compiled against the headers of this Node, where it has them, and not against some that are fetched.
headers=$(dirname "$(dirname "$(node -p process.execPath)")")
if [ -f "$headers/include/node/node.h" ]; then export npm_config_nodedir=$headers; fi

# Scripts of packages stay off: those of code-server fetch a ripgrep from elsewhere. What has to be compiled is named.
if [ ! -f "$dir/installed" ]; then
    echo "code-server and playwright-core into $dir"
    cd "$dir"
    npm init -y >/dev/null
    vscode=$dir/node_modules/code-server/lib/vscode
    add=(npm install --no-audit --no-fund --ignore-scripts)
    (
        "${add[@]}" code-server@4.100.3 playwright-core@1.65.1 &&
            cd "$vscode" && "${add[@]}" --omit=dev &&
            npm rebuild --yes @vscode/spdlog native-watchdog node-pty && # node-pty asks npx for node-gyp once more
            cd extensions && "${add[@]}" --omit=dev &&
            cd "$dir" && npm rebuild argon2
    ) >"$dir/install.log" 2>&1 || fail "not installed; $dir/install.log ends with
$(tail -n 20 "$dir/install.log")"
    mkdir -p "$vscode/node_modules/@vscode/ripgrep/bin"
    ln -sf "$(command -v rg)" "$vscode/node_modules/@vscode/ripgrep/bin/rg"
    ln -sfn node_modules "$vscode/node_modules.asar"
    touch "$dir/installed"
fi

echo "tilec and the extension"
(cd "$here" && CGO_ENABLED=0 go build -trimpath -o "$dir/tilec" ../../../../cmd/tilec)
cd "$here/../.."
if [ ! -d node_modules ]; then npm ci --silent --no-audit --no-fund; fi
npm run --silent package -- --out "$dir/tilec.vsix" </dev/null >"$dir/package.log" 2>&1 || fail "the extension is not packaged: $(cat "$dir/package.log")"

exec node "$here/clickthrough.mjs" "$dir" "$pictures"
