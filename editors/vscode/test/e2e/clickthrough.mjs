// Clicks through the extension in code-server, which run.sh set up: node clickthrough.mjs DIR PICTURES
// Each step says what it saw; the first that does not see what it should ends with exit code 1 and a picture.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const [dir, pictures] = process.argv.slice(2);
const { chromium } = createRequire(join(dir, "package.json"))("playwright-core");

// ---- the server

const folder = join(dir, "workspace"), user = join(dir, "user"), extensions = join(dir, "extensions");
for (const old of [folder, user, extensions]) rmSync(old, { recursive: true, force: true });
cpSync(join(dirname(fileURLToPath(import.meta.url)), "workspace"), folder, { recursive: true });
for (const part of ["User", "Machine"]) mkdirSync(join(user, part), { recursive: true });
// A program's path is a setting of the machine that VS Code's server runs on; among the user's it would be dropped sooner or later.
writeFileSync(join(user, "Machine", "settings.json"), JSON.stringify({ "tilec.path": join(dir, "tilec") }));
writeFileSync(join(user, "User", "settings.json"), JSON.stringify({
    "security.workspace.trust.enabled": false,
    "telemetry.telemetryLevel": "off",
    "workbench.startupEditor": "none",
    "extensions.autoCheckUpdates": false,
    "editor.minimap.enabled": false,
    "terminal.integrated.gpuAcceleration": "off", // its text is in the page then, not in a picture
}));
// What a user's machine has in its environment for another VS Code is no concern of this one.
const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("VSCODE_")));
const entry = [join(dir, "node_modules/code-server/out/node/entry.js"), "--user-data-dir", user, "--extensions-dir", extensions, "--disable-telemetry", "--disable-update-check"];
const installed = spawnSync(process.execPath, [...entry, "--install-extension", join(dir, "tilec.vsix")], { encoding: "utf8", env: environment });
assert.match(installed.stdout, /was successfully installed/, installed.stdout + installed.stderr);

const port = await new Promise(done => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
        const { port } = probe.address();
        probe.close(() => done(port));
    });
});
const server = spawn(process.execPath, [...entry, "--auth", "none", "--bind-addr", `127.0.0.1:${port}`, folder], { stdio: ["ignore", "pipe", "pipe"], env: environment });
let log = "";
const listening = new Promise((done, failed) => {
    const read = bytes => {
        log += bytes;
        if (log.includes("HTTP server listening")) done();
    };
    server.stdout.on("data", read);
    server.stderr.on("data", read);
    server.on("exit", code => failed(new Error(`code-server ended with ${code}:\n${log}`)));
});

// ---- what a user does and sees

let browser, page;
const begun = Date.now();
const step = text => console.log(`${((Date.now() - begun) / 1000).toFixed(1).padStart(5)} s  ${text}`);
let count = 0;
const picture = name => page.screenshot({ path: join(pictures, `${String(++count).padStart(2, "0")}-${name}.png`) });
const key = name => page.keyboard.press(name);
const type = text => page.keyboard.type(text, { delay: 60 });
const visible = selector => page.locator(`${selector} >> visible=true`).first().waitFor();
const plain = text => text.replaceAll("\u00a0", " ").replaceAll(/[\u200b-\u200f\u202a-\u202e]/g, "");

// until waits for what a look at the page gives, and says what it last gave.
async function until(what, look, seconds = 20) {
    let last;
    for (const end = Date.now() + seconds * 1000; Date.now() < end; await page.waitForTimeout(100)) {
        last = await look().catch(error => error.message);
        if (what(last)) return last;
    }
    throw new Error(`not after ${seconds} s: ${what}\n${typeof last === "string" ? last : JSON.stringify(last, null, 1)}`);
}

// texts are those of what a selector finds, from top to bottom: lines of an editor are in no order.
const texts = selector => page.$$eval(selector, all => all.filter(e => e.offsetParent !== null).map(e => [e.getBoundingClientRect().top, e.textContent]).sort((a, b) => a[0] - b[0]).map(([, t]) => t)).then(all => all.map(plain));
// text is what an editor shows, the n-th from the left.
const text = (n = 0) => texts(`.editor-group-container:nth-child(1) .nothing, .split-view-view:nth-child(${n + 1}) > .editor-group-container .editor-instance .view-line`).then(lines => lines.join("\n"));
const sees = (wanted, n) => until(t => t.includes(wanted), () => text(n)).catch(error => { throw new Error(`editor ${n ?? 0} has no ${JSON.stringify(wanted)}: ${error.message}`); });

async function open(file) {
    await key("Control+P");
    await visible(".quick-input-widget");
    await page.keyboard.insertText(file);
    await until(rows => rows[0]?.includes(file), () => texts(".quick-input-widget .monaco-list-row"));
    await key("Enter");
    await until(tabs => tabs.some(t => t.includes(file)), () => texts(".tab.active .label-name"));
    await visible(".editor-instance .view-line");
}

