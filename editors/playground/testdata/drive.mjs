// Drives the compiler as the page does, in Node: node drive.mjs FOLDER, that build.sh made.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { load, wasmBackend } from "./node.mjs";

const folder = process.argv[2];
const { run } = await load(folder, "command.js");
const { LanguageServer, editsOf } = await load(folder, "languageserver.js");
const { missing, stages } = await load(folder, "stages.js");
const { backend, close } = await wasmBackend(folder);

const source = "kernel relu(x: f32[N]) -> y: f32[N]\n    grid i in N by B\n{\n    let v = x[i] * 2\n    y[i] = max(v, 0)\n}\n\ntest \"relu\" {\n    check relu([1.0, -1.0]) == [2.0, 0.0]\n}\n";
const command = (args, text = source, limit = 120) => run(backend, args, { files: { "main.tile": text }, limit });
const selection = { file: "main.tile", function: "relu", kind: "kernel", target: "sm_90a", sizes: ["N=256"] };

// Every stage has lines, and those that can be linked are.
for (const stage of stages.filter(s => s.for.includes("kernel"))) {
    const r = await command(stage.args(selection));
    assert.equal(r.code, 0, r.stderr);
    const lines = stage.lines(r.stdout, selection.file);
    assert.ok(lines.length > 1, stage.id);
    if (stage.id === "ptx") assert.match(r.stdout, /\.visible \.entry relu/);
    if (stage.id !== "plan") assert.ok(lines.some(l => l.source === 4), `${stage.id} has no line of the store:\n${r.stdout}`);
}

// Sizes that are not given are asked for, in words that the page understands.
const bare = await command(stages.find(s => s.id === "ptx").args({ ...selection, sizes: [] }));
assert.equal(bare.code, 1);
assert.equal(missing(bare.stdout), "N=64");

// Numbers on the CPU and in the emulator, judged; the emulator's profile names lines.
for (const device of ["cpu", "emu"]) {
    const r = await command(["run", "main.tile", "relu", "x=[1, -2, 3]", "--json", "--check", "--device", device, ...device === "emu" ? ["--profile"] : []]);
    assert.equal(r.code, 0, r.stderr);
    const result = JSON.parse(r.stdout);
    assert.deepEqual(result.outputs[0].first, ["2", "0", "6"]);
    assert.equal(result.checks[0].judged, 3);
    if (device === "emu") assert.match(r.stderr, /main\.tile:5 +st\.global/);
}
const tests = await command(["test", "main.tile", "--json", "--device", "cpu"]);
assert.equal(JSON.parse(tests.stdout).ok, true, tests.stderr);

// What is left out says so, and a mistake of the user is no failure of the page.
const left = await command(["run", "gpt.tile"]);
assert.equal(left.code, 2);
assert.match(left.stderr, /left out of the playground/);
assert.equal((await command(["check", "main.tile"], "kernel")).code, 1);

// What does not end is stopped, and the next command runs.
const forever = source.replace("let v = x[i] * 2", "let v = for n in 1000000000 with s = x[i] { s * 1.0001 }");
const begun = Date.now();
const stopped = await command(["run", "main.tile", "relu", "N=64", "--device", "emu"], forever, 3);
assert.equal(stopped.code, null);
assert.ok(stopped.late && Date.now() - begun < 20_000);
assert.equal((await command(["version"])).code, 0);

// The language server: a mistake as it is typed, its fix, hover, completion, colours.
const shown = [];
let told;
const server = new LanguageServer(backend, all => {
    shown.push(all);
    told?.();
}, () => {});
const until = test => new Promise(resolve => {
    told = () => { if (shown.some(test)) resolve(shown.find(test)); };
    told();
});
await server.begin(source.replace("max(v", "mxa(v"));
const [mistake] = await until(all => all.length > 0);
assert.match(mistake.message, /mxa/);
const fixes = await server.ask("codeAction", { range: mistake.range, context: { diagnostics: [mistake], only: ["quickfix"] } });
assert.equal(editsOf(fixes[0].edit)[0].newText, "max");
shown.length = 0;
server.change(source);
await until(all => all.length === 0);
const hover = await server.ask("hover", { position: { line: 3, character: 8 } });
assert.match(JSON.stringify(hover.contents), /f32\{i\}/);
const found = await server.ask("completion", { position: { line: 4, character: 13 } });
assert.ok((found.items ?? found).some(i => i.label === "max"));
assert.ok((await server.ask("semanticTokens/full")).data.length > 0);
assert.ok((await server.ask("documentSymbol")).some(s => s.name === "relu"));
server.stop();

// Every example of the list is a program without errors.
for (const { file } of JSON.parse(readFileSync(join(folder, "examples/index.json"), "utf8"))) {
    const r = await command(["check", "main.tile"], readFileSync(join(folder, "examples", file), "utf8"));
    assert.equal(r.code, 0, file + r.stderr);
}
await close();
console.log("ok");
