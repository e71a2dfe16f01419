// All sessions: active ones first, with what they are doing.
import { html, useState, useEffect, useRef, useMemo, ask, useStore, useRows, go, Link, useKeys, List, Dot, Chip, Clock, Empty, Failed, Busy, ago, full, tokens, money, plural, withQuery } from "./base.js";

export function Sessions({ query }) {
  const [rows, setRows] = useState(null), [error, setError] = useState(null), [chosen, choose] = useState(0), [end, setEnd] = useState(false);
  const live = useStore((state) => state.live);
  const filters = Object.fromEntries(["q", "state", "agent", "model", "rule"].map((name) => [name, query.get(name) || ""]));
  const key = JSON.stringify(filters);
  const timer = useRef(0), last = useRef(0), loading = useRef(false);
  const load = () => { last.current = Date.now(); return ask("sessions", filters).then(({ sessions }) => { setRows((before) => merged(before, sessions)); setError(null); setEnd(sessions.length < 200); }, setError); };
  useEffect(() => { setRows(null); load(); }, [key]);
  useRows(() => {
    clearTimeout(timer.current);
    timer.current = setTimeout(load, Math.max(0, 400 - (Date.now() - last.current)));
  }, [key]);
  const more = () => {
    if (end || loading.current || !rows || rows.length < 200) return;
    loading.current = true;
    ask("sessions", { ...filters, before: rows[rows.length - 1].latest }).then(({ sessions }) => { setRows((before) => [...before, ...sessions.filter((one) => !before.some((other) => other.session === one.session))]); setEnd(!sessions.length); loading.current = false; }, setError);
  };
  const shown = useMemo(() => (rows ? arranged(rows, live, filters) : null), [rows, live, key]);
  const at = Math.min(chosen, Math.max(0, (shown?.length || 1) - 1));
  const move = (by) => () => choose(Math.max(0, Math.min((shown?.length || 1) - 1, at + by)));
  useKeys({
    j: [move(1), "next"], k: [move(-1), "previous"], ArrowDown: [move(1), ""], ArrowUp: [move(-1), ""],
    Enter: [() => shown?.[at] && go(`/s/${encodeURIComponent(shown[at].session)}`), "open"],
  }, [at, shown]);
  if (error && !rows) return html`<${Failed} error=${error} again=${load} />`;
  return html`<div class="page">
    <${Filters} query=${query} states=${[["", "All"], ["live", "Live"], ["mended", "Mended"], ["suspect", "Suspect"], ["failed", "Failed"], ["unanswered", "No answer"], ["stalled", "Stalled"]]} />
    ${!shown ? html`<${Busy} />` : shown.length ? html`<div class="table sessions"><div class="head" aria-hidden="true"><span>Session</span><span class="num">In</span><span class="num">Cached</span><span class="num">Out</span><span class="num">Cost</span><span>What</span><span class="num">When</span></div>
      <${List} rows=${shown} height=${64} chosen=${at} onEnd=${more} label="Sessions" draw=${(row, n) => html`<${Row} row=${row} on=${n === at} />`} /></div>` : html`<${Nothing} filtered=${Object.values(filters).some(Boolean)} />`}
  </div>`;
}

const merged = (before, now) => (before && before.length > now.length ? [...now, ...before.slice(now.length).filter((one) => !now.some((other) => other.session === one.session))] : now);

/** Live sessions come first at once, before the server has counted them. */
function arranged(rows, live, filters) {
  const by = new Map();
  for (const row of live.values()) by.set(row.session, [...(by.get(row.session) || []), row]);
  if (filters.state && filters.state !== "live") return rows.map((row) => ({ ...row, now: by.get(row.session) || [] }));
  const some = filters.q || filters.agent || filters.model || filters.rule;
  const unknown = some ? [] : [...by].filter(([session]) => !rows.some((row) => row.session === session)).map(([session, now]) => ({
    session, at: now[0].at, latest: now[0].at, requests: now.length, subagents: 0, tokens_in: 0, tokens_out: 0, cached: 0, cost: null, agent: now[0].agent, model: now[0].model, title: now[0].title, rules: [],
  }));
  const all = [...unknown, ...rows].map((row) => ({ ...row, now: by.get(row.session) || [] }));
  return [...all.filter((row) => row.now.length), ...all.filter((row) => !row.now.length)];
}

