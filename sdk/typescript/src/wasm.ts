/**
 * The engine in this process, as WebAssembly: no server, no approvals, no ledger. What a policy asks about is denied.
 *
 * ```ts
 * import { Engine } from "obstat/wasm";
 * const engine = await Engine.load({ files: [{ name: "obstat.yaml", text: "version: 1\n" }] });
 * engine.decide({ tool: "Bash", input: { command: "git status" } }).allowed;
 * ```
 *
 * @module
 */
import { readFile } from "node:fs/promises";
import { ObstatError } from "./errors.js";
import { deny, type Call, type Decision, type Effect, type Rule } from "./types.js";
import { put } from "./wire.js";

/** A policy. */
export interface PolicyFiles {
  /** Lowest precedence first. A name is what positions show, and what a call may not change. */
  readonly files: readonly { readonly name?: string; readonly layer?: string; readonly text: string }[];
  /** `opencode`, `claude-code`, `native`, ...; without it told by the first file's name and shape. */
  readonly dialect?: string;
  readonly options?: Readonly<Record<string, string>>;
  /** The module; without it the one that comes with this package. */
  readonly module?: Uint8Array | string;
}

/** What is wrong with a policy. */
export interface Problem {
  readonly code: string;
  readonly msg: string;
  readonly pos?: { readonly file?: string; readonly line?: number; readonly col?: number };
  readonly hint?: string;
}

/** A policy that cannot be used, with all that is wrong with it. */
export class PolicyError extends ObstatError {
  readonly problems: readonly Problem[];
  constructor(problems: readonly Problem[]) {
    const text = problems.map((p) => [p.pos?.file, p.pos?.line, p.pos?.col].filter((x) => x !== undefined).join(":") + ": " + p.msg).join("\n");
    super(text || "the policy was refused");
    this.problems = problems;
  }
}

/** What is used of WebAssembly, which is otherwise declared for browsers only. */
declare const WebAssembly: { instantiate(module: Uint8Array, imports: object): Promise<{ instance: { exports: object } }> };

interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  obstat_buffer(n: number): number;
  obstat_load(n: number): number;
  obstat_decide(policy: number, n: number): number;
  obstat_reply(): number;
}

interface Reply {
  readonly verdict?: string;
  readonly reason?: string;
  readonly asks?: boolean;
  readonly safety?: boolean;
  readonly rule?: Rule;
  readonly input?: Record<string, unknown>;
  readonly policy?: number;
  readonly dialect?: string;
  readonly digest?: string;
  readonly errors?: readonly Problem[];
  readonly warnings?: readonly Problem[];
}

/** A policy that decides calls in this process. */
export class Engine {
  readonly dialect: string;
  /** The policy's digest: equal digests decide equally. */
  readonly digest: string;
  readonly warnings: readonly Problem[];
  readonly #exports: Exports;
  #broken = "";

  private constructor(exports: Exports, reply: Reply) {
    this.#exports = exports;
    this.dialect = reply.dialect ?? "";
    this.digest = reply.digest ?? "";
    this.warnings = reply.warnings ?? [];
  }

  /** Starts an engine with a policy. Throws {@link PolicyError}. */
  static async load(policy: PolicyFiles): Promise<Engine> {
    const { module, ...rest } = policy;
    const given = module ?? new URL("../../obstat.wasm", import.meta.url);
    const exports = await instantiate(typeof given === "string" || given instanceof URL ? await readFile(given) : given);
    const reply = exchange(exports, JSON.stringify(rest), (n) => exports.obstat_load(n));
    if (!reply.policy) throw new PolicyError(reply.errors ?? []);
    return new Engine(exports, reply);
  }

