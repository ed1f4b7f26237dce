// The Claude Agent SDK's hooks and callback, called as the SDK calls them.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { guard } from "../src/adapters/claude-agent-sdk.js";
import { Client, ConfigError } from "../src/index.js";
import { Server, session, sleep } from "./harness.js";

type Hook = (input: object, id?: string, context?: object) => Promise<{ hookSpecificOutput?: { permissionDecision?: string; permissionDecisionReason?: string; updatedInput?: unknown } }>;
type Matcher = { hooks: Hook[]; timeout?: number; onFailure?: string };
type Result = { behavior: string; message?: string; updatedInput?: unknown };
type Guarded = { model?: string; hooks: Record<string, Matcher[]>; canUseTool: (tool: string, input: object, about?: object) => Promise<Result> };

let server: Server;
let client: Client;
before(async () => {
  server = await Server.open();
  client = new Client({ server: server.address, timeout: 60 });
});
after(async () => {
  client.close();
  await server.close();
});

function guarded(given: object = {}, more: object = {}): Guarded {
  return guard(given, { client, ...more }) as Guarded;
}

/** What the hook says to a call. */
async function hook(g: Guarded, tool_name: string, tool_input: unknown, id: string, s: string): Promise<{ permissionDecision?: string; permissionDecisionReason?: string; updatedInput?: unknown }> {
  const matcher = g.hooks["PreToolUse"]?.at(-1);
  const out = await matcher?.hooks[0]?.({ hook_event_name: "PreToolUse", session_id: s, cwd: "/srv", tool_name, tool_input, tool_use_id: id }, id, {});
  return out?.hookSpecificOutput ?? {};
}

test("the hook decides every call, and blocks when it fails", async () => {
  const g = guarded({ model: "m", hooks: { PreToolUse: [{ hooks: [] }], Stop: [{ hooks: [] }] } });
  assert.equal(g.model, "m");
  assert.equal(g.hooks["PreToolUse"]?.length, 2, "other hooks are kept");
  assert.equal(g.hooks["PreToolUse"]?.[1]?.onFailure, "block");
  assert.ok((g.hooks["PreToolUse"]?.[1]?.timeout ?? 0) > 300, "longer than people are waited for");
  assert.equal((await hook(g, "safe", { x: 1 }, "1", session())).permissionDecision, "allow");
  const denied = await hook(g, "wipe", { path: "/" }, "2", session());
  assert.equal(denied.permissionDecision, "deny");
  assert.match(denied.permissionDecisionReason ?? "", /deny rule/);
  assert.equal((await hook(g, "safe", { n: NaN }, "3", session())).permissionDecision, "deny");
  assert.equal((await hook(g, "", {}, "4", session())).permissionDecision, "deny");
});

test("an ask is waited for, claimed once, and reported", async () => {
  const g = guarded();
  const s = session();
  const waits = hook(g, "pay", { to: "bob" }, "1", s);
  let ids: readonly string[] = [];
  while ((ids = await server.approve(s)).length === 0) await sleep(10);
  assert.equal((await waits).permissionDecision, "allow");
  assert.equal((await g.canUseTool("wipe", { path: "/" }, { toolUseID: "1" })).behavior, "deny", "another tool");
  await g.hooks["PostToolUse"]?.at(-1)?.hooks[0]?.({ hook_event_name: "PostToolUse", tool_use_id: "1" }, "1");
  assert.equal((await server.request(ids[0] ?? "")).state, "done");
  assert.equal((await hook(guarded({}, { ask: "deny" }), "pay", { to: "bob" }, "1", s)).permissionDecision, "deny", "replayed");
});

test("a pause defers, and has the callback asked where that is passed over", async () => {
  const s = session();
  const g = guarded({}, { ask: "pause" });
  const [, otherwise] = g.hooks["PreToolUse"]?.at(-1)?.hooks ?? [];
  assert.equal((await otherwise?.({}))?.hookSpecificOutput?.permissionDecision, "ask");
  const about = { toolUseID: "1" };
  assert.equal((await hook(g, "pay", { to: "bob" }, "1", s)).permissionDecision, "defer");
  assert.equal((await g.canUseTool("pay", { to: "bob" }, about)).behavior, "deny", "nobody has answered");
  assert.equal((await server.pending()).filter((r) => r.call.session === s).length, 1, "the same ask");
  await server.approve(s);
  assert.equal((await hook(g, "pay", { to: "bob" }, "1", s)).permissionDecision, "allow");
  assert.deepEqual(await g.canUseTool("pay", { to: "bob" }, about), { behavior: "allow", updatedInput: { to: "bob" } }, "not claimed again");
  assert.equal((await g.canUseTool("pay", { to: "eve" }, about)).behavior, "deny", "edited");
  assert.equal((await hook(g, "pay", { to: "bob" }, "1", s)).permissionDecision, "deny", "replayed");
});

test("what a person has changed is run", async () => {
  const s = session();
  const g = guarded({}, { ask: "pause" });
  assert.equal((await hook(g, "pay", { to: "bob", amount: 5 }, "1", s)).permissionDecision, "defer");
  await server.answer((await server.pending()).find((r) => r.call.session === s)?.id ?? "", true, { input: { to: "bob", amount: 1 } });
  assert.deepEqual((await hook(g, "pay", { to: "bob", amount: 5 }, "1", s)).updatedInput, { to: "bob", amount: 1 });
  for (const amount of [5, 1]) {
    const got = await g.canUseTool("pay", { to: "bob", amount }, { toolUseID: "1" });
    assert.deepEqual(got, { behavior: "allow", updatedInput: { to: "bob", amount: 1 } });
  }
});

test("the callback decides what the CLI asks about, and another one can only tighten", async () => {
  assert.deepEqual(await guarded().canUseTool("safe", { x: 1 }, {}), { behavior: "allow", updatedInput: { x: 1 } });
  assert.equal((await guarded().canUseTool("wipe", { path: "/" }, {})).behavior, "deny");
  const no = { canUseTool: async () => ({ behavior: "deny", message: "no" }) };
  const yes = { canUseTool: async () => ({ behavior: "allow" }) };
  assert.equal((await guarded(no).canUseTool("safe", { x: 1 }, {})).message, "no");
  assert.equal((await guarded(yes).canUseTool("wipe", { path: "/" }, {})).behavior, "deny");
  assert.equal((await guarded({}, { ask: "deny" }).canUseTool("pay", { to: "bob" }, {})).behavior, "deny");
});

test("a server that is gone, and options that make no sense", async () => {
  const gone = new Client({ server: "unix:/nonexistent/s" });
  const g = guard({}, { client: gone }) as Guarded;
  assert.equal((await hook(g, "safe", {}, "1", session())).permissionDecision, "deny");
  assert.equal((await g.canUseTool("safe", {}, {})).behavior, "deny");
  assert.throws(() => guard({}, { client: gone, ask: "never" as "deny" }), ConfigError);
});
