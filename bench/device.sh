#!/usr/bin/env bash
# Tests and times everything on a machine with a GPU.
#
#   bench/device.sh build            here, with Go: makes .gpu/bundle.txz, all that the other machine needs
#   bench/device.sh run [PART ...]   there, in the root of a copy of the repository with that bundle
#
# Parts are correctness, bench, beyond, pins, sanitize and fuzz; all but beyond, pins and fuzz when none is given. Each is
# cut when it takes too long, and says so; together they take under 9 minutes.
# Summaries go to stdout; logs and tables to the folder that OUT names. bench times the
# workloads that the words in WORKLOADS choose (`tilec bench list`), beside PyTorch, and holds them to
# what is expected of the GPU; pins times what bench/trials.txt pins (TRIALS names another file), beside what
# is planned, and leaves pins.json, an array for each line of it, which `tilec bench spaces --add` keeps. JOBS is how many tests run at once (8), and
# CORRECTNESS_SECONDS when they are cut (420): what had ended by then is told; those whose names match the regular expression SKIP are left out. fuzz runs random programs of every topic,
# for FUZZ_SECONDS each (20), from SEED on (that of the day), and leaves findings in a folder each. beyond times bench/beyond: sequences, products, images and
# rows, or the files that BEYOND names, as in BEYOND="serving training", of which a call has time for two (the others are modern, science and vision, and kernelbench, fused and networks, which take a call by themselves; PART=4 gives those of
# fused a fourth of their batches, without which they take two).
#
# TOOLS=DIR with DIR/include/cuda.h and DIR/lib builds the driver's conformance
# test with gorgonia.org/cu too. PTXAS=FILE takes an assembler along.
set -uo pipefail
cd "$(dirname "$0")/.."
root=$PWD

