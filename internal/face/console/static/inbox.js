"use strict";
// The inbox: rows of requests, of which only those in sight are in the page, and a pane for the selected one.
(() => {
  const desk = document.querySelector("#desk"), single = document.querySelector("#single");
  if (!desk && !single) return;
  const { one, all, post, live } = window.obstat;
  const me = (desk || single).dataset.me;
  const scroll = one("#scroll"), pane = one("#pane") || single, toast = one("#toast"), tally = one("#tally");
  const el = (tag, cls, text) => { const e = document.createElement(tag); if (cls) e.className = cls; if (text !== undefined) e.textContent = text; return e; };

  // rows are all requests that wait, by ID; notes are what people leave beside them. shown are the lines of the list:
  // requests, and groups of similar ones.
  const rows = new Map(), notes = new Map(), picked = new Set(), open = new Set(), kept = new Map();
  let shown = [], at = "", skew = 0, last = null, anchor = "";
  const line = () => shown.findIndex((l) => l.key === at);

  // Groups, and the part that differs between their members.
  const parts = (texts) => {
    const words = texts.map((t) => t.split(" ")), n = Math.min(...words.map((w) => w.length));
    let head = 0, tail = 0;
    while (head < n && words.every((w) => w[head] === words[0][head])) head++;
    while (tail < n - head && words.every((w) => w[w.length - 1 - tail] === words[0][words[0].length - 1 - tail])) tail++;
    return { head: words[0].slice(0, head).join(" "), tail: tail ? words[0].slice(-tail).join(" ") : "", differ: words.map((w) => w.slice(head, w.length - tail).join(" ") || "–") };
  };
  const risk = { high: 2, mid: 1 };
  const orders = {
    old: (a, b) => a.created - b.created, new: (a, b) => b.created - a.created, left: (a, b) => a.expires - b.expires,
    agent: (a, b) => a.agent.localeCompare(b.agent) || a.created - b.created,
    risk: (a, b) => (risk[b.risk] || 0) - (risk[a.risk] || 0) || a.created - b.created,
  };
  const wanted = (r) => {
    const text = one("#find").value.trim().toLowerCase(), which = one("#show").value, n = notes.get(r.id);
    if (which === "high" && r.risk !== "high" || which === "may" && !r.may || which === "free" && n && n.looking && n.looking !== me) return false;
    const hay = `${r.agent} ${r.session || ""} ${r.tool} ${r.text} ${r.kind || ""} ${r.worst || ""}`.toLowerCase();
    return text.split(/\s+/).every((w) => hay.includes(w));
  };
  const arrange = () => {
    const list = [...rows.values()].filter((r) => r.over || wanted(r)).sort(orders[one("#sort").value]);
    const folded = one("#fold").getAttribute("aria-pressed") === "true", groups = new Map();
    for (const r of list) if (folded && r.group) groups.set(r.group, [...(groups.get(r.group) || []), r]);
    shown = [];
    const done = new Set();
    for (const r of list) {
      const g = groups.get(r.group);
      if (!g || g.length < 2) { shown.push({ key: r.id, row: r }); continue; }
      if (done.has(r.group)) continue;
      done.add(r.group);
      shown.push({ key: `group-${r.group}`, group: r.group, members: g });
      if (open.has(r.group)) g.forEach((m) => shown.push({ key: m.id, row: m, inside: true }));
    }
    scroll.style.setProperty("--who", `${Math.min(6.6, Math.max(2, ...list.map((r) => r.agent.length * 0.5)))}rem`); // short names leave the command more room
  };

  // Order and grouping are as the person left them; what is searched for is not, so that nothing is hidden tomorrow.
  const keepWay = () => { try { localStorage.setItem("inbox", JSON.stringify({ sort: one("#sort").value, fold: one("#fold").getAttribute("aria-pressed") })); } catch { /* the browser keeps nothing */ } };
  if (desk) {
    let way = {};
    try { way = JSON.parse(localStorage.getItem("inbox")) || {}; } catch { /* as above */ }
    if (orders[way.sort]) one("#sort").value = way.sort;
    if (way.fold === "false") one("#fold").setAttribute("aria-pressed", "false");
  }

  // The list. Lines have one height, so that the place of each is known without the others.
  const height = () => (matchMedia("(max-width: 820px)").matches ? 60 : 36);
  const age = (ms) => { const s = Math.max(0, Math.round(ms / 1000)); return s < 60 ? `${s} s` : s < 5400 ? `${Math.round(s / 60)} m` : `${Math.round(s / 3600)} h`; };
  const now = () => Date.now() + skew;
  const left = (r) => { const s = Math.max(0, Math.round((r.expires - now()) / 1000)); return s > 5400 ? `${Math.round(s / 3600)} h` : `${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")}`; };
  const draw = (l, i) => {
    const li = el("div", `row${l.group ? " group" : ""}${l.inside ? " inside" : ""}`);
    li.id = `row-${l.key}`; li.dataset.key = l.key;
    li.setAttribute("role", "option"); li.setAttribute("aria-posinset", i + 1); li.setAttribute("aria-setsize", shown.length);
    li.style.top = `${i * height()}px`;
    li.append(el("span", "pick"));
    if ((l.group ? l.members : [l.row]).some((r) => r.risk === "high")) li.append(el("span", "hide", "dangerous")); // its border, in a word
    if (l.group) {
      const p = parts(l.members.map((m) => m.text)), worst = l.members.reduce((a, b) => ((risk[b.risk] || 0) > (risk[a.risk] || 0) ? b : a));
      li.classList.add(worst.risk || "calm");
      li.append(el("span", "turn", open.has(l.group) ? "▾" : "▸"), el("span", "agent", [...new Set(l.members.map((m) => m.agent))].join(", ")));
      const code = el("code", "text");
      const few = [...new Set(p.differ)];
      code.append(p.head);
      if (few.length > 1) code.append(" ", el("em", "", `{${few.slice(0, 4).join(", ")}${few.length > 4 ? `, +${few.length - 4}` : ""}}`), ` ${p.tail}`);
      li.append(code, effect(worst), el("span", "n", `${l.members.length}×`));
      const old = l.members.reduce((a, b) => (a.expires < b.expires ? a : b));
      li.append(time(old));
    } else {
      const r = l.row, n = notes.get(r.id) || {};
      li.classList.add(r.risk || "calm");
      if (r.over) li.classList.add("over");
      if (n.held) li.classList.add("held");
      if (!r.may) li.classList.add("not");
      li.append(el("span", "agent", r.agent), el("code", "text", r.text), effect(r));
      if (r.over) li.append(el("span", "chip", r.over));
      else if (n.held) li.append(el("span", "chip", `${n.held === me ? "you" : n.held}: ${n.do}`));
      else if (n.looking) li.append(el("span", "chip", `${n.looking === me ? "you look" : `${n.looking} is looking`}`));
      else li.append(el("span", "n", ""));
      li.append(time(r));
    }
    mark(li, l);
    return li;
  };
  const effect = (r) => { const e = el("span", "worst", { code: "runs code", delete: "deletes", write: "writes", connect: "connects", read: r.risk === "high" ? "reads secret" : "reads", run: "runs" }[r.kind] || r.kind || ""); e.title = r.worst || ""; return e; };
  const time = (r) => { const t = el("span", "time"); t.append(el("span", "age", age(now() - r.created)), el("span", "left", left(r))); t.classList.toggle("soon", r.expires - now() < 60000); return t; };
  const chosen = (l) => (l.group ? l.members.every((m) => picked.has(m.id)) : picked.has(l.key));
  const mark = (li, l) => {
    li.classList.toggle("at", l.key === at);
    li.classList.toggle("picked", chosen(l));
    li.setAttribute("aria-selected", chosen(l));
  };
  let drawn = "";
  const paint = (force) => {
    if (!desk) return;
    const h = height(), from = Math.max(0, Math.floor(scroll.scrollTop / h) - 6), to = Math.min(shown.length, from + Math.min(56, Math.ceil(scroll.clientHeight / h) + 14));
    const key = `${from} ${to} ${h}`;
    if (force || key !== drawn) {
      drawn = key;
      let space = one(".space", scroll);
      if (!space) { space = el("div", "space"); scroll.replaceChildren(space); }
      space.style.height = `${shown.length * h}px`;
      space.replaceChildren(...shown.slice(from, to).map((l, i) => draw(l, from + i)));
      if (!shown.length) {
        const none = el("div", "empty");
        none.append(el("strong", "", rows.size ? "Nothing is like that" : "Nothing stands in the way"), rows.size ? "No request that waits has these words." : "No agent waits for you. A request appears here by itself.");
        space.append(none);
      }
    } else all(".row", scroll).forEach((li) => { const l = shown.find((s) => s.key === li.dataset.key); if (l) mark(li, l); });
    scroll.setAttribute("role", shown.length ? "listbox" : "region"); // a list box without options is none
    if (shown.length) scroll.setAttribute("aria-multiselectable", "true");
    else scroll.removeAttribute("aria-multiselectable");
    if (line() >= 0) scroll.setAttribute("aria-activedescendant", `row-${at}`);
    else scroll.removeAttribute("aria-activedescendant");
    const n = [...rows.values()].filter((r) => !r.over).length;
    tally.textContent = `${n} wait${n === 1 ? "s" : ""}${picked.size ? ` · ${picked.size} selected` : ""}${shown.length < n && !picked.size ? ` · ${shown.length} line${shown.length === 1 ? "" : "s"}` : ""}`;
    live.count(n);
  };
  const update = () => {
    if (!desk) return;
    const was = shown, i = line();
    arrange();
    if (at && line() < 0 && shown.length) { // the next one that is still there
      const now = new Map(shown.map((l, k) => [l.key, k]));
      const names = (l) => [l.key, ...(l.group ? l.members.map((m) => m.id) : [`group-${l.row.group}`])]; // folded or unfolded
      const heir = was.slice(Math.max(i, 0)).flatMap(names).find((key) => now.has(key));
      paint(true); // the list has its new height
      go(heir ? now.get(heir) : shown.length - 1);
    }
    paint(true);
  };

  // The pane. Words that were typed are kept, also where the request ends meanwhile.
  const say = (text, good) => { const p = one(".told", pane); if (!p) return; p.textContent = text; p.hidden = false; p.classList.toggle("good", !!good); };
  const words = () => { const w = one(".words", pane); return w ? w.value : ""; };
  const keep = () => { const a = one("article", pane); if (a && words()) kept.set(a.dataset.id, words()); };
  let asked = 0;
  const show = async (id) => {
    keep();
    const n = ++asked, got = await fetch(`/requests/${id}/pane`).catch(() => null);
    const text = got && got.ok ? await got.text().catch(() => "") : "";
    if (n !== asked) return; // another pane was asked for, or a selection is shown
    if (got && got.status === 401) { location.href = "/login"; return; }
    pane.hidden = false;
    if (!got || !got.ok) { pane.replaceChildren(el("p", "problem", "The request cannot be shown now.")); return; }
    pane.replaceChildren(...new DOMParser().parseFromString(text, "text/html").body.children);
    const w = one(".words", pane);
    if (w && kept.has(id)) w.value = kept.get(id);
    live.tick();
    noted(id);
  };
  const several = (list, l) => {
    ++asked;
    keep();
    const a = el("article", "sheet"), head = el("header"), form = el("form");
    a.dataset.several = l ? l.key : "picked";
    const back = el("button", "back", "‹"); back.type = "button"; back.dataset.do = "close"; back.setAttribute("aria-label", "Back to the list");
    const about = el("div", "about");
    about.append(el("h2", "", `${list.length} ${l ? "similar" : "selected"} request${list.length === 1 ? "" : "s"}`), el("p", "soft", [...new Set(list.map((r) => r.agent))].join(", ")));
    head.append(back, about);
    const body = el("div", "body"), p = parts(list.map((r) => r.text));
    body.tabIndex = 0; // a long one is scrolled by keys
    const same = new Set(p.differ).size === 1, apart = !p.head && !p.tail;
    const call = el("pre", "call"); call.append(p.head);
    if (!same) call.append(" ", el("mark", "", "…"), ` ${p.tail}`);
    if (!apart) body.append(call);
    if (same) p.differ = list.map((r) => [r.agent, r.session].filter(Boolean).join(" · "));
    const does = new Set(list.map((r) => r.worst || ""));
    if (does.size === 1 && list[0].worst) body.append(el("p", "", `Each would ${list[0].worst}.`));
    if (!apart) body.append(el("p", "soft", same ? (list.length > 1 ? "All are the same, from:" : "") : "They differ in:"));
    const ul = el("ul", "differ");
    list.slice(0, 200).forEach((r, i) => { const li = el("li"); li.append(el("code", r.risk === "high" ? "high" : "", p.differ[i]), el("small", "", does.size > 1 ? ` ${r.worst || ""}` : "")); ul.append(li); });
    body.append(ul);
    if (list.length > 200) body.append(el("p", "soft", `and ${list.length - 200} more`));
    const bad = list.filter((r) => r.risk === "high").length;
    if (bad) body.append(el("p", "note", `${bad} of them ${bad === 1 ? "is" : "are"} dangerous.`));
    const told = el("p", "told problem"); told.hidden = true; told.setAttribute("role", "alert");
    const w = el("input", "words"); w.placeholder = "Words for the agents (n), then a or d"; w.setAttribute("aria-label", "Words for the agents"); w.maxLength = 2000;
    const acts = el("div", "acts main");
    const button = (value, text, key, cls) => { const b = el("button", cls, text); b.value = value; b.name = "do"; if (key) b.append(" ", el("kbd", "", key)); acts.append(b); };
    const all = list.length > 1 ? `all ${list.length} ` : "";
    button("once", `Allow ${all}once`, "a", "yes");
    if (l && list[0].offer) button("halfhour", "… and the like for 30 min", "", "");
    button("deny", `Deny ${all}`, "d", "no");
    const none = el("button"); none.disabled = none.hidden = true; // so that Enter in the field answers nothing
    form.append(none, w, acts);
    form.addEventListener("submit", (e) => { e.preventDefault(); answer(e.submitter.value); });
    a.append(head, told, body, form);
    pane.hidden = false;
    pane.replaceChildren(a);
  };
  const target = () => {
    if (picked.size) return [...picked].map((id) => rows.get(id)).filter((r) => r && !r.over);
    const l = shown[line()];
    return l ? (l.group ? l.members.filter((m) => !m.over) : l.row.over ? [] : [l.row]) : [];
  };
  // Whether the pane shows what keys would answer: after a step it takes a moment to follow.
  const inView = () => {
    const a = one("article", pane), l = shown[line()];
    if (!desk || !a || !l) return !desk;
    if (picked.size && !(picked.size === 1 && picked.has(at))) return a.dataset.several === "picked";
    return (l.group ? a.dataset.several : a.dataset.id) === l.key;
  };
  const shows = (r) => { const a = one("article", pane); return a && !pane.hidden && a.dataset.id === r.id && a.dataset.v === String(r.v) && !r.over && !one("button[name=do]:disabled", a); };
  const detail = () => {
    if (!desk) return;
    const l = shown[line()];
    document.body.classList.toggle("reading", false);
    if (picked.size && !(picked.size === 1 && picked.has(at))) several(target()); // keys answer the selection, so the pane shows it
    else if (!l) { pane.hidden = true; pane.replaceChildren(); } else if (l.group) several(l.members, l);
    else if (shows(l.row)) ++asked; // a pane that is drawn anew under a finger takes the click along
    else show(l.key);
  };
  let wait = 0;
  const go = (i, then) => {
    if (i < 0 || i >= shown.length) return;
    const was = rows.get(at);
    at = shown[i].key;
    if (was && was.over) { rows.delete(was.id); arrange(); i = line(); }
    const h = height(), top = i * h;
    if (top < scroll.scrollTop) scroll.scrollTop = top;
    else if (top + h > scroll.scrollTop + scroll.clientHeight) scroll.scrollTop = top + h - scroll.clientHeight;
    paint(!!(was && was.over));
    clearTimeout(wait);
    wait = setTimeout(detail, then === "now" ? 0 : 60); // who runs through the list asks for no pane of each
  };

  // Answers. They are taken at once and sent after five seconds.
  let sending = false;
  const answer = async (what, form, submitter) => {
    const list = desk ? target() : [{ id: one("article", pane).dataset.id, text: "" }];
    if (!list.length || sending) return;
    const mine = desk ? list.filter((r) => r.may && !(notes.get(r.id) || {}).held) : list;
    if (!mine.length) { say(list.length === 1 && !list[0].may ? "You cannot answer this." : "It is answered already."); return; }
    const bad = mine.filter((r) => r.risk === "high").length;
    if (what !== "deny" && bad && !inView()) { tally.textContent = "Dangerous, and not shown yet: nothing was answered."; return; }
    if (what !== "deny" && mine.length > 1 && (bad || mine.length > 20) && !confirm(`Allow ${mine.length} requests${bad ? `, ${bad} of them dangerous` : ""}?`)) return;
    const body = form ? new URLSearchParams(new FormData(form, submitter)) : new URLSearchParams({ do: what, words: words() });
    body.delete("csrf");
    body.set("do", what);
    const ids = mine.map((r) => r.id);
    let url = `/requests/${ids[0]}`;
    if (mine.length > 1) { url = "/group"; ids.forEach((id) => body.append("id", id)); }
    sending = true;
    const got = await post(url, body);
    sending = false;
    if (!got.ok) { // typed words stay, and so does the request
      say(got.why);
      if (got.status === 409 && desk) refetch(ids);
      return;
    }
    ids.forEach((id) => kept.delete(id));
    const failed = Object.entries(got.json.failed || {}), ok = ids.filter((id) => !(got.json.failed || {})[id]);
    picked.clear();
    ok.forEach((id) => notes.set(id, { id, held: me, do: what === "deny" ? "deny" : "allow", until: got.json.until || 0 }));
    if (got.json.until) { last = { ids: ok, until: got.json.until, what }; offer(); }
    if (failed.length) say(`${failed.length} could not be answered: ${failed[0][1]}`);
    if (!desk) { location.reload(); return; }
    if (!got.json.until) ok.forEach((id) => rows.delete(id));
    arrange(); // rows that ended meanwhile are gone
    const i = line(), next = shown.findIndex((l, k) => k >= Math.max(0, i) && !ids.includes(l.key) && !(l.group && l.members.every((m) => ids.includes(m.id))));
    const before = next >= 0 ? next : shown.findIndex((l) => !ids.includes(l.key) && !l.group);
    paint(true);
    if (document.activeElement === document.body || pane.contains(document.activeElement)) scroll.focus({ preventScroll: true });
    if (before >= 0 && !failed.length) go(before);
    else if (!failed.length) { pane.hidden = true; pane.replaceChildren(); document.body.classList.remove("reading"); }
  };
  const offer = () => {
    if (!last || !toast) return;
    const s = Math.ceil((last.until - now()) / 1000);
    if (s <= 0) { last = null; toast.hidden = true; return; }
    const what = { once: "Allowed once", session: "Allowed for the session", deny: "Denied" }[last.what] || "Answered";
    if (toast.hidden || toast.dataset.ids !== last.ids.join(" ")) {
      const back = el("button", "", "Take back "), send = el("button", "", "Send now ");
      back.append(el("kbd", "", "z")); send.append(el("kbd", "", "y"));
      back.addEventListener("click", undo); send.addEventListener("click", flush);
      toast.replaceChildren(el("span", "what", ""), back, send);
      toast.dataset.ids = last.ids.join(" ");
    }
    one(".what", toast).textContent = `${what}${last.ids.length > 1 ? `: ${last.ids.length}` : ""} · sent in ${s} s`;
    toast.hidden = false;
  };
  const form = (ids) => { const b = new URLSearchParams(); ids.forEach((id) => b.append("id", id)); return b; };
  const undo = async () => {
    if (!last) return;
    const { ids } = last;
    last = null; toast.hidden = true;
    const got = await post("/back", form(ids));
    ids.forEach((id) => notes.delete(id));
    if (!got.ok) say(got.why);
    await refetch(ids);
    const i = shown.findIndex((l) => l.key === ids[0]);
    if (i >= 0) go(i);
  };
  const flush = async () => { if (!last) return; const { ids } = last; last = null; toast.hidden = true; await post("/now", form(ids)); };
  const mine = (id) => (notes.get(id) || {}).looking === me;
  const look = async () => {
    const a = one("article", pane);
    if (!a || !a.dataset.id) return;
    const got = await post(`/requests/${a.dataset.id}/look`, new URLSearchParams(mine(a.dataset.id) ? { off: "1" } : {}));
    if (!got.ok) say(got.why);
  };

  // Changes by others. A request that is looked at stays until one moves on: its end is told, not just shown.
  const ended = (e) => {
    const r = rows.get(e.id);
    notes.delete(e.id);
    picked.delete(e.id);
    if (last && last.ids.includes(e.id) && e.by !== me) { last.ids = last.ids.filter((id) => id !== e.id); if (!last.ids.length) { last = null; toast.hidden = true; } }
    const text = { approved: `${e.by} allowed it`, claimed: `${e.by} allowed it`, done: `${e.by} allowed it`, refused: `${e.by} denied it`, expired: "its time ended", canceled: "the agent withdrew it" }[e.state] || `it is ${e.state}`;
    const here = one("article", pane), reading = here && here.dataset.id === e.id;
    if (reading && e.by !== me) {
      say(`${text[0].toUpperCase()}${text.slice(1)}.${words() ? " Your words were not sent; they stay here." : ""}`);
      all("button[name=do]", pane).forEach((b) => { b.disabled = true; });
      if (r) { r.over = text; return; }
    }
    if (r) rows.delete(e.id);
  };
  const noted = (id) => {
    const here = one("article", pane);
    if (!here || here.dataset.id !== id) return;
    const n = notes.get(id) || {}, p = one(".looks", pane);
    if (p) { p.hidden = !n.looking || n.looking === me; if (n.looking) one(".who", p).textContent = n.looking; }
    const b = one("[data-do=look]", pane);
    if (b) { b.setAttribute("aria-pressed", mine(id)); b.firstChild.textContent = mine(id) ? "Claimed " : "Claim "; }
    if (n.held && n.held !== me) say(`${n.held} has ${n.do === "deny" ? "denied" : "allowed"} it; that is sent in a moment.`);
    if (n.failed) say(`Your answer did not count: ${n.failed}.`);
  };
  const pull = new Set();
  let due = 0;
  const fetched = (got) => {
    skew = got.now - Date.now();
    for (const r of got.rows) rows.set(r.id, r);
    for (const [id, n] of Object.entries(got.notes)) notes.set(id, n);
  };
  const refetch = async (ids) => {
    for (let i = 0; i < ids.length; i += 100) {
      const part = ids.slice(i, i + 100), got = await fetch(`/inbox?${part.map((id) => `id=${encodeURIComponent(id)}`).join("&")}`).catch(() => null);
      if (!got || !got.ok) continue;
      const json = await got.json(), there = new Set(json.rows.map((r) => r.id));
      fetched(json);
      part.forEach((id) => { const r = rows.get(id); if (r && !there.has(id) && !r.over && id !== at) rows.delete(id); });
    }
    update();
  };
  const reload = async () => {
    if (!desk) return;
    const got = await fetch("/inbox").catch(() => null);
    if (got && got.status === 401) { location.href = "/login"; return; }
    if (!got || !got.ok) return;
    const json = await got.json(), there = new Set(json.rows.map((r) => r.id));
    for (const id of [...rows.keys()]) if (!there.has(id) && !rows.get(id).over) { if (id === at) ended({ id, state: "over" }); else rows.delete(id); }
    notes.clear();
    fetched(json);
    update();
  };
  live.on("request", (e) => {
    if (e.state === "pending") pull.add(e.id);
    else { pull.delete(e.id); ended(e); }
    clearTimeout(due);
    due = setTimeout(() => { const ids = [...pull]; pull.clear(); if (ids.length && desk) refetch(ids); else update(); }, 40);
  });
  live.on("note", (n) => { if (n.looking || n.held || n.failed) notes.set(n.id, n); else notes.delete(n.id); noted(n.id); if (!n.held && !n.looking && desk) refetch([n.id]); else update(); });
  live.on("open", reload);
  live.on("reset", reload);
  setInterval(() => {
    offer();
    if (!desk) return;
    all(".row", scroll).forEach((li) => {
      const l = shown.find((s) => s.key === li.dataset.key);
      if (!l || document.hidden) return;
      const r = l.group ? l.members.reduce((a, b) => (a.expires < b.expires ? a : b)) : l.row, t = one(".time", li);
      one(".age", t).textContent = age(now() - r.created); one(".left", t).textContent = left(r);
      t.classList.toggle("soon", r.expires - now() < 60000);
    });
  }, 1000);

  // The mouse and the finger.
  document.addEventListener("submit", (e) => {
    if (!e.target.matches("form[data-answer]")) return;
    e.preventDefault();
    if (e.submitter) answer(e.submitter.value, e.target, e.submitter);
  });
  document.addEventListener("click", (e) => {
    const b = e.target.closest("[data-do]");
    if (b && b.dataset.do === "close") { document.body.classList.remove("reading"); if (scroll) scroll.focus(); else location.href = "/"; }
    if (b && b.dataset.do === "look") look();
  });
  document.addEventListener("input", (e) => {
    if (e.target.matches(".offer input[type=text]")) one("input[type=radio]", e.target.closest(".offer")).checked = true;
  });
  if (desk) {
    scroll.addEventListener("scroll", () => requestAnimationFrame(() => paint()));
    addEventListener("resize", () => paint(true));
    scroll.addEventListener("click", (e) => {
      const li = e.target.closest(".row");
      if (!li) return;
      const l = shown.find((s) => s.key === li.dataset.key);
      if (e.target.closest(".pick") || e.metaKey || e.ctrlKey) { at = l.key; pick(l); return; }
      if (e.shiftKey && anchor) { range(l.key); return; }
      if (e.target.closest(".turn")) { turn(l); return; }
      anchor = l.key;
      go(shown.indexOf(l), "now");
      setTimeout(() => document.body.classList.add("reading"), 1);
    });
    for (const id of ["#find", "#show", "#sort"]) one(id).addEventListener("input", () => { keepWay(); update(); });
    one("#fold").addEventListener("click", () => { const b = one("#fold"); b.setAttribute("aria-pressed", b.getAttribute("aria-pressed") !== "true"); keepWay(); update(); });
  }
  const pick = (l) => {
    const ids = l.group ? l.members.map((m) => m.id) : [l.key], on = !chosen(l);
    ids.forEach((id) => (on ? picked.add(id) : picked.delete(id)));
    anchor = l.key;
    paint();
    detail();
  };
  const range = (to) => {
    const a = shown.findIndex((l) => l.key === anchor), b = shown.findIndex((l) => l.key === to);
    if (a < 0 || b < 0) return;
    shown.slice(Math.min(a, b), Math.max(a, b) + 1).forEach((l) => (l.group ? l.members.forEach((m) => picked.add(m.id)) : picked.add(l.key)));
    at = to;
    paint();
    detail();
  };
  const turn = (l) => { if (!l || !l.group) return; if (open.has(l.group)) open.delete(l.group); else open.add(l.group); at = l.key; update(); };

  // Keys.
  const moves = new Set(["j", "k", "J", "K", "ArrowDown", "ArrowUp", "PageDown", "PageUp"]);
  document.addEventListener("keydown", (e) => {
    if (e.key === "Escape") {
      if (one("dialog[open]")) return;
      if (document.activeElement.matches("input, textarea, select")) { document.activeElement.blur(); if (scroll) scroll.focus({ preventScroll: true }); return; }
      picked.clear(); document.body.classList.remove("reading"); paint(); if (desk) { scroll.focus({ preventScroll: true }); detail(); }
      return;
    }
    if (e.key === "Enter" && e.target.matches(".words") && !e.isComposing) { e.target.blur(); if (scroll) scroll.focus({ preventScroll: true }); e.preventDefault(); return; } // the words stay, for a or d
    if (e.ctrlKey || e.metaKey || e.altKey || e.target.matches("input, textarea, select") || one("dialog[open]")) return;
    if (e.repeat && !moves.has(e.key)) return; // a key that is held down answers once
    const i = line(), step = (n) => { const to = i < 0 ? 0 : Math.min(Math.max(i + n, 0), shown.length - 1); if (e.shiftKey && shown[i]) { if (!picked.size) anchor = shown[i].key; go(to); range(shown[to].key); } else go(to); };
    const keys = {
      j: () => step(1), k: () => step(-1), J: () => step(1), K: () => step(-1), ArrowDown: () => step(1), ArrowUp: () => step(-1),
      Home: () => go(0), End: () => go(shown.length - 1), PageDown: () => step(10), PageUp: () => step(-10),
      a: () => answer("once"), s: () => answer("session"), d: () => answer("deny"), z: undo, u: undo, y: flush, c: look,
      n: () => { const w = one(".words", pane); if (w) w.focus(); },
      w: () => { const d = one("details.remember", pane); if (d) { d.open = true; const f = one("input[type=text], input", d); if (f) f.focus(); } },
      e: () => { const t = one("textarea[name=text]", pane); if (t) { t.closest("details").open = true; t.focus(); } },
      x: () => { if (shown[i]) pick(shown[i]); }, "*": () => { shown.forEach((l) => (l.group ? l.members.forEach((m) => picked.add(m.id)) : picked.add(l.key))); paint(); detail(); },
      o: () => turn(shown[i]), ArrowRight: () => { if (shown[i] && shown[i].group && !open.has(shown[i].group)) turn(shown[i]); }, ArrowLeft: () => { if (shown[i] && shown[i].group && open.has(shown[i].group)) turn(shown[i]); },
      f: () => one("#fold").click(), "/": () => { one("#find").focus(); one("#find").select(); },
      Enter: () => { if (e.target === scroll && shown[i]) { if (shown[i].group) turn(shown[i]); else document.body.classList.add("reading"); } else return false; },
    };
    const f = keys[e.key];
    if (!f || !desk && !["a", "s", "d", "n", "w", "e", "c", "z", "y"].includes(e.key)) return;
    if (f() !== false) e.preventDefault();
  });
  if (desk) { rows.size ? update() : arrange(); reload().then(() => { if (!at && shown.length && !matchMedia("(max-width: 820px)").matches) go(0); if (document.activeElement === document.body) scroll.focus({ preventScroll: true }); }); }
})();
