// What the page computes without the compiler: node pure.mjs FOLDER, of the page's modules.
import assert from "node:assert/strict";
import { load } from "./node.mjs";

const folder = process.argv[2];

const { differences } = await load(folder, "differences.js");
assert.deepEqual(differences("a\nb\nc\nd", "a\nx\nc\nd\ne"), [[" ", "a"], ["-", "b"], ["+", "x"], [" ", "c"], [" ", "d"], ["+", "e"]]);
assert.deepEqual(differences("a", "a"), [[" ", "a"]]);
for (let n = 0; n < 200; n++) { // whatever the texts, both can be told from their differences
    const text = () => Array.from({ length: Math.floor(Math.random() * 9) + 1 }, () => "abc"[Math.floor(Math.random() * 3)]).join("\n");
    const a = text(), b = text(), d = differences(a, b);
    assert.equal(d.filter(([s]) => s !== "+").map(([, l]) => l).join("\n"), a);
    assert.equal(d.filter(([s]) => s !== "-").map(([, l]) => l).join("\n"), b);
}

const { words } = await load(folder, "command.js");
assert.deepEqual(words(" N=64  'x=[[1, 3]]' "), ["N=64", "x=[[1, 3]]"]);
for (const nothing of ["", " ", "'"]) assert.deepEqual(words(nothing), []);

const { pack, unpack } = await load(folder, "share.js");
const state = { source: "kernel é → 𝕏\n".repeat(50), sizes: "N=4" };
const text = await pack(state);
assert.match(text, /^[\w-]+$/);
assert.ok(text.length < 200);
assert.deepEqual(await unpack(text), state);
for (const bad of ["", "1", "1????", "2abc", text.slice(0, -9), await pack({ sizes: "" })]) assert.equal(await unpack(bad), null, bad);

const { linksOf, missing, placeIn, stages } = await load(folder, "stages.js");
const links = linksOf('    mov.u32 %r1;\n    .loc 1 7 5\n    // %3 = load x %1 : f32{i}\n    ld;\n    .loc 2 9 1\n    // %4 = exp %3\n    ex2;\n    .loc 1 8 5\n    // store z %0 %3\n    st;\n}\n.file 1 "main.tile"\n.file 2 "std/nn.tile"\n', "main.tile");
assert.deepEqual(links.lines.slice(0, 11), [undefined, 6, 6, 6, undefined, undefined, undefined, 7, 7, 7, undefined]);
const ir = stages.find(s => s.id === "ir").lines({ stdout: "body:\n  %3 = load %x[%1] : f32{i}\n  %4 = exp %3\n  store %z[%0] = %4\n" }, links);
assert.deepEqual(ir.map(l => l.source), [undefined, 6, undefined, 7]);
const passes = stages.find(s => s.id === "passes").lines({ stderr: "// ir: f, after cse\na\nb\n\n// ir: f, after dce\na\nc\n\n" }, links);
assert.deepEqual(passes.map(l => [l.kind, l.text]), [["title", "f, after cse"], [undefined, "a"], [undefined, "b"], ["title", "f, after dce"], [undefined, "  a"], ["removed", "- b"], ["added", "+ c"]]);
const built = stages.find(s => s.id === "passes").lines({ stderr: "// ir: f, after build\na\n\n" }, links);
assert.deepEqual(built.map(l => l.text), ["f, as it is built", "a"]);
const graph = stages.find(s => s.id === "graph").lines({ stdout: "graph g, 2 launches\n  %0 = f(x)\n  %1 = f(x)\nafter cse:\ngraph g, 1 launches\n  %0 = f(x)\n" });
assert.deepEqual(graph.map(l => [l.kind, l.text]), [["title", "as it is bound"], [undefined, "graph g, 2 launches"], [undefined, "  %0 = f(x)"], [undefined, "  %1 = f(x)"],
    ["title", "after cse"], ["removed", "- graph g, 2 launches"], ["added", "+ graph g, 1 launches"], [undefined, "    %0 = f(x)"], ["removed", "-   %1 = f(x)"]]);
assert.equal(placeIn("  main.tile:7  ld.global", "main.tile"), 6);
assert.equal(placeIn("compile 3 ms", "main.tile"), undefined);
assert.equal(missing("error[E0903]: the size of dimension N of f is not known: give it, as in N=1024"), "N=64");
assert.equal(missing("error[E0302]: wrong"), null);

const { Files } = await load(folder, "files.js");
const written = [], files = new Files({ "a.tile": "text" }, (fd, bytes) => written.push([fd, new TextDecoder().decode(bytes)]));
const call = (name, ...args) => new Promise((resolve, reject) => files[name](...args, (e, v) => e ? reject(e) : resolve(v)));
const bytes = s => new TextEncoder().encode(s);
await call("write", 1, bytes("xhix"), 1, 2, null);
assert.deepEqual(written, [[1, "hi"]]);
const fd = await call("open", "./a.tile", 0, 0), buffer = new Uint8Array(9);
assert.equal(await call("read", fd, buffer, 2, 3, null), 3);
assert.equal(await call("read", fd, buffer, 5, 3, null), 1);
assert.equal(await call("read", fd, buffer, 6, 3, null), 0);
assert.equal(new TextDecoder().decode(buffer.subarray(2, 6)), "text");
await call("close", fd);
await assert.rejects(call("close", fd), { code: "EBADF" });
await assert.rejects(call("open", "b.tile", 0, 0), { code: "ENOENT" });
await assert.rejects(call("open", "/none/b", files.constants.O_CREAT | files.constants.O_WRONLY, 0), { code: "ENOENT" });
const out = await call("open", "/tmp/b", files.constants.O_CREAT | files.constants.O_EXCL | files.constants.O_RDWR, 0);
await assert.rejects(call("open", "/tmp/b", files.constants.O_CREAT | files.constants.O_EXCL, 0), { code: "EEXIST" });
await call("write", out, bytes("12345"), 0, 5, null);
await call("rename", "/tmp/b", "/tmp/c");
assert.equal((await call("stat", "/tmp/c")).size, 5);
assert.deepEqual(await call("readdir", "/tmp"), ["c"]);
assert.ok((await call("stat", "/tmp")).isDirectory());
await call("unlink", "/tmp/c");
await assert.rejects(call("stat", "/tmp/c"), { code: "ENOENT" });
const waited = call("read", 0, buffer, 0, 9, null); // stdin is read before there is any
files.give(bytes("in"));
assert.equal(await waited, 2);
files.give(null);
assert.equal(await call("read", 0, buffer, 0, 9, null), 0);
console.log("ok");