build() {
    set -e
    local stage=.gpu/stage
    rm -rf $stage .gpu/bundle.txz && mkdir -p $stage
    export CGO_ENABLED=0 GOOS=linux GOARCH=amd64
    local flags=(-trimpath -ldflags '-s -w')
    go build "${flags[@]}" -o $stage/tilec ./cmd/tilec
    go build "${flags[@]}" -o $stage/bench ./bench/run
    # Every package whose tests ask for the device under test, and the driver's own;
    # not bench, whose workloads are timed there anyway, nor bench/mutate, which needs Go.
    local packages
    packages=$(go list -f '{{range .TestImports}}{{if eq . "tilec/jit/jittest"}}{{$.ImportPath}}{{"\n"}}{{end}}{{end}}{{range .XTestImports}}{{if eq . "tilec/jit/jittest"}}{{$.ImportPath}}{{"\n"}}{{end}}{{end}}' ./... | grep -v '^tilec/bench' | sort -u)
    local p
    for p in $(printf '%s\n' tilec/jit/cuda tilec/jit $packages | sort -u); do
        p=${p#tilec/}
        go test -c "${flags[@]}" -o "$stage/$(echo "$p" | tr / .).test" "./$p"
        echo "$p $(echo "$p" | tr / .).test" >>$stage/packages
    done
    if [ -n "${TOOLS:-}" ]; then
        CGO_ENABLED=1 CGO_CFLAGS="-I$TOOLS/include" CGO_LDFLAGS="-L$TOOLS/lib" go test -c -tags cu "${flags[@]}" -o $stage/cu.test ./jit/cuda
        echo "jit/cuda cu.test" >>$stage/packages
    fi
    if [ -n "${PTXAS:-}" ]; then cp "$PTXAS" $stage/ptxas; fi
    # Test binaries share most of their code: a dictionary that holds several packs them to a fraction.
    tar -c -C $stage . | xz -T1 --lzma2=preset=4,dict=256MiB >.gpu/bundle.txz
    rm -rf $stage
    ls -l .gpu/bundle.txz
}

# part SECONDS COMMAND... runs a command in a shell of its own with a time limit.
limited() {
    local seconds=$1 status
    shift
    timeout -k 5 "$seconds" "$@"
    status=$?
    if [ $status -eq 124 ] || [ $status -eq 137 ]; then echo "CUT after $seconds s: $*"; fi
    return $status
}

# one FOLDER BINARY TEST runs a test function in a process of its own, for a fault in
# one kernel makes all that follows in its process fail. It leaves a log that ends with its exit status.
one() {
    local log=$work/logs/$2.$3
    (cd "$root/$1" && limited 250 "$work/$2" -test.v -test.timeout 240s -test.run "^$3\$") >"$log" 2>&1
    echo "exit $?" >>"$log"
}

# correctness runs every test of every package, several at a time, and prints one
# line for each package and, of what failed, the first case and why.
correctness() {
    local folder binary name log
    mkdir "$work/logs"
    export work root TILEC_TEST_THOROUGH=1
    export -f one limited
    # What compiles the most comes first, so that nothing long begins at the end.
    while read -r folder binary; do
        for name in $("$work/$binary" -test.list '^Test'); do echo "$folder $binary $name"; done
    done <"$work/packages" | grep -vE "${SKIP:-^$}" | awk '/Conformance|StandardLibrary|Oracle/ { print; next } { rest = rest $0 "\n" } END { printf "%s", rest }' >"$work/tests"
    timeout -k 5 "${CORRECTNESS_SECONDS:-420}" xargs -P "${JOBS:-8}" -L 1 bash -c 'one "$0" "$1" "$2"' <"$work/tests" ||
        echo "CUT: $(($(wc -l <"$work/tests") - $(ls "$work/logs" | wc -l))) of $(wc -l <"$work/tests") test functions were not begun" | tee -a "$work/summary"
    while read -r folder binary; do
        grep -ahE '^--- (PASS|FAIL|SKIP)' "$work/logs/$binary".* | sed 's/^--- //' >"$work/package"
        cat "$work/package" >>"$OUT/tests.txt"
        printf '%-14s %-14s %3d passed %3d failed %3d skipped, %d processes failed\n' "$folder" "$binary" "$(grep -c ^PASS "$work/package")" \
            "$(grep -c ^FAIL "$work/package")" "$(grep -c ^SKIP "$work/package")" \
            "$(grep -aLE '^exit 0$' "$work/logs/$binary".* | wc -l)" | tee -a "$work/summary"
    done <"$work/packages"
    for log in $(grep -aLE '^exit 0$' "$work"/logs/*); do
        printf '  %s: %s, %d cases pass, %d fail\n' "$(basename "$log")" "$(tail -n 1 "$log")" "$(grep -acE '^ +--- PASS' "$log")" "$(grep -acE '^ +--- FAIL' "$log")" | tee -a "$work/summary"
        grep -aE '^ +--- FAIL' "$log" | head -2
        grep -aE '^CUT|^panic:|fatal error|Error:|Messages:|are wrong|compiler bug|CUDA_ERROR|ptxas|  at \[' "$log" | awk '!seen[$0]++' | cut -c1-240 | head -5
    done
    (cd "$work/logs" && tail -n +1 -- *) >"$OUT/correctness.log"
}

bench() {
    export TILEC_CACHE=$work/cache CUDA_CACHE_PATH=$work/cuda-cache
    local dtype
    # A process finds empty caches once; the second time it finds what the first left.
    for dtype in f32 bf16; do
        for log in cold models; do
            limited 40 "$work/bench" model -device $device -model mini -dtype $dtype -tokens 200 >>"$OUT/$log.jsonl" 2>>"$work/bench.err"
        done
    done
    limited 40 "$work/bench" model -device $device -model testdata/models/nano -tokens 200 >>"$OUT/models.jsonl" 2>>"$work/bench.err"
    limited 40 "$work/bench" model -device $device -model gpt2 -dtype bf16 -tokens 200 >>"$OUT/models.jsonl" 2>>"$work/bench.err"
    limited 60 python3 bench/peer.py >"$OUT/peers.jsonl" 2>>"$work/bench.err"
    # shellcheck disable=SC2086 # the words are separate arguments
    limited 300 "$work/tilec" bench run ${WORKLOADS:-} --device "$device" --peer torch --within 130s --time 60ms --out "$OUT/run.json" >"$OUT/results.md" 2>>"$work/bench.err"
    "$work/bench" report -device "$name" -peers "$OUT/peers.jsonl" -cold "$OUT/cold.jsonl" -models "$OUT/models.jsonl" >>"$OUT/results.md" 2>>"$work/bench.err"
    cat "$OUT/results.md"
    "$work/tilec" bench verify "$OUT/run.json" | tee "$OUT/verify.txt"
    limited 150 "$work/tilec" bench gpt --device "$device" --batches 1,8 --prompts 8x128 2>>"$work/bench.err" | tee "$OUT/gpt.md"
    if [ -s "$work/bench.err" ]; then echo "-- stderr of the benchmarks"; tail -n 15 "$work/bench.err"; fi
    # All figures in one file; what can be brought back is a few files.
    cat "$OUT"/{peers,cold,models}.jsonl >"$OUT/figures.jsonl" 2>/dev/null
    rm -f "$OUT"/{peers,cold,models}.jsonl
}

# beyond times the kernels of bench/beyond, of the files that BEYOND names, and PyTorch beside them.
beyond() {
    local file kernel args each
    export TILEC_CACHE=$work/cache
    (cd "$work" && python3 "$root/bench/beyond/data.py")
    while IFS=: read -r kernel args _; do
        read -r file kernel <<<"$kernel"
        case " ${BEYOND:-sequences products images rows} " in *" $file "*) ;; *) continue ;; esac
        if [[ ${PART:-1} -gt 1 && $file == fused && $args =~ B=([0-9]+) ]]; then args=${args/B=${BASH_REMATCH[1]}/B=$((BASH_REMATCH[1] / PART))}; fi
        # shellcheck disable=SC2086 # the arguments are separate words
        each=$(cd "$work" && limited 60 "$work/tilec" run "$root/bench/beyond/$file.tile" $kernel $args --device "$device" --time --json 2>>"$work/beyond.err" | tr -d '\n' | sed -n 's/.*"median_us": *\([0-9.]*\).*/\1/p')
        echo "$kernel $args: ${each:-failed}" | tee -a "$OUT/beyond.txt"
    done < <(grep -v '^#' "$root/bench/beyond/sizes.txt" | sed 's/: /:/g')
    case ${BEYOND:-} in
        kernelbench) limited 250 python3 bench/beyond/bench_peers.py 2>>"$work/beyond.err" | tee "$OUT/beyond-peers.txt" ;;
        networks) LIMIT=280 limited 300 python3 bench/beyond/networks_peers.py 2>>"$work/beyond.err" | tee "$OUT/beyond-peers.txt" ;;
        fused) LIMIT=280 limited 300 python3 bench/beyond/fused_peers.py 2>>"$work/beyond.err" | tee "$OUT/beyond-peers.txt" ;;
        '') limited 300 python3 bench/beyond/peers.py 2>>"$work/beyond.err" | tee "$OUT/beyond-peers.txt" ;;
        *) limited 300 python3 bench/beyond/more_peers.py 2>>"$work/beyond.err" | tee "$OUT/beyond-peers.txt" ;;
    esac
}

