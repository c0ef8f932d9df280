// The test explorer: the `test` blocks of all files, run by `tilec test`.
import * as vscode from "vscode";
import { run } from "./command";

/** A line of `tilec test --json`, as docs/json.md describes. */
interface Outcome {
  test?: string;
  device?: string;
  ok: boolean;
  seconds: number;
  failures?: { line: number; check: string; text: string[] }[];
  errors?: { file?: string; line?: number; message: string }[];
}

export function register(context: vscode.ExtensionContext): void {
  const controller = vscode.tests.createTestController("tilec", "Tile");
  const read = (uri: vscode.Uri, text: string) => find(controller, uri, text);
  const readFile = async (uri: vscode.Uri) => read(uri, new TextDecoder().decode(await vscode.workspace.fs.readFile(uri)));
  const readDocument = (d: vscode.TextDocument) => {
    if (d.languageId === "tile" && d.uri.scheme === "file") {
      read(d.uri, d.getText());
    }
  };
  const files = vscode.workspace.createFileSystemWatcher("**/*.tile");
  controller.refreshHandler = async (token) => {
    for (const uri of await vscode.workspace.findFiles("**/*.tile", "**/node_modules/**", 2000, token)) {
      await readFile(uri);
    }
  };
  controller.resolveHandler = async (item) => {
    if (!item) { // the explorer is opened for the first time
      await controller.refreshHandler!(new vscode.CancellationTokenSource().token);
    }
  };
  context.subscriptions.push(
    controller,
    files,
    files.onDidCreate(readFile),
    files.onDidChange(readFile),
    files.onDidDelete((uri) => controller.items.delete(uri.toString())),
    vscode.workspace.onDidOpenTextDocument(readDocument),
    vscode.workspace.onDidChangeTextDocument((e) => readDocument(e.document)),
    vscode.commands.registerCommand("tilec.test", () => vscode.commands.executeCommand("testing.runCurrentFile")),
  );
  vscode.workspace.textDocuments.forEach(readDocument);
  for (const [label, device] of [["Run on every device at hand", "all"], ["Run on the CPU", "cpu"], ["Run in the emulator", "emu"]]) {
    const profile = controller.createRunProfile(label, vscode.TestRunProfileKind.Run, (request, token) => runTests(controller, request, device, token), device === "all");
    context.subscriptions.push(profile);
  }
}

/** Tests begin a line, as all declarations do. */
const declared = /^[ \t]*test[ \t]+("(?:[^"\\\r\n]|\\.)*")/gm;

/** Lists the tests of a file; a file without any is left out. */
function find(controller: vscode.TestController, uri: vscode.Uri, text: string): void {
  const items: vscode.TestItem[] = [];
  for (const m of text.matchAll(declared)) {
    const name = unquoted(m[1]);
    const line = text.slice(0, m.index).split("\n").length - 1;
    const item = controller.createTestItem(`${uri}#${name}`, name, uri);
    item.range = new vscode.Range(line, 0, line, m[0].length);
    items.push(item);
  }
  if (items.length === 0) {
    controller.items.delete(uri.toString());
    return;
  }
  let file = controller.items.get(uri.toString());
  if (!file) {
    file = controller.createTestItem(uri.toString(), vscode.workspace.asRelativePath(uri), uri);
    controller.items.add(file);
  }
  file.children.replace(items);
}

/** The text that a string of Go's escapes stands for, where JSON has the same ones; else as it is written. */
function unquoted(quoted: string): string {
  try {
    return JSON.parse(quoted);
  } catch {
    return quoted.slice(1, -1);
  }
}

async function runTests(controller: vscode.TestController, request: vscode.TestRunRequest, device: string, token: vscode.CancellationToken): Promise<void> {
  const testRun = controller.createTestRun(request);
  const excluded = new Set(request.exclude?.map((t) => t.id));
  const byFile = new Map<string, { uri: vscode.Uri; tests: vscode.TestItem[]; whole: boolean }>();
  const add = (item: vscode.TestItem, whole: boolean) => {
    if (excluded.has(item.id)) {
      return;
    }
    if (item.children.size > 0) {
      item.children.forEach((t) => add(t, excluded.size === 0));
      return;
    }
    const key = item.uri!.toString();
    const of = byFile.get(key) ?? { uri: item.uri!, tests: [], whole };
    of.tests.push(item);
    byFile.set(key, of);
  };
  if (request.include) {
    request.include.forEach((t) => add(t, false));
  } else {
    controller.items.forEach((t) => add(t, false));
  }
  try {
    for (const { uri, tests, whole } of byFile.values()) {
      if (token.isCancellationRequested) {
        tests.forEach((t) => testRun.skipped(t));
        continue;
      }
      await runFile(testRun, uri, tests, whole, device, token);
    }
  } finally {
    testRun.end();
  }
}

async function runFile(testRun: vscode.TestRun, uri: vscode.Uri, tests: vscode.TestItem[], whole: boolean, device: string, token: vscode.CancellationToken): Promise<void> {
  const open = vscode.workspace.textDocuments.find((d) => d.uri.toString() === uri.toString());
  if (open?.isDirty) {
    await open.save();
  }
  tests.forEach((t) => testRun.started(t));
  const only = whole ? [] : ["--run", tests.map((t) => `^${literal(t.label)}$`).join("|")];
  const outcomes = new Map<string, Outcome[]>();
  let ofFile: Outcome["errors"];
  try {
    const result = await run(["test", uri.fsPath, "--json", "--device", device, ...only], token, (line) => {
      const o: Outcome = JSON.parse(line);
      testRun.appendOutput(`${o.ok ? "ok  " : "FAIL"}  ${o.test ?? uri.fsPath}  ${o.device ?? ""}  ${o.seconds.toFixed(2)}s\r\n`);
      if (o.test === undefined) {
        ofFile = o.errors;
      } else {
        outcomes.set(o.test, [...(outcomes.get(o.test) ?? []), o]);
      }
    });
    if (result.code !== 0 && result.code !== 1) {
      ofFile = [{ message: result.stderr }];
    }
  } catch (error) {
    ofFile = [{ message: (error as Error).message }];
  }
  for (const t of tests) {
    const of = outcomes.get(t.label) ?? [];
    const messages = of.flatMap((o) => messagesOf(o, uri)).concat((ofFile ?? []).map((e) => messageOf(e.message, uri, e.line)));
    const ms = 1000 * of.reduce((sum, o) => sum + o.seconds, 0);
    if (of.length === 0 && messages.length > 0) {
      testRun.errored(t, messages);
    } else if (of.length === 0) {
      testRun.skipped(t);
    } else if (of.every((o) => o.ok)) {
      testRun.passed(t, ms);
    } else {
      testRun.failed(t, messages, ms);
    }
  }
}

function messagesOf(o: Outcome, uri: vscode.Uri): vscode.TestMessage[] {
  const failures = (o.failures ?? []).map((f) => messageOf(`${o.device}: ${f.text.join("\n")}`, uri, f.line));
  return failures.concat((o.errors ?? []).map((e) => messageOf(`${o.device}: ${e.message}`, uri, e.line)));
}

function messageOf(text: string, uri: vscode.Uri, line?: number): vscode.TestMessage {
  const message = new vscode.TestMessage(text);
  if (line !== undefined) {
    message.location = new vscode.Location(uri, new vscode.Position(line - 1, 0));
  }
  return message;
}

const literal = (text: string) => text.replace(/[\\^$.|?*+()[\]{}]/g, "\\$&");
