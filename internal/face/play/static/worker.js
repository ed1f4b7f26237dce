"use strict";
// The engine's thread. The page ends it where an answer takes too long, and starts another with the same module.

const missing = 52; // ENOSYS: the engine has no files, network or processes here
let engine;

// system returns the functions that Go's runtime needs of a host: clock, random bytes and a place for panics.
function system(module, memory) {
  const view = () => new DataView(memory().buffer);
  const zero = (...at) => { for (const a of at) view().setUint32(a, 0, true); return 0; };
  const own = {
    args_sizes_get: zero, environ_sizes_get: zero, args_get: () => 0, environ_get: () => 0, sched_yield: () => 0,
    fd_prestat_get: () => 8, // EBADF: no directory is open
    fd_close: () => 8, fd_fdstat_get: () => 8, fd_fdstat_set_flags: () => 8,
    clock_time_get(kind, _precision, at) {
      const ms = kind === 0 ? Date.now() : performance.now();
      view().setBigUint64(at, BigInt(Math.round(ms * 1e6)), true);
      return 0;
    },
    random_get(at, n) {
      for (let i = 0; i < n; i += 65536) crypto.getRandomValues(new Uint8Array(memory().buffer, at + i, Math.min(65536, n - i)));
      return 0;
    },
    fd_write(fd, parts, n, done) {
      let all = 0, text = "";
      for (let i = 0; i < n; i++) {
        const at = view().getUint32(parts + 8 * i, true), size = view().getUint32(parts + 8 * i + 4, true);
        text += new TextDecoder().decode(new Uint8Array(memory().buffer, at, size));
        all += size;
      }
      console.warn(text);
      view().setUint32(done, all, true);
      return 0;
    },
    // The engine waits for nothing: each clock that it waits for has passed.
    poll_oneoff(from, to, n, done) {
      for (let i = 0; i < n; i++) {
        new Uint8Array(memory().buffer, to + 32 * i, 32).fill(0);
        view().setBigUint64(to + 32 * i, view().getBigUint64(from + 48 * i, true), true);
        view().setUint8(to + 32 * i + 10, view().getUint8(from + 48 * i + 8));
      }
      view().setUint32(done, n, true);
      return 0;
    },
    proc_exit(code) { throw new Error("the engine ended with " + code); },
  };
  const calls = {};
  for (const { name } of WebAssembly.Module.imports(module)) calls[name] = own[name] ?? (() => missing);
  return { wasi_snapshot_preview1: calls };
}

async function compile() {
  const answer = await fetch("engine.wasm.gz");
  if (!answer.ok) throw new Error("engine.wasm.gz: " + answer.status);
  const bytes = await answer.arrayBuffer();
  const head = new Uint8Array(bytes, 0, 2); // a host may have unpacked it on the way
  if (head[0] !== 0x1f || head[1] !== 0x8b) return WebAssembly.compile(bytes);
  const plain = new Response(bytes).body.pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(plain).arrayBuffer());
}

async function start(module) {
  module ??= await compile();
  let instance;
  instance = await WebAssembly.instantiate(module, system(module, () => instance.exports.memory));
  instance.exports._initialize();
  engine = instance.exports;
  postMessage({ ready: true, module });
}

function ask(text) {
  const bytes = new TextEncoder().encode(text);
  const at = engine.play_buffer(bytes.length) >>> 0;
  if (at === 0) return JSON.stringify({ errors: [{ msg: "that is too much for this page: 12 MB are its limit" }] });
  new Uint8Array(engine.memory.buffer).set(bytes, at);
  const n = engine.play_answer(bytes.length);
  return new TextDecoder().decode(new Uint8Array(engine.memory.buffer, engine.play_reply() >>> 0, n));
}

onmessage = async ({ data }) => {
  try {
    if (data.ask === undefined) await start(data.module);
    else postMessage({ id: data.id, reply: ask(data.ask) });
  } catch (e) {
    postMessage({ id: data.id, failed: String(e?.message ?? e) });
  }
};
