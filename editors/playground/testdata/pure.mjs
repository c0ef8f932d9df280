// What the page computes without the compiler: node pure.mjs FOLDER, of the page's modules.
import assert from "node:assert/strict";
import { load } from "./node.mjs";

const folder = process.argv[2];

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

const { failed, missing, placeIn, stages } = await load(folder, "stages.js");
const linesOf = (id, answer) => stages.find(s => s.id === id).lines(typeof answer === "string" ? answer : JSON.stringify(answer), "main.tile");
const ir = linesOf("ir", { stage: "ir", units: [{ name: "f", text: "body:\n  %3 = load\n", lines: [0, 7] }, { name: "g", text: "body:\n" }] });
assert.deepEqual(ir, [{ text: "body:", source: undefined }, { text: "  %3 = load", source: 6 }, { text: "body:", source: undefined }]);
const passes = linesOf("passes", { units: [{ name: "f", text: "// f, as it is built\na\nb\n// f, after dce\n  a\n- b\n+ c\n", lines: [0, 1, 2, 0, 1, 2, 3] }] });
assert.deepEqual(passes.map(l => [l.kind, l.text, l.source]), [["title", "f, as it is built", undefined], [undefined, "a", 0], [undefined, "b", 1],
    ["title", "f, after dce", undefined], [undefined, "  a", 0], ["removed", "- b", 1], ["added", "+ c", 2]]);
assert.deepEqual(linesOf("plan", "f\n  main.tile:3 pinned\n").map(l => l.source), [undefined, 2]);
assert.deepEqual(failed({ stdout: '{"errors":[{"file":"main.tile","line":4,"message":"no","notes":["why"]}]}', stderr: "" }, "main.tile"), [{ text: "main.tile:4: no", source: 3, kind: "wrong" }, { text: "  why" }]);
assert.deepEqual(failed({ stdout: "", stderr: "tilec: main.tile:2 is wrong\n" }, "main.tile"), [{ text: "tilec: main.tile:2 is wrong", source: 1, kind: "wrong" }]);
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
