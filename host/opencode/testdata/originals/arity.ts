// opencode's BashArity by obstat.
const obstat = (globalThis as any).obstat
export function prefix(tokens: string[]): string[] {
  return obstat("prefix", { tokens })
}
export * as BashArity from "./arity"
