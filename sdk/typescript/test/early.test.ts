// Runs that are resumed before the person has answered.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Agent, Runner, tool as agentTool } from "@openai/agents";
import { generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import { guard as guardTools } from "../src/adapters/ai.js";
import { guard as guardAgent } from "../src/adapters/openai-agents.js";
import { Client, Pending } from "../src/index.js";
import { example as aiModel } from "../suite/ai.js";
import { example as agentModel } from "../suite/openai-agents.js";
import { Server, session } from "./harness.js";

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

const parameters = z.object({ to: z.string(), amount: z.number() });

test("the AI SDK does not go on before the answer", async () => {
  const [name, ran] = [session(), [] as unknown[]];
  const pay = tool({ description: "pays", inputSchema: parameters, execute: async (input) => ran.push(input) });
  const tools = guardTools({ pay }, { client, session: name });
  const options = (messages: unknown[]): never => ({ model: aiModel, tools, messages, stopWhen: stepCountIs(3) }) as never;
  const first = [{ role: "user", content: "go" }];
  const asked = await generateText(options(first));
  const request = asked.content.find((p) => p.type === "tool-approval-request");
  assert.ok(request);
  const approvalId = (request as { approvalId: string }).approvalId;
  const sent = [...first, ...asked.response.messages, { role: "tool", content: [{ type: "tool-approval-response", approvalId, approved: true }] }];
  for (let i = 0; i < 2; i++) await assert.rejects(Promise.resolve(generateText(options(sent))), Pending);
  const errors: unknown[] = [];
  const stream = streamText({ ...(options(sent) as object), onError: ({ error }: { error: unknown }) => void errors.push(error) } as never);
  await stream.consumeStream();
  assert.ok(errors.some((e) => e instanceof Pending), String(errors));
  assert.equal(ran.length, 0);
  await server.approve(name);
  assert.equal((await generateText(options(sent))).text, "done");
  assert.equal(ran.length, 1);
});

test("the OpenAI Agents SDK is interrupted again before the answer", async () => {
  const [name, ran] = [session(), [] as unknown[]];
  const pay = agentTool({ name: "pay", description: "pays", parameters, execute: async (input) => String(ran.push(input)) });
  const agent = guardAgent(new Agent({ name: "clerk", model: agentModel, tools: [pay] }), { client, session: name });
  const runner = new Runner({ tracingDisabled: true });
  let result = await runner.run(agent, "go");
  const again = async (): Promise<void> => {
    for (const item of result.interruptions) result.state.approve(item);
    result = await runner.run(agent, result.state);
  };
  for (let i = 0; i < 2; i++) {
    assert.deepEqual([result.interruptions.map((t) => t.name), ran.length], [["pay"], 0], `resumed ${i} times`);
    await again();
  }
  assert.equal(result.interruptions.length, 1);
  await server.approve(name);
  await again();
  assert.deepEqual([result.interruptions.length, ran.length], [0, 1]);
});
