// Modules of the playground's page, which has the same stages.
declare module "*/playground/page/command.js" {
  /** The words of a command line, between spaces that stand in no quotes. */
  export function words(text: string): string[];
}

declare module "*/playground/page/stages.js" {
  export interface Selection {
    file: string;
    function: string;
    kind: "kernel" | "graph";
    target: string;
    sizes: string[];
  }
  export interface Line {
    text: string;
    /** A line of the program, from 0 on. */
    source?: number;
    kind?: "title" | "added" | "removed" | "wrong";
  }
  export interface Stage {
    id: string;
    title: string;
    for: string[];
    args(s: Selection): string[];
    /** The lines of what a run with args printed about this file. */
    lines(stdout: string, file: string): Line[];
  }
  export const stages: Stage[];
  /** Why a run has failed, as lines. */
  export function failed(r: { stdout: string; stderr: string }, file: string): Line[];
  /** An argument that will do for what an error says to be missing, or null. */
  export function missing(message: string): string | null;
}
