// The stages of the compiler: how each is asked for, and what is shown of the answer, as lines that know their lines of the source.

import { differences } from "./differences.js";

// A line is { text, source, kind }: source is a line of the program, from 0 on, or undefined; kind is a class of the page's styles.

const build = (emit, s) => ["build", "--emit=" + emit, s.file, "--kernel", s.function, "--target", s.target, ...s.sizes];

// stages are in the order of the compiler. Each has for, the kinds of declaration that it is of; args, its command line for a selection
// { file, function, kind, sizes, target }; and lines, which makes lines of its texts. links is what linksOf gave of the kernel's PTX.
export const stages = [
    {
        id: "typed", title: "Typed", for: ["kernel", "graph"], about: "names resolved, every expression with its element type and axes",
        args: s => ["build", "--emit=typed", s.file],
        lines: (r, links, source) => typedLines(r.stdout, source),
    },
    {
        id: "graph", title: "Launches", for: ["graph"], about: "the launches of the graph, and what each pass that makes fewer of them changes",
        args: s => build("graph", s),
        lines: r => launchLines(r.stdout),
    },
    {
        id: "passes", title: "IR by pass", for: ["kernel"], about: "the tile IR as it is built, and what each pass changes",
        args: s => ["build", "--emit=ir", "--dump-after=all", s.file, "--kernel", s.function, "--target", s.target, ...s.sizes],
        lines: (r, links) => passLines(r.stderr, links),
    },
    {
        id: "ir", title: "IR", for: ["kernel"], about: "the tile IR as the back end gets it",
        args: s => build("ir", s),
        lines: (r, links) => linkedLines(r.stdout, links),
    },
    {
        id: "plan", title: "Plan", for: ["kernel", "graph"], about: "what the planner chose, what that costs, and what else would",
        args: s => ["explain", s.file, s.function, "--target", s.target, ...s.sizes],
        lines: (r, links) => numbered(r.stdout, links.file),
    },
    {
        id: "block", title: "Block", for: ["kernel"], about: "where values lie in a block of threads, and which instructions make products",
        args: s => build("block", s),
        lines: (r, links) => linkedLines(r.stdout, links),
    },
    {
        id: "ptx", title: "PTX", for: ["kernel"], about: "the code for the GPU",
        args: s => build("ptx", s),
        lines: (r, links) => r.stdout.trimEnd().split("\n").map((text, i) => ({ text, source: links.lines[i] })),
    },
];

// ptxArgs is the command line of the text that links are made of.
export const ptxArgs = s => build("ptx", s);

