export function evaluate(action: string, resource: string, ...rulesets: Permission.Ruleset[]): Permission.Rule {
  const rules = rulesets.flat().map((r) => ({ permission: r.action, pattern: r.resource, action: r.effect }))
  const said = (globalThis as any).obstat("evaluate", { permission: action, pattern: resource, rules })
  return { action: said.permission, resource: said.pattern, effect: said.action }
}
