/**
 * The OpenAI Agents SDK for JavaScript.
 *
 * ```ts
 * const agent = guard(new Agent({ name: "clerk", tools: [pay] }), { session: threadId });
 * ```
 *
 * @module
 */
import { BadCall, ConfigError } from "../errors.js";
import type { Call } from "../types.js";
import { Guard, refusal, type GuardOptions } from "./guard.js";

/** Options of {@link guard}. */
export interface AgentOptions extends GuardOptions {
  /** true: tools that run at the provider, and are decided by nobody here, may stay. */
  readonly hosted?: boolean;
}

/** What is used of an agent. */
interface Agent {
  readonly name: string;
  getAllTools(...args: never[]): Promise<unknown[]>;
  handoffs?: unknown[];
  clone?(...args: never[]): unknown;
}

interface FunctionTool {
  readonly type: string;
  readonly name: string;
  invoke(context: unknown, input: string, details?: Details): Promise<unknown>;
  needsApproval(context: unknown, input: unknown, callId?: string): Promise<boolean>;
}

interface Details {
  readonly toolCall?: { readonly callId?: string };
  readonly signal?: AbortSignal;
}

const agents = new WeakSet<object>();
const tools = new WeakSet<object>();

/** Guards an agent, its handoffs and all tools it ever has, those of MCP servers and those added later among them: each runs
 * only what obstat allows. The agent is changed in place. An ask becomes an interruption of the run; approving that in the run's
 * state lets nothing run by itself: the call is put to the server again. */
export function guard<A extends object>(agent: A, options: AgentOptions = {}): A {
  guardAgent(agent as unknown as Agent, new Guard(options), options.hosted === true);
  return agent;
}

function guardAgent(agent: Agent, by: Guard, hosted: boolean): void {
  if (agents.has(agent)) return;
  agents.add(agent);
  const all = agent.getAllTools.bind(agent);
  agent.getAllTools = async (...args) => {
    for (const next of agent.handoffs ?? []) guardNext(next, by, hosted);
    const list = await all(...args);
    for (const tool of list) guardTool(tool as FunctionTool, by, hosted);
    return list;
  };
  const clone = agent.clone?.bind(agent);
  if (clone) {
    agent.clone = (...args) => {
      const copy = clone(...args);
      guardAgent(copy as Agent, by, hosted);
      return copy;
    };
  }
  for (const next of agent.handoffs ?? []) guardNext(next, by, hosted);
}

/** Guards what a run may be handed to: an agent, or a handoff that leads to one. */
function guardNext(next: unknown, by: Guard, hosted: boolean): void {
  const to = (next as { agent?: unknown }).agent ?? next;
  if (typeof (to as Agent).getAllTools !== "function") throw new ConfigError("a handoff leads to no agent that can be guarded");
  guardAgent(to as Agent, by, hosted);
}

function guardTool(tool: FunctionTool, by: Guard, hosted: boolean): void {
  if (tools.has(tool)) return;
  if (tool.type === "hosted_tool" && hosted) return;
  if (tool.type !== "function") throw new ConfigError(`the tool ${tool.name} (${tool.type}) cannot be guarded: only function tools can`);
  tools.add(tool);
  const invoke = tool.invoke.bind(tool);
  tool.needsApproval = async (_context, input, id) => await by.asks(by.call(tool.name, input, id));
  tool.invoke = async (context, input, details) => {
    try {
      return await by.run(put(by, tool.name, input, details), async (decided) => await invoke(context, JSON.stringify(decided), details), details?.signal);
    } catch (e) {
      const words = refusal(e);
      if (words === undefined) throw e;
      return words; // thrown, it would end the run
    }
  };
}

function put(by: Guard, name: string, input: string, details: Details | undefined): Call {
  let read: unknown;
  try {
    read = JSON.parse(input || "{}");
  } catch {
    throw new BadCall(`the arguments of ${name} are no JSON`);
  }
  return by.call(name, read, details?.toolCall?.callId);
}
