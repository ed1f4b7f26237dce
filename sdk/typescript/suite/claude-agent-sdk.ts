// The Claude Agent SDK: the real CLI of its package, and a scripted model on loopback. What is saved is the CLI's own session.
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { guard } from "../src/adapters/claude-agent-sdk.js";
import { TOOLS, version, work, type Driver, type Made, type Resume, type Run, type Setup } from "./common.js";

/** What is used of the package, which make test does not install. */
export interface SDK {
  query(how: { prompt: AsyncIterable<object>; options: object }): AsyncIterable<Message>;
  tool(name: string, description: string, shape: object, run: (input: Record<string, unknown>) => Promise<object>): unknown;
  createSdkMcpServer(how: { name: string; tools: unknown[] }): unknown;
}

interface Message {
  readonly type: string;
  readonly session_id?: string;
  readonly stop_reason?: string | null;
  readonly deferred_tool_use?: { readonly id: string };
}

const PREFIX = "mcp__suite__";
const TASK = "the helper's task";

/** A model that makes the calls first, and says something afterwards; so does the one of a helper, whose second turn is told. */
async function model(calls: readonly Made[], nested = false, told = (): void => {}): Promise<http.Server> {
  const ids = Math.random().toString(36).slice(2);
  const served = http.createServer(async (req, res) => {
    const chunks: Buffer[] = [];
    for await (const c of req) chunks.push(c as Buffer);
    const asked = (req.method === "POST" ? JSON.parse(Buffer.concat(chunks).toString()) : {}) as { model?: string; tools?: unknown[]; messages?: { role: string; content: unknown }[] };
    const messages = asked.messages ?? [];
    const sub = JSON.stringify(messages[0] ?? "").includes(TASK);
    const first = (asked.tools?.length ?? 0) > 0 && !messages.some((m) => m.role === "assistant");
    if (sub && !first) told();
    const made: readonly Made[] = nested && !sub ? [{ tool: "Agent", input: { description: "help", prompt: TASK, subagent_type: "general-purpose" } }] : calls;
    const uses = made.map((c, i) => ({ type: "tool_use", id: `toolu_${ids}${sub}${i}`, name: c.tool in TOOLS || c.tool === "wipe2" ? PREFIX + c.tool : c.tool, input: c.input }));
    const blocks: { type: string; input?: unknown; text?: string }[] = first ? uses : [{ type: "text", text: "done" }];
    const usage = { input_tokens: 1, output_tokens: 1 };
    const message = { id: `msg_${ids}${messages.length}`, type: "message", role: "assistant", model: asked.model ?? "m", content: [], stop_reason: null, stop_sequence: null, usage };
    const events: { type: string }[] = [{ type: "message_start", message } as { type: string }];
    for (const [index, b] of blocks.entries()) {
      const text = b.type === "text";
      const delta = text ? { type: "text_delta", text: b.text } : { type: "input_json_delta", partial_json: JSON.stringify(b.input) };
      events.push({ type: "content_block_start", index, content_block: text ? { ...b, text: "" } : { ...b, input: {} } } as { type: string });
      events.push({ type: "content_block_delta", index, delta } as { type: string }, { type: "content_block_stop", index } as { type: string });
    }
    events.push({ type: "message_delta", delta: { stop_reason: first ? "tool_use" : "end_turn", stop_sequence: null }, usage } as { type: string }, { type: "message_stop" });
    if (req.url?.includes("count_tokens")) return void res.setHeader("Content-Type", "application/json").end('{"input_tokens": 1}');
    res.setHeader("Content-Type", "text/event-stream").end(events.map((e) => `event: ${e.type}\ndata: ${JSON.stringify(e)}\n\n`).join(""));
  });
  await new Promise<void>((done) => served.listen(0, "127.0.0.1", done));
  return served;
}

/** The CLI's environment: a model, a home of its own, and nothing else that it talks to. */
function cli(home: string, at: http.Server): Record<string, string> {
  const off = ["DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "IS_SANDBOX"];
  const url = `http://127.0.0.1:${(at.address() as AddressInfo).port}`;
  return { PATH: process.env["PATH"] ?? "", HOME: home, CLAUDE_CONFIG_DIR: home, ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "none", ...Object.fromEntries(off.map((n) => [n, "1"])) };
}

/** What a run of the CLI left. */
interface Left {
  readonly session: string;
  readonly deferred: string;
  /** A copy of the CLI's home. */
  readonly home: string;
}

const hook = (permissionDecision: string): object => ({ hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision } });

/** The framework's own way: a hook defers what a person has to approve, and allows it by its id once that was said. */
function own(approved: string): object {
  const before = async (input: { tool_name: string; tool_use_id?: string }): Promise<object> => {
    if (approved) return input.tool_use_id === approved ? hook("allow") : {};
    return input.tool_name === PREFIX + "pay" ? hook("defer") : {};
  };
  return { hooks: { PreToolUse: [{ hooks: [before] }] } };
}

