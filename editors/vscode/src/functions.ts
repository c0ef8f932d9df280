// Which kernel or graph a command is about.
import * as vscode from "vscode";

export interface Function {
  uri: vscode.Uri;
  name: string;
  kind: "kernel" | "graph";
}

/** The function of one of these kinds around the cursor, or the one that the user picks; undefined, said to the user, where there is none. The file is saved: tilec reads it from disk. */
export async function chosen(kinds: readonly string[]): Promise<Function | undefined> {
  const editor = vscode.window.activeTextEditor;
  if (editor?.document.languageId !== "tile" || editor.document.uri.scheme !== "file") {
    void vscode.window.showInformationMessage("Open a .tile file that is saved on disk first.");
    return undefined;
  }
  const uri = editor.document.uri;
  const outline = (await vscode.commands.executeCommand<vscode.DocumentSymbol[]>("vscode.executeDocumentSymbolProvider", uri)) ?? [];
  const functions = outline.filter((s) => kinds.includes(s.detail));
  let at = functions.find((s) => s.range.contains(editor.selection.active)) ?? (functions.length === 1 ? functions[0] : undefined);
  if (!at && functions.length > 1) {
    const items = functions.map((symbol) => ({ label: symbol.name, description: symbol.detail, symbol }));
    at = (await vscode.window.showQuickPick(items, { placeHolder: `Which ${kinds.join(" or ")}?` }))?.symbol;
  } else if (!at) {
    void vscode.window.showInformationMessage(`The file has no ${kinds.join(" or ")}.`);
  }
  if (!at || !(await saved(editor.document))) {
    return undefined;
  }
  return { uri, name: at.name, kind: at.detail as Function["kind"] };
}

async function saved(document: vscode.TextDocument): Promise<boolean> {
  return !document.isDirty || (await document.save());
}
