/**
 * The Vercel AI SDK, 6 and 7.
 *
 * ```ts
 * const result = await generateText({ model, prompt, tools: guard(tools, { session: chatId }) });
 * ```
 *
 * @module
 */
import { ConfigError } from "../errors.js";
import { Guard, type GuardOptions } from "./guard.js";

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
 * own `needsApproval` asks as before. */
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
      return Boolean(asked) || (await by.asks(put(input, options)));
    };
    const run = async (input: unknown, options: Execution): Promise<unknown> =>
      await by.run(put(input, options), async (decided) => await last(execute(decided, options)), options.abortSignal);
    Object.defineProperty(out, "execute", { value: run, enumerable: true, configurable: true, writable: true });
    Object.defineProperty(out, "needsApproval", { value: needsApproval, enumerable: true, configurable: true, writable: true });
  }
  originals.set(out, tool);
  return out;
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
