// Bad input, bad servers, bad sockets: an exception with the reason, and deny.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { runInNewContext } from "node:vm";
import { BadCall, Client, ConfigError, ObstatError, SocketError, VersionError, type Call, type Decision } from "../src/index.js";
import { guard } from "../src/adapters/openai-agents.js";
import { put } from "../src/wire.js";
import { BINARY, Fake, reply, Server, session, sleep } from "./harness.js";

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

/** What a call gets whose putting throws: an error of a class, and a decision that denies. */
async function refused(made: () => Promise<unknown>, kind: new (...a: never[]) => ObstatError, says: RegExp): Promise<void> {
  const e: unknown = await made().then(
    (d) => assert.fail(JSON.stringify(d)),
    (e: unknown) => e,
  );
  assert.ok(e instanceof kind, String(e));
  assert.match(e.reason, says);
  assert.equal(e.decision.effect, "deny");
  assert.equal(e.decision.allowed, false);
}

const cyclic: Record<string, unknown> = {};
cyclic["a"] = [{ b: cyclic }];
let deep: unknown = 1;
for (let i = 0; i < 250; i++) deep = [deep];

const bad: Record<string, [unknown, RegExp]> = {
  "not a number": [{ n: NaN }, /input\.n is NaN/],
  infinity: [{ n: [1, -Infinity] }, /input\.n\[1\] is -Infinity/],
  "10 MB": [{ text: "x".repeat(10_000_000) }, /larger than 7340032 bytes/],
  "10 MB in bytes": [{ text: "€".repeat(3_000_000) }, /larger than 7340032 bytes/],
  cyclic: [cyclic, /holds itself/],
  deep: [{ deep }, /deeper than 200/],
  BigInt: [{ n: 1n }, /a bigint/],
  bytes: [{ data: Buffer.from("x") }, /a Buffer/],
  "typed array": [{ data: new Uint8Array(3) }, /a Uint8Array/],
  date: [{ at: new Date(0) }, /a Date/],
  map: [new Map([["a", 1]]), /a Map/],
  class: [{ e: new Error("x") }, /a Error/],
  function: [{ f: () => 1 }, /a function/],
  symbol: [{ s: Symbol("x") }, /a symbol/],
  "undefined in a list": [{ l: [undefined] }, /a undefined/],
  "a value that writes itself": [{ v: { toJSON: () => "safe" } }, /plain/],
  "lone surrogate": [{ text: "a\ud800b" }, /surrogate/],
  "lone surrogate in a key": [{ "\udc00": 1 }, /surrogate/],
  "a member that throws": [{ get x(): string { throw new TypeError("not now"); } }, /the input of safe cannot be read: TypeError: not now/], // prettier-ignore
  list: [[1], /a list/],
  string: ['{"x": 1}', /a string/],
  number: [1, /a number/],
};

for (const [name, [input, says]] of Object.entries(bad)) {
  test(`input: ${name}`, async () => {
    await refused(() => c.authorize({ tool: "safe", input }), BadCall, says);
    await refused(async () => await c.run({ tool: "safe", input }, () => assert.fail("it ran")), BadCall, says);
  });
}

test("arguments that a model has written badly", async () => {
  const ran: string[] = [];
  const tool = { type: "function", name: "safe", needsApproval: async () => false, invoke: async (_: unknown, input: string) => void ran.push(input) };
  const agent = { name: "clerk", tools: [tool], handoffs: [], getAllTools: async () => [tool] };
  const [guarded] = await guard(agent as never as { getAllTools(): Promise<(typeof tool)[]> }, { client: c }).getAllTools();
  for (const input of ["{", "[1]", '"x"', '{"x": NaN}', '{"a": "\\ud800"}']) {
    assert.match(String(await guarded?.invoke({}, input)), /denied/, input);
  }
  assert.deepEqual(ran, []);
  await guarded?.invoke({}, '{"x": 1, "x": 2}');
  assert.deepEqual(ran, ['{"x":2}'], "what is decided is what runs");
});

