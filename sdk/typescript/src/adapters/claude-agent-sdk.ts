/**
 * The Claude Agent SDK.
 *
 * ```ts
 * for await (const message of query({ prompt, options: guard({ maxTurns: 5 }) })) console.log(message);
 * ```
 *
 * @module
 */
import { ObstatError } from "../errors.js";
import type { Call, Decision } from "../types.js";
import { put } from "../wire.js";
import { Guard, refusal, withheld, words, type GuardOptions } from "./guard.js";

export type { GuardOptions } from "./guard.js";

/** What is used of the SDK's options. */
interface Options {
  hooks?: Partial<Record<string, unknown[]>>;
  canUseTool?: unknown;
  cwd?: string;
}

interface HookInput {
  readonly hook_event_name?: string;
  readonly session_id?: string;
  readonly cwd?: string;
  readonly tool_name?: string;
  readonly tool_input?: unknown;
  readonly tool_use_id?: string;
  readonly tool_response?: unknown;
  readonly error?: unknown;
}

/** A call that the hook has decided, and that has not run yet. */
interface Seen {
  readonly session: string | undefined;
  readonly dir: string | undefined;
  readonly decision: Decision;
}

/** How many calls are remembered between two hooks. */
const MAX_SEEN = 10_000;

/** Returns the options with a `PreToolUse` hook that decides every tool call, whatever mode, rule or `allowedTools` says, in
 * sub-agents as well, and a `canUseTool` for what the CLI asks about besides. A hook that fails blocks the call. Asks are waited
 * for in the hook; with `ask: "pause"` the run ends, its result has `deferred_tool_use`, and a run with `resume` looks again.
 * Other PreToolUse hooks and another `canUseTool` are kept, and can only tighten. */
export function guard<O extends object>(options: O = {} as O, guarding: GuardOptions = {}): O {
  const given = options as Options;
  const by = new Guard({ agent: "claude-agent-sdk", ...guarding, ask: guarding.ask ?? "wait" });
  const seen = new Map<string, Seen>();
  const decide = async (tool: string, input: unknown, id: string | undefined, more: Partial<Seen>, signal?: AbortSignal): Promise<Decision> => {
    try {
      const d = await by.client.authorize(by.call(tool, input, id, { session: more.session, dir: more.dir }), by.options(signal));
      await by.givenUp(d);
      return d;
    } catch (e) {
      if (e instanceof ObstatError) return e.decision;
      throw e;
    }
  };

  const before = async (input: HookInput, id: string | undefined, { signal }: { signal?: AbortSignal } = {}): Promise<object> => {
    const use = input.tool_use_id ?? id;
    const where = { session: input.session_id, dir: input.cwd };
    const d = await decide(input.tool_name ?? "", input.tool_input ?? {}, use, where, signal);
    if (use) remember(seen, use, { ...where, decision: d });
    if (d.allowed) return preToolUse("allow", d.reason, d.input ?? undefined);
    return preToolUse(by.ask === "pause" && d.effect === "ask" && use ? "defer" : "deny", words(d));
  };
  // The CLI passes over "defer" where several calls come in one message, and goes by its own rules: this has canUseTool asked
  // then. Of two hooks the stricter counts.
  const otherwise = async (): Promise<object> => preToolUse("ask", "obstat decides");
  const after = async (input: HookInput, id: string | undefined): Promise<object> => {
    const use = input.tool_use_id ?? id ?? "";
    const call = seen.get(use);
    const d = call?.decision;
    seen.delete(use);
    const ok = input.hook_event_name !== "PostToolUseFailure";
    if (d?.allowed) await by.client.report(d.id, { ok, words: ok ? "" : String(input.error).slice(0, 500) }).catch(() => {});
    if (!d?.allowed || !ok || !by.mask) return {};
    return await masked(by, by.call(input.tool_name ?? "", d.input ?? input.tool_input ?? {}, use, { session: call?.session, dir: call?.dir }), input.tool_response);
  };
  const canUseTool = async (tool: string, input: Record<string, unknown>, about: { signal?: AbortSignal; toolUseID?: string } = {}): Promise<object> => {
    try {
      // What the hook has just allowed, and claimed, is not claimed again.
      const known = about.toolUseID === undefined ? undefined : seen.get(about.toolUseID);
      const d = known && same(known.decision, tool, input) ? known.decision : await decide(tool, input, about.toolUseID, known ?? {}, about.signal);
      if (!d.allowed) return { behavior: "deny", message: words(d) };
      const next = typeof given.canUseTool === "function" ? ((await (given.canUseTool as typeof canUseTool)(tool, input, about)) as { behavior?: string }) : undefined;
      return next && next.behavior !== "allow" ? next : { behavior: "allow", updatedInput: d.input ?? input };
    } catch (e) {
      return { behavior: "deny", message: refusal(e) ?? "obstat failed: " + String(e) };
    }
  };

  const hooks = { ...given.hooks };
  // Hooks run together and the strictest answer counts.
  hooks["PreToolUse"] = [...(hooks["PreToolUse"] ?? []), { hooks: by.ask === "pause" ? [before, otherwise] : [before], timeout: by.options().wait + 60, onFailure: "block" }];
  for (const name of ["PostToolUse", "PostToolUseFailure"]) hooks[name] = [...(hooks[name] ?? []), { hooks: [after] }];
  return { ...options, hooks, canUseTool };
}

/** Has the CLI show the model an output without its secrets. One that cannot be looked through stops the run: the CLI takes nothing
 * but an output of the tool's own shape in its place. */
async function masked(by: Guard, call: Call, output: unknown): Promise<object> {
  try {
    const p = await by.client.printed(call, output);
    return p.secrets === 0 ? {} : { hookSpecificOutput: { hookEventName: "PostToolUse", updatedToolOutput: p.output, additionalContext: p.note } };
  } catch (e) {
    return { continue: false, stopReason: withheld(e) };
  }
}

/** Whether a decision allows this call, as it was or as a person has changed it. */
function same(d: Decision, tool: string, input: unknown): boolean {
  if (!d.allowed) return false;
  const { digest } = put({ tool, input });
  return digest === d.digest || (d.input !== null && digest === put({ tool, input: d.input }).digest);
}

function preToolUse(permissionDecision: "allow" | "deny" | "ask" | "defer", permissionDecisionReason: string, updatedInput?: object): object {
  return { hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision, permissionDecisionReason, ...(updatedInput && { updatedInput }) } };
}

function remember(seen: Map<string, Seen>, id: string, call: Seen): void {
  seen.set(id, call);
  for (const old of seen.keys()) {
    if (seen.size <= MAX_SEEN) break;
    seen.delete(old);
  }
}