function Row({ row, on }) {
  const busy = row.now.length > 0;
  const mood = busy ? "live" : row.unanswered || row.failed ? "bad" : row.suspects ? "warn" : row.cut || row.interrupted ? "dim" : row.mended ? "mended" : "good";
  const silent = busy ? row.now.reduce((one, other) => ((one.changed_at || one.at) < (other.changed_at || other.at) ? one : other)) : null;
  return html`<${Link} to=${`/s/${encodeURIComponent(row.session)}`} class="row ${on ? "chosen" : ""} ${busy ? "busy-row" : ""}">
    <span class="what"><span class="title"><${Dot} tone=${mood} title=${mood} /><b>${row.title || row.model || row.session}</b></span>
      <span class="sub">${busy ? html`<${Doing} rows=${row.now} />` : html`<span>${row.agent || row.agents || "unknown agent"}</span><span class="mono">${row.model || row.models}</span><span>${plural(row.requests, "request")}${row.subagents ? `, ${plural(row.subagents, "subagent")}` : ""}</span>`}</span></span>
    <span class="num">${tokens(row.tokens_in || null)}</span><span class="num dim">${row.tokens_in ? `${Math.round((100 * row.cached) / row.tokens_in)} %` : "—"}</span><span class="num">${tokens(row.tokens_out || null)}</span><span class="num">${money(row.cost, row.unpriced)}</span>
    <span class="chips">
      ${row.mended > 0 && html`<${Chip} tone="mended" title=${row.rules.join(", ")}>${row.mended} mended<//>`}
      ${row.suspects > 0 && html`<${Chip} tone="warn" title="A tool call may be left in a text">${row.suspects} suspect<//>`}
      ${row.unanswered > 0 && html`<${Chip} tone="bad" title="Not one byte of an answer came">${row.unanswered} no answer<//>`}
      ${row.failed > 0 && html`<${Chip} tone="bad">${row.failed} failed<//>`}
      ${row.interrupted > 0 && html`<${Chip}>${row.interrupted} interrupted<//>`}
      ${row.cut > 0 && html`<${Chip} title="The proxy ended before the answer did">${row.cut} cut<//>`}
      ${row.pinned > 0 && html`<${Chip} title="It is kept, regardless of age">pinned<//>`}
    </span>
    <span class="num when" title=${full(row.latest)}>${busy ? html`<${Clock} row=${silent} />` : ago(row.until || row.latest)}</span>
  <//>`;
}

export function Doing({ rows }) {
  const row = rows[rows.length - 1];
  return html`<span class="doing">${doingWord(row)}</span>${rows.length > 1 && html`<span class="doing">+${rows.length - 1}</span>`}<span class="tail">${(row.tail || "").slice(-110)}</span>`;
}
export function doingWord(row) {
  const doing = row.doing || "waiting";
  if (row.state === "waiting" || doing === "waiting") return "waits for the first byte";
  if (doing.startsWith("call ")) return `calls ${doing.slice(5)}`;
  return { text: "writes", reasoning: "thinks", begins: "begins" }[doing] || doing;
}

export function Filters({ query, states }) {
  const facets = useStore((state) => state.status?.facets) || {};
  const [text, setText] = useState(query.get("q") || "");
  const timer = useRef(0);
  const set = (name) => (event) => go(withQuery({ [name]: event.target.value }), true);
  const type = (event) => { const value = event.target.value; setText(value); clearTimeout(timer.current); timer.current = setTimeout(() => go(withQuery({ q: value.trim() }), true), 120); };
  const state = query.get("state") || "";
  const pick = (name, word) => (facets[name] || []).length > 1 && html`<select aria-label=${word} value=${query.get(name) || ""} onChange=${set(name)}><option value="">${word}</option>${facets[name].map((one) => html`<option value=${one}>${one}</option>`)}</select>`;
  return html`<div class="filters"><input type="search" value=${text} onInput=${type} placeholder="Filter" aria-label="Filter the list" />
    ${states && html`<div class="segments" role="group" aria-label="State">${states.map(([value, word]) => html`<button aria-pressed=${state === value} onClick=${() => go(withQuery({ state: value }), true)}>${word}</button>`)}</div>`}
    ${pick("agent", "Any agent")}${pick("model", "Any model")}${pick("rule", "Any rule")}</div>`;
}

export function Nothing({ filtered }) {
  const status = useStore((state) => state.status);
  if (filtered) return html`<${Empty} title="No matches"><p>${plural(status?.recordings || 0, "recording")} in all.</p><button onClick=${() => go(location.pathname, true)}>Show all</button><//>`;
  return html`<${Empty} title="Nothing is recorded yet"><p>Run an agent behind toolmend, and each request appears here at once:</p><pre>toolmend run --ui -- claude</pre><p class="dim">Looked at: <code>${status?.folder}</code></p><//>`;
}
