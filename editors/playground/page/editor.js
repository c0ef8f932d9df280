// An editor of one text: a textarea, whose letters are invisible, over the same text in colours. Selection, undo, input methods and
// screen readers are the browser's own.

import { colour } from "./highlight.js";

const make = (tag, className, parent) => {
    const e = document.createElement(tag);
    e.className = className;
    parent?.append(e);
    return e;
};

export class Editor {
    #numbers; #text; #colours; #marks; #area;
    #tokens = new Map();
    #diagnostics = [];
    #linked = new Set();
    #popup = null; // completion: { box, items, chosen, from }
    #tip = null;
    #timer;

    // events has change(), line(n) where the caret goes to, hover(position), complete(position) and format(), of which hover and complete
    // are promises of what the language server answers.
    constructor(parent, events) {
        this.events = events;
        this.root = make("div", "editor", parent);
        this.#numbers = make("pre", "numbers", this.root);
        this.#text = make("div", "text", this.root);
        this.#marks = make("div", "marks", this.#text);
        this.#colours = make("pre", "colours", this.#text);
        this.#area = make("textarea", "", this.#text);
        Object.assign(this.#area, { spellcheck: false, wrap: "off", autocomplete: "off", ariaLabel: "program" });
        this.#area.setAttribute("autocapitalize", "off");
        this.#area.addEventListener("input", e => this.#changed(e));
        this.#area.addEventListener("keydown", e => this.#key(e));
        this.#area.addEventListener("blur", () => setTimeout(() => this.#closePopup(), 150));
        this.#area.addEventListener("mousemove", e => this.#hover(e));
        this.#area.addEventListener("mouseleave", () => this.#endHover());
        this.#area.addEventListener("click", () => this.#closePopup());
        let line = -1;
        document.addEventListener("selectionchange", () => {
            if (document.activeElement === this.#area && line !== this.position().line) this.events.line(line = this.position().line);
        });
        this.root.addEventListener("scroll", () => { this.#closePopup(); this.#endHover(); });
    }

    get value() { return this.#area.value; }

    // set replaces the text, without undo.
    set(text) {
        this.#area.value = text;
        this.#area.setSelectionRange(0, 0);
        this.#tokens = new Map();
        this.diagnostics([]);
        this.root.scrollTo(0, 0);
        this.events.change();
    }

    focus() { this.#area.focus(); }

    // position is where the caret is, as the language server counts.
    position(offset = this.#area.selectionStart) {
        const before = this.value.slice(0, offset).split("\n");
        return { line: before.length - 1, character: before.at(-1).length };
    }

    offset({ line, character }) {
        const lines = this.value.split("\n");
        if (line >= lines.length) return this.value.length;
        return lines.slice(0, line).reduce((n, l) => n + l.length + 1, 0) + Math.min(character, lines[line].length);
    }

    // apply makes edits of the language server, as one that can be undone.
    apply(edits) {
        const found = edits.map(e => [this.offset(e.range.start), this.offset(e.range.end), e.newText]).sort((a, b) => b[0] - a[0]);
        if (found.length === 0) return;
        const from = found.at(-1)[0], to = Math.max(...found.map(e => e[1]));
        let text = this.value.slice(from, to);
        for (const [a, b, by] of found) text = text.slice(0, a - from) + by + text.slice(b - from);
        const caret = Math.min(this.#area.selectionStart, this.value.length);
        const line = this.position(caret);
        this.#replace(from, to, text);
        const now = this.offset(line);
        this.#area.setSelectionRange(now, now);
    }

    #replace(from, to, text) {
        this.#area.focus();
        this.#area.setSelectionRange(from, to);
        // The only way that the browser's undo knows of.
        if (!(text === "" ? document.execCommand("delete") : document.execCommand("insertText", false, text))) {
            this.#area.setRangeText(text, from, to, "end");
            this.#changed();
        }
    }

    tokens(byLine) {
        this.#tokens = byLine;
        this.#paint();
    }

    diagnostics(all) {
        this.#diagnostics = all;
        this.#paint();
    }

    // link marks lines, and shows the first of them where reveal is set.
    link(lines, reveal) {
        this.#linked = new Set(lines);
        this.#paintMarks();
        if (reveal && lines.length > 0) this.show(Math.min(...lines));
    }

    show(line) {
        const top = 6 + line * 20;
        if (top < this.root.scrollTop || top + 40 > this.root.scrollTop + this.root.clientHeight) this.root.scrollTo(0, top - this.root.clientHeight / 3);
    }

    select(range) {
        this.#area.focus();
        this.#area.setSelectionRange(this.offset(range.start), this.offset(range.end));
        this.show(range.start.line);
    }

    #changed(e) {
        this.#diagnostics = [];
        this.#paint();
        this.events.change();
        this.#endHover();
        const typed = e?.data;
        if (typed && /^[\w.@]$/.test(typed)) this.#complete();
        else this.#closePopup();
    }

    #paint() {
        this.#colours.replaceChildren(colour(this.value + "\n", this.#tokens));
        const worst = new Map();
        for (const d of this.#diagnostics) worst.set(d.range.start.line, Math.min(worst.get(d.range.start.line) ?? 4, d.severity ?? 1));
        const numbers = document.createDocumentFragment();
        this.value.split("\n").forEach((_, i) => {
            const n = make("span", { 1: "error", 2: "warning" }[worst.get(i)] ?? "");
            n.textContent = i + 1;
            numbers.append(n, "\n");
        });
        this.#numbers.replaceChildren(numbers);
        this.#paintMarks();
    }

    #paintMarks() {
        const lines = this.value.split("\n"), marks = [];
        for (const line of this.#linked) {
            const m = make("div", "linked");
            m.style.top = `${6 + line * 20}px`;
            marks.push(m);
        }
        for (const d of this.#diagnostics) {
            const { start, end } = d.range;
            const m = make("div", { 1: "error", 2: "warning" }[d.severity ?? 1] ?? "note");
            const to = end.line === start.line ? end.character : lines[start.line]?.length ?? 0;
            m.style.top = `${6 + start.line * 20}px`;
            m.style.left = `${start.character}ch`;
            m.textContent = lines[start.line]?.slice(start.character, Math.max(to, start.character + 1)) || " ";
            marks.push(m);
        }
        this.#marks.replaceChildren(...marks);
    }

    #key(e) {
        if (this.#popup) {
            const n = this.#popup.items.length;
            if (e.key === "ArrowDown" || e.key === "ArrowUp") {
                e.preventDefault();
                return this.#choose((this.#popup.chosen + (e.key === "ArrowDown" ? 1 : n - 1)) % n);
            }
            if (e.key === "Enter" || e.key === "Tab") {
                e.preventDefault();
                return this.#accept(this.#popup.items[this.#popup.chosen]);
            }
            if (e.key === "Escape") return this.#closePopup();
        }
        const { selectionStart: from, selectionEnd: to } = this.#area;
        if (e.key === " " && e.ctrlKey) {
            e.preventDefault();
            this.#complete();
        } else if (e.key === "Tab" && !e.shiftKey && !e.ctrlKey && !e.altKey && !this.#leaving) {
            e.preventDefault();
            this.#replace(from, to, "    ");
        } else if (e.key === "Escape") {
            this.#leaving = true; // the next Tab leaves the editor, for who has no mouse
            return;
        } else if (e.key === "Enter" && !e.ctrlKey && !e.altKey) {
            e.preventDefault();
            const line = this.value.slice(this.value.lastIndexOf("\n", from - 1) + 1, from);
            const indent = line.match(/^ */)[0] + (/[{([]\s*$/.test(line) ? "    " : "");
            this.#replace(from, to, "\n" + indent);
        } else if (e.key === "}" && /^ {4,}$/.test(this.value.slice(this.value.lastIndexOf("\n", from - 1) + 1, from)) && from === to) {
            e.preventDefault();
            this.#replace(from - 4, to, "}");
        } else if (e.key.toLowerCase() === "f" && e.shiftKey && e.altKey) {
            e.preventDefault();
            this.events.format();
        }
        this.#leaving = false;
    }
    #leaving = false;

    // place is where a position is on the screen.
    #place({ line, character }) {
        const box = this.#colours.getBoundingClientRect();
        return { left: box.left + character * this.#wide(), top: box.top + 6 + line * 20 };
    }

    #wide() {
        const probe = make("span", "", this.#colours);
        probe.textContent = "0".repeat(100);
        const w = probe.getBoundingClientRect().width / 100;
        probe.remove();
        return w;
    }

    async #complete() {
        const offset = this.#area.selectionStart;
        const from = offset - this.value.slice(0, offset).match(/\w*$/)[0].length;
        const all = await this.events.complete(this.position(offset)).catch(() => []);
        if (this.#area.selectionStart !== offset) return; // more was typed: that asks again
        const typed = this.value.slice(from, offset).toLowerCase();
        const items = all.filter(i => (i.filterText ?? i.label).toLowerCase().startsWith(typed)).sort((a, b) => (a.sortText ?? a.label) < (b.sortText ?? b.label) ? -1 : 1).slice(0, 100);
        this.#closePopup();
        if (items.length === 0 || items.length === 1 && items[0].label.toLowerCase() === typed) return;
        const box = make("div", "popup list", document.body);
        for (const item of items) {
            const row = make("div", "", box);
            row.append(item.label);
            make("span", "", row).textContent = item.detail ?? "";
            row.addEventListener("mousedown", e => {
                e.preventDefault();
                this.#accept(item);
            });
        }
        const at = this.#place(this.position(from));
        Object.assign(box.style, { left: `${Math.min(at.left, innerWidth - box.offsetWidth - 8)}px`, top: `${at.top + 22 + box.offsetHeight > innerHeight ? at.top - box.offsetHeight - 2 : at.top + 22}px` });
        this.#popup = { box, items, chosen: 0, from };
        this.#choose(0);
    }

    #choose(i) {
        this.#popup.box.children[this.#popup.chosen].className = "";
        this.#popup.chosen = i;
        this.#popup.box.children[i].className = "chosen";
        this.#popup.box.children[i].scrollIntoView({ block: "nearest" });
    }

    #accept(item) {
        const { from } = this.#popup;
        this.#closePopup();
        if (item.additionalTextEdits?.length) {
            const word = { range: { start: this.position(from), end: this.position() }, newText: item.textEdit?.newText ?? item.insertText ?? item.label };
            return this.apply([word, ...item.additionalTextEdits]);
        }
        const edit = item.textEdit;
        const range = edit?.range ?? edit?.insert;
        const begin = range ? Math.min(this.offset(range.start), from) : from;
        this.#replace(begin, this.#area.selectionStart, edit?.newText ?? item.insertText ?? item.label);
    }

    #closePopup() {
        this.#popup?.box.remove();
        this.#popup = null;
    }

    #hover(e) {
        clearTimeout(this.#timer);
        if (this.#tip && !this.#tip.on(e)) this.#endHover();
        if (e.buttons) return;
        this.#timer = setTimeout(async () => {
            const box = this.#colours.getBoundingClientRect();
            const line = Math.floor((e.clientY - box.top - 6) / 20), character = Math.floor((e.clientX - box.left) / this.#wide());
            const text = this.value.split("\n")[line];
            if (text === undefined || character >= text.length) return;
            const here = this.#diagnostics.filter(d => d.range.start.line === line && d.range.start.character <= character && (d.range.end.line > line || d.range.end.character >= character));
            const hover = await this.events.hover({ line, character }).catch(() => null);
            const said = [...here.map(d => d.message), ...[hover?.contents?.value ?? hover?.contents ?? []].flat()].filter(Boolean);
            this.#endHover();
            if (said.length === 0) return;
            const tip = make("div", "popup tip", document.body);
            said.forEach((s, i) => {
                if (i > 0) make("hr", "", tip);
                tip.append(markdown(s));
            });
            const at = this.#place({ line, character });
            Object.assign(tip.style, { left: `${Math.min(at.left, innerWidth - tip.offsetWidth - 8)}px`, top: `${at.top - tip.offsetHeight - 2 < 0 ? at.top + 22 : at.top - tip.offsetHeight - 2}px` });
            this.#tip = { tip, on: m => Math.abs(m.clientX - e.clientX) < 12 && Math.abs(m.clientY - e.clientY) < 12 };
        }, 350);
    }

    #endHover() {
        clearTimeout(this.#timer);
        this.#tip?.tip.remove();
        this.#tip = null;
    }
}

// markdown shows what the language server writes: code, between fences or accents, and text.
function markdown(text) {
    const all = document.createDocumentFragment();
    for (const part of text.split(/(```\w*\n[^]*?\n```|`[^`\n]+`|\n*---\n*)/)) {
        const fence = part.match(/^```\w*\n([^]*?)\n```$/);
        if (fence) {
            const pre = make("pre", "", all);
            pre.append(colour(fence[1]));
        } else if (/^`[^`]+`$/.test(part)) make("code", "", all).append(colour(part.slice(1, -1)));
        else if (/^\n*---\n*$/.test(part)) make("hr", "", all);
        else all.append(part.replaceAll("**", "").replace(/\[([^\]]*)\]\([^)]*\)/g, "$1"));
    }
    return all;
}
