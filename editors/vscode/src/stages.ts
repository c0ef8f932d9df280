// What the compiler makes of a function, stage by stage, beside the source, with lines that know each other.
import * as vscode from "vscode";
import { words } from "../../playground/page/command.js";
import { failed, Line, missing, Selection, Stage, stages } from "../../playground/page/stages.js";
import { run } from "./command";
import { chosen, Function } from "./functions";

const scheme = "tilec";

/** Sizes and element types that were given for functions that have no @sizes, by file and name. */
const given = new Map<string, string>();

/** Shows a stage of a function beside its source. */
export async function show(stage: Stage, of?: Function): Promise<void> {
  const f = of ?? (await chosen(stage.for));
  if (!f) {
    return;
  }
  if (!(await askSizes(stage, f))) {
    return;
  }
  const uri = uriOf(stage, f);
  contents.renew(uri);
  const document = await vscode.workspace.openTextDocument(uri);
  if (stage.id === "passes" || stage.id === "graph") {
    await vscode.languages.setTextDocumentLanguage(document, "diff");
  }
  await vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true, preview: false });
  const source = vscode.window.visibleTextEditors.find((e) => e.document.uri.toString() === f.uri.toString());
  if (source) {
    contents.mark(source);
  }
}

/** Asks for what neither @sizes nor an answer before says, with sizes that would do to begin with. False where the user takes the command back. */
async function askSizes(stage: Stage, f: Function): Promise<boolean> {
  const key = keyOf(f);
  let sizes = given.get(key) ?? "";
  const filled = new Set<string>();
  for (;;) {
    const r = await run(stage.args(selection(f, sizes)));
    const more = missing(r.stdout + r.stderr);
    if (!more || filled.has(more)) {
      break;
    }
    filled.add(more);
    sizes = [...words(sizes), more].join(" ");
  }
  if (filled.size === 0) {
    return true;
  }
  const answer = await vscode.window.showInputBox({ title: `Sizes and element types of ${f.name}`, prompt: "@sizes(...) above the kernel would say them for good", value: sizes });
  if (answer === undefined) {
    return false;
  }
  given.set(key, answer);
  return true;
}

const keyOf = (f: Function) => `${f.uri.fsPath}#${f.name}`;

function selection(f: Function, sizes = given.get(keyOf(f)) ?? ""): Selection {
  const target = vscode.workspace.getConfiguration("tilec").get<string>("target", "sm_90a");
  return { file: f.uri.fsPath, function: f.name, kind: f.kind, target, sizes: words(sizes) };
}

function uriOf(stage: Stage, f: Function): vscode.Uri {
  return vscode.Uri.from({ scheme, path: `/${f.name} ${stage.title}`, query: JSON.stringify({ stage: stage.id, source: f.uri.toString(), name: f.name, kind: f.kind }) });
}

function shownAt(uri: vscode.Uri): { stage: Stage; f: Function } {
  const q = JSON.parse(uri.query);
  return { stage: stages.find((s) => s.id === q.stage)!, f: { uri: vscode.Uri.parse(q.source), name: q.name, kind: q.kind } };
}

/** The text of a stage, renewed when a source is saved. */
class Contents implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly lines = new Map<string, Line[]>();
  private readonly linked = vscode.window.createTextEditorDecorationType({ isWholeLine: true, backgroundColor: new vscode.ThemeColor("editor.rangeHighlightBackground") });
  private readonly subscriptions: vscode.Disposable[];

  constructor() {
    this.subscriptions = [
      this.changed,
      this.linked,
      vscode.workspace.registerTextDocumentContentProvider(scheme, this),
      vscode.workspace.onDidSaveTextDocument((saved) => {
        if (saved.languageId === "tile") { // one that a shown source imports counts too
          vscode.workspace.textDocuments.filter((d) => d.uri.scheme === scheme).forEach((d) => this.renew(d.uri));
        }
      }),
      vscode.window.onDidChangeTextEditorSelection((e) => this.mark(e.textEditor)),
      vscode.workspace.onDidChangeTextDocument((e) => {
        const editor = vscode.window.activeTextEditor;
        if (e.document.uri.scheme === scheme && editor) { // lines are elsewhere now
          this.mark(editor);
        }
      }),
    ];
  }

  dispose(): void {
    this.subscriptions.forEach((s) => s.dispose());
  }

  renew(uri: vscode.Uri): void {
    this.changed.fire(uri);
  }

  async provideTextDocumentContent(uri: vscode.Uri, token: vscode.CancellationToken): Promise<string> {
    const { stage, f } = shownAt(uri);
    const lines = await linesOf(stage, f, token);
    this.lines.set(uri.toString(), lines);
    const signs = lines.some((l) => l.kind === "added" || l.kind === "removed");
    return lines.map((l) => (signs && l.kind === "title" ? "@@ " + l.text + " @@" : l.text)).join("\n") + "\n";
  }

  /** Marks what belongs to the line of the cursor, in the other editors. */
  mark(editor: vscode.TextEditor): void {
    const line = editor.selection.active.line;
    if (editor.document.uri.scheme === scheme) {
      const source = this.lines.get(editor.document.uri.toString())?.[line]?.source;
      const of = shownAt(editor.document.uri).f.uri.toString();
      vscode.window.visibleTextEditors.filter((e) => e.document.uri.toString() === of).forEach((e) => this.set(e, source === undefined ? [] : [source]));
      return;
    }
    for (const other of vscode.window.visibleTextEditors) {
      if (other.document.uri.scheme === scheme && shownAt(other.document.uri).f.uri.toString() === editor.document.uri.toString()) {
        const lines = this.lines.get(other.document.uri.toString()) ?? [];
        this.set(other, lines.flatMap((l, i) => (l.source === line ? [i] : [])));
      }
    }
    editor.setDecorations(this.linked, []);
  }

  private set(editor: vscode.TextEditor, lines: number[]): void {
    editor.setDecorations(this.linked, lines.map((n) => new vscode.Range(n, 0, n, 0)));
    if (lines.length > 0) {
      editor.revealRange(new vscode.Range(lines[0], 0, lines[0], 0), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
    }
  }
}

/** The lines of a stage, or what tilec says where it makes none. */
async function linesOf(stage: Stage, f: Function, token: vscode.CancellationToken): Promise<Line[]> {
  const s = selection(f);
  const r = await run(stage.args(s), token);
  if (r.code === null) {
    return [{ text: "stopped" }];
  }
  return r.code === 0 ? stage.lines(r.stdout, s.file) : failed(r, s.file);
}

let contents: Contents;

/** Registers a command for each stage, tilec.show.ID. */
export function register(context: vscode.ExtensionContext): void {
  contents = new Contents();
  context.subscriptions.push(contents, ...stages.map((stage) => vscode.commands.registerCommand(`tilec.show.${stage.id}`, () => show(stage))));
}

export const ptx = stages.find((s) => s.id === "ptx")!;
