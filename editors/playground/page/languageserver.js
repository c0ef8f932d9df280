// A client of the language server, which is `tilec lsp` on either backend.

const uri = "file:///main.tile";

export class LanguageServer {
    #running;
    #waiting = new Map();
    #last = 0;
    #version = 0;
    #received = new Uint8Array();
    #text;

    // onDiagnostics is called with the diagnostics of the version that is open.
    constructor(backend, onDiagnostics, onEnd) {
        this.onDiagnostics = onDiagnostics;
        this.#running = backend.start(["lsp"], { onOutput: (fd, bytes) => fd === 1 ? this.#receive(bytes) : console.warn(new TextDecoder().decode(bytes)) });
        this.#running.done.then(code => {
            for (const { reject } of this.#waiting.values()) reject(new Error("the language server has ended"));
            onEnd(code);
        });
    }

    // begin opens the document; until then nothing may be asked.
    async begin(text) {
        const capabilities = {
            general: { positionEncodings: ["utf-16"] },
            textDocument: {
                publishDiagnostics: { relatedInformation: true },
                hover: { contentFormat: ["markdown", "plaintext"] },
                completion: { completionItem: { snippetSupport: false } },
                codeAction: { codeActionLiteralSupport: { codeActionKind: { valueSet: ["quickfix"] } } },
                documentSymbol: { hierarchicalDocumentSymbolSupport: true },
                semanticTokens: { requests: { full: true }, formats: ["relative"], tokenTypes: [], tokenModifiers: [] },
            },
        };
        const { capabilities: can } = await this.request("initialize", { processId: null, rootUri: null, capabilities });
        this.kinds = can.semanticTokensProvider?.legend.tokenTypes ?? [];
        this.notify("initialized", {});
        this.#text = text;
        this.notify("textDocument/didOpen", { textDocument: { uri, languageId: "tile", version: ++this.#version, text } });
    }

    change(text) {
        if (text === this.#text) return;
        this.#text = text;
        this.notify("textDocument/didChange", { textDocument: { uri, version: ++this.#version }, contentChanges: [{ text }] });
    }

    // ask is a request about the document.
    ask(method, params = {}) { return this.request("textDocument/" + method, { textDocument: { uri }, ...params }); }

    request(method, params) {
        const id = ++this.#last;
        this.#send({ jsonrpc: "2.0", id, method, params });
        return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    }

    notify(method, params) { this.#send({ jsonrpc: "2.0", method, params }); }

    stop() { this.#running.stop(); }

    #send(message) {
        const body = new TextEncoder().encode(JSON.stringify(message));
        const head = new TextEncoder().encode(`Content-Length: ${body.length}\r\n\r\n`);
        const whole = new Uint8Array(head.length + body.length);
        whole.set(head);
        whole.set(body, head.length);
        this.#running.write(whole);
    }

    #receive(bytes) {
        const all = new Uint8Array(this.#received.length + bytes.length);
        all.set(this.#received);
        all.set(bytes, this.#received.length);
        this.#received = all;
        for (;;) {
            const head = new TextDecoder("latin1").decode(this.#received.subarray(0, 256)).match(/^[^]*?Content-Length: (\d+)[^]*?\r\n\r\n/);
            if (!head || this.#received.length < head[0].length + Number(head[1])) return;
            const end = head[0].length + Number(head[1]);
            const message = JSON.parse(new TextDecoder().decode(this.#received.subarray(head[0].length, end)));
            this.#received = this.#received.slice(end);
            this.#take(message);
        }
    }

    #take(message) {
        if (message.method && message.id !== undefined) return this.#send({ jsonrpc: "2.0", id: message.id, result: null }); // the server asks for nothing that matters here
        if (message.method === "textDocument/publishDiagnostics") {
            const { uri: of, version, diagnostics } = message.params;
            if (of === uri && (version ?? this.#version) === this.#version) this.onDiagnostics(diagnostics);
        }
        const waiting = this.#waiting.get(message.id);
        if (message.method || !waiting) return;
        this.#waiting.delete(message.id);
        if (message.error) waiting.reject(new Error(message.error.message));
        else waiting.resolve(message.result);
    }
}

// editsOf are the edits of a workspace edit that are in the document.
export const editsOf = edit => edit?.changes?.[uri] ?? edit?.documentChanges?.find(c => c.textDocument?.uri === uri)?.edits ?? [];
