// The page: what is written, what is chosen, and what is shown of it.

import { run, words } from "./command.js";
import { Editor } from "./editor.js";
import { decode } from "./highlight.js";
import { LanguageServer, editsOf } from "./languageserver.js";
import { NativeBackend } from "./native.js";
import { pack, unpack } from "./share.js";
import { failed, missing, placeIn, stages } from "./stages.js";
import { WasmBackend } from "./wasm.js";

const $ = id => document.getElementById(id);
const element = (tag, properties = {}, ...children) => {
    const e = Object.assign(document.createElement(tag), properties);
    e.append(...children);
    return e;
};

const file = "main.tile"; // the program's
const compileLimit = 20; // seconds that a stage may take
const state = { tab: "ptx", function: "", kind: "", arguments: "", device: "cpu", check: false, debug: false, limit: 20 };
let backend, server, hasErrors = false, problems = [], functions = [];
let answers = new Map(); // of commands, by what they were asked with, of this text

const say = text => { $("status").textContent = text; };

const editor = new Editor($("editor"), {
    change() {
        answers = new Map();
        server?.change(editor.value);
        later(showStage, 500);
    },
    line: n => linkFromSource(n),
    hover: position => server.ask("hover", { position }),
    async complete(position) {
        server.change(editor.value);
        const found = await server.ask("completion", { position });
        return found?.items ?? found ?? [];
    },
    format,
});

// later calls f when for a while nothing else has asked for that.
const waiting = new Map();
function later(f, ms) {
    clearTimeout(waiting.get(f));
    waiting.set(f, setTimeout(f, ms));
}

// ---- the language server

function startServer() {
    server = new LanguageServer(backend, showProblems, code => {
        if (code === null) return;
        say("the language server has ended and is started again");
        setTimeout(startServer, 1000);
    });
    return server.begin(editor.value);
}

async function showProblems(all) {
    problems = all;
    hasErrors = all.some(d => (d.severity ?? 1) === 1);
    editor.diagnostics(all);
    const text = editor.value;
    const rows = all.slice(0, 100).map(d => {
        const fixes = element("span");
        const row = element("div", { className: { 1: "error", 2: "warning" }[d.severity ?? 1] ?? "note" },
            element("span", { className: "place", textContent: `${d.range.start.line + 1}:${d.range.start.character + 1}` }),
            element("span", { className: "text" }, element("b", { textContent: d.code ? `${d.code} ` : "" }), d.message), fixes);
        row.addEventListener("click", () => editor.select(d.range));
        server.ask("codeAction", { range: d.range, context: { diagnostics: [d], only: ["quickfix"] } }).then(actions => {
            for (const a of actions ?? []) {
                const edits = editsOf(a.edit);
                if (edits.length === 0) continue;
                const b = element("button", { textContent: a.title });
                b.addEventListener("click", e => {
                    e.stopPropagation();
                    if (editor.value === text) editor.apply(edits);
                });
                fixes.append(b);
            }
        }, () => {});
        return row;
    });
    $("problems").replaceChildren(...rows);
    const [tokens] = await Promise.all([server.ask("semanticTokens/full"), listFunctions()]).catch(() => [null]);
    if (tokens && editor.value === text) editor.tokens(decode(tokens.data, server.kinds));
    later(showStage, 100);
}

async function listFunctions() {
    const symbols = await server.ask("documentSymbol") ?? [];
    const lines = editor.value.split("\n");
    functions = [];
    for (const s of symbols) {
        const from = s.range ?? s.location.range;
        const kind = lines.slice(from.start.line, from.end.line + 1).map(l => l.match(/^\s*(kernel|graph)\s+(\w+)/)).find(m => m && m[2] === s.name);
        if (kind) functions.push({ name: s.name, kind: kind[1] });
    }
    if (!functions.some(f => f.name === state.function)) state.function = functions[0]?.name ?? "";
    $("function").replaceChildren(...functions.map(f => element("option", { value: f.name, textContent: `${f.kind} ${f.name}`, selected: f.name === state.function })));
    const kind = functions.find(f => f.name === state.function)?.kind ?? "kernel";
    if (kind !== state.kind) {
        state.kind = kind;
        showTabs();
    }
}

async function format() {
    server.change(editor.value);
    editor.apply(await server.ask("formatting", { options: { tabSize: 4, insertSpaces: true } }) ?? []);
}

// ---- commands

