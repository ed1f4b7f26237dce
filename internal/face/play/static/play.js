"use strict";
// The page: texts go to the engine's thread, answers are shown. Everything from outside is shown as text, never as markup.

const $ = (id) => document.getElementById(id);
const patience = { call: 10_000, diff: 60_000 }; // milliseconds until the engine is ended
const largest = 6 << 20; // bytes of a link's state, unpacked
const where = { dir: "/home/user/project", roots: ["/home/user/project"] };
let mode = "call", shown; // the example that is shown

// ---- the engine

const engine = { worker: null, module: null, ready: null, asked: 0, waiting: new Map() };

function startEngine() {
  const worker = new Worker("worker.js");
  engine.worker = worker;
  engine.ready = new Promise((yes, no) => {
    worker.onmessage = ({ data }) => {
      if (data.ready) { engine.module = data.module; yes(); return; }
      const put = engine.waiting.get(data.id);
      engine.waiting.delete(data.id);
      if (data.failed === undefined) put?.(JSON.parse(data.reply));
      else if (put) { put({ errors: [{ msg: "the engine failed: " + data.failed }] }); restart(); }
      else no(new Error(data.failed));
    };
    worker.onerror = (e) => no(new Error(e.message));
  });
  engine.ready.catch((e) => showErrors([{ msg: "the engine cannot be started: " + e.message }]));
  worker.postMessage({ module: engine.module ?? undefined });
}

// restart ends the thread, with everything that it was asked.
function restart() {
  engine.worker.terminate();
  for (const put of engine.waiting.values()) put({ errors: [{ msg: "the engine was started anew" }] });
  engine.waiting.clear();
  startEngine();
}

// ask puts a question; after ms milliseconds the engine is ended.
async function ask(question, ms = patience.call) {
  await engine.ready;
  const id = ++engine.asked;
  return new Promise((put) => {
    const late = setTimeout(() => {
      engine.waiting.delete(id);
      put({ late: true, errors: [{ msg: `no answer within ${ms / 1000} seconds: the engine was ended`, hint: "the policy is large, or a pattern takes very long" }] });
      restart();
    }, ms);
    engine.waiting.set(id, (reply) => { clearTimeout(late); put(reply); });
    engine.worker.postMessage({ id, ask: JSON.stringify(question) });
  });
}

// ---- questions

const policyOf = (text, dialect) => ({ ...(dialect && { dialect }), files: [{ text }] });

