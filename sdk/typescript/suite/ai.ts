// The Vercel AI SDK. Its state is the messages, which the client sends.
import { z } from "zod";
import * as ai6 from "ai";
import { MockLanguageModelV3, simulateReadableStream } from "ai/test";
import { guard } from "../src/adapters/ai.js";
import { Pending } from "../src/index.js";
import { TOOLS, version, work, type Driver, type Made, type Resume, type Run, type Setup } from "./common.js";

type Message = { role: string; content: string | Part[] };
type Part = { type: string; approved?: boolean; toolCallId?: string; toolName?: string; input?: unknown; approvalId?: string };
type AI = Pick<typeof ai6, "generateText" | "streamText" | "stepCountIs" | "tool">;

/** A model that makes the calls first, and says something afterwards. */
function model(calls: readonly Made[]): MockLanguageModelV3 {
  const usage = { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } };
  const content = (prompt: readonly { role: string }[]) =>
    prompt.some((m) => m.role === "assistant")
      ? [{ type: "text" as const, id: "t", text: "done" }]
      : calls.map((c, i) => ({ type: "tool-call" as const, toolCallId: `call-${i}`, toolName: c.tool, input: JSON.stringify(c.input) }));
  const reason = (parts: readonly { type: string }[]) => ({ unified: parts[0]?.type === "text" ? ("stop" as const) : ("tool-calls" as const), raw: undefined });
  return new MockLanguageModelV3({
    doGenerate: async ({ prompt }) => {
      const parts = content(prompt);
      return { content: parts, finishReason: reason(parts), usage, warnings: [] };
    },
    doStream: async ({ prompt }) => {
      const parts = content(prompt);
      const chunks = parts.flatMap((p): object[] => (p.type === "text" ? [{ type: "text-start" as const, id: "t" }, { type: "text-delta" as const, id: "t", delta: p.text }, { type: "text-end" as const, id: "t" }] : [p]));
      return { stream: simulateReadableStream({ chunks: [...chunks, { type: "finish" as const, finishReason: reason(parts), usage }] as never[] }) };
    },
  });
}

export function driver(ai: AI = ai6, pkg = "ai"): Driver {
  const toolsOf = (setup: Setup): Record<string, unknown> => {
    const make = (name: keyof typeof TOOLS | "wipe2", more: object = {}): unknown => {
      const shape = Object.entries(name === "wipe2" ? TOOLS.wipe : TOOLS[name]).map(([k, t]) => [k, t === "number" ? z.number() : z.string()] as const);
      return ai.tool({ description: name, inputSchema: z.object(Object.fromEntries(shape)), execute: work(setup.log, name), ...more } as never);
    };
    const own = setup.guard ? {} : { needsApproval: true };
    const tools: Record<string, unknown> = { safe: make("safe"), pay: make("pay", own), wipe: make("wipe", own) };
    let out = setup.guard ? guard(tools, setup.guard) : tools;
    if (setup.added) tools["wipe2"] = make("wipe2");
    if (setup.nested) {
      const inner = out;
      const nested = { ...setup, nested: false };
      const execute = async (): Promise<string> => (await step(nested, inner, [{ role: "user", content: "go" }])) && "done";
      out = { delegate: ai.tool({ description: "d", inputSchema: z.object({}), execute } as never) };
    }
    return out;
  };

  const step = async (setup: Setup, tools: Record<string, unknown>, messages: Message[]): Promise<Message[]> => {
    const calls = setup.nested ? [{ tool: "delegate", input: {} }] : setup.calls;
    const options = { model: model(calls), tools, messages, stopWhen: ai.stepCountIs(3) } as never;
    if (!setup.stream) return [...messages, ...((await ai.generateText(options)).response.messages as Message[])];
    const result = ai.streamText(options);
    await result.consumeStream();
    return [...messages, ...((await result.response).messages as Message[])];
  };

  const paused = (setup: Setup, messages: Message[]): Run => ({
    async resume(how: Resume = {}) {
      const sent = structuredClone(messages); // as a client would send it
      const parts = sent.flatMap((m) => (Array.isArray(m.content) ? m.content : []));
      const asked = parts.filter((p) => p.type === "tool-approval-request");
      const answers: Part[] = [];
      for (const request of asked) {
        const call = parts.find((p) => p.type === "tool-call" && p.toolCallId === request.toolCallId);
        if (how.edit && call) Object.assign(call, { toolName: how.edit.tool, input: how.edit.input });
        answers.push({ type: "tool-approval-response", approvalId: request.approvalId ?? "", approved: setup.guard !== undefined || call?.toolName !== "wipe" || how.edit !== undefined });
      }
      try {
        return paused(setup, await step(setup, toolsOf(setup), [...sent, { role: "tool", content: answers }]));
      } catch (e) {
        if (e instanceof Pending) return paused(setup, messages); // not answered yet
        throw e;
      }
    },
  });

  const attempt = async (setup: Setup, rule: string): Promise<boolean> => {
    const own = rule === "needsApproval" ? { needsApproval: true } : rule === "needsApproval by a function" ? { needsApproval: async () => true } : {};
    const tools: Record<string, unknown> = {};
    for (const c of setup.calls) {
      const shape = Object.entries(TOOLS[c.tool as keyof typeof TOOLS]).map(([k, t]) => [k, t === "number" ? z.number() : z.string()] as const);
      tools[c.tool] = ai.tool({ description: c.tool, inputSchema: z.object(Object.fromEntries(shape)), execute: work(setup.log, c.tool), ...own } as never);
    }
    const messages = await step(setup, setup.guard ? guard(tools, setup.guard) : tools, [{ role: "user", content: "go" }]);
    return messages.some((m) => Array.isArray(m.content) && m.content.some((p) => p.type === "tool-approval-request"));
  };

  return {
    name: "ai",
    version: version(pkg),
    rules: ["none", "needsApproval", "needsApproval by a function"],
    attempt,
    async start(setup) {
      return paused(setup, await step(setup, toolsOf(setup), [{ role: "user", content: "go" }]));
    },
  };
}

/** The model of the documents' example. */
export const example = model([{ tool: "pay", input: { to: "Bob", amount: 5 } }]);
