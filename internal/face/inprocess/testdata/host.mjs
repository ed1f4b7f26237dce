// Runs the module named on the command line on the messages of standard input, one a
// line: "load JSON" or "decide NUMBER JSON". Prints a reply a line.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { WASI } from "node:wasi";

const root = process.argv[3] ?? "/"; // "none": no file system; "blind": one whose links cannot be read
const wasi = new WASI({ version: "preview1", env: process.env, preopens: root === "none" ? {} : { "/": root === "blind" ? "/" : root } });
const module = await WebAssembly.compile(readFileSync(process.argv[2]));
// Called straight from the module, Node 20's functions crash once its memory has grown.
const calls = Object.entries(wasi.wasiImport).map(([name, f]) => [name, (...args) => f(...args)]);
if (root === "blind") calls.push(["path_readlink", () => 63]); // EPERM
// The module only sleeps with it: a millisecond, and what was waited for has come.
calls.push(["poll_oneoff", (from, to, n, done) => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
  const view = new DataView(instance.exports.memory.buffer);
  for (let i = 0; i < n; i++) {
    new Uint8Array(view.buffer, to + 32 * i, 32).fill(0);
    view.setBigUint64(to + 32 * i, view.getBigUint64(from + 48 * i, true), true);
    view.setUint8(to + 32 * i + 10, view.getUint8(from + 48 * i + 8));
  }
  view.setUint32(done, n, true);
  return 0;
}]);
const instance = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: Object.fromEntries(calls) });
wasi.initialize(instance);
const { memory, obstat_buffer, obstat_load, obstat_decide, obstat_reply } = instance.exports;

function send(text, run) {
  const bytes = Buffer.from(text);
  const at = obstat_buffer(bytes.length) >>> 0;
  new Uint8Array(memory.buffer).set(bytes, at);
  const n = run(bytes.length);
  return Buffer.from(memory.buffer, obstat_reply() >>> 0, n).toString();
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const [, verb, policy, text] = /^(load|decide) (?:(\d+) )?(.*)$/.exec(line);
  const reply = verb === "load" ? send(text, obstat_load) : send(text, (n) => obstat_decide(Number(policy), n));
  process.stdout.write(reply + "\n");
}