test("bad calls", async () => {
  for (const tool of ["", undefined, null, 5, "a\ud800"]) await refused(async () => await c.authorize({ tool } as unknown as Call), BadCall, /tool/);
  await refused(async () => await c.authorize(null as unknown as Call), BadCall, /object/);
  await refused(async () => await c.authorize({ tool: "safe", dir: "here" }), BadCall, /absolute/);
  await refused(async () => await c.authorize({ tool: "safe", roots: "x" as unknown as string[] }), BadCall, /roots/);
  await refused(async () => await c.authorize({ tool: "safe" }, { wait: NaN }), ConfigError, /wait/);
  for (const id of ["", "..", "a/b", "a?b", "ä", 5 as unknown as string]) await refused(async () => await c.claim(id, { tool: "safe" }), ObstatError, /no request's id/);
});

test("odd but good input", async () => {
  const shared = { a: 1 };
  const odd = { "": 0, __proto__x: null, e: "€😀\u0000\u2028", n: -0, big: 1e300, twice: [shared, shared], gone: undefined };
  assert.ok((await c.authorize({ tool: "safe", input: odd })).allowed);
  assert.ok((await c.authorize({ tool: "safe", input: JSON.parse('{"__proto__": {"x": 1}, "constructor": 1}') as unknown })).allowed);
  assert.ok((await c.authorize({ tool: "safe", input: runInNewContext("({a: [1]})") as unknown })).allowed);
  assert.ok((await c.authorize({ tool: "safe", input: { text: "x".repeat(6_000_000) } })).allowed);
  assert.equal(put({ tool: "t", input: { b: 1, a: undefined, A: [] } }).input, '{"A":[],"b":1}');
});

test("the key is of session, id, tool and input", () => {
  const calls: Call[] = [{ tool: "t", id: "1" }, { tool: "u", id: "1" }, { tool: "t", id: "2" }, { tool: "t", id: "1", session: "s" }, { tool: "t", id: "1", input: { x: 1 } }];
  assert.equal(new Set(calls.map((call) => put(call).key)).size, calls.length);
  assert.equal(put({ tool: "t" }).key, "");
});

test("bad addresses and options", () => {
  for (const server of ["unix:s", "unix:", "http://example.org", "http://127.0.0.1.example.org", "ftp://localhost", "http://localhost/x", "http://a@localhost", "nonsense", "http://", "http://[::2]:1"]) {
    assert.throws(() => new Client({ server }), ConfigError, server);
  }
  for (const server of ["http://127.0.0.1:8470", "http://localhost:1", "http://[::1]:1", "https://example.org", "unix:/x"]) new Client({ server }).close();
  for (const timeout of [0, -1, NaN]) assert.throws(() => new Client({ timeout }), ConfigError);
  for (const token of ["a b", "a\nb", "ä"]) assert.throws(() => new Client({ token }), ConfigError);
});

const good = '{"verdict":"allow","reason":"r"}';
const unreadable: Record<string, string | Buffer> = {
  "not HTTP": "hello\r\n\r\n",
  "no JSON": reply("allow"),
  "half of it": reply(good).slice(0, -3),
  "no object": reply('["allow"]'),
  "unknown verdict": reply('{"verdict":"Allow","reason":"r"}'),
  "no reason": reply('{"verdict":"allow"}'),
  "empty reason": reply('{"verdict":"allow","reason":""}'),
  "an input that is no object": reply('{"verdict":"allow","reason":"r","input":"x"}'),
  "another call's request": reply('{"verdict":"allow","reason":"r","request":{"id":"x","state":"approved","digest":"00"}}'),
  "no UTF-8": Buffer.concat([Buffer.from(reply("x".repeat(good.length + 1)).replace(/x+$/, "")), Buffer.from(good.replace("r\"}", "")), Buffer.from([0xff]), Buffer.from('r"}')]),
  redirect: reply(good, { status: "307 Temporary Redirect\r\nLocation: /x" }),
  "too large": reply(`{"verdict":"allow","reason":"${"r".repeat(17_000_000)}"}`),
};

for (const [name, bytes] of Object.entries(unreadable)) {
  test(`answer: ${name}`, async () => {
    const fake = await Fake.open(bytes);
    const to = new Client({ server: fake.address, timeout: 60 });
    const d = await to.authorize({ tool: "safe" });
    assert.equal(d.effect, "deny");
    assert.ok(d.error === "unreadable" || (d.error === "unreachable" && name === "half of it"), `${d.error}: ${d.reason}`);
    to.close();
    await fake.close();
  });
}

test("answers that are no success", async () => {
  for (const [status, body] of [["401 Unauthorized", '{"title":"who are you","detail":"no token"}'], ["500 X", "broken"], ["201 Created", good], ["204 No Content", ""]] as const) {
    const fake = await Fake.open(reply(body, { status }));
    const to = new Client({ server: fake.address, timeout: 60 });
    const d = await to.authorize({ tool: "safe" });
    assert.deepEqual([d.effect, d.error], ["deny", "refused"], d.reason);
    if (!status.startsWith("20")) await assert.rejects(to.explain({ tool: "safe" }), ObstatError);
    to.close();
    await fake.close();
  }
});

test("a readable answer", async () => {
  const fake = await Fake.open(reply(good));
  const to = new Client({ server: fake.address, timeout: 60 });
  assert.ok((await to.authorize({ tool: "safe" })).allowed, "so that the tests above test something");
  to.close();
  await fake.close();
});

test("a server of another version", async () => {
  for (const api of ["", "Obstat-Api: 2\r\n", "Obstat-Api: 1\r\nObstat-Api: 2\r\n"]) {
    const fake = await Fake.open(reply(good, { api }));
    const to = new Client({ server: fake.address, timeout: 60 });
    await refused(() => to.authorize({ tool: "safe" }), VersionError, /this package speaks version 1/);
    to.close();
    await fake.close();
  }
});

test("late", async () => {
  const fake = await Fake.open(null);
  const to = new Client({ server: fake.address, timeout: 0.2 });
  const began = performance.now();
  const d = await to.authorize({ tool: "safe" });
  assert.deepEqual([d.effect, d.error], ["deny", "timeout"]);
  assert.ok(performance.now() - began >= 199);
  to.close();
  await fake.close();
});

test("nobody listens", async () => {
  const dir = mkdtempSync(join(tmpdir(), "on"));
  for (const server of [`unix:${dir}/s`, "http://127.0.0.1:1"]) {
    const to = new Client({ server });
    const d = await to.authorize({ tool: "safe" });
    assert.deepEqual([d.effect, d.error], ["deny", "unreachable"]);
    assert.match(d.reason, /cannot be reached/);
    await assert.rejects(to.explain({ tool: "safe" }), ObstatError);
    to.close();
  }
  rmSync(dir, { recursive: true });
});

test("a socket that others may write", async () => {
  const modes: [string, number][] = [["s", 0o602], ["s", 0o620], [".", 0o777], [".", 0o770]];
  for (const [name, mode] of modes) {
    const fake = await Fake.open(reply(good));
    chmodSync(join(fake.dir, name), mode);
    const to = new Client({ server: fake.address });
    await refused(() => to.authorize({ tool: "safe" }), SocketError, /others may write/);
    to.close();
    chmodSync(fake.dir, 0o700);
    await fake.close();
  }
});

test("what is no socket", async () => {
  const dir = mkdtempSync(join(tmpdir(), "on"));
  writeFileSync(join(dir, "file"), "");
  symlinkSync(server.path, join(dir, "link"));
  for (const name of ["file", "link"]) {
    const to = new Client({ server: `unix:${dir}/${name}` });
    await refused(() => to.authorize({ tool: "safe" }), SocketError, /not a socket/);
    to.close();
  }
  rmSync(dir, { recursive: true });
});

test("another user's socket", { skip: process.geteuid?.() === 0 ? false : "only root can give files away" }, async () => {
  const fake = await Fake.open(reply(good));
  execFileSync("chown", ["65534", fake.path]);
  const to = new Client({ server: fake.address });
  await refused(() => to.authorize({ tool: "safe" }), SocketError, /belongs to the user 65534/);
  to.close();
  await fake.close();
});

/** Calls f with the user's own state in a directory of its own, and obstat on PATH. */
async function atHome(f: (home: string) => Promise<void>, path = dirname(resolve(BINARY))): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), "oh"));
  const kept = { ...process.env };
  try {
    mkdirSync(join(home, "state"));
    writeFileSync(join(home, "obstat.json"), '{"rules": [{"allow": "safe"}]}');
    Object.assign(process.env, { HOME: home, XDG_STATE_HOME: join(home, "state"), PATH: path + ":" + (kept["PATH"] ?? "") });
    delete process.env["OBSTAT_SERVER"];
    await f(home);
  } finally {
    try {
      const log = join(home, "state/obstat/run/serve.log");
      for (const pid of pids(home)) process.kill(pid);
      for (const until = Date.now() + 30_000; pids(home).length > 0 && Date.now() < until; ) await sleep(20);
      if (process.env["DEBUG"]) console.error(readFileSync(log, "utf8"));
    } catch {
      // none was started
    }
    for (const name of Object.keys(process.env)) if (!(name in kept)) delete process.env[name];
    Object.assign(process.env, kept);
    rmSync(home, { recursive: true, force: true, maxRetries: 20 });
  }
}