  /** Decides a call: `allow` or `deny`. Throws `BadCall`; every other fault denies. */
  decide(call: Call): Decision {
    const p = put(call);
    if (this.#broken) return deny(this.#broken, { error: "unreachable", digest: p.digest });
    let r: Reply;
    try {
      r = exchange(this.#exports, `{"call":${p.body}}`, (n) => this.#exports.obstat_decide(1, n));
    } catch (e) {
      // What trapped cannot go on: its memory is in no known state.
      this.#broken = `the engine broke: ${String(e)}`;
      return deny(this.#broken, { error: "unreachable", digest: p.digest });
    }
    if ((r.verdict !== "allow" && r.verdict !== "deny") || !r.reason) return deny("the engine's answer cannot be read", { error: "unreadable", digest: p.digest });
    const effect: Effect = r.verdict;
    return Object.freeze({
      effect,
      allowed: effect === "allow",
      reason: r.reason,
      rule: r.rule ?? null,
      id: null,
      state: null,
      input: r.input ?? null,
      safety: r.safety === true,
      error: null,
      digest: p.digest,
    });
  }
}

function exchange(exports: Exports, text: string, run: (n: number) => number): Reply {
  const bytes = Buffer.from(text);
  const at = exports.obstat_buffer(bytes.length) >>> 0;
  if (at === 0) throw new Error(`a message of ${bytes.length} bytes is too large`);
  new Uint8Array(exports.memory.buffer).set(bytes, at);
  const n = run(bytes.length);
  const reply = JSON.parse(Buffer.from(exports.memory.buffer, exports.obstat_reply() >>> 0, n).toString()) as object;
  return Object.setPrototypeOf(reply, null) as Reply; // what is in Object.prototype is no answer
}

async function instantiate(module: Uint8Array): Promise<Exports> {
  const { WASI } = await quietly(() => import("node:wasi"));
  // The engine looks at links and directories, as the binary does, and writes nothing.
  const wasi = new WASI({ version: "preview1", env: process.env as Record<string, string>, preopens: { "/": "/" }, returnOnExit: true });
  // Called straight from the module, Node 20's functions crash once its memory has grown.
  const calls = Object.entries(wasi.wasiImport as Record<string, (...args: unknown[]) => unknown>).map(([name, f]) => [name, (...args: unknown[]) => f(...args)]);
  let memory: Exports["memory"] | undefined;
  calls.push(["poll_oneoff", (subscriptions: unknown, events: unknown, n: unknown, done: unknown) => poll(memory, Number(subscriptions), Number(events), Number(n), Number(done))]);
  const { instance } = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: Object.fromEntries(calls) });
  memory = (instance.exports as Exports).memory;
  wasi.initialize(instance);
  return instance.exports as Exports;
}

/** WASI's poll_oneoff, which the engine only sleeps with: at most a millisecond, and everything that was waited for has come. The
 * module then looks at the clock itself. So no wait inside the module can hold this process. */
function poll(memory: Exports["memory"] | undefined, subscriptions: number, events: number, n: number, done: number): number {
  if (!memory) return 52; // ENOSYS
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
  const view = new DataView(memory.buffer);
  for (let i = 0; i < n; i++) {
    const from = (subscriptions >>> 0) + 48 * i;
    const to = (events >>> 0) + 32 * i;
    new Uint8Array(memory.buffer, to, 32).fill(0);
    view.setBigUint64(to, view.getBigUint64(from, true), true); // the caller's own data
    view.setUint8(to + 10, view.getUint8(from + 8)); // of which kind
  }
  view.setUint32(done >>> 0, n, true);
  return 0;
}

/** Imports without the warning that WASI is experimental, which is not the caller's business. */
async function quietly<T>(load: () => Promise<T>): Promise<T> {
  const emit = process.emitWarning.bind(process);
  process.emitWarning = ((warning: string | Error, ...rest: unknown[]) => {
    if (!String(warning).includes("WASI")) (emit as (...args: unknown[]) => void)(warning, ...rest);
  }) as typeof process.emitWarning;
  try {
    return await load();
  } finally {
    process.emitWarning = emit;
  }
}
