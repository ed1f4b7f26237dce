// opencode's permission module by obstat's engine and package host/opencode: the same names, types, errors and events.
import { LayerNode } from "@opencode-ai/core/effect/layer-node"
import { InstanceState } from "@/effect/instance-state"
import { Effect, Layer, Context } from "effect"
import os from "os"
import { PermissionV1 } from "@opencode-ai/core/v1/permission"
import { EventV2Bridge } from "@/event-v2-bridge"

const obstat = (globalThis as any).obstat

export const Event = PermissionV1.Event

export interface Interface {
  readonly ask: (input: PermissionV1.AskInput) => Effect.Effect<void, PermissionV1.Error>
  readonly reply: (input: PermissionV1.ReplyInput) => Effect.Effect<void, PermissionV1.NotFoundError>
  readonly list: () => Effect.Effect<ReadonlyArray<PermissionV1.Request>>
}

export function evaluate(permission: string, pattern: string, ...rulesets: PermissionV1.Ruleset[]): PermissionV1.Rule {
  return obstat("evaluate", { permission, pattern, rules: merge(...rulesets) })
}

export class Service extends Context.Service<Service, Interface>()("@opencode/Permission") {}

const layer = Layer.effect(
  Service,
  Effect.gen(function* () {
    const events = yield* EventV2Bridge.Service
    const state = yield* InstanceState.make<{ instance: number }>(
      Effect.fn("Permission.state")(function* (ctx) {
        const instance: number = obstat("open", { directory: (ctx as any).directory })
        yield* Effect.addFinalizer(() => Effect.sync(() => obstat("close", { instance })))
        return { instance }
      }),
    )
    const tell = (told: { type: string; data: any }[]) =>
      Effect.forEach(told, (e) => events.publish(e.type === "permission.asked" ? Event.Asked : Event.Replied, e.data))

    const ask = Effect.fn("Permission.ask")(function* (input: PermissionV1.AskInput) {
      const { instance } = yield* InstanceState.get(state)
      const id = input.id ?? PermissionV1.ID.ascending()
      const put = obstat("put", { instance, ...input, id })
      yield* tell(put.events)
      let said = put.said
      yield* Effect.gen(function* () {
        while (said === "wait") {
          yield* Effect.sleep("5 millis")
          said = obstat("result", { id }).said
        }
      }).pipe(Effect.onInterrupt(() => Effect.sync(() => obstat("cancel", { id }))))
      if (said === "denied") return yield* new PermissionV1.DeniedError({ ruleset: input.ruleset })
      if (said === "rejected") return yield* new PermissionV1.RejectedError()
      if (said.startsWith("corrected:"))
        return yield* new PermissionV1.CorrectedError({ feedback: said.slice("corrected:".length) })
    })

    const reply = Effect.fn("Permission.reply")(function* (input: PermissionV1.ReplyInput) {
      const { instance } = yield* InstanceState.get(state)
      const got = obstat("reply", { instance, id: input.requestID, reply: input.reply, message: input.message ?? "" })
      if (got.unknown) return yield* new PermissionV1.NotFoundError({ requestID: input.requestID })
      yield* tell(got.events)
    })

    const list = Effect.fn("Permission.list")(function* () {
      return obstat("list", yield* InstanceState.get(state))
    })

    return Service.of({ ask, reply, list } as any)
  }),
)

export function fromConfig(permission: unknown): PermissionV1.Rule[] {
  return obstat("fromConfig", { permission, home: os.homedir() })
}

export function merge(...rulesets: PermissionV1.Ruleset[]): PermissionV1.Rule[] {
  return rulesets.flat()
}

export function disabled(tools: string[], ruleset: PermissionV1.Ruleset): Set<string> {
  return new Set(obstat("disabled", { tools, rules: ruleset }))
}

export function visibleTools<T>(tools: Record<string, T>, ruleset: PermissionV1.Ruleset): Record<string, T> {
  const hidden = disabled(Object.keys(tools), ruleset)
  return Object.fromEntries(Object.entries(tools).filter(([name]) => !hidden.has(name)))
}

export const node = LayerNode.make({ service: Service, layer: layer, deps: [EventV2Bridge.node] })

export * as Permission from "."
