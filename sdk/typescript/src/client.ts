import { randomBytes } from "node:crypto";
import { ConfigError, Denied, ObstatError, Pending } from "./errors.js";
import { place } from "./place.js";
import { Fault, Transport, type Answer } from "./transport.js";
import { deny, type Call, type Decision, type Printed, type Rule } from "./types.js";
import { inputOf, printable, put, type Put } from "./wire.js";

/** Seconds that one request waits for people; longer waits are several. */
const HOLD = 60;
/** Seconds in which the outcome of an approved call is reported. */
const LEASE = 3600;
/** How many claims are remembered until their outcome is reported. */
const MAX_CLAIMS = 10_000;

/** Options of a {@link Client}. */
export interface ClientOptions {
  /** `unix:/path`, `http://127.0.0.1:8470` or `https://host`. Without it OBSTAT_SERVER, and without that the user's own
   * socket, where a server is started if none runs. */
  readonly server?: string;
  /** An agent's token; without it OBSTAT_TOKEN. A Unix socket needs none. */
  readonly token?: string;
  /** Seconds in which an answer has to be there, besides the waiting for people; without it 5. */
  readonly timeout?: number;
  /** Whether a server is started where the user's own does not run; without it unless OBSTAT_START is 0. */
  readonly start?: boolean;
}

/** Options of a call. */
export interface AuthorizeOptions {
  /** For how many seconds a person's answer is waited for; without it not at all. */
  readonly wait?: number;
  /** false: an approval is left for later, and the decision is an ask in the state `approved`; without it true. */
  readonly claim?: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** How a call went. */
export interface Outcome {
  readonly ok: boolean;
  readonly words?: string;
}

/** Puts calls to an obstat server. Nothing that goes wrong lets a call run. */
export class Client {
  readonly #transport: Transport;
  readonly #timeout: number;
  readonly #claims = new Map<string, string>(); // keys of claims, by request

  constructor(options: ClientOptions = {}) {
    const { server, token = process.env["OBSTAT_TOKEN"] ?? "", timeout = 5, start = process.env["OBSTAT_START"] !== "0" } = options;
    if (!(timeout > 0 && timeout <= 3600)) throw new ConfigError(`a time-out is a positive number of seconds, not ${String(timeout)}`);
    if (!/^[\x21-\x7e]*$/.test(token)) throw new ConfigError("the token holds characters that no token has");
    this.#timeout = timeout * 1000;
    this.#transport = new Transport(place(server), token, start);
  }

  /** Decides a call. An approval is claimed here: `allow` means run it now, once, with `decision.input` if there is one.
   * Throws `BadCall`, `SocketError` and `VersionError`; every other fault is a deny with `error`. */
  async authorize(call: Call, options: AuthorizeOptions = {}): Promise<Decision> {
    return await this.#authorize(put(call), options);
  }

  /** Takes the approval of a request, to run this very call. It works once. */
  async claim(id: string, call: Call): Promise<Decision> {
    return await this.#claim(id, put(call));
  }

