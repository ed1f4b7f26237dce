// Puts calls to opencode's own tools, for agents of its own, and tells what they ask and what its rules answer. A tool
// is stopped at the ask of its own permission, so that none but searches run.
import { test } from "bun:test"
import { Effect } from "effect"
import { AppRuntime } from "@/effect/app-runtime"
import { InstanceStore } from "@/project/instance-store"
import { ToolRegistry } from "@/tool/registry"
import { Agent } from "@/agent/agent"
import { Permission } from "@/permission"
import { MessageID, SessionID } from "@/session/schema"

const obstat = (globalThis as any).obstat
const GOES_ON = ["external_directory", "glob", "grep"] // searches ask about directories last
const STRICT = ["deny", "ask", "allow"]

test("calls", async () => {
  for (let batch = obstat("next", {}); batch; batch = obstat("next", {})) {
    const answers = await AppRuntime.runPromise(
      InstanceStore.Service.use((store) => store.provide({ directory: batch.directory }, answer(batch.calls))) as any,
    )
    obstat("answers", { answers })
  }
}, 600000)

const answer = (calls: any[]) =>
  Effect.gen(function* () {
    const tools = yield* (yield* ToolRegistry.Service).all()
    const agents = yield* Agent.Service
    const out: any[] = []
    for (const call of calls) {
      const tool = tools.find((t) => t.id === call.tool)
      const agent = yield* agents.get(call.agent)
      if (!tool) throw new Error("no tool " + call.tool)
      const asks: any[] = []
      const ctx: any = {
        sessionID: SessionID.make("ses_test"),
        messageID: MessageID.make("msg_test"),
        callID: "",
        agent: call.agent,
        abort: AbortSignal.any([]),
        messages: [],
        extra: {},
        metadata: () => Effect.void,
        ask: (req: any) => {
          asks.push({ permission: req.permission, patterns: req.patterns, always: req.always })
          return GOES_ON.includes(req.permission) ? Effect.void : Effect.die(new Error("stopped"))
        },
      }
      yield* Effect.exit(tool.execute(call.input, ctx) as any)
      let verdict = "allow"
      for (const a of asks)
        for (const p of a.patterns) {
          const said = Permission.evaluate(a.permission, p, agent.permission).action
          if (STRICT.indexOf(said) < STRICT.indexOf(verdict)) verdict = said
        }
      out.push({ verdict, asks })
    }
    return out
  })