async function command(name) {
    await key("F1");
    await visible(".quick-input-widget");
    await page.keyboard.insertText(name);
    await page.locator(".quick-input-widget .monaco-list-row .label-name").getByText(name, { exact: true }).first().click();
}

async function goTo(line, column = 1) {
    await command("Go to Line/Column...");
    await visible(".quick-input-widget");
    await page.keyboard.type(`${line}:${column}`);
    await key("Enter");
    await page.locator(".quick-input-widget").waitFor({ state: "hidden" });
}

// linked counts the lines that are marked in an editor.
const linked = n => page.$$eval(`.split-view-view:nth-child(${n + 1}) > .editor-group-container .view-overlays .cdr[class*="ced-"]`, all => all.length);

const terminal = () => texts(".xterm-rows > div").then(rows => rows.join("\n"));

const source = name => readFileSync(join(folder, name), "utf8");

// ---- the steps

async function mistakes() {
    await open("mistake.tile");
    await visible(".squiggly-error");
    await command("Problems: Focus on Problems View");
    const problem = await until(rows => rows.some(r => r.includes("unknown name smu")), () => texts(".markers-panel .monaco-list-row"));
    step(`squiggle, and in Problems: ${problem.find(r => r.includes("smu"))}`);
    await picture("problem");

    await command("View: Focus Active Editor Group");
    await goTo(7, 23);
    await key("Control+.");
    await until(rows => rows.some(r => /sum/.test(r)), () => texts(".action-widget .monaco-list-row"));
    await picture("quick-fix");
    await key("Enter");
    await sees("row / sum(row, over j)");
    await page.waitForFunction(() => !document.querySelector(".squiggly-error"));
    step("the quick fix mends the mistake");
}

async function completion() {
    await goTo(6);
    await key("End");
    await type(" * rsq");
    const proposed = await until(rows => rows[0]?.startsWith("rsqrt"), () => texts(".suggest-widget.visible .monaco-list-row .label-name"));
    assert.ok(proposed.every(p => /r.*s.*q/i.test(p)), `proposals that have no r, s, q: ${proposed}`);
    await picture("completion");
    step(`completion of rsq by itself: ${proposed.join(", ")}`);
    await key("Escape");
    for (let n = 0; n < 6; n++) await key("Backspace");
    await sees("= x[i, j]\n"); // behind the hint of its type
}

async function hover() {
    const shown = await until(t => t.some(x => x.includes("f32{i, j}")), async () => {
        await page.mouse.move(900, 500); // a line that hints have moved meanwhile is looked for again
        await page.locator('.view-line span:text-is("row")').first().hover();
        await page.waitForTimeout(1000);
        return texts(".monaco-hover .hover-contents, .monaco-hover .hover-row-contents");
    });
    step(`hover: ${shown.find(x => x.includes("f32{i, j}")).split("\n")[0]}`);
    await picture("hover");
    await page.mouse.move(900, 500);
}

async function rename() {
    await goTo(6, 10);
    await key("F2");
    await page.waitForFunction(() => document.activeElement?.classList.contains("rename-input"));
    await key("Control+A");
    await type("line");
    await key("Enter");
    await sees("line / sum(line, over j)");
    await key("Control+S");
    await until(t => t.includes("let line = x[i, j]"), async () => source("mistake.tile"));
    step("rename, saved");
}

async function stages() {
    await goTo(6, 5);
    await page.locator('.codelens-decoration a:has-text("Show PTX")').click();
    await sees("ld.global", 1);
    await page.locator(".split-view-view:nth-child(1) > .editor-group-container .view-line").first().click();
    step('lens "Show PTX": beside the source');
    await goTo(6, 5);
    for (const [title, wanted, marks] of [
        ["Tile: Show the PTX", "ld.global", true],
        ["Tile: Show the tile IR", "= load %x", true],
        ["Tile: Show the block program", "@home %2: reg", true],
        ["Tile: Show the tile IR pass by pass", "as it is built", true],
        ["Tile: Show the typed program", "kernel shares(", true],
        ["Tile: Explain the plan", "shares on sm_90a", false],
    ]) {
        await command(title);
        await sees(wanted, 1);
        if (marks) await until(n => n > 0, () => linked(1));
        await picture(title.replace(/^.*: (Show the )?/, "").replaceAll(" ", "-").toLowerCase());
        step(`${title}: ${await linked(1)} lines are marked beside line 6`);
    }

    // The other way: the cursor in the PTX marks a line of the source.
    await command("Tile: Show the PTX");
    await until(tabs => tabs.some(t => t.includes("shares PTX")), () => texts(".split-view-view:nth-child(2) .tab.active .label-name"));
    await until(n => n > 0, () => linked(1));
    await page.locator('.split-view-view:nth-child(2) > .editor-group-container .view-line:has-text("ld.global")').first().click();
    await until(n => n === 1, () => linked(0));
    await picture("linked-back");
    step("a line of the PTX marks its line of the source");

    // Saving renews what is shown.
    await page.locator(".split-view-view:nth-child(1) > .editor-group-container .view-line").first().click();
    await goTo(1);
    await page.keyboard.insertText("@warps(2)\n");
    await key("Control+S");
    await sees(".loc 1 7 16", 1); // the line of the load
    step("saving renews the PTX");
    await command("View: Close All Editors");
}

