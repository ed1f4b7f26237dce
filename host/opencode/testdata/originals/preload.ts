// Loads permission.ts and arity.ts of this directory in place of opencode's own, under the same names, so
// that what they import is opencode's.
import "./rpc"
import { plugin } from "bun"
import { readFileSync } from "fs"

const here = import.meta.dir
plugin({
  name: "obstat",
  setup(build) {
    for (const [filter, name] of [
      [/packages\/opencode\/src\/permission\/index\.ts$/, "permission.ts"],
      [/packages\/opencode\/src\/permission\/arity\.ts$/, "arity.ts"],
    ] as const)
      build.onLoad({ filter }, () => ({ contents: readFileSync(`${here}/${name}`, "utf8"), loader: "ts" }))
    // PermissionV2 keeps its queue and its saved approvals; rules are evaluated by obstat.
    build.onLoad({ filter: /packages\/core\/src\/permission\.ts$/ }, ({ path }) => {
      const own = readFileSync(path, "utf8")
      const contents = own.replace(/export function evaluate\([\s\S]*?\n}\n/, readFileSync(`${here}/evaluate.ts`, "utf8"))
      if (contents === own) throw new Error("PermissionV2 has no evaluate")
      return { contents, loader: "ts" }
    })
  },
})
