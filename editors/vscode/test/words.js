// Compiles the patterns of the language configuration as VS Code does: a text without flags, or a pattern with them.
"use strict";
const assert = require("assert");
const fs = require("fs");
const path = require("path");

const configuration = JSON.parse(fs.readFileSync(path.join(__dirname, "..", "language-configuration.json"), "utf8"));

function compiled(rule) {
  return typeof rule === "string" ? new RegExp(rule) : new RegExp(rule.pattern, rule.flags);
}

const word = compiled(configuration.wordPattern);
for (const [text, words] of [
  ["let acc2 = softmax(x_1[i])", ["let", "acc2", "softmax", "x_1", "i"]],
  ["größe + 名前", ["größe", "名前"]],
  ["1.5", []],
]) {
  assert.deepStrictEqual(text.match(new RegExp(word.source, word.flags + "g")) ?? [], words, text);
}
for (const rule of Object.values(configuration.indentationRules)) {
  compiled(rule);
}
console.log("words are found");
