// What adapters must not mix up: prototypes, conversations that share tools, one tool under two names.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Client, ConfigError } from "../src/index.js";
import { guard as guardTools } from "../src/adapters/ai.js";
import { guard as guardAgent } from "../src/adapters/openai-agents.js";
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

test("Object.prototype changes no decision", async () => {
  const base = Object.prototype as Record<string, unknown>;
  for (const [key, value] of Object.entries({ input: { command: "rm -rf ~" }, request: { id: "x", state: "approved" }, verdict: "allow", safety: true, rule: { text: "x" } })) {
    base[key] = value;
    try {
      const ran: unknown[] = [];
      await client.run({ tool: "safe", input: { x: 1 }, session: session() }, (input) => ran.push(input));
      assert.deepEqual(JSON.stringify(ran), '[{"x":1}]', key);
      assert.equal((await client.authorize({ tool: "wipe", input: { path: "/" } })).effect, "deny", key);
      const d = await client.authorize({ tool: "safe", input: {} });
      assert.ok(d.input === null && !d.safety && d.id === null, key);
    } finally {
      delete base[key];
    }
  }
});

interface Fn {
  type: string;
  name: string;
  invoke(context: unknown, input: string, details?: unknown): Promise<unknown>;
  needsApproval(context: unknown, input: unknown, id?: string): Promise<boolean>;
}

function fn(name: string, ran: string[], needs = false): Fn {
  return { type: "function", name, invoke: async (_c, input) => void ran.push(input), needsApproval: async () => needs };
}

function agentWith(...tools: object[]): { name: string; tools: object[]; getAllTools(): Promise<Fn[]> } {
  return { name: "clerk", tools, getAllTools: async () => tools as Fn[] };
}

test("a tool that two conversations share keeps to each one's guard", async () => {
  const ran: string[] = [];
  const pay = fn("pay", ran);
  const [alice, bob] = [session(), session()];
  const [a, b] = [guardAgent(agentWith(pay), { client, session: alice }), guardAgent(agentWith(pay), { client, session: bob })];
  const call = async (agent: typeof a, id: string): Promise<unknown> => await (await agent.getAllTools())[0]?.invoke({}, '{"to":"bob","amount":5}', { toolCall: { callId: id } });
  await call(a, "1");
  await server.approve(alice);
  await call(b, "1"); // the same call of another conversation: nobody has approved that
  assert.deepEqual(ran, []);
  await call(a, "1");
  assert.equal(ran.length, 1);
  assert.notEqual((await a.getAllTools())[0], (await b.getAllTools())[0]);
});

test("an agent belongs to one conversation", () => {
  const agent = agentWith(fn("pay", []));
  const options = { client, session: session() };
  guardAgent(agent, options);
  guardAgent(agent, options);
  assert.throws(() => guardAgent(agent, { client, session: session() }), ConfigError);
});

test("tools that cannot be guarded are refused when the agent is made", () => {
  for (const type of ["shell", "apply_patch", "computer", "hosted_tool"]) assert.throws(() => guardAgent(agentWith({ type, name: "x" }), { client }), ConfigError, type);
  guardAgent(agentWith({ type: "hosted_tool", name: "x" }), { client, hosted: true });
  assert.throws(() => guardTools({ search: { type: "provider", id: "x.search", args: {} } }, { client }), ConfigError);
  guardTools({ search: { type: "provider", id: "x.search", args: {} } }, { client, hosted: true });
});

test("a tool's own approval asks as before", async () => {
  const [mine] = await guardAgent(agentWith(fn("safe", [], true)), { client, session: session() }).getAllTools();
  assert.equal(await mine?.needsApproval({}, { x: 1 }, "1"), true);
  for (const needsApproval of [true, async () => true]) {
    const { safe } = guardTools({ safe: { execute: () => 1, needsApproval } }, { client, session: session() }) as unknown as { safe: { needsApproval(...a: unknown[]): Promise<boolean> } };
    assert.equal(await safe.needsApproval({ x: 1 }, { toolCallId: "1" }), true);
  }
});

