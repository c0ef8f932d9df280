// Clicks through a report in a headless Chromium, as a reader would, and keeps pictures of it:
//   tilec report std/nn.tile linear_bias M=512 K=768 N=768 T=bf16 -o report.html
//   CHROMIUM=/usr/bin/chromium node cmd/tilec/report/clickthrough.mjs report.html PICTURES
// playwright-core is needed, in a node_modules folder of the folder that this is started in, or above it.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [file, pictures] = process.argv.slice(2);
if (!file || !pictures) throw new Error("give a report, and a folder for pictures");
const { chromium } = createRequire(resolve("package.json"))("playwright-core");
mkdirSync(pictures, { recursive: true });

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
const page = await (await browser.newContext({ viewport: { width: 1500, height: 900 } })).newPage();
const wrong = [], asked = [];
page.on("pageerror", e => wrong.push(e.message));
page.on("console", m => { if (m.type() === "error") wrong.push(m.text()); });
page.on("request", r => asked.push(r.url()));
const picture = name => page.screenshot({ path: join(pictures, name + ".png") });

await page.goto(pathToFileURL(resolve(file)).href);
assert.equal(await page.locator("#source .linked").count(), 1, "the kernel's first line is marked");

// choose goes to a section, which is there when its tab is marked.
async function choose(id) {
    await page.click(`#tabs a[href="#${id}"]`);
    await page.waitForSelector(`#tabs a[href="#${id}"][aria-selected=true]`);
}

// One section at a time, each with something in it.
for (const id of await page.locator("#tabs a").evaluateAll(all => all.map(a => a.hash.slice(1)))) {
    await choose(id);
    assert.deepEqual(await page.locator("#pane section:visible").evaluateAll(all => all.map(s => s.id)), [id]);
    assert.ok(await page.locator("#pane section:visible").locator(".line, .missing, figure").count() > 0);
    await picture(id);
}

// A line of a stage leads to the line of the source, and the other way.
for (const id of ["typed", "passes", "ir", "ptx"]) {
    await choose(id);
    const line = page.locator(`#${id} .line[data-at]`).last(), at = await line.getAttribute("data-at");
    await line.click();
    const source = page.locator(`#source .line[data-at="${at}"]`);
    assert.match(await source.getAttribute("class"), /linked/);
    assert.ok(await source.isVisible() && (await source.boundingBox()).y >= 0, "the line of the source is on the screen");
    await page.locator("#pane").evaluate(p => p.scrollTo(0, 0));
    await source.click();
    const seen = await page.locator(`#${id} .linked`).evaluateAll(all => all.some(l => l.getBoundingClientRect().top >= 0 && l.getBoundingClientRect().bottom <= innerHeight));
    assert.ok(seen, `a line of ${id} is on the screen`);
}
await picture("linked");

// In a picture of a layout, all that one thread has is marked.
await choose("layouts");
const cell = page.locator(".layout rect[data-thread]").first();
await cell.hover();
const same = await page.locator(".layout .same").evaluateAll(all => all.map(c => c.dataset.thread));
assert.ok(same.length > 0 && same.every(t => t === same[0]));
await picture("thread");

assert.equal(asked.length, 1, "nothing is loaded but the page");
assert.deepEqual(wrong, []);
await browser.close();
console.log("ok");
