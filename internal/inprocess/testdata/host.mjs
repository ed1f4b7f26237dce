// Runs the module named on the command line on the messages of standard input, one a
// line: "load JSON" or "decide NUMBER JSON". Prints a reply a line.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { WASI } from "node:wasi";

const root = process.argv[3] ?? "/";
const wasi = new WASI({ version: "preview1", env: process.env, preopens: root === "none" ? {} : { "/": root } });
const module = await WebAssembly.compile(readFileSync(process.argv[2]));
// Called straight from the module, Node 20's functions crash once its memory has grown.
const calls = Object.entries(wasi.wasiImport).map(([name, f]) => [name, (...args) => f(...args)]);
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
