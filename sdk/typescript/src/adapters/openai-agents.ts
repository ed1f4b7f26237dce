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
  readonly tools?: unknown[];
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

/** What is used of a run's context. */
interface Context {
  isToolApproved(about: { readonly callId: string }): boolean | undefined;
}

interface Details {
  readonly toolCall?: { readonly callId?: string };
  readonly signal?: AbortSignal;
}

const agents = new WeakMap<object, Guard>();
/** The tools that guarded ones were made of. */
const originals = new WeakMap<object, FunctionTool>();

/** Guards an agent, its handoffs and all tools it ever has, those of MCP servers and those added later among them: each runs
 * only what obstat allows. The agent is changed in place, its tools are not: they may be shared by agents of other conversations.
 * An agent belongs to one: guarding it for another is refused. An ask becomes an interruption of the run; approving that in the
 * run's state lets nothing run by itself: the call is put to the server again, and before the person has answered the run is
 * interrupted again. A tool's own `needsApproval` asks as before. */
export function guard<A extends object>(agent: A, options: AgentOptions = {}): A {
  guardAgent(agent as unknown as Agent, new Guard(options), options.hosted === true);
  return agent;
}

function guardAgent(agent: Agent, by: Guard, hosted: boolean): void {
  const before = agents.get(agent);
  if (before) {
    if (before === by || before.same(by)) return;
    throw new ConfigError(`the agent ${agent.name} is guarded for another conversation already; make one for each`);
  }
  for (const tool of agent.tools ?? []) check(tool as FunctionTool, hosted);
  agents.set(agent, by);
  const known = new WeakMap<object, FunctionTool>();
  const all = agent.getAllTools.bind(agent);
  agent.getAllTools = async (...args) => {
    for (const next of agent.handoffs ?? []) guardNext(next, by, hosted);
    return (await all(...args)).map((tool) => guarded(tool as FunctionTool, by, hosted, known));
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

/** Throws where a tool's calls cannot be decided. */
function check(tool: FunctionTool, hosted: boolean): void {
  if (tool.type === "function" || (tool.type === "hosted_tool" && hosted)) return;
  throw new ConfigError(`the tool ${tool.name} (${tool.type}) cannot be guarded: only function tools can`);
}

/** The calls of a run that it pauses for because of obstat alone. */
const paused = new WeakMap<Context, Set<string>>();

/** Makes the run ask the tool again, where the state says that a call is approved: resumed before the person has answered, it
 * would go on, and tell the model that the call has not run. */
function lookAgain(context: Context, id: string | undefined): void {
  if (id === undefined || typeof context?.isToolApproved !== "function") return;
  let calls = paused.get(context);
  if (!calls) {
    const own = (calls = new Set());
    const told = context.isToolApproved.bind(context);
    paused.set(context, calls);
    context.isToolApproved = (about) => {
      const out = told(about);
      return out === true && own.has(about.callId) ? undefined : out;
    };
  }
  calls.add(id);
}

/** Returns a tool that is decided before it runs, for one conversation. */
function guarded(given: FunctionTool, by: Guard, hosted: boolean, known: WeakMap<object, FunctionTool>): FunctionTool {
  check(given, hosted);
  if (given.type !== "function") return given;
  const tool = originals.get(given) ?? given;
  const before = known.get(tool);
  if (before) return before;
  const name = tool.name;
  const needsApproval: FunctionTool["needsApproval"] = async (context, input, id) => {
    if (await tool.needsApproval(context, input, id)) return true;
    const ask = await by.asked(by.call(name, input, id));
    if (ask) lookAgain(context as Context, id);
    return ask?.state === "pending";
  };
  const invoke: FunctionTool["invoke"] = async (context, input, details) => {
    try {
      const call = put(by, name, input, details);
      const run = async (decided: object): Promise<unknown> => await by.shown({ ...call, input: decided }, await tool.invoke(context, JSON.stringify(decided), details));
      return await by.run(call, run, details?.signal);
    } catch (e) {
      const words = refusal(e);
      if (words === undefined) throw e;
      return words; // thrown, it would end the run
    }
  };
  const out = Object.create(Object.getPrototypeOf(tool) as object, Object.getOwnPropertyDescriptors(tool)) as FunctionTool;
  for (const [key, value] of Object.entries({ needsApproval, invoke })) Object.defineProperty(out, key, { value, enumerable: true, configurable: true, writable: true });
  known.set(tool, out);
  originals.set(out, tool);
  return out;
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
