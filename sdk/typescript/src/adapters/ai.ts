/**
 * The Vercel AI SDK, 6 and 7.
 *
 * ```ts
 * const result = await generateText({ model, prompt, tools: guard(tools, { session: chatId }) });
 * ```
 *
 * @module
 */
import { Guard, type GuardOptions } from "./guard.js";

export type { GuardOptions } from "./guard.js";

/** What is used of a tool of the AI SDK. */
interface Tool {
  execute?: (input: never, options: never) => unknown;
  needsApproval?: unknown;
}

interface Execution {
  readonly toolCallId: string;
  readonly abortSignal?: AbortSignal;
}

const guarded = new WeakSet<object>();

/** Returns the tools, each of which runs only what obstat allows. Tools that are added later, to what was given or to what is
 * returned, are guarded as well. An ask pauses as `needsApproval` does; what the client then answers lets nothing run by
 * itself: the call is put to the server again. */
export function guard<T extends object>(tools: T, options: GuardOptions = {}): T {
  const by = new Guard(options);
  const known = new WeakMap<object, object>();
  const wrapped = (name: string | symbol, tool: unknown): unknown => {
    if (typeof name === "symbol" || typeof tool !== "object" || tool === null || guarded.has(tool)) return tool;
    const before = known.get(tool);
    if (before) return before;
    const out = wrap(by, name, tool as Tool);
    known.set(tool, out);
    return out;
  };
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
    const needsApproval = async (input: unknown, options: Execution): Promise<boolean> => await by.asks(put(input, options));
    const run = async (input: unknown, options: Execution): Promise<unknown> =>
      await by.run(put(input, options), async (decided) => await last(execute(decided, options)), options.abortSignal);
    Object.defineProperty(out, "execute", { value: run, enumerable: true, configurable: true, writable: true });
    Object.defineProperty(out, "needsApproval", { value: needsApproval, enumerable: true, configurable: true, writable: true });
  }
  guarded.add(out);
  return out;
}

/** The result of a tool; of one that yields preliminary results, the last. */
async function last(result: unknown): Promise<unknown> {
  const out = await result;
  if (typeof out !== "object" || out === null || !(Symbol.asyncIterator in out)) return out;
  let value: unknown;
  for await (value of out as AsyncIterable<unknown>);
  return value;
}