// linksOf reads in PTX which line of a program's file an instruction is of: lines of the text, values of the IR, and stores, which have no value.
export function linksOf(ptx, file) {
    const text = ptx.split("\n");
    const ours = new Set(text.map(l => l.match(/^\s*\.file (\d+) "([^"]*)"/)).filter(m => m?.[2].endsWith(file)).map(m => m[1]));
    const links = { file, lines: [], values: new Map(), stores: new Map() };
    let at;
    for (const [i, line] of text.entries()) {
        const loc = line.match(/^\s*\.loc (\d+) (\d+)/);
        if (loc) at = ours.has(loc[1]) ? Number(loc[2]) - 1 : undefined;
        if (line.startsWith("}")) at = undefined;
        links.lines[i] = at;
        const said = line.match(/^\s*\/\/ (?:%(\d+)|store (\w+))/);
        if (at === undefined || !said) continue;
        if (said[1]) links.values.set(said[1], at);
        else if (!links.stores.has(said[2])) links.stores.set(said[2], at);
    }
    return links;
}

// sourceOf is the line of the program that a line of IR, or of a block program, is of.
function sourceOf(text, links) {
    const value = text.match(/^\s*%(\d+)\b/), store = text.match(/^\s*store %(\w+)/);
    return value ? links.values.get(value[1]) : store ? links.stores.get(store[1]) : undefined;
}

const linkedLines = (text, links) => text.trimEnd().split("\n").map(text => ({ text, source: sourceOf(text, links) }));

// numbered links the places that a text names.
const numbered = (text, file) => text.trimEnd().split("\n").map(text => ({ text, source: placeIn(text, file) }));

// placeIn is the line that a text names as a place of a program's file, as in main.tile:7.
export function placeIn(text, file) {
    const at = text.indexOf(file + ":"), m = text.slice(at + file.length + 1).match(/^\d+/);
    return at >= 0 && m ? Number(m[0]) - 1 : undefined;
}

// typedLines finds the lines of the program by the names that they have in common, in order: declarations, lets and stores.
function typedLines(text, source) {
    const code = source.split("\n");
    let at = 0;
    const find = pattern => {
        for (let i = 0; i < code.length; i++) {
            const line = (at + i) % code.length;
            if (pattern.test(code[line])) return at = line;
        }
    };
    return text.trimEnd().split("\n").map(text => {
        const declared = text.match(/^\s*(kernel|graph|fn|struct|test)\s+(\w+)/), bound = text.match(/^\s*let (\w+)/), stored = text.match(/^\s*(\w+)\[.*\]\s*[-+*]?=/);
        let line;
        if (declared) line = find(new RegExp(`\\b${declared[1]}\\s+${declared[2]}\\b`));
        else if (bound) line = find(new RegExp(`\\blet\\b[^=]*\\b${bound[1]}\\b`));
        else if (stored) line = find(new RegExp(`\\b${stored[1]}\\[`));
        return { text, source: line };
    });
}

// passLines reads the forms of a kernel that --dump-after prints.
function passLines(text, links) {
    const forms = text.split(/^\/\/ ir: /m).slice(1).map(form => {
        const [title, ...rest] = form.trimEnd().split("\n");
        const named = title.match(/^(\S+), after (\S+)$/);
        return named && { of: named[1], title: named[1] + (named[2] === "build" ? ", as it is built" : ", after " + named[2]), text: rest.join("\n") };
    });
    return changes(forms.filter(Boolean), line => sourceOf(line, links));
}

// launchLines reads the forms of a graph that --emit=graph prints.
function launchLines(text) {
    const [first, ...rest] = text.split(/^after (?=\w+:\n)/m);
    return changes([{ of: "graph", title: "as it is bound", text: first.trimEnd() }, ...rest.map(form => {
        const [pass, ...lines] = form.trimEnd().split("\n");
        return { of: "graph", title: "after " + pass.slice(0, -1), text: lines.join("\n") };
    })], () => undefined);
}

// changes shows the first form of each thing as a whole, and of each behind it what differs from the one before.
function changes(forms, sourceOf) {
    const out = [], before = new Map();
    for (const { of, title, text } of forms) {
        const old = before.get(of);
        before.set(of, text);
        out.push({ text: title, kind: "title" });
        if (old === undefined) {
            out.push(...text.split("\n").map(text => ({ text, source: sourceOf(text) })));
            continue;
        }
        out.push(...around(differences(old, text)).map(([sign, line]) => ({
            text: sign === "…" ? "  …" : sign + " " + line, source: sourceOf(line), kind: { "+": "added", "-": "removed" }[sign],
        })));
    }
    return out;
}

// around keeps three lines beside each that differs.
function around(lines) {
    const near = lines.map((_, i) => lines.slice(Math.max(0, i - 3), i + 4).some(([sign]) => sign !== " "));
    const out = [];
    lines.forEach((line, i) => {
        if (near[i]) out.push(line);
        else if (i === 0 || near[i - 1]) out.push(["…", ""]);
    });
    return out;
}

// missing is what the compiler says that it has to be told, as an argument that will do: small enough for the emulator.
export function missing(message) {
    const forms = [
        [/the size of dimension (\w+) of/, m => `${m[1]}=64`],
        [/(\w+) is not known: give it by name/, m => `${m[1]}=64`],
        [/element type (\w+) of \w+ is not (?:known|bound)/, m => `${m[1]}=f32`],
        [/scalar (\w+): \w+ of \w+ is not given/, m => `${m[1]}=1`],
        [/constant (\w+) of \w+ is not given/, m => `${m[1]}=16`],
    ];
    for (const [form, give] of forms) {
        const m = message.match(form);
        if (m) return give(m);
    }
    return null;
}