# pins times forms that can be pinned beside those that are planned: a process for each line of the
# trials, for a fault in one form makes all that follows in its process fail.
pins() {
    export TILEC_CACHE=$work/cache
    local until=$((SECONDS + ${PINS_SECONDS:-480})) line=0 trial
    while read -r trial; do
        case $trial in '' | '#'*) continue ;; esac
        line=$((line + 1))
        echo "$trial" >"$work/trial.txt"
        if [ $SECONDS -ge $until ]; then
            echo "CUT: $trial" | tee -a "$OUT/pins.md"
            continue
        fi
        limited 60 "$work/tilec" bench pins --trials "$work/trial.txt" --device "$device" --time 80ms --out "$work/pins.$line.json" 2>"$work/pins.err" | grep '^|' >>"$OUT/pins.md"
        if [ ! -s "$work/pins.$line.json" ]; then echo "FAILED: $trial" && tail -n 5 "$work/pins.err" | cut -c1-300; fi
    done <"${TRIALS:-bench/trials.txt}"
    cat "$work"/pins.*.json >"$OUT/pins.json"
    # The last table of each line: pins, workloads, geometric mean, least, most.
    awk -F'|' 'NF == 7 && $3 ~ /[0-9]/' "$OUT/pins.md"
}

sanitize() {
    local log=$OUT/sanitize.log tool
    if ! command -v compute-sanitizer >/dev/null; then
        echo "sanitize: there is no compute-sanitizer on this machine" | tee -a "$work/summary"
        return
    fi
    # The sanitizer slows kernels by orders of magnitude: few and small ones.
    for tool in memcheck racecheck initcheck; do
        sanitized $tool "nano, 4 tokens" . "$work/bench" model -device $device -model testdata/models/nano -tokens 4
        sanitized $tool "narrow weights" jit "$work/jit.test" -test.parallel 1 -test.run 'TestFactorsThatAreMade/(twos|points|powers|offsets)_bf16.*BN:(32|64)_stages'
        sanitized $tool "stdlib, small shapes" stdlib "$work/stdlib.test" -test.short -test.parallel 1 -test.run 'TestSoftmax|TestLayernorm|TestLinearBias|TestAttentionOf|TestEmbedding|TestAppend'
    done
}

