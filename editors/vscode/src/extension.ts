// The VS Code client: it starts `tilec lsp`, and has commands, tasks and tests that run `tilec`.
import * as vscode from "vscode";
import { LanguageClient, LanguageClientOptions, ServerOptions } from "vscode-languageclient/node";
import { program } from "./command";
import * as stages from "./stages";
import * as tasks from "./tasks";
import * as tests from "./tests";

let client: LanguageClient | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  context.subscriptions.push(
    vscode.commands.registerCommand("tilec.restart", restart),
    vscode.workspace.onDidChangeConfiguration(async (change) => {
      if (change.affectsConfiguration("tilec.path")) {
        await restart();
      }
    }),
  );
  stages.register(context);
  tasks.register(context);
  tests.register(context);
  await start();
}

export async function deactivate(): Promise<void> {
  await stop();
}

async function start(): Promise<void> {
  const command = program();
  const server: ServerOptions = { command, args: ["lsp"] };
  const options: LanguageClientOptions = {
    documentSelector: [
      { scheme: "file", language: "tile" },
      { scheme: "untitled", language: "tile" },
    ],
    // A file that is imported may be changed by another program.
    synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher("**/*.tile") },
    middleware: {
      // The lens "Show PTX" shows what the command does: beside the source, with lines that know each other.
      executeCommand: (name, args, next) =>
        name === "tilec.lsp.ptx" ? stages.show(stages.ptx, { uri: vscode.Uri.file(args[0]), name: args[1], kind: "kernel" }) : next(name, args),
    },
  };
  client = new LanguageClient("tilec", "Tile", server, options);
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    const choice = await vscode.window.showErrorMessage(
      `The language server could not be started: ${command} lsp. Is tilec installed? (${error})`,
      "Open settings",
    );
    if (choice !== undefined) {
      await vscode.commands.executeCommand("workbench.action.openSettings", "tilec.path");
    }
  }
}

async function stop(): Promise<void> {
  const running = client;
  client = undefined;
  await running?.stop();
}

async function restart(): Promise<void> {
  await stop();
  await start();
}
