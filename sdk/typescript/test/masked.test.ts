// What a tool prints reaches the model without its secrets, in every adapter.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ToolMessage } from "@langchain/core/messages";
import { Client, ObstatError } from "../src/index.js";
import { guard as guardTools } from "../src/adapters/ai.js";
import { guard as guardQuery } from "../src/adapters/claude-agent-sdk.js";
import { guard as guardGraph } from "../src/adapters/langchain.js";
import { guard as guardAgent } from "../src/adapters/openai-agents.js";
import type { GuardOptions } from "../src/adapters/guard.js";
import { Server, session } from "./harness.js";

const SECRET = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
const TEXT = `token=${SECRET}`;

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

type Hook = (input: object, id: string, more: object) => Promise<Record<string, unknown>>;

/** The adapters: each runs the tool safe, and returns what the model would read. */
const adapters: Readonly<Record<string, (options: GuardOptions, print: () => Promise<unknown>) => Promise<unknown>>> = {
  ai: async (options, print) => {
    const tools = guardTools({ safe: { execute: print } }, options) as unknown as { safe: { execute(input: object, more: object): Promise<unknown> } };
    return await tools.safe.execute({ x: 1 }, { toolCallId: "1" });
  },
  "openai-agents": async (options, print) => {
    const safe = { type: "function", name: "safe", invoke: print, needsApproval: async () => false };
    const agent = guardAgent({ name: "clerk", tools: [safe], getAllTools: async () => [safe] }, options);
    return await (await agent.getAllTools())[0]?.invoke.call(undefined, ...([{}, '{"x":1}', { toolCall: { callId: "1" } }] as unknown as []));
  },
  langchain: async (options, print) => {
    const run = guardGraph(options);
    const out = await run({ toolCall: { name: "safe", args: { x: 1 }, id: "1" } }, async () => new ToolMessage({ content: (await print()) as string, tool_call_id: "1" }));
    return out.content;
  },
  "claude-agent-sdk": async (options, print) => {
    const hooks = (guardQuery({}, options) as { hooks: Record<string, { hooks: Hook[] }[]> }).hooks;
    const call = { tool_name: "safe", tool_input: { x: 1 }, tool_use_id: session(), session_id: "s" };
    await hooks["PreToolUse"]?.[0]?.hooks[0]?.({ ...call, hook_event_name: "PreToolUse" }, call.tool_use_id, {});
    const output = await print();
    const said = await hooks["PostToolUse"]?.[0]?.hooks[0]?.({ ...call, hook_event_name: "PostToolUse", tool_response: output }, call.tool_use_id, {});
    if (said?.["continue"] === false) return said["stopReason"];
    const more = said?.["hookSpecificOutput"] as { updatedToolOutput?: unknown; additionalContext?: string } | undefined;
    return more ? `${String(more.updatedToolOutput)} ${more.additionalContext ?? ""}` : output;
  },
};

for (const [name, read] of Object.entries(adapters)) {
  test(`${name}: a secret is masked, and the model is told`, async () => {
    const options = { client, session: session() };
    assert.match(String(await read(options, async () => TEXT)), /^token=\[masked\][^]*obstat has masked a secret/);
    assert.equal(await read({ ...options, mask: false }, async () => TEXT), TEXT);
    assert.equal(await read(options, async () => "all tests pass"), "all tests pass");
  });
  test(`${name}: an output that cannot be looked through is withheld`, async () => {
    const own = await Server.open();
    const gone = new Client({ server: own.address, timeout: 60, start: false });
    try {
      const said = String(await read({ client: gone, session: session() }, async () => (await own.stop(), TEXT)));
      assert.match(said, /withheld.*\(unreachable\)/);
      assert.ok(!said.includes(SECRET) && !said.includes(own.path));
    } finally {
      gone.close();
      await own.close();
    }
  });
}

test("an output keeps its shape, and without secrets it is the same value", async () => {
  const call = { tool: "safe", input: { x: 1 } };
  const p = await client.printed(call, { rows: [{ id: 1, text: TEXT }], n: 2 });
  assert.deepEqual(p.output, { n: 2, rows: [{ id: 1, text: "token=[masked]" }] });
  assert.equal(p.secrets, 1);
  const loop: Record<string, unknown> = { text: TEXT };
  loop["self"] = loop;
  const image = { data: new Uint8Array(2_000_000), note: "a picture" };
  for (const output of [undefined, null, 17, true, "", [], image, loop]) assert.equal((await client.printed(call, output)).output, output);
  assert.equal((await client.printed(call, { at: 1n, text: TEXT })).secrets, 1);
  await assert.rejects(client.printed(call, "x".repeat(8 << 20)), ObstatError);
});
