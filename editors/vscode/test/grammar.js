// Tokenises lines with the grammar, as VS Code does, and compares scopes.
"use strict";
const assert = require("assert");
const fs = require("fs");
const path = require("path");
const oniguruma = require("vscode-oniguruma");
const { Registry, parseRawGrammar, INITIAL } = require("vscode-textmate");

const root = path.join(__dirname, "..");
const file = path.join(root, "syntaxes", "tile.tmLanguage.json");

// Each line, and the scope that a piece of it must have.
const cases = [
  ["/// doc", "/// doc", "comment.line.documentation.tile"],
  ["axis j in N // the whole", "// the whole", "comment.line.double-slash.tile"],
  ["kernel add<T: float>(x: T[N]) -> z: T[N]", "add", "entity.name.function.tile"],
  ["kernel add<T: float>(x: T[N]) -> z: T[N]", "kernel", "storage.type.tile"],
  ["struct Block<T: float> {", "Block", "entity.name.type.struct.tile"],
  ["@warps(8)", "warps", "storage.modifier.attribute.tile"],
  ["    grid i in M by BM", "grid", "storage.type.tile"],
  ["    grid i in M by BM", "by", "keyword.control.tile"],
  ["    let v = x[i, j] as f32", "f32", "support.type.tile"],
  ["    let v = x[i, j] as f32", "as", "keyword.operator.word.tile"],
  ["eps: f32 = 1e-5", "1e-5", "constant.numeric.float.tile"],
  ["a = 0x2a", "0x2a", "constant.numeric.hex.tile"],
  ["K[0..42]", "42", "constant.numeric.integer.tile"],
  ["K[0..42]", "..", "keyword.operator.range.tile"],
  ["let e = exp(v)", "exp", "entity.name.function.call.tile"],
  ["w.blocks[n]", "blocks", "variable.other.member.tile"],
  ["full(f32, -inf, i)", "inf", "constant.language.tile"],
  ['@name("h.{i}.w")', "{i}", "constant.other.placeholder.tile"],
  ['test "it works" {', "test", "storage.type.tile"],
  ["inout cache: T[N]", "inout", "storage.modifier.tile"],
  ["for k in K[lo .. hi] by BK with acc = 0 {", "with", "keyword.control.tile"],
  ["sum(x, over k)", "over", "keyword.control.tile"],
  ["x[i] else 0", "else", "keyword.control.tile"],
  ["if c { a } else { b }", "if", "keyword.control.tile"],
  ["check close(a, b, ulps = 4)", "check", "keyword.control.tile"],
  ['import "std/nn"', "import", "keyword.control.import.tile"],
  ['import "std/nn"', "std/nn", "string.quoted.double.tile"],
  ['"a\\n"', "\\n", "constant.character.escape.tile"],
  ["const W = 3", "const", "storage.type.tile"],
  ["const W = 3", "W", "variable.other.constant.tile"],
  ["fn gelu(x) = x", "gelu", "entity.name.function.tile"],
  ["graph g(x: T[N]) -> y: T[N] {", "graph", "storage.type.tile"],
  ["graph g(x: T[N]) -> y: T[N] {", "->", "keyword.operator.arrow.tile"],
  ["(a, b) => a + b", "=>", "keyword.operator.arrow.tile"],
  ["tune BM in {64, 128}", "tune", "storage.type.tile"],
  ["axis j in N", "axis", "storage.type.tile"],
  ["out y: T[N]", "out", "storage.modifier.tile"],
  ["a and not b", "and", "keyword.operator.word.tile"],
  ["a and not b", "not", "keyword.operator.word.tile"],
  ["x ** 2", "**", "keyword.operator.arithmetic.tile"],
  ["a << 2", "<<", "keyword.operator.bitwise.tile"],
  ["let x = true", "true", "constant.language.tile"],
  ["let a = nan", "nan", "constant.language.tile"],
  ["1_000", "1_000", "constant.numeric.integer.tile"],
  ["atomic_add(y[i], 1)", "atomic_add", "entity.name.function.call.tile"],
  ["x[i] @latency(4) @evict_first", "evict_first", "storage.modifier.attribute.tile"],
  ["let q: f8e4m3", "f8e4m3", "support.type.tile"],
  ["let (_, b) = p", "_", "variable.language.tile"],
  ["kernel k<T: any>(x: T[N])", "any", "support.type.tile"],
  ["let row = x[i, j]", "row", "variable.other.tile"],
  ["let größe = x[i, j]", "größe", "variable.other.tile"],
];

// Each line of divisions.txt says what its `//` are, D a division and C the beginning of a comment, as the compiler
// has it: a test of the parser reads the same file.
function divisions(text) {
  return text.split("\n").filter((l) => l !== "").map((l) => ({ want: l.slice(0, 4).trim(), line: l.slice(4) }));
}

// Programs of the repository, in which everything but space has a scope.
function programs() {
  const repository = path.join(root, "..", "..");
  return ["stdlib", "gpt", "testdata/examples", "docs/tutorial"].flatMap((folder) =>
    fs.readdirSync(path.join(repository, folder)).filter((f) => f.endsWith(".tile")).map((f) => path.join(repository, folder, f)));
}

async function main() {
  for (const name of ["package.json", "language-configuration.json"]) {
    JSON.parse(fs.readFileSync(path.join(root, name), "utf8"));
  }
  const wasm = fs.readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm"));
  await oniguruma.loadWASM(wasm);
  const registry = new Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (sources) => new oniguruma.OnigScanner(sources),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async () => parseRawGrammar(fs.readFileSync(file, "utf8"), file),
  });
  const grammar = await registry.loadGrammar("source.tile");
  for (const [line, piece, scope] of cases) {
    const at = line.indexOf(piece);
    const { tokens } = grammar.tokenizeLine(line, INITIAL);
    const token = tokens.find((t) => t.startIndex <= at && at < t.endIndex);
    assert.ok(token.scopes.includes(scope), `${piece} of ${line}: ${token.scopes.join(" ")}, not ${scope}`);
  }
  const lines = divisions(fs.readFileSync(path.join(__dirname, "divisions.txt"), "utf8"));
  for (const { line, want } of lines) {
    const { tokens } = grammar.tokenizeLine(line, INITIAL);
    let got = "";
    for (const t of tokens) {
      if (t.scopes.some((s) => s.startsWith("comment.line"))) {
        got += got.endsWith("C") ? "" : "C";
      } else if (line.slice(t.startIndex, t.endIndex) === "//" && t.scopes.includes("keyword.operator.arithmetic.tile")) {
        got += "D";
      }
    }
    assert.strictEqual(got, want, line);
  }
  let count = 0;
  for (const program of programs()) {
    let state = INITIAL;
    for (const [n, line] of fs.readFileSync(program, "utf8").split("\n").entries()) {
      const { tokens, ruleStack } = grammar.tokenizeLine(line, state);
      state = ruleStack;
      for (const t of tokens) {
        const piece = line.slice(t.startIndex, t.endIndex);
        assert.ok(t.scopes.length > 1 || piece.trim() === "", `${program}:${n + 1}: ${piece} has no scope`);
        count++;
      }
    }
  }
  assert.ok(count > 10000, `${count} pieces of programs are few`);
  console.log(`${cases.length} scopes and ${lines.length} lines with // are right`);
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
