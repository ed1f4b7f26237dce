// A decision beside echoes of the same bytes over Unix sockets, taking turns in one run.
//
//     (cd bench && go build -o /tmp/echo ./echo) && OBSTAT_BIN=bin/obstat ECHO=/tmp/echo node sdk/typescript/build/bench/echo.js [N]
//
// All with the transport of this package. "echo" is a bare net/http server that sends back the body; "durable" is the same server, which
// first appends the body to a file and waits for fdatasync, as a decision is written down before it is given.
import { spawn } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { Client } from "../src/index.js";
import { place } from "../src/place.js";
import { Transport } from "../src/transport.js";
import { put } from "../src/wire.js";
import { Server, sleep } from "../test/harness.js";

const n = Number(process.argv[2] ?? 2000);
const server = await Server.open();
const path = join(server.dir, "echo");
const child = spawn(process.env["ECHO"] ?? "echo", [path, path + ".log"], { stdio: "inherit" });
while (!existsSync(path) || statSync(path).mode & 0o077) await sleep(10);
const client = new Client({ server: server.address, timeout: 60 });
const transport = new Transport(place("unix:" + path), "", false);
const call = (i: number): { tool: string; input: object; dir: string } => ({ tool: "safe", input: { x: i }, dir: "/" });
const send = async (to: string, body: string): Promise<void> => {
  if ((await transport.send({ method: "POST", path: to, body, timeout: 60_000 })).status !== 200) throw new Error(to);
};
const ways: Record<string, (i: number, body: string) => Promise<void>> = {
  echo: (_, body) => send("/echo", body),
  durable: (_, body) => send("/durable", body),
  decision: async (i) => {
    const d = await client.authorize(call(i));
    if (!d.allowed) throw new Error(d.reason);
  },
};
const wall: Record<string, number[]> = {};
const cpu: Record<string, number[]> = {};
for (let i = 0; i < n; i++) {
  const body = `{"call":${put(call(i)).body},"unclaimed":true}`;
  for (const [name, way] of Object.entries(ways)) {
    const used = process.cpuUsage();
    const began = performance.now();
    await way(i, body);
    const took = (performance.now() - began) * 1000;
    const { user, system } = process.cpuUsage(used);
    if (i < n / 4) continue; // the compiler warms up
    (wall[name] ??= []).push(took);
    (cpu[name] ??= []).push(user + system);
  }
}
const of = (list: Record<string, number[]>, name: string): number => [...(list[name] ?? [])].sort((a, b) => a - b)[(list[name]?.length ?? 0) >> 1] ?? NaN;
const columns = Object.keys(ways).map((name) => `${name} ${of(wall, name).toFixed(0)} µs (${of(cpu, name).toFixed(0)} of its own)`);
const times = (name: string): string => (of(wall, "decision") / of(wall, name)).toFixed(2);
console.log(`Node   ${columns.join("   ")}   ${times("echo")} times echo, ${times("durable")} times durable   load ${loadavg()[0]?.toFixed(1)}`);
client.close();
transport.close();
child.kill();
await server.close();
