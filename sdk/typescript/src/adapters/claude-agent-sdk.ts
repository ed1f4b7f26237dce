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
import type { Decision } from "../types.js";
import { Guard, refusal, words, type GuardOptions } from "./guard.js";

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
  readonly error?: unknown;
}

/** How many calls are remembered between two hooks. */
const MAX_OPEN = 10_000;

/** Returns the options with a `PreToolUse` hook that decides every tool call, whatever mode, rule or `allowedTools` says, in
 * sub-agents as well, and a `canUseTool` for what the CLI asks about besides. A hook that fails blocks the call. Asks are waited
 * for in the hook; other PreToolUse hooks and another `canUseTool` are kept, and can only tighten. */
export function guard<O extends object>(options: O = {} as O, guarding: GuardOptions = {}): O {
  const given = options as Options;
  const by = new Guard(guarding, "wait");
  const open = new Map<string, Decision>(); // allowed by the hook, not yet run
  const decide = async (tool: string, input: unknown, id: string | undefined, more: { session?: string | undefined; dir?: string | undefined }, signal?: AbortSignal): Promise<Decision> => {
    try {
      return await by.client.authorize(by.call(tool, input, id, more), by.options(signal));
    } catch (e) {
      if (e instanceof ObstatError) return e.decision;
      throw e;
    }
  };

  const before = async (input: HookInput, id: string | undefined, { signal }: { signal?: AbortSignal } = {}): Promise<object> => {
    const use = input.tool_use_id ?? id;
    const d = await decide(input.tool_name ?? "", input.tool_input ?? {}, use, { session: input.session_id, dir: input.cwd }, signal);
    if (!d.allowed) return preToolUse("deny", words(d));
    if (use) remember(open, use, d);
    return preToolUse("allow", d.reason, d.input ?? undefined);
  };
  const after = async (input: HookInput, id: string | undefined): Promise<object> => {
    const use = input.tool_use_id ?? id ?? "";
    const d = open.get(use);
    open.delete(use);
    const ok = input.hook_event_name !== "PostToolUseFailure";
    if (d) await by.client.report(d.id, { ok, words: ok ? "" : String(input.error).slice(0, 500) }).catch(() => {});
    return {};
  };
  const canUseTool = async (tool: string, input: Record<string, unknown>, about: { signal?: AbortSignal; toolUseID?: string } = {}): Promise<object> => {
    try {
      const d = await decide(tool, input, about.toolUseID, {}, about.signal);
      // What the hook has just allowed, and claimed, is not claimed again.
      const hooked = about.toolUseID === undefined ? undefined : open.get(about.toolUseID);
      if (!d.allowed && hooked?.digest !== d.digest) return { behavior: "deny", message: words(d) };
      const next = typeof given.canUseTool === "function" ? ((await (given.canUseTool as typeof canUseTool)(tool, input, about)) as { behavior?: string }) : undefined;
      return next && next.behavior !== "allow" ? next : { behavior: "allow", updatedInput: d.input ?? input };
    } catch (e) {
      return { behavior: "deny", message: refusal(e) ?? "obstat failed: " + String(e) };
    }
  };

  const timeout = by.seconds + 60;
  const hooks = { ...given.hooks };
  // Hooks run together and the strictest answer counts.
  hooks["PreToolUse"] = [...(hooks["PreToolUse"] ?? []), { hooks: [before], timeout, onFailure: "block" }];
  for (const name of ["PostToolUse", "PostToolUseFailure"]) hooks[name] = [...(hooks[name] ?? []), { hooks: [after] }];
  return { ...options, hooks, canUseTool };
}

function preToolUse(permissionDecision: "allow" | "deny", permissionDecisionReason: string, updatedInput?: object): object {
  return { hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision, permissionDecisionReason, ...(updatedInput && { updatedInput }) } };
}

function remember(open: Map<string, Decision>, id: string, d: Decision): void {
  open.set(id, d);
  for (const old of open.keys()) {
    if (open.size <= MAX_OPEN) break;
    open.delete(old);
  }
}
