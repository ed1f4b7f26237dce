/**
 * Decides the tool calls of AI agents: allow, ask or deny.
 *
 * ```ts
 * import { authorize } from "obstat";
 * const d = await authorize({ tool: "Bash", input: { command: "git status" } });
 * if (!d.allowed) console.log(d.reason);
 * ```
 *
 * @module
 */
import { Client, type AuthorizeOptions, type Outcome } from "./client.js";
import type { Call, Decision, Printed } from "./types.js";

export { Client, type AuthorizeOptions, type ClientOptions, type Outcome } from "./client.js";
export { confined, NotConfined, type ConfinedOptions, type Ran } from "./confined.js";
export { BadCall, ConfigError, Denied, ObstatError, Pending, SocketError, VersionError } from "./errors.js";
export { type Call, type Decision, type Effect, type FaultCode, type Json, type Printed, type Rule } from "./types.js";
export { VERSION } from "./version.js";

let shared: Client | undefined;

/** The client that the functions below use: OBSTAT_SERVER, or the user's own server, which is started if none runs. */
export function client(): Client {
  return (shared ??= new Client());
}

/** {@link Client.authorize} */
export function authorize(call: Call, options?: AuthorizeOptions): Promise<Decision> {
  return client().authorize(call, options);
}

/** {@link Client.claim} */
export function claim(id: string, call: Call): Promise<Decision> {
  return client().claim(id, call);
}

/** {@link Client.report} */
export function report(id: string | null, outcome: Outcome): Promise<void> {
  return client().report(id, outcome);
}

/** {@link Client.explain} */
export function explain(call: Call): Promise<Record<string, unknown>> {
  return client().explain(call);
}

/** {@link Client.run} */
export function run<T>(call: Call, fn: (input: Record<string, unknown>, decision: Decision) => T | Promise<T>, options?: AuthorizeOptions): Promise<T> {
  return client().run(call, fn, options);
}

/** {@link Client.printed} */
export function printed(call: Call, output: unknown, options?: { readonly failed?: boolean }): Promise<Printed> {
  return client().printed(call, output, options);
}
