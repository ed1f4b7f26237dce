/** A JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };

/** One tool call that an agent wants to make. */
export interface Call {
  readonly tool: string;
  /** The tool's arguments, a JSON object; without it `{}`. */
  readonly input?: unknown;
  /** The framework's id of the call. Put again with the same id, the call finds the request that was made for it. */
  readonly id?: string;
  /** The thread or run that the call belongs to. */
  readonly session?: string;
  readonly agent?: string;
  readonly user?: string;
  /** The working directory, an absolute path; without it that of the process. */
  readonly dir?: string;
  readonly roots?: readonly string[];
  readonly mode?: string;
}

/** allow: run the call now, once. ask: a person is being asked. deny: do not run it. */
export type Effect = "allow" | "ask" | "deny";

/** Why a call was denied although no policy spoke. */
export type FaultCode = "unreachable" | "timeout" | "unreadable" | "refused";

/** The rule that decided, and where it is written. */
export interface Rule {
  readonly text: string;
  readonly verdict: string;
  readonly pos?: { readonly file?: string; readonly line?: number; readonly col?: number };
}

/** The answer to a call. Only `allowed` lets it run. */
export interface Decision {
  readonly effect: Effect;
  readonly allowed: boolean;
  /** Why, in a sentence, for people and for the model; never empty. */
  readonly reason: string;
  readonly rule: Rule | null;
  /** The request that people are asked with: a handle, never a verdict. */
  readonly id: string | null;
  readonly state: string | null;
  /** What the call is to be run with in place of its own input; null: its own. */
  readonly input: Readonly<Record<string, unknown>> | null;
  /** An ask that no rule can silence. */
  readonly safety: boolean;
  readonly error: FaultCode | null;
  /** The digest of the call that was decided. */
  readonly digest: string;
}

/** A tool's output for the model, with `[masked]` in each secret's place. Without secrets it is the value that was given. */
export interface Printed {
  readonly output: unknown;
  readonly secrets: number;
  /** A sentence about the secrets, for the model. */
  readonly note: string;
}

/** Makes a decision that denies. */
export function deny(reason: string, more: Partial<Pick<Decision, "error" | "digest" | "id" | "rule">> = {}): Decision {
  return Object.freeze({ effect: "deny", allowed: false, reason, rule: null, id: null, state: null, input: null, safety: false, error: null, digest: "", ...more });
}