// ask runs a command of this text, once.
function ask(args, limit = compileLimit) {
    const key = args.join("\0"), now = answers;
    if (!now.has(key)) {
        const files = { [file]: editor.value };
        const of = run(backend, args, { files, limit, begun: r => busy(r, args) });
        now.set(key, of.finally(() => busy(null, args)));
        of.then(r => { if (r.code === null) now.delete(key); });
    }
    return now.get(key);
}

const runs = new Map();
function busy(running, args) {
    if (running) runs.set(args, running);
    else runs.delete(args);
    $("stop").hidden = runs.size === 0;
    say(runs.size > 0 ? "tilec " + [...runs.keys()].at(-1).join(" ") : `ready, the compiler runs ${backend.name}`);
}

const selection = () => ({ file, function: state.function, kind: state.kind, target: $("target").value, sizes: words($("sizes").value) });

// askWithSizes is ask, and fills in sizes that the program does not say and the user has not given.
async function askWithSizes(args) {
    for (let tries = 0; ; tries++) {
        const text = editor.value, asked = args(selection()), r = await ask(asked);
        const more = r.code && tries < 32 ? missing(r.stdout + r.stderr) : null;
        if (!more || editor.value !== text) return r;
        if (!words($("sizes").value).some(w => w.split("=")[0] === more.split("=")[0])) $("sizes").value = [...words($("sizes").value), more].join(" ");
        else if (asked.join("\0") === args(selection()).join("\0")) return r; // what is there does not help
    }
}

// ---- panes

let shown = 0; // counts what was asked to be shown: an answer that comes late is left alone

async function showStage() {
    keepInAddress();
    if (state.tab === "run") return;
    const stage = stages.find(s => s.id === state.tab), mine = ++shown;
    if (hasErrors) return paint([{ text: "The program has errors.", kind: "note" }]);
    if (!state.function && stage.id !== "typed") return paint([{ text: "The program has no kernel or graph.", kind: "note" }]);
    const r = await askWithSizes(s => stage.args(s));
    if (mine !== shown) return;
    if (r.code !== 0) return paint(failure(r, compileLimit));
    paint(stage.lines(r.stdout, file));
}

const failure = (r, limit) => r.late ? [{ text: `Stopped after ${limit} s.`, kind: "note" }]
    : r.code === null ? [{ text: "Stopped.", kind: "note" }]
    : failed(r, file);

// paint shows lines in the pane; before are elements on top of them.
function paint(lines, before = []) {
    const rows = lines.map(({ text, source, kind }) => {
        if (kind === "title") return element("h2", { textContent: text });
        if (kind === "note") return element("p", { textContent: text });
        const row = element("div", { className: "line " + (kind ?? ""), textContent: text });
        if (source !== undefined) row.dataset.source = source;
        return row;
    });
    $("pane").replaceChildren(...before, ...rows);
    linkFromSource(editor.position().line, false);
}

function linkFromSource(line, reveal = true) {
    const rows = [...$("pane").querySelectorAll(".line")].filter(row => row.classList.toggle("linked", row.dataset.source === String(line)));
    if (reveal && rows.length > 0 && !visible(rows[0])) $("pane").scrollTo({ top: rows[0].offsetTop - $("pane").offsetTop - $("pane").clientHeight / 3 });
    editor.link(rows.length > 0 ? [line] : [], false);
}

function visible(row) {
    const a = row.getBoundingClientRect(), b = $("pane").getBoundingClientRect();
    return a.top >= b.top && a.bottom <= b.bottom;
}

$("pane").addEventListener("mousemove", e => {
    const line = e.target.closest?.(".line")?.dataset.source;
    if (line !== undefined) editor.link([Number(line)], false);
});
$("pane").addEventListener("click", e => {
    const line = e.target.closest?.(".line")?.dataset.source;
    if (line === undefined || !getSelection().isCollapsed) return;
    const start = { line: Number(line), character: 0 };
    editor.select({ start, end: start });
    linkFromSource(Number(line), false);
    editor.link([Number(line)], true);
});

function showTabs() {
    const all = [...stages.filter(s => s.for.includes(state.kind || "kernel")), { id: "run", title: "Run" }];
    if (!all.some(t => t.id === state.tab)) state.tab = all.at(-2).id;
    $("tabs").replaceChildren(...all.map(t => {
        const b = element("button", { textContent: t.title, role: "tab", id: "tab-" + t.id });
        b.setAttribute("aria-selected", t.id === state.tab);
        b.addEventListener("click", () => choose(t.id));
        return b;
    }));
    showBar();
}

function choose(tab) {
    state.tab = tab;
    showTabs();
    shown++;
    $("pane").replaceChildren();
    showStage();
}

// ---- runs

