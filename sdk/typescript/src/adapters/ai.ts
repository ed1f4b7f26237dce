/**
 * The Vercel AI SDK, 6 and 7.
 *
 * ```ts
 * const result = await generateText({ model, prompt, tools: guard(tools, { session: chatId }) });
 * ```
 *
 * @module
 */
import { ConfigError, ObstatError, Pending } from "../errors.js";
import { forModel, Guard, type GuardOptions } from "./guard.js";

export type { GuardOptions } from "./guard.js";

/** What is used of a tool of the AI SDK. */
interface Tool {
  execute?: (input: never, options: never) => unknown;
  needsApproval?: unknown;
  type?: string;
}

interface Execution {
  readonly toolCallId: string;
  readonly abortSignal?: AbortSignal;
  readonly messages?: readonly { readonly content: unknown }[];
}

/** What is used of a message's parts. */
interface Part {
  readonly type?: unknown;
  readonly approvalId?: unknown;
  readonly approved?: unknown;
  readonly toolCallId?: unknown;
}

/** The tools that guarded ones were made of: each conversation guards its own. */
const originals = new WeakMap<object, object>();

/** Options of {@link guard}. */
export interface ToolsOptions extends GuardOptions {
  /** true: tools that run at the provider, and are decided by nobody here, may stay. */
  readonly hosted?: boolean;
}

/** Returns the tools, each of which runs only what obstat allows, by the name that the model calls it by. Tools that are added
 * later, to what was given or to what is returned, are guarded as well; those that run at the provider are refused. An ask pauses
 * as `needsApproval` does; what the client then answers lets nothing run by itself: the call is put to the server again. A tool's
 * own `needsApproval` asks as before. Messages that are sent with an answer before the person has given one reject with `Pending`,
 * before anything of them runs: send them again later. */
export function guard<T extends object>(tools: T, options: ToolsOptions = {}): T {
  const by = new Guard(options);
  const known = new WeakMap<object, Map<string, object>>();
  const wrapped = (name: string | symbol, given: unknown): unknown => {
    if (typeof name === "symbol" || typeof given !== "object" || given === null) return given;
    if (options.hosted !== true) check(name, given as Tool);
    const tool = originals.get(given) ?? given;
    let named = known.get(tool);
    if (!named) known.set(tool, (named = new Map()));
    const before = named.get(name);
    if (before) return before;
    const out = wrap(by, name, tool as Tool);
    named.set(name, out);
    return out;
  };
  for (const [name, tool] of Object.entries(tools)) wrapped(name, tool);
  return new Proxy(tools, {
    get: (target, name) => wrapped(name, Reflect.get(target, name)),
    getOwnPropertyDescriptor: (target, name) => {
      const found = Reflect.getOwnPropertyDescriptor(target, name);
      return found && { value: wrapped(name, Reflect.get(target, name)), writable: true, enumerable: found.enumerable ?? true, configurable: true };
    },
  });
}

function wrap(by: Guard, name: string, tool: Tool): Tool {
  const execute = tool.execute?.bind(tool) as ((input: unknown, options: Execution) => unknown) | undefined;
  const out: Tool & object = Object.create(Object.getPrototypeOf(tool) as object, Object.getOwnPropertyDescriptors(tool)) as Tool;
  const put = (input: unknown, options: Execution): Parameters<Guard["run"]>[0] => by.call(name, input, options.toolCallId);
  if (execute) {
    const own = tool.needsApproval;
    const needsApproval = async (input: unknown, options: Execution): Promise<boolean> => {
      const asked: unknown = typeof own === "function" ? await (own as (...args: unknown[]) => unknown)(input, options) : own;
      const ask = await by.asked(put(input, options));
      if (ask?.state === "pending" && resumed(options)) throw new Pending(`a person has not answered yet: ${ask.reason}`, ask);
      return Boolean(asked) || ask !== undefined;
    };
    const run = async (input: unknown, options: Execution): Promise<unknown> => {
      try {
        const call = put(input, options);
        return await by.run(call, async (decided) => await by.shown({ ...call, input: decided }, await last(execute(decided, options))), options.abortSignal);
      } catch (e) {
        throw e instanceof ObstatError ? new (e.constructor as typeof ObstatError)(forModel(e), e.decision) : e; // the SDK shows it to the model
      }
    };
    Object.defineProperty(out, "execute", { value: run, enumerable: true, configurable: true, writable: true });
    Object.defineProperty(out, "needsApproval", { value: needsApproval, enumerable: true, configurable: true, writable: true });
  }
  originals.set(out, tool);
  return out;
}

/** Whether the messages hold an answer that lets the call run: the SDK would go on, and tell the model that it has not. */
function resumed({ messages = [], toolCallId }: Execution): boolean {
  const parts = messages.flatMap(({ content }) => (Array.isArray(content) ? (content as Part[]) : []));
  const requests = parts.filter((p) => p.type === "tool-approval-request" && p.toolCallId === toolCallId).map((p) => p.approvalId);
  return parts.some((p) => p.type === "tool-approval-response" && p.approved === true && requests.includes(p.approvalId));
}

/** Throws where a tool's calls cannot be decided: the provider runs them. */
function check(name: string, tool: Tool): void {
  if (!tool.execute && (tool.type === "provider" || tool.type === "provider-defined")) {
    throw new ConfigError(`the tool ${name} runs at the provider and cannot be guarded (hosted: true lets it)`);
  }
}

/** The result of a tool; of one that yields preliminary results, the last. */
async function last(result: unknown): Promise<unknown> {
  const out = await result;
  if (typeof out !== "object" || out === null || !(Symbol.asyncIterator in out)) return out;
  let value: unknown;
  for await (value of out as AsyncIterable<unknown>);
  return value;
}
