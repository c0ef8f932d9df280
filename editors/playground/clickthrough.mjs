// Clicks through the playground in a headless Chromium, as a user would, and keeps pictures of it:
//   CHROMIUM=/usr/bin/chromium node editors/playground/clickthrough.mjs WHERE PICTURES
// WHERE is a folder that build.sh made, which is then served, or the address that `tilec playground` printed. playwright-core is needed, in
// a node_modules folder of the folder that this is started in, or above it.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { extname, join, normalize, resolve } from "node:path";

const [where, pictures] = process.argv.slice(2);
if (!where || !pictures) throw new Error("give a folder or an address, and a folder for pictures");
const { chromium } = createRequire(resolve("package.json"))("playwright-core");
mkdirSync(pictures, { recursive: true });

const kinds = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json", ".wasm": "application/wasm" };

// serve is a host of files that sends what was compressed before.
function serve(folder) {
    const server = createServer((request, response) => {
        const path = join(folder, normalize(new URL(request.url, "http://x").pathname).replace(/\/$/, "/index.html"));
        if (!existsSync(path)) return response.writeHead(404).end();
        const packed = existsSync(path + ".br") && request.headers["accept-encoding"]?.includes("br");
        response.writeHead(200, { "Content-Type": kinds[extname(path)] ?? "text/plain", ...packed && { "Content-Encoding": "br" } });
        response.end(readFileSync(packed ? path + ".br" : path));
    });
    return new Promise(done => server.listen(0, "localhost", () => done({ address: `http://localhost:${server.address().port}/`, close: () => server.close() })));
}

const host = /^http/.test(where) ? { address: where, close() {} } : await serve(resolve(where));
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
const context = await browser.newContext({ viewport: { width: 1400, height: 860 } });
const page = await context.newPage();
page.setDefaultTimeout(120_000);
const wrong = [];
page.on("pageerror", e => wrong.push(e.message));
page.on("console", m => { if (m.type() === "error") wrong.push(m.text()); });

let count = 0;
const picture = name => page.screenshot({ path: join(pictures, `${String(++count).padStart(2, "0")}-${name}.png`) });
const begun = Date.now();
const step = text => console.log(`${((Date.now() - begun) / 1000).toFixed(1)} s  ${text}`);
const paneHas = text => page.waitForFunction(t => document.querySelector("#pane").textContent.includes(t), text);
const write = async text => {
    await page.locator(".editor textarea").click();
    await page.keyboard.press("Control+A");
    await page.keyboard.insertText(text);
};

await page.goto(host.address);
await page.waitForFunction(() => document.querySelector("#status").textContent.startsWith("ready"));
step("ready");
await paneHas(".visible .entry");
step("PTX of the first example");
await picture("ptx");

// A line of the PTX leads to the line of the program, and the other way.
const line = page.locator("#pane .line[data-source]").last();
const number = Number(await line.getAttribute("data-source"));
await line.click();
assert.equal(await page.evaluate(() => document.querySelector(".editor textarea").value.slice(0, document.querySelector(".editor textarea").selectionStart).split("\n").length - 1), number);
assert.ok(await page.locator("#pane .line.linked").count() > 0);
await picture("linked");
step("lines are linked");

for (const [tab, has] of [["typed", "kernel shares"], ["passes", "as it is built"], ["ir", "kernel @"], ["plan", "predicted"], ["block", "@plan"]]) {
    await page.click("#tab-" + tab);
    await paneHas(has);
    await picture(tab);
    step(tab);
}

await page.click("#tab-run");
for (const device of ["cpu", "emu"]) {
    await page.selectOption("#device", device);
    await page.check("#check");
    await page.click("#go");
    await paneHas("are within their bounds");
    if (device === "emu") await paneHas("warp instructions");
    await picture("run-" + device);
    step("run on " + device);
}
await page.click("#tests");
await paneHas("ok ");
step("tests");

// A mistake, its place, hover, completion and a quick fix.
await page.selectOption("#examples", { index: 1 });
await write("kernel twice(x: f32[N]) -> y: f32[N]\n    grid i in N by B\n{\n    y[i] = x[i] * rqsrt(2.0)\n}\n");
await page.waitForSelector("#problems .error");
await page.waitForSelector("#problems button");
await picture("mistake");
await page.click("#problems button");
await page.waitForFunction(() => document.querySelector(".editor textarea").value.includes("rsqrt(2.0)") && !document.querySelector("#problems .error"));
step("a mistake is shown, and mended by its quick fix");
await page.locator(".editor .colours span", { hasText: /^rsqrt$/ }).hover({ force: true });
await page.waitForSelector(".tip");
await picture("hover");
step("hover");
await page.locator(".editor textarea").click();
await page.keyboard.press("Control+End");
await page.keyboard.press("ArrowUp");
await page.keyboard.press("ArrowUp");
await page.keyboard.press("End");
await page.keyboard.type(" * rsq");
await page.waitForSelector(".list");
await picture("completion");
await page.keyboard.press("Enter");
assert.match(await page.inputValue(".editor textarea"), /\* rsqrt/);
step("completion");

// A program that takes for ever.
await write("kernel forever(x: f32[N]) -> y: f32[N]\n    grid i in N by B\n{\n    let s = for n in 1000000000 with s = x[i] { s * 1.0001 }\n    y[i] = s\n}\n");
await page.waitForFunction(() => !document.querySelector("#problems .error"));
await page.click("#tab-run");
await page.selectOption("#device", "emu");
await page.selectOption("#limit", "5");
await page.uncheck("#check");
await page.click("#go");
await paneHas("Stopped after 5 s");
await picture("late");
step("a run that takes too long is stopped");
await page.selectOption("#limit", "120");
await page.click("#go");
await page.waitForTimeout(1500);
await page.click("#stop");
await paneHas("Stopped.");
step("and one is stopped by hand");

// The address has the program.
await page.click("#tab-ptx");
await page.click("#share");
await page.waitForFunction(() => location.hash.length > 50);
const address = page.url();
const other = await context.newPage();
await other.goto(address);
await other.waitForFunction(() => document.querySelector(".editor textarea")?.value.includes("kernel forever"), null, { timeout: 60_000 });
step(`an address of ${address.length} letters shows the same program`);
await other.close();

assert.deepEqual(wrong, []);
await browser.close();
host.close();
step("done");
