// Runs the TypeScript examples of the documents around a real server: node build/suite/docs.js
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname } from "node:path";
import { promisify } from "node:util";
import ts from "typescript";
import { BINARY, Server } from "../test/harness.js";

const root = new URL("../../../../", import.meta.url);
const out = new URL("../examples/", import.meta.url);

const OPENCODE = `
const hook = (await Guard({ directory: "/" }))["tool.execute.before"];
const call = (tool, args) => hook({ tool, sessionID: "s", callID: tool }, args);
const output = { args: { x: 1 } };
await call("safe", output);
await call("wipe", { args: { path: "/" } }).catch((e) => console.log(JSON.stringify(output.args), \`\${e.name}: \${e.message}\`));
`;

/** The pages, where their models come from, and what each example prints. */
const pages: readonly { page: string; model?: string; head?: string; tail?: string; prints: readonly RegExp[] }[] = [
  { page: "sdk/typescript/README.md", prints: [/^deny /, /^(\d+ |not run: )/, /^allow$/] },
  { page: "docs/frameworks/vercel-ai-sdk.md", model: "ai", prints: [/tool-call.*tool-approval-request/s] },
  { page: "docs/frameworks/langchain.md", model: "langchain", prints: [/'human', 'ai'/] },
  { page: "docs/frameworks/openai-agents.md", model: "openai-agents", prints: [/'pay'/] },
  // As opencode calls it; around the real program it is run by opencode.ts.
  { page: "docs/frameworks/opencode.md", tail: OPENCODE, prints: [/^{"x":1} Denied: deny rule/] },
  // Large, and in make test-sdk alone.
  ...(process.env["FULL"] ? [{ page: "docs/frameworks/claude-agent-sdk.md", head: 'import { example } from "../suite/claude-agent-sdk.js";\nawait example();\n', prints: [/denied: deny rule/] }] : []),
];

const server = await Server.open();
mkdirSync(out, { recursive: true });
try {
  for (const { page, model, head = model ? `import { example as model } from "../suite/${model}.js";\n` : "", tail = "", prints } of pages) {
    const blocks = [...readFileSync(new URL(page, root), "utf8").matchAll(/^```ts\n(.*?)^```$/gms)].map((m) => m[1] ?? "");
    if (blocks.length !== prints.length) throw new Error(`${page} has ${blocks.length} examples, ${prints.length} are known`);
    for (const [i, code] of blocks.entries()) {
      const file = new URL(`${page.replaceAll(/\W/g, "-")}-${i}.js`, out);
      writeFileSync(file, head + ts.transpileModule(code, { compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 } }).outputText + tail);
      const path = dirname(BINARY) + delimiter + (process.env["PATH"] ?? "");
      const env = { ...process.env, PATH: path, OBSTAT_SERVER: server.address };
      const { stdout } = await promisify(execFile)(process.execPath, ["--no-warnings", file.pathname], { env, timeout: 120_000 });
      if (!prints[i]?.test(stdout.trim())) throw new Error(`example ${i + 1} of ${page} printed ${stdout}`);
      console.log(`${page} ${i + 1}: ${stdout.trim().replaceAll(/\s+/g, " ").slice(0, 100)}`);
    }
  }
} finally {
  await server.close();
}
