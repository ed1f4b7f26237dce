// The client against a real server.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Client, Denied, ObstatError, Pending, type Call } from "../src/index.js";
import { Server, session, sleep } from "./harness.js";

let server: Server;
let c: Client;
before(async () => {
  server = await Server.open();
  c = new Client({ server: server.address, timeout: 60 });
});
after(async () => {
  c.close();
  await server.close();
});

function pay(more: Partial<Call> = {}, to = "bob", amount = 5): Call {
  return { tool: "pay", input: { to, amount }, ...more };
}

function idOf(d: { id: string | null }): string {
  assert.ok(d.id);
  return d.id;
}

test("verdicts", async () => {
  const [allow, ask, deny] = await Promise.all(["safe", "pay", "wipe"].map((tool) => c.authorize({ tool, input: { x: 1 } })));
  assert.deepEqual([allow?.effect, ask?.effect, deny?.effect], ["allow", "ask", "deny"]);
  assert.deepEqual([allow?.allowed, ask?.allowed, deny?.allowed], [true, false, false]);
  assert.equal(allow?.id, null);
  assert.equal(ask?.state, "pending");
  assert.equal(deny?.rule?.text, '"wipe": "deny"');
  assert.equal(deny?.rule?.pos?.line, 1);
  for (const d of [allow, ask, deny]) assert.ok(d?.reason && d.error === null);
});

test("an approval is claimed once", async () => {
  const call = pay({ id: "1", session: session() });
  const id = idOf(await c.authorize(call));
  assert.equal((await c.authorize(call)).id, id, "put again, it is the same ask");
  assert.equal((await c.claim(id, call)).effect, "deny", "nobody has answered");
  await server.answer(id);
  assert.equal((await c.claim(id, pay({ id: "1" }, "eve", 5000))).effect, "deny", "another call's approval");
  const left = await c.authorize(call, { claim: false });
  assert.deepEqual([left.effect, left.state], ["ask", "approved"]);
  const got = await c.authorize(call);
  assert.ok(got.allowed);
  assert.equal(got.id, id);
  assert.equal((await c.authorize(call)).effect, "deny", "replayed");
  assert.equal((await c.claim(id, call)).effect, "deny", "claimed twice");
  await c.report(got.id, { ok: true, words: "sent" });
  const done = await server.request(id);
  assert.equal(done.state, "done");
  assert.equal(done.outcome?.words, "sent");
});

test("an edited call is decided again", async () => {
  const s = session();
  const first = await c.authorize(pay({ id: "1", session: s }));
  await server.answer(idOf(first));
  const edited = await c.authorize(pay({ id: "1", session: s }, "eve", 5000));
  assert.equal(edited.state, "pending");
  assert.notEqual(edited.id, first.id);
  assert.equal((await c.authorize({ tool: "wipe", input: { path: "/" }, id: "1", session: s })).effect, "deny");
  assert.ok((await c.authorize(pay({ id: "1", session: s }))).allowed);
});

test("many claim, one wins", async () => {
  const call = pay({ id: "1", session: session() });
  await server.answer(idOf(await c.authorize(call)));
  const got = await Promise.all(Array.from({ length: 16 }, () => c.authorize(call)));
  assert.equal(got.filter((d) => d.allowed).length, 1);
});

test("waits for a person", async () => {
  const s = session();
  const waits = c.authorize(pay({ session: s }), { wait: 60 });
  while ((await server.approve(s)).length === 0) await sleep(10);
  const d = await waits;
  assert.ok(d.allowed && d.id);
});

test("waiting ends", async () => {
  assert.equal((await c.authorize(pay({ session: session() }), { wait: 1 })).effect, "ask");
});

test("waiting can be given up", async () => {
  const stop = new AbortController();
  const waits = c.authorize(pay({ session: session() }), { wait: 60, signal: stop.signal });
  setTimeout(() => stop.abort(), 50);
  await assert.rejects(waits, (e) => e instanceof ObstatError && e.decision.effect === "deny");
  await assert.rejects(c.authorize(pay(), { signal: AbortSignal.abort() }), ObstatError);
});

test("a person refuses, and changes the arguments", async () => {
  const no = pay({ id: "n", session: session() });
  await server.answer(idOf(await c.authorize(no)), false, { words: "not to bob" });
  const refused = await c.authorize(no);
  assert.equal(refused.effect, "deny");
  assert.match(refused.reason, /not to bob/);
  const other = pay({ id: "e", session: session() });
  await server.answer(idOf(await c.authorize(other)), true, { input: { to: "bob", amount: 1 } });
  const changed = await c.authorize(other);
  assert.ok(changed.allowed);
  assert.deepEqual(changed.input, { amount: 1, to: "bob" });
});

test("run", async () => {
  const ran: unknown[] = [];
  const input = { x: 1 };
  const out = c.run({ tool: "safe", input }, (i) => {
    ran.push(i);
    return "done";
  });
  input.x = 2; // too late: what was decided is run
  assert.equal(await out, "done");
  await assert.rejects(c.run({ tool: "wipe", input: { path: "/" } }, (i) => ran.push(i)), (e) => e instanceof Denied && /deny rule/.test(e.reason));
  const call = pay({ id: "r", session: session() });
  const e: unknown = await c.run(call, (i) => ran.push(i)).catch((e: unknown) => e);
  assert.ok(e instanceof Pending);
  await server.answer(idOf(e.decision));
  await assert.rejects(
    c.run(call, () => {
      throw new Error("the bank is closed");
    }),
    /the bank is closed/,
  );
  const seen = await server.request(idOf(e.decision));
  assert.equal(seen.outcome?.ok, false);
  assert.match(seen.outcome?.words ?? "", /bank/);
  assert.deepEqual(ran, [{ x: 1 }]);
});

test("explain", async () => {
  const view = await c.explain({ tool: "wipe", input: { path: "/" } });
  assert.equal(view["verdict"], "deny");
  const before = (await server.pending()).length;
  assert.equal((await c.explain(pay()))["verdict"], "ask");
  assert.equal((await server.pending()).length, before, "nobody is asked");
});

test("a server that was restarted is found again", async () => {
  assert.ok((await c.authorize({ tool: "safe" })).allowed);
  await server.stop();
  const gone = await c.authorize({ tool: "safe" });
  assert.deepEqual([gone.effect, gone.error], ["deny", "unreachable"]);
  await server.start();
  assert.ok((await c.authorize({ tool: "safe" })).allowed);
});
