// What all adapters share: a call is decided where its function would run, by the server, each time.
import { basename, isAbsolute } from "node:path";
import { Client } from "../client.js";
import { BadCall, ConfigError, Denied, ObstatError, Pending, SocketError, VersionError } from "../errors.js";
import type { Call, Decision } from "../types.js";

/** Options of every adapter. */
export interface GuardOptions {
  /** Without it one on OBSTAT_SERVER, or the user's own server. */
  readonly client?: Client;
  /** What an ask does: `pause` stops the run by the framework's own means until it is resumed; `wait` holds the call until a
   * person has answered; `deny` denies. Without it `pause`, and `wait` in the Claude Agent SDK. */
  readonly ask?: "pause" | "wait" | "deny";
  /** Seconds that `wait` waits; without it 300. */
  readonly wait?: number;
  /** The conversation that calls belong to. Give each one its own: an approval is found again by session, call id and input. */
  readonly session?: string;
  readonly agent?: string;
  readonly user?: string;
  /** The working directory of calls; without it that of the process. */
  readonly dir?: string;
  readonly roots?: readonly string[];
  /** false: the model sees the secrets that tools print; without it they are masked. */
  readonly mask?: boolean;
}

/** Decides and runs the calls of one framework. */
export class Guard {
  readonly client: Client;
  readonly ask: "pause" | "wait" | "deny";
  readonly seconds: number;
  readonly mask: boolean;
  readonly #who: Omit<Call, "tool" | "input" | "id">;

  constructor(options: GuardOptions) {
    this.ask = options.ask ?? "pause";
    if (!["pause", "wait", "deny"].includes(this.ask)) throw new ConfigError(`ask is pause, wait or deny, not ${String(this.ask)}`);
    this.seconds = options.wait ?? 300;
    this.mask = options.mask ?? true;
    this.client = options.client ?? new Client();
    const { session, agent, user, dir, roots } = options;
    this.#who = { ...(session && { session }), ...(agent && { agent }), ...(user && { user }), ...(dir && { dir }), ...(roots && { roots }) };
  }

  /** Whether another guard decides and asks as this one does, for the same conversation. */
  same(other: Guard): boolean {
    return this.client === other.client && this.ask === other.ask && this.seconds === other.seconds && this.mask === other.mask && JSON.stringify(this.#who) === JSON.stringify(other.#who);
  }

  /** Makes a call. `more` is what the framework knows better than the options. */
  call(tool: string, input: unknown, id: string | undefined, more: { session?: string | undefined; dir?: string | undefined } = {}): Call {
    const given = Object.fromEntries(Object.entries(more).filter(([name, v]) => v && !(name in this.#who)));
    return { ...this.#who, ...given, tool, input, ...(id && { id }) };
  }

  /** The ask of a call for which the run pauses: its state is `pending`, or `approved` once a person has answered. A fault is
   * none: {@link Guard.run} then denies. */
  async asked(call: Call): Promise<Decision | undefined> {
    if (this.ask !== "pause") return undefined;
    try {
      const d = await this.client.authorize(call, { claim: false });
      return d.effect === "ask" ? d : undefined;
    } catch {
      return undefined;
    }
  }

  /** Runs a call's function if that is allowed; throws {@link Denied} or {@link Pending} otherwise. A request that nobody waits
   * for then, after `deny`, after `wait` and after an abort, leaves the inbox. */
  async run<T>(call: Call, fn: (input: Record<string, unknown>) => T | Promise<T>, signal?: AbortSignal): Promise<T> {
    let [started, asked] = [false, null as string | null];
    const put = (options: { wait: number; signal: AbortSignal | undefined }): Promise<T> =>
      this.client.run(
        call,
        (input) => {
          started = true;
          return fn(input);
        },
        options,
      );
    try {
      if (this.ask !== "wait" || !call.id) return await put(this.options(signal));
      try {
        return await put({ wait: 0, signal }); // names the request, which an aborted wait does not
      } catch (e) {
        if (started || !(e instanceof Pending)) throw e;
        asked = e.decision.id;
      }
      return await put(this.options(signal));
    } catch (e) {
      if (!started && e instanceof Pending) await this.givenUp(e.decision);
      else if (!started && signal?.aborted) await this.#takeBack(asked, "the run was aborted");
      throw e;
    }
  }

  /** A tool's output as the model may read it: without secrets. One that cannot be looked through is withheld. */
  async shown(call: Call, output: unknown, failed = false): Promise<unknown> {
    if (!this.mask) return output;
    try {
      const p = await this.client.printed(call, output, { failed });
      return p.secrets > 0 && typeof p.output === "string" ? `${p.output}\n\n(${p.note})` : p.output;
    } catch (e) {
      return withheld(e);
    }
  }

  /** Takes the request of a decision back that a person has not answered, unless the run pauses for it. */
  async givenUp(d: Decision): Promise<void> {
    if (d.effect === "ask" && this.ask !== "pause") await this.#takeBack(d.id, "nobody waits for the answer");
  }

  async #takeBack(id: string | null, words: string): Promise<void> {
    await this.client.report(id, { ok: false, words }).catch(() => {}); // it ends by itself then
  }

  /** The options of a decision after which the call runs. */
  options(signal?: AbortSignal): { wait: number; signal: AbortSignal | undefined } {
    return { wait: this.ask === "wait" ? this.seconds : 0, signal };
  }
}

/** What a model is told of an output that could not be looked through. */
export function withheld(e: unknown): string {
  return `The tool has run. Its output is withheld, for it could not be looked through for secrets: ${e instanceof ObstatError ? forModel(e) : String(e)}.`;
}

/** What a model is told of a call that did not run; undefined where something else than obstat threw. */
export function refusal(e: unknown): string | undefined {
  if (e instanceof Pending) return `This call has not run: a person has to approve it first (${forModel(e)}).`;
  if (e instanceof Denied || e instanceof BadCall || e instanceof ObstatError) return `This call was denied: ${forModel(e)}`;
  return undefined;
}

/** A reason without the directories of this machine: a fault without the server's address, and a rule's file,
 * `deny rule "wipe" (/home/ann/app/opencode.json:1:30)`, by its name. */
export function forModel(e: ObstatError): string {
  const kind = e instanceof VersionError ? "version" : e instanceof SocketError ? "socket" : e instanceof ConfigError ? "configuration" : e.decision.error;
  if (kind !== null && kind !== "refused") return `the permission policy could not be asked (${kind})`;
  const file = e.decision.rule?.pos?.file;
  return file && isAbsolute(file) ? e.reason.replaceAll(file, basename(file)) : e.reason;
}

/** The words for a decision that does not allow. */
export function words(d: Decision): string {
  return refusal(new (d.effect === "ask" ? Pending : Denied)(d.reason, d)) ?? d.reason;
}
