"use strict";
// Every page: the stream of events, times that run, the editor, charts. The inbox has a script of its own.
(() => {
  const one = (sel, at = document) => at.querySelector(sel);
  const all = (sel, at = document) => [...at.querySelectorAll(sel)];
  const count = one("#count"), state = one("#live");
  const csrf = document.documentElement.dataset.csrf;
  const post = async (url, body) => {
    const got = await fetch(url, { method: "POST", body, headers: { "X-CSRF-Token": csrf, Accept: "application/json" } }).catch(() => null);
    if (got && got.ok) return { ok: true, json: got.status === 200 ? await got.json() : {} };
    const why = got ? await got.json().catch(() => ({})) : {};
    return { status: got ? got.status : 0, why: [why.title, why.detail].filter(Boolean).join(": ") || "The server cannot be reached; nothing was answered." };
  };

  // One stream for each page that is looked at: a browser keeps few connections to one server.
  const heard = {};
  let stream = null, again = 0, waiting = Number(count.textContent);
  const show = (s) => { state.dataset.state = s; state.textContent = { live: "live", lost: "reconnecting", idle: "paused" }[s]; };
  const live = {
    on: (kind, f) => { heard[kind] = f; },
    count: (n) => {
      waiting = n;
      count.textContent = n;
      count.hidden = n === 0;
      document.title = document.title.replace(/^\(\d+\) /, "").replace(/^/, n ? `(${n}) ` : "");
    },
    tick: () => all("time[data-left]").forEach((t) => {
      const s = Math.max(0, Math.round((Date.parse(t.dataset.left) - Date.now()) / 1000));
      const made = Math.max(0, Math.round((Date.now() - Date.parse(t.dataset.made)) / 1000));
      const old = t.dataset.made ? `asked ${made < 60 ? `${made} s` : made < 5400 ? `${Math.round(made / 60)} min` : `${Math.round(made / 3600)} h`} ago · ` : "";
      t.textContent = old + (s > 5400 ? `${Math.round(s / 3600)} h left` : s > 0 ? `${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")} left` : "time is over");
      t.classList.toggle("soon", s < 60);
    }),
  };
  window.obstat = { one, all, post, live };
  const tell = (kind, data) => { if (heard[kind]) heard[kind](data); };
  const pending = new Set();
  const listen = () => {
    clearTimeout(again);
    if (stream) stream.close();
    stream = new EventSource("/v1/events?brief=1");
    stream.onopen = () => { show("live"); tell("open"); };
    stream.addEventListener("request", (e) => {
      const r = JSON.parse(e.data);
      if (!heard.request) { // pages besides the inbox only count
        if (r.state === "pending" && r.version === 0 && !pending.has(r.id)) { pending.add(r.id); live.count(waiting + 1); }
        if (r.state !== "pending" && pending.delete(r.id)) live.count(Math.max(0, waiting - 1));
      }
      tell("request", r);
    });
    stream.addEventListener("note", (e) => tell("note", JSON.parse(e.data)));
    stream.addEventListener("reset", () => tell("reset"));
    stream.onerror = () => {
      show("lost");
      if (stream.readyState === EventSource.CLOSED) again = setTimeout(listen, 1000 + Math.random() * 2000);
    };
  };
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) { listen(); return; }
    if (stream) stream.close();
    show("idle");
  });
  setInterval(() => { if (document.hidden) tell("open"); }, 15000);
  setInterval(live.tick, 1000);

  document.addEventListener("keydown", (e) => {
    if (e.key !== "?" || e.target.matches("input, textarea, select")) return;
    e.preventDefault();
    one("#keys").showModal();
  });

  // The editor: line numbers, the lines that problems are in, colours behind the text, and words that fit.
  const text = one(".editor textarea"), gutter = one(".gutter"), paint = one(".paint");
  if (text && gutter) {
    const bad = new Set(all(".problems [data-line]").map((p) => Number(p.dataset.line)));
    const token = /(\/\/.*|#.*)|("(?:[^"\\]|\\.)*"|'[^']*')(\s*:)?|\b(allow|ask|deny)\b|^(\s*-?\s*[\w.-]+)(:)(?=\s|$)|\b(true|false|null|\d+)\b/gm;
    const colour = (value) => {
      const out = [];
      let from = 0;
      const put = (t, c) => { const s = document.createElement("span"); s.textContent = t; if (c) s.className = c; out.push(s); };
      for (const m of value.matchAll(token)) {
        if (m.index > from) put(value.slice(from, m.index));
        const verdict = /^["']?(allow|ask|deny)["']?$/.exec((m[2] || m[4] || m[5] || "").trim());
        if (m[1]) put(m[0], "note-text");
        else if (verdict) put(m[0], `t-${verdict[1]}`);
        else if (m[2]) { put(m[2], m[3] ? "t-key" : "t-text"); if (m[3]) put(m[3]); } else if (m[5]) { put(m[5], "t-key"); put(m[6]); } else put(m[0], "t-num");
        from = m.index + m[0].length;
      }
      put(`${value.slice(from)}\n`);
      return out;
    };
    const number = () => {
      const n = text.value.split("\n").length;
      gutter.replaceChildren(...Array.from({ length: n }, (_, k) => {
        const s = document.createElement("span");
        s.textContent = k + 1;
        if (bad.has(k + 1)) s.className = "bad";
        return s;
      }));
      if (paint) paint.replaceChildren(...(text.value.length < 60000 ? colour(text.value) : [text.value]));
    };
    const follow = () => { gutter.scrollTop = text.scrollTop; if (paint) { paint.scrollTop = text.scrollTop; paint.scrollLeft = text.scrollLeft; } };
    text.addEventListener("input", number);
    text.addEventListener("scroll", follow);
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

    // Words: verdicts, tools and what stands in the text already. Tab takes the first.
    const box = one(".complete"), known = (text.dataset.words || "").split(" ").filter(Boolean);
    const begun = () => /[\w.-]{2,}$/.exec(text.value.slice(0, text.selectionStart));
    const fits = () => {
      const m = begun();
      if (!m || text.selectionStart !== text.selectionEnd) return [];
      const words = new Set([...known, ...(text.value.match(/[\w.-]{3,}/g) || [])]);
      return [...words].filter((w) => w !== m[0] && w.toLowerCase().startsWith(m[0].toLowerCase())).slice(0, 6);
    };
    const take = (word) => {
      const m = begun(), to = text.selectionStart;
      text.setRangeText(word, to - m[0].length, to, "end");
      text.dispatchEvent(new Event("input"));
      text.focus();
    };
    const propose = () => {
      const list = document.activeElement === text ? fits() : [];
      box.hidden = !list.length;
      box.replaceChildren(...list.map((w, i) => {
        const b = document.createElement("button");
        b.type = "button"; b.tabIndex = -1; b.textContent = w;
        if (!i) { const k = document.createElement("kbd"); k.textContent = "Tab"; b.append(" ", k); }
        b.addEventListener("mousedown", (e) => { e.preventDefault(); take(w); });
        return b;
      }));
    };
    if (box) {
      text.addEventListener("input", propose);
      text.addEventListener("keydown", (e) => {
        if (box.hidden || e.ctrlKey || e.metaKey) return;
        if (e.key === "Tab" && !e.shiftKey) { e.preventDefault(); take(box.firstChild.firstChild.textContent); }
        if (e.key === "Escape") { e.stopPropagation(); box.hidden = true; }
      });
      text.addEventListener("blur", () => { box.hidden = true; });
    }
  }

  // Charts.
  const draw = (el) => {
    const data = JSON.parse(el.dataset.plot), css = getComputedStyle(document.documentElement);
    const ink = (name) => css.getPropertyValue(name).trim();
    const axis = { stroke: ink("--soft"), grid: { stroke: ink("--line"), width: 1 }, ticks: { stroke: ink("--line") } };
    const series = data.series.map((s) => ({ label: s.label, stroke: ink(s.ink), width: 2, points: { show: !data.bars && s.values.filter((v) => v != null).length < 4 },
      fill: data.bars ? ink(s.ink) : undefined, paths: data.bars ? uPlot.paths.bars({ size: [0.8, 40] }) : undefined,
      value: (_, v, i, at) => { v = at == null ? v : data.series[i - 1].values[at]; return v == null ? "–" : data.unit ? `${v.toFixed(2)} ${data.unit}` : v; } }));
    const width = (data.to - data.from) / 48; // of a bar, so that the first and the last are not cut
    const counts = data.bars ? { incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 1e5, 1e6, 1e7] } : {};
    return new uPlot({ width: el.clientWidth, height: 220, series: [{}, ...series], axes: [axis, { ...axis, ...counts, size: 56 }], scales: { x: { range: data.bars ? [data.from - width / 2, data.to + width / 2] : [data.from, data.to] }, y: { range: (_, lo, hi) => [0, Math.max(hi, 1e-3) * 1.1] } }, cursor: { y: false } }, [data.at, ...data.series.map((s) => s.tops || s.values)], el);
  };
  if (window.uPlot) {
    const plots = all(".plot[data-plot]").map((el) => [el, draw(el)]);
    addEventListener("resize", () => plots.forEach(([el, p]) => p.setSize({ width: el.clientWidth, height: 220 })));
  }

  live.tick();
  listen();
})();