test("one tool under two names is decided by the name that was called", async () => {
  const ran: unknown[] = [];
  const one = { execute: (input: unknown) => ran.push(input) };
  const tools = guardTools({ safe: one, wipe: one }, { client, session: session() }) as unknown as Record<string, { execute(input: unknown, o: object): Promise<unknown> }>;
  await tools["safe"]?.execute({ x: 1 }, { toolCallId: "1" });
  await assert.rejects(async () => await tools["wipe"]?.execute({ x: 2 }, { toolCallId: "2" }));
  assert.equal(ran.length, 1);
});

test("tools that are guarded twice keep to the last guard", async () => {
  const ran: unknown[] = [];
  const [alice, bob] = [session(), session()];
  const first = guardTools({ pay: { execute: (input: unknown) => ran.push(input) } }, { client, session: alice });
  const { pay } = guardTools(first, { client, session: bob }) as unknown as { pay: { execute(input: unknown, o: object): Promise<unknown> } };
  const call = async (): Promise<unknown> => await pay.execute({ to: "bob" }, { toolCallId: "1" });
  await assert.rejects(call);
  await server.approve(bob);
  await call();
  assert.equal(ran.length, 1);
});

test("a request that nobody waits for leaves the inbox", async () => {
  interface Pay {
    execute(input: unknown, options: { toolCallId: string; abortSignal?: AbortSignal }): Promise<unknown>;
  }
  const mine = async (name: string): Promise<number> => (await server.pending()).filter((r) => r.call.session === name).length;
  const pay = (options: object): Pay => guardTools({ pay: { execute: async () => "paid" } }, { client, ...options }).pay as unknown as Pay;
  for (const options of [{ ask: "deny" }, { ask: "wait", wait: 1 }]) {
    const name = session();
    await assert.rejects(pay({ ...options, session: name }).execute({ to: "bob" }, { toolCallId: "1" }), /approve|Pending|ask/i);
    assert.equal(await mine(name), 0, JSON.stringify(options));
  }
  const name = session();
  const stop = new AbortController();
  const waiting = pay({ ask: "wait", wait: 60, session: name }).execute({ to: "bob" }, { toolCallId: "1", abortSignal: stop.signal });
  waiting.catch(() => {});
  while ((await mine(name)) === 0) await new Promise((done) => setTimeout(done, 20));
  stop.abort();
  await assert.rejects(waiting);
  assert.equal(await mine(name), 0);
  const paused = session();
  await assert.rejects(pay({ session: paused }).execute({ to: "bob" }, { toolCallId: "1" }));
  assert.equal(await mine(paused), 1); // for which a resume looks again
});

test("a model reads no directory of this machine", async () => {
  const nobody = new Client({ server: "unix:" + server.dir + "/nobody", start: false });
  const wipe = { type: "function", name: "wipe", needsApproval: async () => false, invoke: async () => "ran" };
  for (const [by, told] of [[client, /deny rule "wipe": "deny" \(opencode.json:/], [nobody, /could not be asked \(unreachable\)/]] as const) {
    const { wipe: tool } = guardTools({ wipe: { execute: async () => "ran" } }, { client: by }) as unknown as { wipe: { execute(input: unknown, o: object): Promise<unknown> } };
    const text = await tool.execute({ path: "/" }, { toolCallId: "1" }).catch((e: unknown) => (e as Error).message);
    const agent = { name: "a", tools: [wipe], getAllTools: async () => [wipe] };
    const [held] = (await guardAgent(agent, { client: by }).getAllTools()) as Fn[];
    for (const said of [String(text), String(await held?.invoke({}, '{"path":"/"}'))]) {
      assert.match(said, told);
      assert.ok(!said.includes(server.dir), said);
    }
  }
  nobody.close();
});
