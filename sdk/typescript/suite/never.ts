// The same scripted calls without and with obstat, under each of a framework's own approvals: what runs with obstat is among what
// runs without it. The one exception: the framework asks for want of a rule, and a rule of obstat's allows the call.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { Client } from "../src/index.js";
import { POLICY, Server, session } from "../test/harness.js";
import type { Driver, Made, Tried } from "./common.js";

interface Row {
  readonly framework: string;
  readonly version: string;
  readonly mode: string;
  readonly rule: string;
  readonly call: string;
  readonly policy: string;
  readonly without: Tried;
  readonly with: Tried;
}

const FILE = new URL("../../never-looser.json", import.meta.url);
const CALLS: readonly Made[] = [{ tool: "safe", input: { x: 1 } }, { tool: "pay", input: { to: "bob", amount: 5 } }, { tool: "wipe", input: { path: "/" } }];
const POLICIES = { "allows all": '{"permission": {"*": "allow"}}', "allows, asks, denies": POLICY };

/** Whether a call ran with obstat only, and not as the exception has it. */
function looser(row: Row): boolean {
  if (row.with !== "ran" || row.without === "ran") return false;
  const allowed = row.policy === "allows all" || row.call === "safe";
  return !(row.without === "asked" && row.rule === "none" && allowed);
}

async function rows(driver: Driver): Promise<Row[]> {
  const out: Row[] = [];
  for (const [policy, text] of Object.entries(POLICIES)) {
    const server = await Server.open(text);
    const client = new Client({ server: server.address, timeout: 60 });
    try {
      for (const mode of ["run", "stream"]) {
        for (const rule of driver.rules ?? []) {
          for (const call of CALLS) {
            const attempt = async (guarded: boolean): Promise<Tried> => {
              const log: string[] = [];
              const guard = guarded ? { client, session: session() } : undefined;
              const asked = await driver.attempt?.({ guard, address: server.address, asked: async () => false, calls: [call], log, stream: mode === "stream" }, rule);
              return log.length > 0 ? "ran" : asked ? "asked" : "refused";
            };
            const base = { framework: driver.name, version: driver.version, mode, rule, call: call.tool, policy };
            out.push({ ...base, without: await attempt(false), with: await attempt(true) });
          }
        }
      }
    } finally {
      client.close();
      await server.close();
    }
  }
  return out;
}

/** Tries a framework; returns what is wrong. */
export async function check(driver: Driver, update: boolean): Promise<string[]> {
  if (!driver.rules) return [];
  const found = await rows(driver);
  const wrong = found.filter(looser).map((r) => `looser with obstat: ${JSON.stringify(r)}`);
  console.log(`  never looser: ${found.length} pairs, looser with obstat ${wrong.length}`);
  const kept = existsSync(FILE) ? (JSON.parse(readFileSync(FILE, "utf8")) as Row[]) : [];
  const mine = (r: Row): boolean => r.framework === driver.name && r.version === driver.version;
  if (update) {
    const all = [...kept.filter((r) => !mine(r)), ...found].sort((a, b) => (a.framework + a.version < b.framework + b.version ? -1 : a.framework + a.version > b.framework + b.version ? 1 : 0));
    writeFileSync(FILE, "[\n" + all.map((r) => JSON.stringify(r)).join(",\n") + "\n]\n");
  } else if (!isDeepStrictEqual(kept.filter(mine), found)) wrong.push("never-looser.json has other rows; UPDATE=1 writes them");
  return wrong;
}
