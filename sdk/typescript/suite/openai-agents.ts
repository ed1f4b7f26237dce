// The OpenAI Agents SDK. Its state is the run's, as a string, which holds the approvals.
import { Agent, Runner, RunState, tool, type Tool } from "@openai/agents";
import { assistantMessage, functionCall, modelResponder, ScriptedModel } from "@openai/agents/testing";
import { z } from "zod";
import { guard } from "../src/adapters/openai-agents.js";
import { TOOLS, version, work, type Driver, type Made, type Run, type Setup } from "./common.js";

/** A model that makes the calls first, and says something afterwards. */
function model(calls: readonly Made[]): ScriptedModel {
  const step = modelResponder(({ request }) => {
    const before = Array.isArray(request.input) && request.input.some((i) => i.type === "function_call");
    return before ? [assistantMessage("done")] : calls.map((c, i) => functionCall(c.tool, c.input, { callId: `call-${i}` }));
  });
  return new ScriptedModel(Array.from({ length: 8 }, () => step));
}

function agentOf(setup: Setup): Agent {
  const make = (name: keyof typeof TOOLS | "wipe2", needsApproval: boolean): Tool => {
    const shape = Object.entries(name === "wipe2" ? TOOLS.wipe : TOOLS[name]).map(([k, t]) => [k, t === "number" ? z.number() : z.string()] as const);
    return tool({ name, description: name, parameters: z.object(Object.fromEntries(shape)), needsApproval, execute: work(setup.log, name) as never });
  };
  const own = setup.guard === undefined;
  const agent = new Agent({ name: "clerk", model: model(setup.calls), tools: [make("safe", false), make("pay", own), make("wipe", own)] });
  if (setup.guard) guard(agent, setup.guard);
  if (setup.added) agent.tools.push(make("wipe2", false));
  if (!setup.nested) return agent;
  return new Agent({ name: "boss", model: model([{ tool: "delegate", input: { input: "go" } }]), tools: [agent.asTool({ toolName: "delegate", toolDescription: "d" })] });
}

/** Puts another call in place of every call of pay, as whoever holds the state can. */
function edited(saved: string, to: Made): string {
  return JSON.stringify(JSON.parse(saved), (_key, value: unknown) => {
    const v = value as { type?: string; name?: string };
    return typeof value === "object" && value !== null && v.type === "function_call" && v.name === "pay" ? { ...v, name: to.tool, arguments: JSON.stringify(to.input) } : value;
  });
}

async function go(setup: Setup, agent: Agent, input: string | RunState<unknown, Agent>): Promise<Run> {
  const runner = new Runner({ tracingDisabled: true });
  let state: { toString(): string };
  if (setup.stream) {
    const result = await runner.run(agent, input as string, { stream: true });
    await result.completed;
    state = result.state;
  } else {
    state = (await runner.run(agent, input as string)).state;
  }
  const saved = state.toString();
  return {
    async resume(how = {}) {
      const again = agentOf(setup);
      const next = await RunState.fromString(again, how.edit ? edited(saved, how.edit) : saved);
      for (const item of next.getInterruptions()) {
        if (setup.guard === undefined && !how.edit && item.name === "wipe") next.reject(item);
        else next.approve(item);
      }
      return await go(setup, again, next as RunState<unknown, Agent>);
    },
  };
}

/** Makes the calls of tools with approvals or a guardrail of their own. */
async function attempt(setup: Setup, rule: string): Promise<boolean> {
  const needsApproval = rule === "needsApproval" ? true : rule === "needsApproval by a function" ? async () => true : false;
  const rejects = { name: "no", type: "tool_input", run: async () => ({ behavior: { type: "rejectContent", message: "no" } }) };
  const tools = setup.calls.map((c) => {
    const shape = Object.entries(TOOLS[c.tool as keyof typeof TOOLS]).map(([k, t]) => [k, t === "number" ? z.number() : z.string()] as const);
    const more = rule === "a guardrail rejects" ? { inputGuardrails: [rejects] } : {};
    return tool({ name: c.tool, description: c.tool, parameters: z.object(Object.fromEntries(shape)), needsApproval, execute: work(setup.log, c.tool) as never, ...more } as never) as Tool;
  });
  const agent = new Agent({ name: "clerk", model: model(setup.calls), tools });
  if (setup.guard) guard(agent, setup.guard);
  const runner = new Runner({ tracingDisabled: true });
  if (!setup.stream) return (await runner.run(agent, "go")).interruptions.length > 0;
  const result = await runner.run(agent, "go", { stream: true });
  await result.completed;
  return result.interruptions.length > 0;
}

export function driver(): Driver {
  return {
    name: "openai-agents",
    version: version("@openai/agents"),
    rules: ["none", "needsApproval", "needsApproval by a function", "a guardrail rejects"],
    attempt,
    start: (setup) => go(setup, agentOf(setup), "go"),
  };
}

/** The model of the documents' example. */
export const example = model([{ tool: "pay", input: { to: "Bob", amount: 5 } }]);
