// A worker that is one run of the command tilec, as WebAssembly. It is told once to start, and then what comes to stdin; it tells what
// goes to stdout and stderr, and the exit code. To end it before that, end the worker: nothing in a page can interrupt WebAssembly.

import { Files } from "./files.js";

let files;

globalThis.onmessage = async ({ data }) => {
    if (data.type === "input") return files.give(data.bytes);
    files = new Files(data.files, (fd, bytes) => postMessage({ type: "output", fd, bytes }));
    globalThis.fs = files;
    globalThis.process = {
        getuid: () => -1, getgid: () => -1, geteuid: () => -1, getegid: () => -1, getgroups: () => [],
        pid: 1, ppid: 0, umask: () => 0, cwd: () => "/", chdir() {},
    };
    await import("./wasm_exec.js"); // takes what globalThis has by now
    const go = new Go();
    go.argv = ["tilec", ...data.args];
    go.env = { TILEC_CACHE: "off", NO_COLOR: "1", TMPDIR: "/tmp" };
    let code = 0;
    go.exit = c => { code = c; };
    try {
        const instance = await WebAssembly.instantiate(data.module, go.importObject);
        await go.run(instance);
    } catch (e) {
        postMessage({ type: "output", fd: 2, bytes: new TextEncoder().encode(`tilec: ${e}\n`) });
        code = 1;
    }
    postMessage({ type: "exit", code });
};
