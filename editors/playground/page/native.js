// The compiler of the machine, behind the server that `tilec playground` is: the same interface as the backend in the page.

const decode = text => Uint8Array.from(atob(text), c => c.charCodeAt(0));


export class NativeBackend {
    name = "on this machine";
    #base;

    // base is the address of the page, with its secret.
    constructor(base) { this.#base = base; }

    start(args, { files = {}, onOutput = () => {} } = {}) {
        const stopper = new AbortController();
        let told, number = new Promise(resolve => { told = resolve; });
        const done = this.#follow({ args, files }, stopper.signal, told, onOutput).catch(e => {
            if (stopper.signal.aborted) return null;
            onOutput(2, new TextEncoder().encode(`tilec: ${e.message}\n`));
            return 1;
        });
        let last = Promise.resolve(); // input goes in order
        return {
            done,
            write: bytes => {
                last = last.then(async () => {
                    const response = await fetch(new URL("input/" + await number, this.#base), { method: "POST", body: bytes });
                    await response.text();
                }).catch(() => {}); // what ran has ended, and done says so
            },
            stop: () => stopper.abort(),
        };
    }

    async #follow(command, signal, told, onOutput) {
        const response = await fetch(new URL("start", this.#base), { method: "POST", body: JSON.stringify(command), signal });
        if (!response.ok) throw new Error(await response.text());
        let rest = "", code;
        const decoder = new TextDecoder(), reader = response.body.getReader();
        for (;;) {
            const { done, value } = await reader.read();
            if (done && code === undefined) throw new Error("tilec playground has ended");
            if (done) return code;
            const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
            rest = lines.pop();
            for (const line of lines) {
                const said = JSON.parse(line);
                if (said.number) told(said.number);
                if (said.fd) onOutput(said.fd, decode(said.bytes));
                if (said.code !== undefined) code = said.code;
            }
        }
    }
}
