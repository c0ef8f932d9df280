// Runs of tilec in a terminal: tasks that check and test, and the command that runs a function.
import * as path from "path";
import * as vscode from "vscode";
import { words } from "../../playground/page/command.js";
import { program } from "./command";
import { chosen } from "./functions";

interface Definition extends vscode.TaskDefinition {
  /** check or test. */
  command: string;
  /** The file or folder; the folder of the workspace where it is left out. */
  path?: string;
}

export function register(context: vscode.ExtensionContext): void {
  context.subscriptions.push(
    vscode.tasks.registerTaskProvider("tilec", {
      provideTasks: () =>
        (vscode.workspace.workspaceFolders ?? []).flatMap((folder) => ["check", "test"].map((command) => task({ type: "tilec", command }, folder))),
      resolveTask: (t) => task(t.definition as Definition, t.scope as vscode.WorkspaceFolder),
    }),
    vscode.commands.registerCommand("tilec.run", runFunction),
  );
}

function task(definition: Definition, folder: vscode.WorkspaceFolder): vscode.Task {
  const execution = new vscode.ProcessExecution(program(), [definition.command, definition.path ?? "."], { cwd: folder.uri.fsPath });
  const t = new vscode.Task(definition, folder, definition.path ? `${definition.command} ${definition.path}` : definition.command, "tilec", execution, definition.command === "test" ? ["$tilec", "$tilec-test"] : ["$tilec"]);
  t.group = definition.command === "test" ? vscode.TaskGroup.Test : vscode.TaskGroup.Build;
  return t;
}

/** What a function was run with last, by file and name. */
const last = new Map<string, string>();

async function runFunction(): Promise<void> {
  const f = await chosen(["kernel", "graph"]);
  if (!f) {
    return;
  }
  const key = `${f.uri.fsPath}#${f.name}`;
  const text = await vscode.window.showInputBox({
    title: `Arguments of ${f.name}`,
    prompt: "as N=64 x=randn[4,64] 'y=[[1, 3]]' --device emu; tensors that are left out are random",
    value: last.get(key) ?? "",
  });
  if (text === undefined) {
    return;
  }
  last.set(key, text);
  const folder = vscode.workspace.getWorkspaceFolder(f.uri);
  const execution = new vscode.ProcessExecution(program(), ["run", path.basename(f.uri.fsPath), f.name, ...words(text)], { cwd: path.dirname(f.uri.fsPath) });
  const t = new vscode.Task({ type: "tilec", command: "run" }, folder ?? vscode.TaskScope.Workspace, `run ${f.name}`, "tilec", execution);
  t.presentationOptions = { clear: true, panel: vscode.TaskPanelKind.Shared };
  await vscode.tasks.executeTask(t);
}