  /** Says how a claimed call went. */
  async report(id: string | null, outcome: Outcome): Promise<void> {
    if (id === null) return;
    const words = (outcome.words ?? "").slice(0, 2000).toWellFormed();
    const body = JSON.stringify({ ok: outcome.ok, words, key: this.#claims.get(id) ?? "" });
    await this.#good("/v1/requests/" + segment(id) + "/outcome", body);
    this.#claims.delete(id);
  }

  /** A tool's output without its secrets, to show it to the model. Throws `ObstatError`. */
  async printed(call: Call, output: unknown, options: { readonly failed?: boolean } = {}): Promise<Printed> {
    if (typeof output !== "string" && (typeof output !== "object" || output === null)) return { output, secrets: 0, note: "" }; // no text, and so no secret
    const body = `{"call":${put(call).body},"result":${printable(output)}${options.failed ? ',"failed":true' : ""}}`;
    const { secrets, result, note = "" } = object(await this.#good("/v1/printed", body)) ?? {};
    if (typeof secrets !== "number" || typeof note !== "string" || secrets > 0 !== (result !== undefined)) {
      throw new ObstatError("the server's answer cannot be read as an output", deny("the server's answer cannot be read as an output", { error: "unreadable" }));
    }
    return secrets > 0 ? { output: result, secrets, note } : { output, secrets: 0, note: "" };
  }

  /** Shows how a call would be decided, as `obstat explain --json` does; nothing is recorded and nobody is asked. */
  async explain(call: Call): Promise<Record<string, unknown>> {
    const text = await this.#good("/v1/explain", `{"call":${put(call).body}}`);
    const view = object(text);
    if (!view) throw new ObstatError("the server's answer cannot be read");
    return view;
  }

  /** Runs `fn` with the call's input if that is allowed, and reports how it went. Throws `Denied`, or `Pending` while a
   * person is asked. `fn` gets a copy of the bytes that were decided, so that nobody changes them in between. */
  async run<T>(call: Call, fn: (input: Record<string, unknown>, decision: Decision) => T | Promise<T>, options: AuthorizeOptions = {}): Promise<T> {
    const p = put(call);
    const d = await this.#authorize(p, { ...options, claim: true });
    if (!d.allowed) throw new (d.effect === "ask" ? Pending : Denied)(d.reason, d);
    let out: T;
    try {
      out = await fn(d.input ? { ...d.input } : inputOf(p), d);
    } catch (e) {
      await this.#told(d.id, { ok: false, words: String(e).slice(0, 500) });
      throw e;
    }
    await this.#told(d.id, { ok: true });
    return out;
  }

  /** Closes the connections that are kept. */
  close(): void {
    this.#transport.close();
  }

  async #told(id: string | null, outcome: Outcome): Promise<void> {
    try {
      await this.report(id, outcome);
    } catch {
      // The call has run; its lease ends without a word.
    }
  }

  async #authorize(p: Put, options: AuthorizeOptions): Promise<Decision> {
    const { wait = 0, claim = true, signal } = options;
    if (!(wait >= 0)) throw new ConfigError(`wait is a number of seconds, not ${String(wait)}`);
    const key = p.key || (wait > 0 ? randomBytes(16).toString("hex") : "");
    const until = performance.now() + wait * 1000;
    for (;;) {
      const hold = Math.max(0, Math.min(HOLD, Math.round((until - performance.now()) / 1000)));
      const body = `{"call":${p.body},"unclaimed":true${hold ? `,"wait":${hold}` : ""}${key ? `,"key":"${key}"` : ""}}`;
      const d = await this.#decided("/v1/decisions", body, p, this.#timeout + hold * 1000, signal);
      if (d.effect === "ask" && d.id !== null) {
        if (d.state === "approved") return claim ? await this.#claim(d.id, p) : d;
        if (hold && performance.now() < until - 500) continue;
      }
      return d;
    }
  }

  async #claim(id: string, p: Put): Promise<Decision> {
    const key = randomBytes(16).toString("hex");
    const body = JSON.stringify({ digest: p.digest, key, lease: LEASE });
    const d = await this.#decided("/v1/requests/" + segment(id) + "/claim", body, p, this.#timeout);
    if (d.effect === "ask") return deny("the server did not let the claim decide", { id, error: "unreadable", digest: p.digest });
    if (d.allowed) {
      this.#claims.set(id, key);
      for (const old of this.#claims.keys()) {
        if (this.#claims.size <= MAX_CLAIMS) break;
        this.#claims.delete(old);
      }
      return d.id === null ? Object.freeze({ ...d, id }) : d;
    }
    return d;
  }

  async #decided(path: string, body: string, p: Put, timeout: number, signal?: AbortSignal): Promise<Decision> {
    let answer: Answer;
    try {
      answer = await this.#transport.send({ method: "POST", path, body, timeout, signal });
    } catch (e) {
      if (e instanceof Fault) return deny(e.message, { error: e.code, digest: p.digest });
      throw e instanceof ObstatError ? e : new ObstatError(String(e));
    }
    return read(answer, p);
  }

  async #good(path: string, body: string): Promise<string> {
    let answer: Answer;
    try {
      answer = await this.#transport.send({ method: "POST", path, body, timeout: this.#timeout });
    } catch (e) {
      if (e instanceof Fault) throw new ObstatError(e.message, deny(e.message, { error: e.code }));
      throw e instanceof ObstatError ? e : new ObstatError(String(e));
    }
    if (answer.status < 200 || answer.status >= 300) throw new ObstatError(problem(answer), deny(problem(answer), { error: "refused" }));
    return answer.body;
  }
}

/** A request's id as a part of a path. */
function segment(id: string): string {
  if (typeof id !== "string" || !/^[A-Za-z0-9_-][A-Za-z0-9_.-]*$/.test(id)) throw new ObstatError(`${JSON.stringify(String(id).slice(0, 100))} is no request's id`);
  return id;
}

/** Reads an object that has no members but its own: what another package puts into Object.prototype is no answer. */
function object(text: string): Record<string, unknown> | undefined {
  try {
    const v: unknown = JSON.parse(text);
    return isObject(v) ? bare(v) : undefined;
  } catch {
    return undefined;
  }
}

function bare(v: Record<string, unknown>): Record<string, unknown> {
  return Object.setPrototypeOf(v, null) as Record<string, unknown>;
}

function isObject(v: unknown): v is Record<string, unknown> {
  return typeof v === "object" && v !== null && !Array.isArray(v);
}

function problem(a: Answer): string {
  const { title, detail } = object(a.body) ?? {};
  const text = typeof title === "string" && title ? title : `the server answered ${a.status}`;
  return typeof detail === "string" && detail ? `${text}: ${detail}` : text;
}

/** Reads a decision; what is not certainly one denies. */
function read(a: Answer, p: Put): Decision {
  if (a.status !== 200) return deny(problem(a), { error: "refused", digest: p.digest });
  const bad = deny("the server's answer cannot be read as a decision", { error: "unreadable", digest: p.digest });
  const d = object(a.body);
  if (!d) return bad;
  const { verdict, reason, input, request, rule, safety } = d;
  if ((verdict !== "allow" && verdict !== "ask" && verdict !== "deny") || typeof reason !== "string" || !reason) return bad;
  if ((input !== undefined && !isObject(input)) || (request !== undefined && !isObject(request))) return bad;
  let id: string | null = null;
  let state: string | null = null;
  if (request) {
    bare(request);
    if (typeof request["id"] !== "string" || typeof request["state"] !== "string" || request["digest"] !== p.digest) return bad;
    ({ id, state } = request as { id: string; state: string });
  }
  return Object.freeze({
    effect: verdict,
    allowed: verdict === "allow",
    reason,
    rule: isObject(rule) ? (rule as unknown as Rule) : null,
    id,
    state,
    input: input ?? null,
    safety: safety === true,
    error: null,
    digest: p.digest,
  });
}
