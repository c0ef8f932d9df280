// A worker of Node that looks like one of a page to worker.js.
import { parentPort, workerData } from "node:worker_threads";

globalThis.postMessage = message => parentPort.postMessage(message);
const waiting = [];
parentPort.on("message", data => globalThis.onmessage ? globalThis.onmessage({ data }) : waiting.push(data));
await import(workerData);
for (const data of waiting) globalThis.onmessage({ data });
