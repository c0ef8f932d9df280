// One command from its words to its end, on either backend.

// run gives the exit code, null when it was stopped or took too long, and the texts of stdout and stderr. begun is told what is running,
// for who wants to stop it.
export async function run(backend, args, { files, limit = 20, begun = () => {} } = {}) {
    const text = { 1: "", 2: "" }, decoders = { 1: new TextDecoder(), 2: new TextDecoder() };
    const running = backend.start(args, { files, onOutput: (fd, bytes) => { text[fd] += decoders[fd].decode(bytes, { stream: true }); } });
    begun(running);
    let late = false;
    const timer = setTimeout(() => {
        late = true;
        running.stop();
    }, limit * 1000);
    const code = await running.done;
    clearTimeout(timer);
    return { code, stdout: text[1], stderr: text[2], late };
}

// words cuts a text into the words of a command line, between spaces that stand in no quotes: N=64 'x=[[1, 3]]'.
export const words = text => (text.match(/(?:'[^']*'|[^\s'])+/g) ?? []).map(w => w.replaceAll("'", ""));