# fuzz runs random programs about each topic, and about anything.
fuzz() {
    local topic
    for topic in all $("$work/tilec" fuzz --help | sed -n 's/.*all or one of \[\(.*\)\].*/\1/p'); do
        echo "-- $topic"
        limited $((${FUZZ_SECONDS:-20} + 60)) "$work/tilec" fuzz --device "$device" --topic $topic --seed "${SEED:-$(date +%y%m%d00000)}" --jobs "${JOBS:-8}" --count 1000000 \
            --time "${FUZZ_SECONDS:-20}s" --shrink 15s --keep "$OUT/findings-$topic" 2>&1 | grep -aE 'times:|findings of|^refused|CUT' | cut -c1-300 | tee -a "$work/summary"
    done
}

# sanitized TOOL WHAT FOLDER COMMAND... runs a command under compute-sanitizer.
sanitized() {
    local tool=$1 what=$2 folder=$3 status found
    shift 3
    (cd "$root/$folder" && limited 45 compute-sanitizer --tool "$tool" --report-api-errors no --error-exitcode 9 --print-limit 20 "$@") >"$work/sanitize.log" 2>&1
    status=$?
    { echo "==== $tool: $what"; cat "$work/sanitize.log"; } >>"$OUT/sanitize.log"
    found=$(grep -aE 'ERROR SUMMARY|RACECHECK SUMMARY' "$work/sanitize.log" | tail -n 1 | sed 's/^=* *//')
    printf '%-10s %-22s exit %d  %s\n' "$tool" "$what" "$status" "${found:-no summary}" | tee -a "$work/summary"
    if [ $status -ne 0 ]; then
        grep -aE '^CUT|Invalid|Race|hazard|panic:|Error:' "$work/sanitize.log" | awk '!seen[$0]++' | head -8
    fi
}

run() {
    local parts=("$@")
    if [ ${#parts[@]} -eq 0 ]; then parts=(correctness bench sanitize); fi
    : "${OUT:?set OUT to a folder for logs and tables}"
    device=${DEVICE:-cuda}
    mkdir -p "$OUT"
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    tar -xJf .gpu/bundle.txz -C "$work" || exit 1
    if [ -x "$work/ptxas" ]; then export TILEC_PTXAS=$work/ptxas; fi
    export TILEC_TEST_DEVICE=$device TILEC_CACHE=$work/test-cache CUDA_CACHE_PATH=$work/test-cuda-cache
    name=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -n 1)
    name=${name:-$device}
    echo "device: $name"
    local part begin
    for part in "${parts[@]}"; do
        case $part in
        correctness | bench | beyond | pins | sanitize | fuzz) ;;
        *) echo "unknown part $part: give correctness, bench, beyond, pins, sanitize or fuzz" && exit 2 ;;
        esac
    done
    for part in "${parts[@]}"; do
        begin=$SECONDS
        echo "== $part"
        $part
        echo "$part took $((SECONDS - begin)) s" | tee -a "$work/summary"
    done
    echo "== summary"
    cat "$work/summary"
    cp "$work/summary" "$OUT/summary.txt"
}

case ${1:-} in
build) build ;;
run)
    shift
    run "$@"
    ;;
*)
    echo "usage: bench/device.sh build | run [correctness] [bench] [beyond] [pins] [sanitize] [fuzz]"
    exit 2
    ;;
esac
