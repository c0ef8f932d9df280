// A program in an address: JSON, deflated, in base64 without signs that addresses use otherwise.

async function through(bytes, transform) {
    return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(transform)).arrayBuffer());
}

// pack gives the text of a state for behind #.
export async function pack(state) {
    const bytes = await through(new TextEncoder().encode(JSON.stringify(state)), new CompressionStream("deflate-raw"));
    let text = "";
    for (const b of bytes) text += String.fromCharCode(b);
    return "1" + btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

// unpack gives the state back; null of a text that pack did not make.
export async function unpack(text) {
    if (text[0] !== "1") return null;
    try {
        const bytes = Uint8Array.from(atob(text.slice(1).replaceAll("-", "+").replaceAll("_", "/")), c => c.charCodeAt(0));
        const state = JSON.parse(new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw"))));
        return typeof state?.source === "string" ? state : null;
    } catch {
        return null;
    }
}