async function once(sdk: SDK, setup: Setup, from: Left | undefined, how: Resume, homes: string[]): Promise<Left> {
  const home = mkdtempSync(join(tmpdir(), "oc"));
  homes.push(home);
  if (from) cpSync(join(from.home, "projects"), join(home, "projects"), { recursive: true });
  const cwd = join(from?.home ?? home, "p"); // an approval is for the directory that it was asked for
  mkdirSync(cwd, { recursive: true });
  if (from && how.edit) edit(join(home, "projects"), how.edit);
  // The approval that nobody gave is a rule in a settings file; a tool that is added later is covered by one for the server.
  const rules = how.forged || setup.added ? ["mcp__suite"] : [];
  writeFileSync(join(home, "settings.json"), JSON.stringify({ permissions: { allow: rules } }));
  const made = (name: string): unknown => {
    const shape = Object.entries(name === "wipe2" ? TOOLS.wipe : TOOLS[name as keyof typeof TOOLS]).map(([k, t]) => [k, t === "number" ? z.number() : z.string()]);
    return sdk.tool(name, name, Object.fromEntries(shape) as object, async (input) => ({ content: [{ type: "text", text: work(setup.log, name)(input) }] }));
  };
  const names = [...Object.keys(TOOLS), ...(setup.added ? ["wipe2"] : [])];
  const canUseTool = async (tool: string, input: object): Promise<object> =>
    tool === PREFIX + "safe" || tool === "Agent" ? { behavior: "allow", updatedInput: input } : { behavior: "deny", message: "nobody has answered" };
  let helped = !setup.nested;
  const served = await model(setup.calls, setup.nested, () => (helped = true));
  const plain = {
    cwd,
    env: cli(home, served),
    maxTurns: 4,
    settingSources: ["user"],
    mcpServers: { suite: sdk.createSdkMcpServer({ name: "suite", tools: names.map(made) }) },
    includePartialMessages: setup.stream === true,
    ...(from?.session && !(how.forged && !setup.guard) && { resume: from.session }),
  };
  const options = setup.guard ? guard(plain, { ...setup.guard, ask: "pause" }) : { ...plain, canUseTool, ...(rules.length > 0 ? {} : own(from?.deferred ?? "")) };
  // The input stays open until the end: a deferred call is tried again once the tool's server is there, and asks then.
  let end = (): void => {};
  const ended = new Promise<void>((done) => (end = done));
  const prompt = async function* (): AsyncGenerator<object> {
    yield { type: "user", message: { role: "user", content: "go on" }, parent_tool_use_id: null, session_id: "" };
    await ended;
  };
  let left: Left = { session: "", deferred: "", home };
  try {
    for await (const m of sdk.query({ prompt: prompt(), options })) {
      if (m.type !== "result" || m.stop_reason === "tool_deferred_unavailable") continue;
      left = { session: m.session_id ?? "", deferred: m.deferred_tool_use?.id ?? "", home };
      end();
    }
  } finally {
    end();
    served.closeAllConnections();
    served.close();
  }
  if (!helped) {
    console.error("the helper called nothing");
    process.exitCode = 1;
  }
  return left;
}

/** Puts another call in the place of the one that is asked about, wherever the session has it. */
function edit(dir: string, to: Made): void {
  for (const name of readdirSync(dir, { recursive: true, encoding: "utf8" }).filter((n) => n.endsWith(".jsonl"))) {
    const lines = readFileSync(join(dir, name), "utf8").trimEnd().split("\n");
    const changed = lines.map((line) =>
      JSON.stringify(JSON.parse(line), (_key, value: unknown) => {
        const v = value as { type?: string } | null;
        if (v?.type === "tool_use") return { ...v, name: PREFIX + to.tool, input: to.input };
        return v?.type === "hook_deferred_tool" ? { ...v, toolName: PREFIX + to.tool, toolInput: to.input } : value;
      }),
    );
    writeFileSync(join(dir, name), changed.join("\n") + "\n");
  }
}

export function driver(sdk: SDK): Driver {
  const homes: string[] = [];
  process.on("exit", () => {
    for (const home of homes) rmSync(home, { recursive: true, force: true });
  });
  return {
    name: "claude-agent-sdk",
    version: version("@anthropic-ai/claude-agent-sdk"),
    slack: 60_000,
    async start(setup): Promise<Run> {
      const left = await once(sdk, setup, undefined, {}, homes);
      const run: Run = {
        async resume(how = {}) {
          if (!left.deferred) throw new Error("nothing was asked");
          await once(sdk, setup, left, how, homes);
          return run;
        },
      };
      return run;
    },
    notes: {
      forged: "an allow rule in a settings file keeps the callback from being asked",
      replayed: "a session that is resumed twice runs the call twice",
      edited: "the saved session is changed, and the approval is for the call's id",
      "other-tool": "the saved session is changed, and the approval is for the call's id",
      crash: "every process that resumes the session runs the call",
      added: "an allow rule for the whole server covers a tool that is added to it",
    },
  };
}

/** Has the CLI of the documents' example ask a model that calls a tool of the CLI's own. */
export async function example(): Promise<void> {
  const served = await model([{ tool: "Bash", input: { command: "rm -rf build" } }]);
  served.unref();
  const home = mkdtempSync(join(tmpdir(), "oc"));
  process.on("exit", () => rmSync(home, { recursive: true, force: true }));
  Object.assign(process.env, cli(home, served));
}
