// The compiler in the page: every run is a worker of its own.

const pageWorker = () => new Worker(new URL("worker.js", import.meta.url), { type: "module" });

export class WasmBackend {
    name = "in this page";
    #module;
    #newWorker;
    #ready; // a worker that has loaded its scripts, for the next run

    // module is the compiled WebAssembly; newWorker makes a worker that runs worker.js.
    constructor(module, newWorker = pageWorker) {
        this.#module = module;
        this.#newWorker = newWorker;
        this.#ready = newWorker();
    }

    // load fetches the compiler; progress is called with how many bytes have come.
    static async load(url, progress) {
        const response = await fetch(url);
        if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
        let bytes = 0;
        const counted = response.body.pipeThrough(new TransformStream({
            transform(chunk, out) {
                progress(bytes += chunk.length);
                out.enqueue(chunk);
            },
        }));
        const headers = { "Content-Type": "application/wasm" }; // whatever the host calls it
        return new WasmBackend(await WebAssembly.compileStreaming(new Response(counted, { headers })));
    }

    // start runs tilec with arguments, beside files (texts by name). It gives what is running: done is the promise of the exit code,
    // null when it was stopped; write gives it bytes on stdin, and stop ends it.
    start(args, { files = {}, onOutput = () => {} } = {}) {
        const worker = this.#ready;
        this.#ready = this.#newWorker();
        let end;
        const done = new Promise(resolve => { end = resolve; });
        const finish = code => {
            worker.terminate();
            end(code);
        };
        worker.onmessage = ({ data }) => {
            if (data.type === "output") onOutput(data.fd, data.bytes);
            else finish(data.code);
        };
        worker.onerror = e => {
            onOutput(2, new TextEncoder().encode(`tilec: ${e.message}\n`));
            finish(1);
        };
        worker.postMessage({ type: "start", module: this.#module, args, files });
        return {
            done,
            write: bytes => worker.postMessage({ type: "input", bytes }),
            stop: () => finish(null),
        };
    }
}
