// Loads the bundle with no packages beside it: all that it needs but VS Code itself is in it.
"use strict";
const assert = require("assert");
const Module = require("module");
const path = require("path");

const bundle = path.join(__dirname, "..", "out", "extension.js");
const load = Module._load;
const asked = new Set();
Module._load = function (request, parent, isMain) {
  if (request === "vscode") {
    const thing = new Proxy(function () {}, { get: (_, name) => (name === "version" ? "1.82.0" : name === "prototype" ? {} : thing), construct: () => ({}), apply: () => thing });
    return thing;
  }
  if (request !== bundle && !Module.isBuiltin(request)) {
    asked.add(request);
  }
  return load.apply(this, arguments);
};
const extension = require(bundle);
assert.deepStrictEqual([...asked], [], "the bundle asks for packages");
assert.strictEqual(typeof extension.activate, "function");
assert.strictEqual(typeof extension.deactivate, "function");
console.log("the bundle stands alone");