let devices = [["cpu", "CPU"], ["emu", "GPU emulator"]];

function showBar() {
    const stage = stages.find(s => s.id === state.tab);
    if (stage) return $("bar").replaceChildren(stage.about);
    const choice = (name, options) => {
        const s = element("select", { id: name }, ...options.map(([value, text]) => element("option", { value, textContent: text, selected: String(state[name]) === String(value) })));
        s.addEventListener("change", () => { state[name] = s.value; });
        return s;
    };
    const input = element("input", { id: "arguments", value: state.arguments, spellcheck: false, placeholder: "more, as x=randn[64,64] eps=1e-5; what is left out is random", ariaLabel: "arguments" });
    input.addEventListener("input", () => { state.arguments = input.value; });
    input.addEventListener("keydown", e => { if (e.key === "Enter") runNow("run"); });
    const box = (name, title) => {
        const b = element("input", { type: "checkbox", id: name, checked: state[name] });
        b.addEventListener("change", () => { state[name] = b.checked; });
        return element("label", { title }, b, name);
    };
    const go = element("button", { id: "go", className: "first", textContent: "Run" });
    go.addEventListener("click", () => runNow("run"));
    const tests = element("button", { id: "tests", textContent: "Run tests" });
    tests.addEventListener("click", () => runNow("test"));
    $("bar").replaceChildren(go, tests, element("label", {}, "on ", choice("device", devices)), element("label", {}, "for at most ", choice("limit", [[5, "5 s"], [20, "20 s"], [120, "2 min"]])),
        box("check", "judge every element by the bound that it has"), box("debug", "check what kernels assume of tiles, as they assert"), input);
}

async function runNow(what) {
    const mine = ++shown;
    const profile = state.device === "emu" && what === "run" ? ["--profile"] : [];
    $("pane").replaceChildren(element("p", { textContent: "running" }));
    let r;
    for (let tries = 0; tries < 16; tries++) {
        const args = what === "test" ? ["test", file, "--json", "--device", state.device]
            : ["run", file, state.function, "--json", "--device", state.device, ...profile, ...state.check ? ["--check"] : [], ...state.debug ? ["--debug"] : [], ...words($("sizes").value), ...words(state.arguments)];
        answers.delete(args.join("\0"));
        r = await ask(args, Number(state.limit));
        const more = r.code && what === "run" ? missing(r.stdout + r.stderr) : null;
        if (!more || mine !== shown) break;
        if (more.endsWith("=1")) $("arguments").value = state.arguments = (state.arguments + " " + more).trim();
        else $("sizes").value = [...words($("sizes").value), more].join(" ");
    }
    if (mine !== shown) return;
    keepInAddress();
    if (r.code === null) return paint(r.late ? [{ text: `Stopped after ${state.limit} s. Does a loop never end? Smaller sizes take less.`, kind: "note" }] : failure(r));
    const answer = r.stdout.trim().split("\n").filter(Boolean).map(line => JSON.parse(line));
    paint(r.stderr.trimEnd().split("\n").filter(Boolean).map(text => ({ text, source: placeIn(text, file) })), what === "test" ? tested(answer) : results(answer[0] ?? {}));
}

const table = (head, rows) => element("table", {}, element("tr", {}, ...head.map(h => element("th", { textContent: h }))), ...rows.map(cells => element("tr", {}, ...cells.map(c => element("td", { textContent: c ?? "" })))));

const lineOf = d => {
    const row = element("div", { className: "line " + (d.severity === "warning" ? "" : "wrong"), textContent: (d.line ? `${d.file}:${d.line}: ` : "") + d.message });
    if (d.line) row.dataset.source = d.line - 1;
    return [row, ...(d.notes ?? []).map(n => element("div", { className: "line", textContent: "  " + n }))];
};

// results shows what `tilec run --json` printed.
function results(r) {
    const out = [];
    for (const e of r.errors ?? []) out.push(...lineOf(e));
    if (r.outputs) {
        out.push(element("h2", { textContent: `${r.function} on ${r.device}` }));
        out.push(table(["output", "type", "shape", "least", "most", "mean", "nan", "begins with"], r.outputs.map(o => [o.name, o.dtype, `[${o.shape.join(", ")}]`, o.min, o.max, o.mean, o.nan, (o.first ?? []).join(" ")])));
        out.push(element("p", { textContent: `compiled in ${r.compile_ms.toFixed(1)} ms, run in ${r.run_ms.toFixed(1)} ms` }));
    }
    for (const c of r.checks ?? []) {
        const text = c.wrong ? `${c.result}: ${c.wrong} of ${c.judged} elements are beyond their bounds; ${c.first}` : `${c.result}: ${c.judged} of ${c.elements} elements are within their bounds, the worst at ${c.worst?.toPrecision(3)} of its bound`;
        out.push(element("div", { className: c.wrong ? "line wrong" : "line", textContent: text }));
    }
    return out;
}

