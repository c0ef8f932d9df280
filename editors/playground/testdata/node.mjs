// The page's own modules, in Node: a folder that build.sh made gives a backend whose workers are Node's.
import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { resolve } from "node:path";

export const load = (folder, name) => import(pathToFileURL(resolve(folder, name)));

export async function wasmBackend(folder) {
    const { WasmBackend } = await load(folder, "wasm.js");
    const module = await WebAssembly.compile(await readFile(resolve(folder, "tilec.wasm")));
    const idle = new Set();
    const backend = new WasmBackend(module, () => {
        const worker = new Worker(new URL("nodeworker.mjs", import.meta.url), { workerData: pathToFileURL(resolve(folder, "worker.js")).href });
        idle.add(worker);
        worker.on("exit", () => idle.delete(worker));
        return {
            postMessage: message => worker.postMessage(message),
            terminate: () => worker.terminate(),
            set onmessage(f) { worker.on("message", data => f({ data })); },
            set onerror(f) { worker.on("error", f); },
        };
    });
    return { backend, close: () => Promise.all([...idle].map(w => w.terminate())) };
}