/** The servers whose socket lies below a directory. */
function pids(dir: string): number[] {
  const runs = (pid: number): boolean => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(dir);
    } catch {
      return false; // it has ended
    }
  };
  return readdirSync("/proc").map(Number).filter((pid) => pid > 0 && pid !== process.pid && runs(pid));
}

test("a server is started", async () => {
  await atHome(async () => {
    const clients = Array.from({ length: 3 }, () => new Client({ timeout: 60 }));
    const got = await Promise.all(clients.map((to) => to.authorize({ tool: "nothing-knows-this", dir: "/", session: session() })));
    for (const d of got) assert.ok(d.error === null && !d.allowed, `${d.error} ${d.reason}`);
    for (const to of clients) to.close();
  });
});

test("another project's obstat is not started", async () => {
  const answers = ["exit 0", "echo obstat 0.7.0", `echo '{"version": "0.7.0", "python": "3.11"}'`, "echo '[1]'", `echo '{"v":1,"version":"1","go":"go1","platform":"a/b"}'; exit 1`];
  for (const answer of answers) {
    await atHome(async (home) => {
      const theirs = join(home, "theirs");
      mkdirSync(theirs);
      writeFileSync(join(theirs, "obstat"), `#!/bin/sh\n[ "$1" != serve ] || touch ${home}/served\n${answer}\n`, { mode: 0o755 });
      const path = process.env["PATH"] ?? "";
      process.env["PATH"] = `${theirs}:/usr/bin:/bin`;
      assert.match((await new Client().authorize({ tool: "safe" })).reason, /not on PATH/);
      process.env["PATH"] = `${theirs}:${path}`;
      const to = new Client({ timeout: 60 });
      assert.equal((await to.authorize({ tool: "nothing-knows-this", dir: "/" })).error, null);
      to.close();
      assert.ok(!readdirSync(home).includes("served"));
    });
  }
});