// callOf reads a call: JSON with a tool, or the text of a command.
function callOf(text) {
  if (!/^\s*\{/.test(text)) return { tool: "", input: { command: text }, ...where };
  return { ...where, ...JSON.parse(text) };
}

function question() {
  const policy = policyOf($("policy").value, $("dialect").value);
  if (mode === "diff") return { policy, now: policyOf($("now").value, $("now-dialect").value || $("dialect").value), limit: 0 };
  return { policy, call: callOf($("call").value), tools: DIALECTS };
}

let turn = 0, timer;

function changed(wait = 180) {
  clearTimeout(timer);
  timer = setTimeout(run, wait);
}

async function run() {
  const mine = ++turn;
  $("answer").classList.add("busy");
  let q;
  try {
    q = question();
  } catch (e) {
    showErrors([{ msg: "the call is no JSON: " + e.message }]);
    return;
  }
  if (mode === "diff") { // the first tenth of the calls at once, all of them after it
    const quick = await ask({ ...q, limit: 2000 }, patience.diff);
    if (mine !== turn) return;
    show(quick, !quick.errors && quick.diff.cut);
    if (quick.errors || !quick.diff.cut) return;
  }
  const reply = await ask(q, patience[mode]);
  if (mine === turn) show(reply);
}

// ---- showing

// el makes an element of texts and other elements.
function el(name, cls, ...parts) {
  const e = document.createElement(name);
  if (cls) e.className = cls;
  for (const p of parts.flat()) if (p != null && p !== "") e.append(p);
  return e;
}

const verdict = (v) => el("span", "verdict " + (["allow", "ask", "deny"].includes(v) ? v : ""), v.toUpperCase());
const placed = (pos) => pos?.line ? el("span", "place", `line ${pos.line}`) : null;

function show(reply, more) {
  $("answer").classList.remove("busy");
  $("told").textContent = reply.dialect && !$("dialect").value ? "read as " + reply.dialect : "";
  mark("policy", "under", null);
  mark("now", "under-now", null);
  if (reply.errors) return showErrors(reply.errors, reply.side === "now" ? "now" : "policy");
  const warnings = (reply.warnings ?? []).map((w) => problem(w, true));
  if (reply.diff) $("answer").replaceChildren(...warnings, ...comparison(reply.diff, more));
  else $("answer").replaceChildren(...explanation(reply.view), ...warnings);
}

function problem(e, warns) {
  return el("div", warns ? "error warning" : "error", e.msg, placed(e.pos), e.hint && el("small", "", e.hint));
}

function showErrors(list, id = "policy") {
  $("answer").classList.remove("busy");
  $("answer").replaceChildren(...list.slice(0, 20).map((e) => problem(e)));
  if (list[0]?.pos?.line) mark(id, id === "now" ? "under-now" : "under", list[0].pos, "deny");
}

// cut splits a text at byte offsets, which is how the engine counts.
function cut(text, from, to) {
  const bytes = new TextEncoder().encode(text), part = (a, b) => new TextDecoder().decode(bytes.subarray(a, b));
  return [part(0, from), part(from, to), part(to)];
}

function marked(text, at) {
  if (!at || at.end <= at.start) return [text];
  const [a, b, c] = cut(text, at.start, at.end);
  return [a, el("mark", "", b), c];
}

function explanation(v) {
  mark("policy", "under", v.by?.pos, v.verdict);
  const rows = [];
  const row = (name, ...parts) => rows.push(el("dt", "", name), el("dd", "", ...parts));
  row("by", el("span", "by", v.by.text), placed(v.by.pos));
  row("why", v.why);
  if (v.would?.length) {
    row("would", el("ul", "", v.would.slice(0, 40).map((e) => el("li", "", e.words)),
      v.would.length > 40 ? el("li", "wait", `and ${v.would.length - 40} more`) : null));
  }
  if (v.hidden?.length) row("hidden", el("ul", "", v.hidden.slice(0, 10).map((h) => el("li", "", h.why))));
  if (v.changes?.length) row("to change it", el("ul", "", v.changes.map(change)));
  const walk = (v.walk ?? []).slice(0, 20).map((w) => el("li", "", el("code", "", w.of), ` ${w.verdict}`,
    el("ul", "", w.steps.map((s) => el("li", "", `${s.stage}: ${s.state}`, s.rule && [" by ", el("code", "", s.rule.text)], s.note && ` (${s.note})`)))));
  return [
    el("div", "head", verdict(v.verdict), v.safety ? el("span", "place", "for safety: no allow rule lifts it") : null),
    el("pre", "shown", marked(v.text, v.mark)),
    el("dl", "", rows),
    walk.length ? el("details", "", el("summary", "", "The way through the policy"),
      el("ul", "", walk)) : "",
  ];
}

const change = (c) => el("li", "", c.words, el("span", "place", "→ " + c.verdict));

function callText(call) {
  const input = call.input ?? {};
  const text = input.command ?? input.cmd ?? input.file_path ?? input.filePath ?? input.path ?? input.url;
  const mode = call.mode ? ` (in mode ${call.mode})` : "";
  return typeof text === "string" ? `${call.tool}: ${text}${mode}` : `${call.tool ?? ""} ${JSON.stringify(call.subjects ?? input)}${mode}`;
}

function comparison(d, more) {
  const by = (b) => [b.rule ? el("span", "by", b.rule) : b.reason, placed(b.pos)];
  const first = d.regions.find((r) => r.looser) ?? d.regions[0];
  if (first) {
    mark("policy", "under", first.was_by.pos, first.was);
    mark("now", "under-now", first.now_by.pos, first.now);
  }
  const sum = d.regions.length
    ? [el("span", d.looser ? "looser" : "none", `${d.looser} looser`), " · ", el("span", d.stricter ? "stricter" : "none", `${d.stricter} stricter`)]
    : [el("span", "stricter", "They decide alike")];
  return [
    el("div", "head", el("div", "", sum), el("span", "place", `${d.tried.toLocaleString("en")} calls tried${more ? ", and more are being tried" : d.cut ? ", there may be more" : ""}`)),
    ...d.regions.slice(0, 60).map((r) => el("div", "region",
      el("div", "", verdict(r.was), el("span", "arrow", " → "), verdict(r.now), el("span", r.looser ? "place looser" : "place stricter", r.looser ? "looser" : "stricter")),
      el("pre", "shown", callText(r.call)),
      el("p", "", "was: ", by(r.was_by)), el("p", "", "now: ", by(r.now_by)))),
  ];
}

// mark underlines a place of a policy: from its column to the end of what is written there.
function mark(id, under, pos, look) {
  const text = $(id).value, pre = $(under);
  pre.replaceChildren();
  if (!pos?.line || text.length > 300_000) return;
  const lines = text.split("\n");
  if (pos.line > lines.length) return;
  const before = lines.slice(0, pos.line - 1).join("\n") + (pos.line > 1 ? "\n" : "");
  const [head, , rest] = cut(lines[pos.line - 1], Math.max(0, (pos.col || 1) - 1), Math.max(0, (pos.col || 1) - 1));
  const quoted = /^"(?:[^"\\]|\\.)*"|^'[^']*'/.exec(rest)?.[0];
  const word = quoted ?? rest.replace(/\s+#.*$/, "").replace(/[,\s]+$/, "");
  pre.append(before + head, el("mark", look ?? "", word || rest || " "), rest.slice(word.length) + "\n" + lines.slice(pos.line).join("\n") + "\n");
  follow(id, under);
}

