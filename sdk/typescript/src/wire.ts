// How a call is written: once, as the bytes that are decided, hashed, approved and run.
import { createHash } from "node:crypto";
import { BadCall, ObstatError } from "./errors.js";
import type { Call } from "./types.js";

/** How large the input of a call may be, in bytes. */
export const MAX_INPUT = 7 * 1024 * 1024;
/** How deep it may be nested. */
export const MAX_DEPTH = 200;

/** A call as it is put to the server. */
export interface Put {
  readonly tool: string;
  /** The input's text; what is run is read from it again, so that nobody changes it in between. */
  readonly input: string;
  /** The call as JSON. */
  readonly body: string;
  readonly digest: string;
  /** What makes the call repeatable; "" where it has no id. */
  readonly key: string;
}

/** Writes a call. Throws {@link BadCall}. */
export function put(call: Call): Put {
  if (typeof call !== "object" || call === null) throw new BadCall("a call is an object with a tool and its input");
  const tool = text("tool", call.tool);
  if (tool === "") throw new BadCall("the call names no tool");
  const input = written(tool, call);
  const id = optional("id", call.id);
  const session = optional("session", call.session);
  const dir = optional("dir", call.dir) || process.cwd();
  if (!dir.startsWith("/") && !/^[A-Za-z]:[\\/]/.test(dir)) throw new BadCall(`the working directory ${JSON.stringify(dir)} is not an absolute path`);
  if (call.roots !== undefined && !Array.isArray(call.roots)) throw new BadCall("roots is a list of directories");
  const rest: Record<string, string | string[]> = { dir };
  if (session) rest["session"] = session;
  for (const name of ["agent", "user", "mode"] as const) {
    const value = optional(name, call[name]);
    if (value) rest[name] = value;
  }
  if (call.roots?.length) rest["roots"] = call.roots.map((r) => text("roots", r));
  const digest = digestOf(tool, input);
  const key = id ? createHash("sha256").update(`${session}\0${id}\0${digest}`).digest("hex") : "";
  const body = `{"tool":${JSON.stringify(tool)},"input":${input},${JSON.stringify(rest).slice(1)}`;
  return { tool, input, body, digest, key };
}

/** Writes the input of a call, whose members may be code that fails. */
function written(tool: string, call: Call): string {
  try {
    const given = call.input ?? {};
    if (!plain(given)) throw new BadCall(`the input of ${short(tool)} is ${kind(given)}; it should be a plain object`);
    return write(given);
  } catch (e) {
    throw e instanceof BadCall ? e : new BadCall(`the input of ${short(tool)} cannot be read: ${String(e)}`);
  }
}

/** Writes a tool's output as JSON; a value that JSON has no word for goes as its text, and bytes, in which a model reads none, not
 * at all. Throws {@link ObstatError}. */
export function printable(output: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(output, (_key, v: unknown) => (ArrayBuffer.isView(v) ? null : typeof v === "bigint" ? String(v) : v));
  } catch {
    // It holds itself.
  }
  text = (text ?? JSON.stringify(String(output))).toWellFormed();
  const size = Buffer.byteLength(text);
  if (size > MAX_INPUT) throw new ObstatError(`the output has ${size} bytes; ${MAX_INPUT} are the most`);
  return text;
}

/** Reads the input that was decided: a new value each time. */
export function inputOf(p: Put): Record<string, unknown> {
  return JSON.parse(p.input) as Record<string, unknown>;
}

/** The hash that binds an approval to tool and input, byte for byte. */
function digestOf(tool: string, input: string): string {
  const hash = createHash("sha256");
  for (const part of [tool, input]) {
    const n = Buffer.alloc(8);
    n.writeUInt32BE(Buffer.byteLength(part), 4); // of 64 bits; none is that long
    hash.update(n).update(part);
  }
  return hash.digest("hex");
}

function text(name: string, value: unknown): string {
  if (typeof value !== "string") throw new BadCall(`${name} is ${kind(value)}; it should be a string`);
  if (!value.isWellFormed()) throw new BadCall(`${name} holds half of a surrogate pair, which is no Unicode text`);
  return value;
}

function optional(name: string, value: unknown): string {
  return value === undefined || value === null ? "" : text(name, value);
}

/** Writes a value as compact JSON with sorted keys. */
function write(value: unknown): string {
  const out: string[] = [];
  const open = new Set<object>();
  let size = 0;
  const add = (piece: string): void => {
    size += piece.length;
    if (size > MAX_INPUT) throw tooLarge();
    out.push(piece);
  };
  const walk = (v: unknown, where: string): void => {
    switch (typeof v) {
      case "string":
        if (!v.isWellFormed()) throw new BadCall(`${where} holds half of a surrogate pair, which is no Unicode text`);
        return add(JSON.stringify(v));
      case "number":
        if (!Number.isFinite(v)) throw new BadCall(`${where} is ${v}, which JSON has no word for`);
        return add(String(v));
      case "boolean":
        return add(String(v));
      case "object":
        if (v === null) return add("null");
        break;
      default:
        throw new BadCall(`${where} is ${kind(v)}, which JSON has no word for`);
    }
    if (open.has(v)) throw new BadCall(`${where} holds itself`);
    if (open.size >= MAX_DEPTH) throw new BadCall(`the input is nested deeper than ${MAX_DEPTH}`);
    open.add(v);
    if (Array.isArray(v)) {
      add("[");
      for (let i = 0; i < v.length; i++) {
        if (i > 0) add(",");
        walk(v[i], `${where}[${i}]`);
      }
      add("]");
    } else if (plain(v)) {
      add("{");
      let first = true;
      for (const key of Object.keys(v).sort()) {
        const member = v[key];
        if (member === undefined) continue; // as JSON.stringify has it: not given
        if (!key.isWellFormed()) throw new BadCall(`a key of ${where} holds half of a surrogate pair`);
        add((first ? "" : ",") + JSON.stringify(key) + ":");
        first = false;
        walk(member, `${where}.${short(key)}`);
      }
      add("}");
    } else {
      throw new BadCall(`${where} is ${kind(v)}; only plain objects and lists are JSON`);
    }
    open.delete(v);
  };
  walk(value, "input");
  const written = out.join("");
  if (Buffer.byteLength(written) > MAX_INPUT) throw tooLarge();
  return written;
}

function tooLarge(): BadCall {
  return new BadCall(`the input is larger than ${MAX_INPUT} bytes`);
}

function plain(v: unknown): v is Record<string, unknown> {
  if (typeof v !== "object" || v === null || Array.isArray(v)) return false;
  const proto: unknown = Object.getPrototypeOf(v);
  // An object of another realm, as vm makes them, is plain as well.
  return (proto === null || Object.getPrototypeOf(proto as object) === null) && !("toJSON" in v && typeof v.toJSON === "function");
}

function kind(v: unknown): string {
  if (v === null) return "null";
  if (Array.isArray(v)) return "a list";
  if (typeof v !== "object") return `a ${typeof v}`;
  return `a ${(v.constructor as { name?: string } | undefined)?.name || "class's object"}`;
}

function short(s: string): string {
  return s.length > 60 ? s.slice(0, 57).toWellFormed() + "..." : s;
}