async function sizes() {
    await open("scale.tile");
    await goTo(7, 5);
    await command("Tile: Show the PTX");
    await until(title => title.some(t => t.includes("Sizes and element types of scale")), () => texts(".quick-input-widget .quick-input-title"));
    assert.equal(await page.inputValue(".quick-input-widget input[type=text]"), "N=64");
    await picture("sizes");
    await key("Enter");
    await sees("ld.global", 1);
    await page.locator(".split-view-view:nth-child(1) > .editor-group-container .view-line").first().click();
    await goTo(12, 5);
    await command("Tile: Show the launches of a graph");
    await until(rows => rows.includes("Sizes") || rows.includes("twice"), () => texts(".quick-input-widget .quick-input-title").then(t => t.join()));
    await key("Enter");
    await sees("graph twice, 2 launches", 1);
    await picture("launches");
    step("sizes that nothing says are asked for; a graph has launches");
    await page.locator(".split-view-view:nth-child(1) > .editor-group-container .view-line").first().click();
}

async function run() {
    await goTo(7, 5);
    await command("Tile: Run kernel or graph...");
    await until(t => t.some(x => x.includes("Arguments of scale")), () => texts(".quick-input-widget .quick-input-title"));
    await page.keyboard.insertText("'x=[3, 5]' --device cpu");
    await key("Enter");
    await until(t => /1\.5 2\.5/.test(t), terminal);
    await picture("run");
    step("a kernel runs in the terminal");
    await page.locator(".split-view-view:nth-child(1) > .editor-group-container .view-line").first().click();
}

async function tests() {
    await command("Tile: Run the tests of this file");
    const marks = await until(all => all.filter(c => /passed/.test(c)).length === 1 && all.filter(c => /failed/.test(c)).length === 1, () => page.$$eval(".editor-instance .testing-run-glyph", all => all.map(e => e.className)));
    assert.equal(marks.length, 2);
    await command("Testing: Focus on Test Explorer View");
    await page.locator('.test-explorer .monaco-list-row:has-text("scale.tile")').click();
    await key("ArrowRight");
    const listed = await until(rows => rows.some(r => r.includes("no half")), () => texts(".test-explorer .monaco-list-row"));
    step(`test explorer: ${listed.map(r => r.trim()).join(" | ")}`);
    await picture("tests");
}

async function lenses() {
    await open("scale.tile");
    await page.locator('.codelens-decoration a:has-text("Run test")').first().click();
    const message = await until(rows => rows.some(r => /a half/.test(r)), () => texts(".notification-list-item-message"));
    step(`lens "Run test": ${message[0]}`);
    await picture("lens");
    await command("Notifications: Clear All Notifications");
}

async function tasks() {
    await command("View: Close All Editors");
    for (const [task, wanted] of [["tilec: check", "unknown name nothing"], ["tilec: test", "check scale([2.0, 4.0]) == [1.0, 3.0]"]]) {
        await command("Tasks: Run Task");
        for (const choice of ["tilec", task]) {
            await page.locator(".quick-input-widget .monaco-list-row .label-name").getByText(choice, { exact: true }).first().click();
        }
        const ended = new RegExp(`'${task.split(" ")[1]}', '\\.'[^]*press any key`);
        await until(t => ended.test(t), terminal);
        await command("Problems: Focus on Problems View");
        const rows = await until(rows => rows.some(r => r.includes(wanted)), () => texts(".markers-panel .monaco-list-row"));
        step(`${task}: the problem matcher finds ${rows.find(r => r.includes(wanted))}`);
        await picture(task.replace(": ", "-"));
    }
}

try {
    await listening;
    browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
    page = await browser.newPage({ viewport: { width: 1500, height: 950 } });
    page.setDefaultTimeout(30_000);
    await page.goto(`http://127.0.0.1:${port}/?folder=${folder}`);
    await page.waitForSelector(".explorer-folders-view .monaco-list-row", { timeout: 120_000 });
    step("VS Code is there");
    for (const part of [mistakes, completion, hover, rename, stages, sizes, run, tests, lenses, tasks]) await part();
    step(`done; pictures are in ${pictures}`);
} catch (error) {
    if (page) await picture("failed").catch(() => {});
    console.error(`${error.stack}\n\ncode-server said:\n${log.slice(-2000)}`);
    process.exitCode = 1;
} finally {
    await browser?.close();
    server.removeAllListeners("exit");
    server.kill();
}
