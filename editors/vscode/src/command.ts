// The program `tilec`, run once.
import { spawn } from "child_process";
import * as readline from "readline";
import * as vscode from "vscode";

/** The program that the settings name: a name in PATH, or a path. */
export function program(): string {
  return vscode.workspace.getConfiguration("tilec").get<string>("path", "tilec");
}

export interface Result {
  /** Exit code; null when it was stopped. */
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs tilec to its end, or until the token ends it; onLine gets each line of stdout as it comes. Rejects where there is no such program. */
export function run(args: string[], token?: vscode.CancellationToken, onLine?: (line: string) => void): Promise<Result> {
  return new Promise((resolve, reject) => {
    const child = spawn(program(), args, { env: { ...process.env, NO_COLOR: "1" }, stdio: ["ignore", "pipe", "pipe"] });
    const result: Result = { code: null, stdout: "", stderr: "" };
    child.stdout.setEncoding("utf8").on("data", (text: string) => (result.stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (result.stderr += text));
    if (onLine) {
      readline.createInterface({ input: child.stdout }).on("line", onLine);
    }
    const stopping = token?.onCancellationRequested(() => child.kill());
    child.on("error", (error) => reject(new Error(`${program()} could not be run: ${error.message}. Is tilec installed, and tilec.path right?`)));
    child.on("close", (code) => {
      stopping?.dispose();
      resolve({ ...result, code });
    });
  });
}
