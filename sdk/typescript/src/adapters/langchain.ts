/**
 * LangChain.js and LangGraph.js, as a middleware.
 *
 * ```ts
 * const agent = createAgent({ model, tools, checkpointer, middleware: [createMiddleware({ name: "obstat", wrapToolCall: guard() })] });
 * ```
 *
 * @module
 */
import type { Call, Decision } from "../types.js";
import { Guard, refusal, words, type GuardOptions } from "./guard.js";

export type { GuardOptions } from "./guard.js";

/** What is used of a request. */
interface Request {
  readonly toolCall: { readonly name: string; readonly args?: unknown; readonly id?: string };
  readonly runtime?: unknown;
}

/** Returns a `wrapToolCall` for `createMiddleware`. Put the middleware last, so that no other changes the call after it was
 * decided. An ask interrupts the graph (it needs a checkpointer) with `{ obstat: { id, reason } }`; what it is resumed with is
 * no verdict: the call is put to the server again, and interrupts again while nobody has answered there. */
export function guard(options: GuardOptions = {}) {
  const by = new Guard(options);
  return async function wrapToolCall<R extends object, M>(request: R, handler: (request: R) => Promise<M> | M): Promise<M> {
    const { toolCall, runtime } = request as unknown as Request;
    const call = by.call(toolCall.name, toolCall.args ?? {}, toolCall.id, { session: threadOf(runtime) });
    const { ToolMessage } = await core();
    const denied = (text: string): M => new ToolMessage({ content: text, name: toolCall.name, tool_call_id: toolCall.id ?? "", status: "error" }) as M;
    try {
      await settled(by, call);
      return await by.run(call, async (args) => {
        const out = await handler({ ...request, toolCall: { ...toolCall, args } });
        for (const m of messages(out)) m.content = await by.shown({ ...call, input: args }, m.content, m.status === "error");
        return out;
      });
    } catch (e) {
      if (e instanceof Refused) return denied(words(e.decision));
      const text = refusal(e);
      if (text === undefined) throw e; // the tool's own, or an interrupt
      return denied(text);
    }
  };
}

/** What is used of a tool's message. */
interface Message {
  content: unknown;
  readonly status?: string;
  readonly tool_call_id: unknown;
}

/** The messages for the model: the one that a tool's output became, or those of a `Command`. */
function messages(out: unknown): Message[] {
  const update = (out as { update?: { messages?: unknown } } | undefined)?.update?.messages;
  return (Array.isArray(update) ? update : [out]).filter((m): m is Message => typeof m === "object" && m !== null && "tool_call_id" in m && "content" in m);
}

/** Thrown where a person said no to the interrupt itself. */
class Refused extends Error {
  readonly decision: Decision;
  constructor(decision: Decision) {
    super(decision.reason);
    this.decision = decision;
  }
}

/** Interrupts the graph until a person has answered, where asks pause. */
async function settled(by: Guard, call: Call): Promise<void> {
  if (by.ask !== "pause") return;
  for (;;) {
    const d = await by.client.authorize(call, { claim: false });
    if (d.effect !== "ask" || d.state === "approved") return;
    const { interrupt } = await graph();
    const said: unknown = interrupt({ obstat: { id: d.id, reason: d.reason } }); // throws until the graph is resumed
    if (said === false || said === "reject") throw new Refused({ ...d, effect: "deny", reason: "the run was resumed with a no" });
  }
}

function threadOf(runtime: unknown): string | undefined {
  const r = runtime as { configurable?: { thread_id?: unknown }; config?: { configurable?: { thread_id?: unknown } } } | undefined;
  const id = r?.configurable?.thread_id ?? r?.config?.configurable?.thread_id;
  return typeof id === "string" ? id : undefined;
}

interface Core {
  readonly ToolMessage: new (fields: object) => unknown;
}
interface Graph {
  readonly interrupt: (value: unknown) => unknown;
}

// The names are not written as literals, so that this package needs no types of LangChain's.
async function core(): Promise<Core> {
  return (await import("@langchain/core/messages" as string)) as Core;
}
async function graph(): Promise<Graph> {
  return (await import("@langchain/langgraph" as string)) as Graph;
}
