"use strict";
// The console works without this script; with it, requests come and go by
// themselves, answers need no reload, and keys answer.
(() => {
  const one = (sel, at = document) => at.querySelector(sel);
  const all = (sel, at = document) => [...at.querySelectorAll(sel)];
  const inbox = one("#inbox"), count = one("#count"), live = one("#live");
  const csrf = document.documentElement.dataset.csrf;

  // Requests: the list is asked for again, and what has not changed stays as it
  // is, with what was typed into it.
  const show = (html) => {
    const next = new DOMParser().parseFromString(html, "text/html").body;
    const n = all("article[data-key]", next).length;
    count.textContent = n;
    count.hidden = n === 0;
    document.title = document.title.replace(/^\(\d+\) /, "").replace(/^/, n ? `(${n}) ` : "");
    if (!inbox) return;
    // The focus, which the keys go to, stays on its card, or on the one after it.
    const heirs = [];
    for (let e = document.activeElement.closest("[data-key]"); e; e = e.nextElementSibling) heirs.push(e.dataset.key);
    const held = document.activeElement;
    const fresh = [...next.children], keys = new Set(fresh.map((e) => e.dataset.key));
    [...inbox.children].forEach((e) => { if (!keys.has(e.dataset.key)) e.remove(); });
    const have = new Map([...inbox.children].map((e) => [e.dataset.key, e]));
    let at = inbox.firstElementChild;
    for (const el of fresh) {
      const old = have.get(el.dataset.key);
      const keep = old && old.dataset.v === el.dataset.v ? old : el;
      if (keep === at) at = at.nextElementSibling;
      else inbox.insertBefore(keep, at);
      if (old && old !== keep) {
        if (old === at) at = at.nextElementSibling;
        old.remove();
      }
    }
    while (at) { const gone = at; at = at.nextElementSibling; gone.remove(); }
    if (heirs.length && document.activeElement !== held) {
      const now = new Map([...inbox.children].map((e) => [e.dataset.key, e]));
      const heir = heirs.map((k) => now.get(k)).find(Boolean);
      if (heir) heir.focus();
    }
    tick();
  };
  const refresh = async () => {
    const got = await fetch("/inbox").catch(() => null);
    if (got && got.ok) show(await got.text());
    else if (got && got.status === 401) location.href = "/login";
  };
  let due = 0;
  const soon = () => { clearTimeout(due); due = setTimeout(refresh, 40); };

  // One stream for each page that is looked at; pages behind others only look now
  // and then, since a browser keeps few connections to one server.
  let stream = null, again = 0;
  const state = (s) => { if (live) { live.dataset.state = s; live.textContent = { live: "live", lost: "reconnecting", idle: "paused" }[s]; } };
  const listen = () => {
    clearTimeout(again);
    if (stream) stream.close();
    stream = new EventSource("/v1/events");
    stream.onopen = () => { state("live"); soon(); };
    for (const kind of ["request", "reset", "policy"]) stream.addEventListener(kind, soon);
    stream.onerror = () => {
      state("lost");
      if (stream.readyState === EventSource.CLOSED) again = setTimeout(listen, 1000 + Math.random() * 2000);
    };
  };
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) { listen(); return; }
    if (stream) stream.close();
    state("idle");
  });
  setInterval(() => { if (document.hidden) refresh(); }, 15000);

  // The time that is left of each request.
  const tick = () => all("time[data-left]").forEach((t) => {
    const s = Math.max(0, Math.round((Date.parse(t.dataset.left) - Date.now()) / 1000));
    t.textContent = s > 5400 ? `${Math.round(s / 3600)} h left` : s > 0 ? `${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")} left` : "time is over";
    t.classList.toggle("soon", s < 60);
  });
  setInterval(tick, 1000);

  // Answers.
  document.addEventListener("submit", async (e) => {
    const form = e.target;
    if (!form.matches("form[data-answer]")) return;
    e.preventDefault();
    const body = new URLSearchParams(new FormData(form, e.submitter));
    const card = form.closest("[data-key]"), problem = one(".problem", card);
    all("button", form).forEach((b) => { b.disabled = true; });
    const got = await fetch(form.action, { method: "POST", body, headers: { "X-CSRF-Token": csrf, Accept: "application/json" } }).catch(() => null);
    all("button", form).forEach((b) => { b.disabled = false; });
    if (got && got.ok) {
      const next = card.nextElementSibling || card.previousElementSibling;
      if (card.contains(document.activeElement) && next) next.focus();
      card.classList.add("gone");
      refresh();
      return;
    }
    const why = got ? await got.json().catch(() => ({})) : {};
    problem.textContent = [why.title, why.detail].filter(Boolean).join(": ") || "The server cannot be reached; nothing was answered.";
    problem.hidden = false;
    if (got && got.status === 409) soon();
  });
  document.addEventListener("input", (e) => {
    if (e.target.matches(".offer input[type=text]")) one("input[type=radio]", e.target.closest(".offer")).checked = true;
  });

  // Keys.
  const press = (card, act) => { const b = one(`button[value=${act}]`, card); if (b) b.click(); };
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target.matches("input, textarea, select")) return;
    const cards = inbox ? all("article[data-key]", inbox) : [];
    const card = e.target.closest("article[data-key]"), i = cards.indexOf(card);
    const keys = {
      j: () => cards[Math.min(i + 1, cards.length - 1)], k: () => cards[Math.max(i - 1, 0)],
      a: () => press(card, "once"), s: () => press(card, "session"), d: () => press(card, "deny"),
      w: () => { one("details.remember", card).open = true; one("details.remember input", card).focus(); },
      n: () => one(".words", card).focus(),
      "?": () => { one("#keys").showModal(); },
    };
    const f = keys[e.key];
    if (!f || (!card && !"jk?".includes(e.key))) return;
    e.preventDefault();
    const to = f();
    if (to instanceof Element) { to.focus(); to.scrollIntoView({ block: "nearest" }); }
  });

  // The editor: line numbers, and the lines that problems are in.
  const text = one(".editor textarea"), gutter = one(".gutter");
  if (text && gutter) {
    const bad = new Set(all(".problems [data-line]").map((p) => Number(p.dataset.line)));
    const number = () => {
      const n = text.value.split("\n").length;
      gutter.replaceChildren(...Array.from({ length: n }, (_, k) => {
        const s = document.createElement("span");
        s.textContent = k + 1;
        if (bad.has(k + 1)) s.className = "bad";
        return s;
      }));
    };
    text.addEventListener("input", number);
    text.addEventListener("scroll", () => { gutter.scrollTop = text.scrollTop; });
    number();
    const go = (line) => {
      const start = text.value.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
      const end = text.value.indexOf("\n", start);
      text.focus();
      text.setSelectionRange(start, end < 0 ? text.value.length : end);
      text.scrollTop = (line - 5) * parseFloat(getComputedStyle(text).lineHeight);
    };
    all(".problems a[data-line]").forEach((a) => a.addEventListener("click", (e) => { e.preventDefault(); go(Number(a.dataset.line)); }));
    if (bad.size) go(Math.min(...bad));
  }

  // Charts.
  const draw = (el) => {
    const data = JSON.parse(el.dataset.plot), css = getComputedStyle(document.documentElement);
    const ink = (name) => css.getPropertyValue(name).trim();
    const axis = { stroke: ink("--soft"), grid: { stroke: ink("--line"), width: 1 }, ticks: { stroke: ink("--line") } };
    const series = data.series.map((s) => ({ label: s.label, stroke: ink(s.ink), width: 2, points: { show: false },
      fill: data.bars ? ink(s.ink) : undefined, paths: data.bars ? uPlot.paths.bars({ size: [0.8, 40] }) : undefined,
      value: (_, v, i, at) => { v = at == null ? v : data.series[i - 1].values[at]; return v == null ? "–" : data.unit ? `${v.toFixed(2)} ${data.unit}` : v; } }));
    const counts = data.bars ? { incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 1e5, 1e6, 1e7] } : {};
    return new uPlot({ width: el.clientWidth, height: 220, series: [{}, ...series], axes: [axis, { ...axis, ...counts, size: 56 }], scales: { y: { range: (_, lo, hi) => [0, Math.max(hi, 1e-3) * 1.1] } }, cursor: { y: false } }, [data.at, ...data.series.map((s) => s.tops || s.values)], el);
  };
  if (window.uPlot) {
    const plots = all(".plot[data-plot]").map((el) => [el, draw(el)]);
    addEventListener("resize", () => plots.forEach(([el, p]) => p.setSize({ width: el.clientWidth, height: 220 })));
  }

  tick();
  listen();
})();