// tested shows what `tilec test --json` printed.
function tested(lines) {
    if (lines.length === 0) return [element("p", { textContent: "The program has no test." })];
    return lines.flatMap(t => [
        element("div", { className: t.ok ? "line" : "line wrong", textContent: `${t.ok ? "ok  " : "FAIL"} ${t.test ?? t.file} on ${t.device ?? ""} (${(t.seconds ?? 0).toFixed(2)} s)` }),
        ...(t.errors ?? []).flatMap(lineOf),
        ...(t.failures ?? []).flatMap(f => lineOf({ file, line: f.line, message: `${f.check}\n${f.text}` })),
    ]);
}

// ---- what is kept

const saved = () => ({ source: editor.value, function: state.function, sizes: $("sizes").value, arguments: state.arguments, target: $("target").value, tab: state.tab, device: state.device });

let inAddress = false; // from the first share on the address follows
async function keepInAddress() {
    if (inAddress) history.replaceState(null, "", "#" + await pack(saved()));
}

function restore(s) {
    state.function = s.function ?? "";
    state.arguments = s.arguments ?? "";
    state.device = s.device ?? "cpu";
    state.tab = s.tab ?? "ptx";
    $("sizes").value = s.sizes ?? "";
    if (s.target) $("target").value = s.target;
    state.kind = "";
    showTabs();
    shown++;
    $("pane").replaceChildren();
    const same = editor.value === s.source;
    editor.set(s.source);
    if (same && server) showProblems(problems); // the server has nothing new to say
}

$("share").addEventListener("click", async () => {
    inAddress = true;
    await keepInAddress();
    const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
    say(copied ? `the address of this program is copied, ${location.href.length} letters` : "the address of this page is now that of the program");
});
$("format").addEventListener("click", format);
$("stop").addEventListener("click", () => { for (const r of runs.values()) r.stop(); });
$("sizes").addEventListener("input", () => later(showStage, 600));
$("target").addEventListener("change", () => showStage());
$("function").addEventListener("change", async () => {
    state.function = $("function").value;
    $("sizes").value = "";
    await listFunctions();
    showTabs();
    showStage();
});
addEventListener("hashchange", async () => {
    const s = await unpack(location.hash.slice(1));
    if (s && s.source !== editor.value) restore(s);
});

// ---- the beginning

async function begin() {
    const wasm = document.querySelector("meta[name=backend]").content === "wasm";
    const base = new URL(".", location.href);
    const list = fetch(new URL("examples/index.json", base)).then(r => r.json());
    if (wasm) {
        const parts = bytes => say(`loading the compiler, ${(bytes / 1e6).toFixed(0)} MB`);
        backend = await WasmBackend.load(new URL("tilec.wasm", base), parts);
    } else backend = new NativeBackend(base);

    const examples = await list;
    const groups = Map.groupBy ? Map.groupBy(examples, e => e.group) : examples.reduce((m, e) => m.set(e.group, [...m.get(e.group) ?? [], e]), new Map());
    for (const [group, all] of groups) $("examples").append(element("optgroup", { label: group }, ...all.map(e => element("option", { value: e.file, textContent: e.name }))));
    const open = async name => {
        const text = await fetch(new URL("examples/" + name, base)).then(r => r.text());
        inAddress = false;
        history.replaceState(null, "", location.pathname);
        restore({ source: text, tab: state.tab, device: state.device });
    };
    $("examples").addEventListener("change", () => open($("examples").value));

    for (const t of ["sm_90a", "sm_80", "sm_86", "sm_89", "sm_120"]) $("target").append(element("option", { value: t, textContent: t }));
    const shared = await unpack(location.hash.slice(1));
    if (shared) {
        inAddress = true;
        restore(shared);
    } else await open(examples[0].file);
    await startServer();
    busy(null, []);
    const known = await run(backend, ["devices", "--json"]);
    try {
        for (const d of JSON.parse(known.stdout).devices) if (!devices.some(([id]) => id === d.device)) devices.push([d.device, d.name]);
    } catch { /* then there are those of everywhere */ }
    if (state.tab === "run") showBar();
}

begin().catch(e => say(`the page cannot start: ${e.message}`));
