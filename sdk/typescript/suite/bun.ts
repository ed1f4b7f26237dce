// The client in Bun, which opencode runs plugins in: BUN_BE_BUN=1 opencode run build/suite/bun.js
import assert from "node:assert/strict";
import { chmodSync } from "node:fs";
import { Client, SocketError, VersionError, type Decision } from "../src/index.js";
import { Fake, reply, Server, session, sleep } from "../test/harness.js";

assert.ok("bun" in process.versions, "this is to be run in Bun");
const good = '{"verdict":"allow","reason":"r"}';
const ask = (server: string): Promise<Decision> => new Client({ server, timeout: 1 }).authorize({ tool: "safe" });
const fault = async (server: string): Promise<string | null> => (await ask(server)).error;

const fake = await Fake.open(reply(good));
assert.ok((await ask(fake.address)).allowed, "so that what follows tests something");
for (const [path, mode] of [[fake.path, 0o666], [fake.dir, 0o777]] as const) {
  chmodSync(path, mode);
  await assert.rejects(ask(fake.address), SocketError);
  chmodSync(path, 0o700);
}
assert.equal(await fault((await Fake.open(null)).address), "timeout");
assert.equal(await fault("unix:/nobody/s"), "unreachable");
assert.equal(await fault((await Fake.open("hello\r\n\r\n")).address).then((e) => e === "unreadable" || e === "unreachable"), true);
assert.equal(await fault((await Fake.open(reply("allow"))).address), "unreadable");
await assert.rejects(ask((await Fake.open(reply(good, { api: "" }))).address), VersionError);
await assert.rejects(new Client({ server: fake.address }).authorize({ tool: "safe", input: { n: NaN } }), /NaN/);

const server = await Server.open();
const client = new Client({ server: server.address, timeout: 60 });
assert.ok((await client.authorize({ tool: "safe", input: { x: 1 } })).allowed);
assert.equal((await client.authorize({ tool: "wipe" })).effect, "deny");
const call = { tool: "pay", input: { to: "bob", amount: 5 }, id: "1", session: session() };
const ran: unknown[] = [];
const waits = client.run(call, (input) => ran.push(input), { wait: 60 });
while ((await server.approve(call.session)).length === 0) await sleep(10);
await waits;
await assert.rejects(client.run(call, (input) => ran.push(input)), /decided before/);
assert.deepEqual(ran, [{ amount: 5, to: "bob" }]);
await server.close();
process.exit(0);
