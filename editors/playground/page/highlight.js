// Colours of a program: words by their form, at once, and names by what the language server says that they stand for, a moment later.

const keywords = new Set("import const fn kernel struct graph test tune grid axis for in by with over let if else as and or not true false out inout check".split(" "));
const types = /^(?:bool|[iu](?:8|16|32|64)|[iu]4|f(?:16|32|64)|bf16|f8\w+|f4\w+)$/;
const form = /(\/\/[^\n]*)|("(?:[^"\\\n]|\\.)*"?)|(@[A-Za-z_]\w*)|(\b(?:0[xXbBoO][\da-fA-F_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?)\b)|([A-Za-z_]\w*)/g;

// ofServer are the classes of the server's kinds of tokens.
const ofServer = { keyword: "keyword", operator: "", enumMember: "axis", typeParameter: "type", type: "type", struct: "type", function: "callee", method: "callee", comment: "comment", string: "string", number: "number", decorator: "attribute" };

// divides reports that // in a line is a floor division and begins no comment: it touches its operands, or stands between brackets.
function divides(line, at) {
    const before = line.slice(0, at).trimEnd(), after = line.slice(at + 2);
    if (!/[\w)\]]$/.test(before) || after[0] === "/") return false;
    if (before.length === at && /^\S/.test(after)) return true;
    const depth = s => [...s].reduce((n, c) => n + ("([".includes(c) ? 1 : ")]".includes(c) ? -1 : 0), 0);
    return depth(before) > 0 && /[)\]]/.test(after);
}

// pieces cuts a line into [from, to, class]; tokens are the server's of that line, [from, length, kind].
function pieces(line, tokens) {
    const found = [];
    const names = new Map(tokens.map(t => [t.from, t]));
    for (const m of line.matchAll(form)) {
        const [word, comment, string, attribute, number, name] = m;
        if (comment && divides(line, m.index)) { // what is behind is code; the loop goes on there
            const rest = pieces(" ".repeat(m.index + 2) + line.slice(m.index + 2), tokens);
            return found.concat(rest);
        }
        let kind = comment ? "comment" : string ? "string" : attribute ? "attribute" : number ? "number" : "";
        const told = names.get(m.index);
        if (name) kind = keywords.has(name) ? "keyword" : types.test(name) ? "type" : "";
        if (name && told && told.length === name.length && ofServer[told.kind] !== undefined) kind = ofServer[told.kind] || kind;
        if (kind) found.push([m.index, m.index + word.length, kind]);
    }
    return found;
}

// colour makes the spans of a text; tokens are the server's by line.
export function colour(text, tokens = new Map()) {
    const all = document.createDocumentFragment();
    text.split("\n").forEach((line, i) => {
        if (i > 0) all.append("\n");
        let at = 0;
        for (const [from, to, kind] of pieces(line, tokens.get(i) ?? [])) {
            all.append(line.slice(at, from));
            const span = document.createElement("span");
            span.className = kind;
            span.textContent = line.slice(from, to);
            all.append(span);
            at = to;
        }
        all.append(line.slice(at));
    });
    return all;
}

// decode gives the tokens of an answer to textDocument/semanticTokens/full, by line.
export function decode(data, kinds) {
    const lines = new Map();
    for (let i = 0, line = 0, from = 0; i + 4 < data.length; i += 5) {
        if (data[i] > 0) from = 0;
        line += data[i];
        from += data[i + 1];
        if (!lines.has(line)) lines.set(line, []);
        lines.get(line).push({ from, length: data[i + 2], kind: kinds[data[i + 3]] });
    }
    return lines;
}