test("the workspace of a call is where it is made, not where the server was started", async () => {
  await atHome(async (home) => {
    const dir = join(home, "plain");
    mkdirSync(dir);
    const to = new Client({ timeout: 60 });
    const effect = async (path: string): Promise<string> => (await to.authorize({ tool: "write_file", input: { path, content: "x" }, dir })).effect;
    for (const path of ["/etc/passwd", join(home, ".ssh/authorized_keys"), join(home, "elsewhere")]) assert.notEqual(await effect(path), "allow", path);
    assert.equal(await effect(join(dir, "a.txt")), "allow");
    to.close();
  });
});

test("no server is started where that is not wanted, or not possible", async () => {
  const denied = (d: Decision, says: RegExp): void => {
    assert.deepEqual([d.effect, d.error], ["deny", "unreachable"]);
    assert.match(d.reason, says);
  };
  await atHome(async () => {
    denied(await new Client({ start: false }).authorize({ tool: "safe" }), /cannot be reached/);
    process.env["OBSTAT_START"] = "0";
    denied(await new Client().authorize({ tool: "safe" }), /cannot be reached/);
  });
  await atHome(async () => {
    process.env["PATH"] = ".:/nonexistent";
    denied(await new Client().authorize({ tool: "safe" }), /not on PATH/);
  });
});
