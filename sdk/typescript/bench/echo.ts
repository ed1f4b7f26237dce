// A decision beside a bare echo of the same bytes over a Unix socket, taking turns in one run.
//
//     OBSTAT_BIN=bin/obstat node build/bench/echo.js [ROUNDS]
import { fork } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import http from "node:http";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "../src/index.js";
import { Server } from "../test/harness.js";

const REQUEST = 420; // bytes of a decision's request with its head, and of the answer
const ANSWER = 560;

if (process.argv[2] === "serve") {
  const [raw, web] = process.argv.slice(3) as [string, string];
  const answer = Buffer.alloc(ANSWER, "x");
  net.createServer((s) => s.on("data", () => s.write(answer))).listen(raw);
  http.createServer((req, res) => req.resume().on("end", () => res.setHeader("Content-Length", 300).end(Buffer.alloc(300, "x")))).listen(web, () => process.send?.("ready"));
} else {
  await main(Number(process.argv[2] ?? 15));
}

async function main(rounds: number): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), "ob"));
  chmodSync(dir, 0o700);
  const child = fork(process.argv[1] ?? "", ["serve", join(dir, "raw"), join(dir, "web")]);
  await new Promise((done) => child.once("message", done));
  const server = await Server.open();
  const client = new Client({ server: server.address, timeout: 60 });
  const socket = net.connect(join(dir, "raw"));
  const request = Buffer.alloc(REQUEST, "x");
  const agent = new http.Agent({ keepAlive: true });
  let n = 0;
  const ways: Record<string, () => Promise<unknown>> = {
    "echo, bare socket": () =>
      new Promise((done) => {
        let got = 0;
        const take = (b: Buffer): void => {
          if ((got += b.length) < ANSWER) return;
          socket.off("data", take);
          done(undefined);
        };
        socket.on("data", take).write(request);
      }),
    "echo, node:http": () =>
      new Promise((done) => {
        const req = http.request({ socketPath: join(dir, "web"), method: "POST", agent }, (res) => void res.resume().on("end", done));
        req.end("x".repeat(200));
      }),
    "healthz, same socket": () =>
      new Promise((done) => {
        http.get({ socketPath: server.path, path: "/healthz", agent }, (res) => void res.resume().on("end", done));
      }),
    "decision": async () => {
      const d = await client.authorize({ tool: "safe", input: { x: n++ }, dir: "/srv/app", session: "bench" });
      if (!d.allowed) throw new Error(d.reason);
    },
  };
  const times: Record<string, number[]> = {};
  for (let round = 0; round < rounds; round++) {
    for (const [name, run] of Object.entries(ways)) {
      const took: number[] = [];
      for (let i = 0; i < 300; i++) {
        const began = performance.now();
        await run();
        took.push((performance.now() - began) * 1000);
      }
      if (round > 0) (times[name] ??= []).push(median(took)); // the first warms up
    }
  }
  const base = median(times["echo, bare socket"] ?? []);
  for (const [name, list] of Object.entries(times)) console.log(`${name.padEnd(20)} ${median(list).toFixed(0).padStart(5)} µs  ${(median(list) / base).toFixed(2)}`);
  client.close();
  socket.destroy();
  agent.destroy();
  child.kill();
  await server.close();
  rmSync(dir, { recursive: true });
}

function median(list: readonly number[]): number {
  return [...list].sort((a, b) => a - b)[list.length >> 1] ?? NaN;
}
