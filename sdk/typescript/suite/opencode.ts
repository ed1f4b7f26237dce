// opencode: the real program, with the plugin of docs/frameworks/opencode.md, a scripted model on loopback and the tools of an MCP server.
// The plugin holds a call while a person is asked.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { sleep } from "../test/harness.js";
import { TOOLS, version, type Driver, type Made, type Run, type Setup } from "./common.js";

const TASK = "the helper's task";
const ONCE = "the call is held while a person is asked, and nothing is resumed";
const NOBODY = "opencode run asks nobody: an ask is a no, or with --auto a yes";

/** An MCP server, which writes down what ran. */
const MCP = `
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
const tools = JSON.parse(process.argv[3]);
const schema = (args) => ({ type: "object", properties: Object.fromEntries(Object.entries(args).map(([k, type]) => [k, { type }])), required: Object.keys(args) });
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  let result = {};
  if (method === "initialize") result = { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "suite", version: "1" } };
  if (method === "tools/list") result = { tools: Object.entries(tools).map(([name, args]) => ({ name, description: name, inputSchema: schema(args) })) };
  if (method === "tools/call") {
    appendFileSync(process.argv[2], params.name + "(" + Object.keys(tools[params.name]).map((k) => params.arguments[k]).join(",") + ")\\n");
    result = { content: [{ type: "text", text: "done" }] };
  }
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n");
}
`;

/** A model that makes the calls first, and says something afterwards; so does the one of a helper, whose second turn is told. */
async function model(setup: Setup, told: () => void): Promise<http.Server> {
  const served = http.createServer(async (req, res) => {
    const chunks: Buffer[] = [];
    for await (const c of req) chunks.push(c as Buffer);
    const asked = JSON.parse(Buffer.concat(chunks).toString()) as { tools?: unknown[]; messages: { role: string; content: unknown }[] };
    const sub = asked.messages.some((m) => m.role === "user" && JSON.stringify(m.content).includes(TASK));
    const first = (asked.tools?.length ?? 0) > 0 && !asked.messages.some((m) => m.role === "assistant");
    if (sub && !first) told();
    const made: readonly Made[] = setup.nested && !sub ? [{ tool: "task", input: { description: "help", prompt: TASK, subagent_type: "general" } }] : setup.calls.map((c) => ({ ...c, tool: "suite_" + c.tool }));
    const id = Math.random().toString(36).slice(2);
    const chunk = (delta: object, finish: string | null = null): object => ({ id, object: "chat.completion.chunk", created: 1, model: "scripted", choices: [{ index: 0, delta, finish_reason: finish }] });
    const out = first
      ? made.map((c, index) => chunk({ role: "assistant", content: null, tool_calls: [{ index, id: id + index, type: "function", function: { name: c.tool, arguments: JSON.stringify(c.input) } }] }))
      : [chunk({ role: "assistant", content: "done" })];
    out.push({ ...chunk({}, first ? "tool_calls" : "stop"), usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } });
    res.setHeader("Content-Type", "text/event-stream").end(out.map((c) => `data: ${JSON.stringify(c)}\n\n`).join("") + "data: [DONE]\n\n");
  });
  await new Promise<void>((done) => served.listen(0, "127.0.0.1", done));
  return served;
}

/** The plugin of the page, which waits a shorter time. */
function plugin(): string {
  const page = readFileSync(new URL("../../../../docs/frameworks/opencode.md", import.meta.url), "utf8");
  const code = /^```ts\n(.*?)^```$/ms.exec(page)?.[1] ?? "";
  const here = code.replace('"obstat"', JSON.stringify(new URL("../src/index.js", import.meta.url).href)).replace("wait: 300", "wait: 10");
  if (here.split("wait: 10").length !== 2 || !here.includes("file:")) throw new Error("the page's plugin is not as it was");
  return ts.transpileModule(here, { compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 } }).outputText;
}