const follow = (id, under) => { $(under).scrollTop = $(id).scrollTop; $(under).scrollLeft = $(id).scrollLeft; };

// ---- state and links

const state = () => ({ m: mode, p: $("policy").value, d: $("dialect").value, c: $("call").value, q: $("now").value, e: $("now-dialect").value });

function setState(s) {
  const text = (v) => (typeof v === "string" ? v : "");
  const pick = (id, v) => { $(id).value = text(v); if ($(id).selectedIndex < 0) $(id).value = ""; };
  setMode(s.m === "diff" ? "diff" : "call");
  $("policy").value = text(s.p);
  $("call").value = text(s.c);
  $("now").value = text(s.q);
  pick("dialect", s.d);
  pick("now-dialect", s.e);
  changed(0);
}

function setMode(m) {
  mode = m;
  document.body.className = m;
  for (const name of ["call", "diff"]) $("tab-" + name).setAttribute("aria-selected", String(name === m));
}

async function pack(s) {
  const stream = new Blob([JSON.stringify(s)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let text = "";
  for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

// unpack reads a link's state; one that unpacks to more than largest bytes is refused before it is whole.
async function unpack(text) {
  const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const parts = [];
  let n = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    if ((n += value.length) > largest) { reader.cancel(); throw new Error("it holds more than 6 MB"); }
    parts.push(value);
  }
  const s = JSON.parse(await new Blob(parts).text());
  if (typeof s !== "object" || s === null) throw new Error("it holds no state");
  return s;
}

async function fromLink() {
  const text = location.hash.replace(/^#/, "");
  if (!text) return false;
  if (/^\d+$/.test(text) && EXAMPLES[text]) { showExample(Number(text)); return true; }
  try {
    setState(await unpack(text));
  } catch (e) {
    setState({});
    clearTimeout(timer);
    showErrors([{ msg: "this link cannot be read: " + e.message }]);
  }
  return true;
}

async function share() {
  history.replaceState(null, "", "#" + await pack(state()));
  try { await navigator.clipboard.writeText(location.href); $("share").textContent = "Copied"; } catch { $("share").textContent = "In the address bar"; }
  setTimeout(() => { $("share").textContent = "Copy link"; }, 2000);
}

// ---- examples

function showExample(i) {
  const x = EXAMPLES[i];
  shown = i;
  setState({ m: x.now ? "diff" : "call", p: x.policy.join("\n"), d: x.dialect, c: typeof x.call === "object" ? JSON.stringify(x.call) : x.call, q: x.now?.join("\n"), e: "" });
  pressed();
}

function pressed() {
  [...$("examples").children].forEach((b, i) => b.setAttribute("aria-pressed", String(i === shown)));
}

function build() {
  for (const id of ["dialect", "now-dialect"]) {
    $(id).append(new Option(id === "dialect" ? "told by its shape" : "the same", ""), ...Object.keys(DIALECTS).map((d) => new Option(d, d)));
  }
  EXAMPLES.forEach((x, i) => {
    const b = el("button", "", el("i", x.want ?? ""), x.title);
    b.onclick = () => { showExample(i); history.replaceState(null, "", "#" + i); };
    $("examples").append(b);
  });
  for (const [id, under] of [["policy", "under"], ["now", "under-now"], ["call", ""]]) {
    $(id).addEventListener("input", () => { if (under) mark(id, under, null); shown = undefined; pressed(); changed(); });
    if (under) $(id).addEventListener("scroll", () => follow(id, under));
  }
  for (const id of ["dialect", "now-dialect"]) $(id).onchange = () => changed(0);
  $("tab-call").onclick = () => { setMode("call"); changed(0); };
  $("tab-diff").onclick = () => { if (!$("now").value) $("now").value = $("policy").value; setMode("diff"); changed(0); };
  $("share").onclick = share;
  addEventListener("hashchange", fromLink);
}

build();
startEngine();
fromLink().then((linked) => { if (!linked) showExample(0); });
