// LangChain.js on LangGraph.js. Its state is the checkpoint.
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import type { ChatResult } from "@langchain/core/outputs";
import { tool } from "@langchain/core/tools";
import { Command, MemorySaver } from "@langchain/langgraph";
import { createAgent, createMiddleware, humanInTheLoopMiddleware } from "langchain";
import { z } from "zod";
import { guard } from "../src/adapters/langchain.js";
import { session, sleep } from "../test/harness.js";
import { TOOLS, version, work, type Driver, type Made, type Resume, type Run, type Setup } from "./common.js";

/** A model that makes the calls first, and says something afterwards. */
class Scripted extends BaseChatModel {
  constructor(readonly calls: readonly Made[]) {
    super({});
  }
  override _llmType(): string {
    return "scripted";
  }
  override bindTools(): this {
    return this;
  }
  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const before = messages.some((m) => m.type === "ai");
    const message = before ? new AIMessage("done") : turn(this.calls);
    return { generations: [{ text: "", message }] };
  }
}

function turn(calls: readonly Made[], id = "turn"): AIMessage {
  return new AIMessage({ id, content: "", tool_calls: calls.map((c, i) => ({ name: c.tool, args: c.input, id: `call-${i}`, type: "tool_call" as const })) });
}

function agentOf(setup: Setup, checkpointer: MemorySaver) {
  const make = (name: keyof typeof TOOLS | "wipe2") => {
    const shape = Object.entries(name === "wipe2" ? TOOLS.wipe : TOOLS[name]).map(([k, t]) => [k, t === "number" ? z.number() : z.string()] as const);
    return tool(work(setup.log, name) as never, { name, description: name, schema: z.object(Object.fromEntries(shape)) });
  };
  const middleware = setup.guard
    ? createMiddleware({ name: "obstat", wrapToolCall: guard(setup.guard) as never })
    : humanInTheLoopMiddleware({ interruptOn: { pay: true, wipe: true } } as never);
  const tools = [make("safe"), make("pay"), make("wipe")];
  // A tool that is added at run time comes from another middleware.
  const late = createMiddleware({
    name: "late",
    wrapToolCall: (request, handler) => handler(request.toolCall.name === "wipe2" ? { ...request, tool: make("wipe2") } : request),
    wrapModelCall: (request, handler) => handler({ ...request, tools: [...request.tools, make("wipe2")] }),
  });
  const inner = createAgent({ model: new Scripted(setup.calls), tools, checkpointer, middleware: (setup.added ? [late, middleware] : [middleware]) as never });
  if (!setup.nested) return inner;
  const delegate = tool(async () => ((await inner.invoke({ messages: "go" } as never, { configurable: { thread_id: session() } } as never)) ? "done" : ""), { name: "delegate", description: "d", schema: z.object({}) });
  return createAgent({ model: new Scripted([{ tool: "delegate", input: {} }]), tools: [delegate], checkpointer });
}

/** Makes the calls of an agent with a middleware of its own. */
async function attempt(setup: Setup, rule: string): Promise<boolean> {
  const tools = setup.calls.map((c) => {
    const shape = Object.entries(TOOLS[c.tool as keyof typeof TOOLS]).map(([k, t]) => [k, t === "number" ? z.number() : z.string()] as const);
    return tool(work(setup.log, c.tool) as never, { name: c.tool, description: c.tool, schema: z.object(Object.fromEntries(shape)) });
  });
  const rejects = createMiddleware({ name: "rejects", wrapToolCall: (request) => new ToolMessage({ content: "no", tool_call_id: request.toolCall.id ?? "", status: "error" }) });
  const middleware: unknown[] = [];
  if (rule === "interruptOn") middleware.push(humanInTheLoopMiddleware({ interruptOn: Object.fromEntries(setup.calls.map((c) => [c.tool, true])) } as never));
  if (rule === "a middleware rejects") middleware.push(rejects);
  if (setup.guard) middleware.push(createMiddleware({ name: "obstat", wrapToolCall: guard(setup.guard) as never }));
  const agent = createAgent({ model: new Scripted(setup.calls), tools, checkpointer: new MemorySaver(), middleware: middleware as never });
  const thread = { configurable: { thread_id: session() } };
  if (setup.stream) for await (const _ of await agent.stream({ messages: "go" } as never, { ...thread, streamMode: "updates" } as never)) await sleep(0);
  else await agent.invoke({ messages: "go" } as never, thread as never);
  const state = (await agent.graph.getState(thread)) as { tasks: readonly { interrupts: readonly unknown[] }[] };
  return state.tasks.some((t) => t.interrupts.length > 0);
}

export function driver(): Driver {
  return {
    name: "langchain",
    version: version("langchain"),
    rules: ["none", "interruptOn", "a middleware rejects"],
    attempt,
    notes: { parallel: "one refusal drops the other calls of the turn" },
    async start(setup) {
      const saver = new MemorySaver();
      const thread = { configurable: { thread_id: session() } };
      const go = async (input: unknown, config: object): Promise<void> => {
        const agent = agentOf(setup, saver);
        if (setup.stream) for await (const _ of await agent.stream(input as never, { ...config, streamMode: "updates" } as never)) await sleep(0);
        else await agent.invoke(input as never, config as never);
      };
      await go({ messages: "go" }, thread);
      const stopped = (await agentOf(setup, saver).graph.getState(thread)) as { config: { configurable: object }; tasks: readonly { interrupts: readonly { value: unknown }[] }[] };
      let resumed = false;
      const run: Run = {
        async resume(how: Resume = {}) {
          // The thread goes on once; who wants it again has to go back to the checkpoint.
          let config: object = resumed ? stopped.config : thread;
          resumed = true;
          if (how.edit && setup.guard) config = await agentOf(setup, saver).graph.updateState(stopped.config as never, { messages: [turn([how.edit])] } as never, "model_request");
          await go(new Command({ resume: setup.guard ? true : decisions(stopped, how) }), config);
          return run;
        },
      };
      return run;
    },
  };
}

/** The answer that the framework's own middleware waits for. */
function decisions(stopped: { tasks: readonly { interrupts: readonly { value: unknown }[] }[] }, how: Resume): object {
  const asked = stopped.tasks.flatMap((t) => t.interrupts).map((i) => i.value as { actionRequests?: { name: string }[] });
  const list = asked.flatMap((v) => v.actionRequests ?? []);
  const one = (name: string): object => {
    if (how.edit) return { type: "edit", editedAction: { name: how.edit.tool, args: how.edit.input } };
    return name === "wipe" ? { type: "reject", message: "no" } : { type: "approve" };
  };
  return { decisions: list.map((a) => one(a.name)) };
}

/** The model of the documents' example. */
export const example = new Scripted([{ tool: "pay", input: { to: "Bob", amount: 5 } }]);