async function go(setup: Setup, forged: boolean): Promise<Run> {
  const home = mkdtempSync(join(tmpdir(), "oo"));
  const put = (name: string, text: string): void => {
    mkdirSync(dirname(join(home, name)), { recursive: true });
    writeFileSync(join(home, name), text);
  };
  let helped = !setup.nested;
  const served = await model(setup, () => (helped = true));
  const log = join(home, "log");
  put("mcp.mjs", MCP);
  put("p/x", "");
  const tools = { ...TOOLS, ...(setup.added && { wipe2: TOOLS.wipe }) };
  const options = { baseURL: `http://127.0.0.1:${(served.address() as AddressInfo).port}/v1`, apiKey: "none" };
  const models = { scripted: { name: "scripted", tool_call: true, limit: { context: 100_000, output: 8000 } } };
  const config = {
    provider: { scripted: { npm: "@ai-sdk/openai-compatible", options, models } },
    model: "scripted/scripted",
    enabled_providers: ["scripted"],
    autoupdate: false,
    share: "disabled",
    // With obstat opencode itself allows everything.
    permission: { "*": "allow", ...(setup.guard === undefined && { suite_pay: "ask", suite_wipe: "deny" }) },
    mcp: { suite: { type: "local", command: [process.execPath, join(home, "mcp.mjs"), log, JSON.stringify(tools)], enabled: true } },
  };
  put(".config/opencode/opencode.json", JSON.stringify(config));
  if (setup.guard) {
    put(".config/opencode/plugins/obstat.js", plugin());
    // Without these it waits for a package from the network, as obstat install opencode --offline says.
    put(".config/opencode/package-lock.json", '{"packages":{"":{"dependencies":{"@opencode-ai/plugin":"*"}}}}\n');
    put(".config/opencode/node_modules/.obstat", "");
  }
  const off = ["OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_DISABLE_LSP_DOWNLOAD", "OPENCODE_DISABLE_DEFAULT_PLUGINS"];
  const env = { PATH: process.env["PATH"] ?? "", HOME: home, OBSTAT_SERVER: setup.address, OBSTAT_START: "0", ...Object.fromEntries(off.map((n) => [n, "1"])) };
  const program = fileURLToPath(new URL("../../node_modules/opencode-linux-x64/bin/opencode", import.meta.url));
  const child = spawn(program, ["run", ...(setup.guard || forged ? ["--auto"] : []), "--format", "json", "go on"], { cwd: join(home, "p"), env, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const out of [child.stdout, child.stderr]) out.on("data", (c: Buffer) => (said += c.toString()));
  const ended = new Promise<void>((done) => child.once("close", () => done()));
  const seen = (): void => void setup.log.splice(0, setup.log.length, ...(existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : []));
  const end = async (): Promise<void> => {
    const timer = setTimeout(() => child.kill("SIGKILL"), 120_000);
    await ended;
    clearTimeout(timer);
    seen();
    served.closeAllConnections();
    served.close();
    rmSync(home, { recursive: true, force: true });
    if (!helped || child.exitCode !== 0) {
      console.error(`opencode ended with ${child.exitCode}${helped ? "" : ", and the helper called nothing"}: ${said.slice(-2000)}`);
      process.exitCode = 1;
    }
  };
  const until = Date.now() + 60_000;
  let asked = false;
  while (child.exitCode === null && !asked && Date.now() < until) {
    asked = setup.guard !== undefined && (await setup.asked());
    await sleep(50);
  }
  seen();
  let over = asked ? undefined : end();
  await over;
  const run: Run = {
    async resume(how = {}) {
      await (over ??= end());
      if (how.forged && !setup.guard) return await go(setup, true);
      return run;
    },
  };
  return run;
}

export function driver(): Driver {
  return {
    name: "opencode",
    version: version("opencode-linux-x64"),
    slack: 60_000,
    sessions: false,
    start: (setup) => go(setup, false),
    cannot: { replayed: ONCE, edited: ONCE, "other-tool": ONCE, crash: ONCE, "own parallel": NOBODY, "own streaming": NOBODY },
    notes: {
      forged: "--auto answers every ask with yes",
      added: "a tool that no rule of its configuration names is allowed",
    },
  };
}
