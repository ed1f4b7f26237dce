// Runs the suite around one framework: node build/suite/run.js NAME [CASE ...]. UPDATE=1 writes the results.
import { readFileSync, writeFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { results, type Driver } from "./common.js";
import { check } from "./never.js";

const drivers: Record<string, () => Promise<Driver>> = {
  "ai-6": async () => (await import("./ai.js")).driver(),
  // Needs Node 22; what is used of it has the types of 6.
  "ai-7": async () => (await import("./ai.js")).driver((await import("ai7" as string)) as never, "ai7"),
  "openai-agents": async () => (await import("./openai-agents.js")).driver(),
  // Large, and in make test-sdk alone.
  "claude-agent-sdk": async () => (await import("./claude-agent-sdk.js")).driver((await import("@anthropic-ai/claude-agent-sdk" as string)) as never),
  opencode: async () => (await import("./opencode.js")).driver(),
  langchain: async () => (await import("./langchain.js")).driver(),
};

const [name = "", ...only] = process.argv.slice(2);
const make = drivers[name];
if (!make) throw new Error(`the frameworks are ${Object.keys(drivers).join(", ")}`);
const driver = await make();
const got = JSON.parse(JSON.stringify(await results(driver, only))) as { rows: { case: string; obstat: { held: boolean | null; ran: string[] } }[] };
const file = new URL(`../../../results/typescript-${name}.json`, import.meta.url);
for (const row of got.rows) if (row.obstat.held === false) console.error(`${name}: ${row.case} did not hold: ${row.obstat.ran.join(" ")}`);
if (only.length > 0) console.log(JSON.stringify(got.rows));
else if (process.env["UPDATE"]) writeFileSync(file, JSON.stringify(got, null, 1) + "\n");
else if (!isDeepStrictEqual(JSON.parse(readFileSync(file, "utf8")), got)) {
  console.error(`${name}: the results differ from ${file.pathname}; UPDATE=1 writes them:\n${JSON.stringify(got, null, 1)}`);
  process.exitCode = 1;
}
if (got.rows.some((row) => row.obstat.held === false)) process.exitCode = 1;
const wrong = only.length > 0 ? [] : await check(driver, Boolean(process.env["UPDATE"]));
for (const line of wrong) console.error(`${name}: ${line}`);
if (wrong.length > 0) process.exitCode = 1;
