// The stages of the compiler: how each is asked for, and what is shown of the answer, as lines that know their lines of the source.

// A line is { text, source, kind }: source is a line of the program, from 0 on, or undefined; kind is a class of the page's styles.

const build = (emit, s) => ["build", "--json", "--emit=" + emit, s.file, "--kernel", s.function, "--target", s.target, ...s.sizes];

// stages are in the order of the compiler. Each has for, the kinds of declaration that it is of; args, its command line for a selection
// { file, function, kind, sizes, target }; and lines, which makes lines of what that printed and the name of the file.
export const stages = [
    {
        id: "typed", title: "Typed", for: ["kernel", "graph"], about: "names resolved, every expression with its element type and axes",
        args: s => ["build", "--json", "--emit=typed", s.file],
        lines: built,
    },
    {
        id: "graph", title: "Launches", for: ["graph"], about: "the launches of the graph, and what each pass that makes fewer of them changes",
        args: s => build("passes", s),
        lines: text => built(text).map(changed),
    },
    {
        id: "passes", title: "IR by pass", for: ["kernel"], about: "the tile IR as it is built, and what each pass changes",
        args: s => build("passes", s),
        lines: text => built(text).map(changed),
    },
    {
        id: "ir", title: "IR", for: ["kernel"], about: "the tile IR as the back end gets it",
        args: s => build("ir", s),
        lines: built,
    },
    {
        id: "plan", title: "Plan", for: ["kernel", "graph"], about: "what the planner chose, what that costs, and what else would",
        args: s => ["explain", s.file, s.function, "--target", s.target, ...s.sizes],
        lines: numbered,
    },
    {
        id: "block", title: "Block", for: ["kernel"], about: "where values lie in a block of threads, and which instructions make products",
        args: s => build("block", s),
        lines: built,
    },
    {
        id: "ptx", title: "PTX", for: ["kernel"], about: "the code for the GPU",
        args: s => build("ptx", s),
        lines: built,
    },
];

// built reads what `tilec build --json` printed: the texts of its units, with the lines of the program that became theirs.
function built(text) {
    return JSON.parse(text).units.flatMap(u => u.text.trimEnd().split("\n").map((text, i) => ({ text, source: u.lines?.[i] ? u.lines[i] - 1 : undefined })));
}

// changed knows a line of --emit=passes by what it begins with: a title, or a line that a pass has added or removed.
function changed(line) {
    if (line.text.startsWith("// ")) return { text: line.text.slice(3), kind: "title" };
    return { ...line, kind: { "+ ": "added", "- ": "removed" }[line.text.slice(0, 2)] };
}

// numbered links the places that a text names.
function numbered(text, file) {
    return text.trimEnd().split("\n").map(text => ({ text, source: placeIn(text, file) }));
}

// placeIn is the line that a text names as a place of a program's file, as in main.tile:7.
export function placeIn(text, file) {
    const at = text.indexOf(file + ":"), m = text.slice(at + file.length + 1).match(/^\d+/);
    return at >= 0 && m ? Number(m[0]) - 1 : undefined;
}

// failed reads why a command has failed: the errors that --json prints, else the lines of stderr.
export function failed({ stdout, stderr }, file) {
    let errors;
    try {
        errors = JSON.parse(stdout).errors;
    } catch { /* no JSON was asked for */ }
    if (!errors) return numbered(stderr, file).map(line => ({ ...line, kind: "wrong" }));
    return errors.flatMap(e => [
        { text: (e.line ? `${e.file}:${e.line}: ` : "") + e.message, source: e.line && e.file === file ? e.line - 1 : undefined, kind: "wrong" },
        ...(e.notes ?? []).map(note => ({ text: "  " + note })),
    ]);
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
