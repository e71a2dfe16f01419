// All requests in one list; and those with a suspect answer.
import { html, useState, useEffect, useRef, useMemo, ask, useStore, useRows, go, Link, useKeys, List, Dot, Chip, Clock, Empty, Failed, Busy, ago, full, tokens, money, time, stateWord, tone } from "./base.js";
import { Filters, Nothing, doingWord } from "./sessions.js";

const STATES = [["", "All"], ["live", "Live"], ["mended", "Mended"], ["failed", "Failed"], ["unanswered", "No answer"], ["stalled", "Stalled"], ["client_closed", "Interrupted"], ["pinned", "Pinned"]];

export function Recordings({ query, suspects }) {
  const [rows, setRows] = useState(null), [error, setError] = useState(null), [chosen, choose] = useState(0);
  const live = useStore((state) => state.live);
  const filters = Object.fromEntries(["q", "state", "agent", "model", "rule"].map((name) => [name, query.get(name) || ""]));
  if (suspects) filters.state = "suspect";
  const key = JSON.stringify(filters);
  const end = useRef(false), loading = useRef(false), timer = useRef(0);
  const load = () => ask("recordings", filters).then(({ recordings }) => { end.current = recordings.length < 200; setError(null); setRows((before) => (before ? merged(before, recordings) : recordings)); }, setError);
  useEffect(() => { setRows(null); end.current = false; load(); }, [key]);
  useRows((changed, gone) => {
    setRows((before) => before && before.filter((row) => !gone.includes(row.id)).map((row) => changed.find((one) => one.id === row.id) || row));
    clearTimeout(timer.current);
    timer.current = setTimeout(load, 300);
  }, [key]);
  const more = () => {
    if (end.current || loading.current || !rows || !rows.length) return;
    loading.current = true;
    const last = rows[rows.length - 1];
    ask("recordings", { ...filters, before: `${last.at},${last.id}` }).then(({ recordings }) => { end.current = !recordings.length; setRows((before) => [...before, ...recordings]); loading.current = false; }, setError);
  };
  const shown = useMemo(() => rows && rows.map((row) => live.get(row.id) || row), [rows, live]);
  const at = Math.min(chosen, Math.max(0, (shown?.length || 1) - 1));
  const move = (by) => () => choose(Math.max(0, Math.min((shown?.length || 1) - 1, at + by)));
  useKeys({
    j: [move(1), "next"], k: [move(-1), "previous"], ArrowDown: [move(1), ""], ArrowUp: [move(-1), ""],
    Enter: [() => shown?.[at] && go(`/r/${shown[at].name}`), "open"],
  }, [at, shown]);
  if (error && !rows) return html`<${Failed} error=${error} again=${load} />`;
  const filtered = Object.values(filters).some(Boolean) && !suspects;
  return html`<div class="page">
    ${suspects && html`<p class="lead">Answers with text that looks like a tool call: tools were offered, no call was received, and nothing was mended. Open one to replay it with all dialects.</p>`}
    <${Filters} query=${query} states=${suspects ? null : STATES} />
    ${!shown ? html`<${Busy} />` : shown.length ? html`<div class="table requests"><div class="head" aria-hidden="true"><span>Request</span><span>Answer</span><span class="num">First byte</span><span class="num">In</span><span class="num">Out</span><span class="num">Cost</span><span>What</span><span class="num">When</span></div>
      <${List} rows=${shown} height=${48} chosen=${at} onEnd=${more} label="Requests" draw=${(row, n) => html`<${Row} row=${row} on=${n === at} />`} /></div>`
    : suspects && !filters.q ? html`<${Empty} title="No answer is suspect"><p>Answers with a call in their text that was not mended are listed here.</p><//>` : html`<${Nothing} filtered=${filtered} />`}
  </div>`;
}

const merged = (before, now) => { const known = new Set(now.map((row) => row.id)); return [...now, ...before.filter((row) => !known.has(row.id) && now.length && row.at <= now[now.length - 1].at)]; };

function Row({ row, on }) {
  const names = row.calls ? row.calls.split(" ") : [];
  return html`<${Link} to=${`/r/${row.name}`} class="row ${on ? "chosen" : ""} ${row.live ? "busy-row" : ""}">
    <span class="what"><span class="title"><${Dot} tone=${tone(row)} title=${stateWord(row)} /><b>${row.title || row.model || row.name}</b></span><span class="sub"><span>${row.agent}</span><span class="mono">${row.model}</span>${row.sub && html`<span>subagent</span>`}</span></span>
    <span class="said">${row.live ? html`<span class="doing">${doingWord(row)}</span> ${(row.tail || "").slice(-120)}` : row.suspect ? html`<span class="warn-text">${row.suspect}</span>` : names.length ? names.map((name) => html`<${Chip} tone="call">${name}<//>`) : row.error || row.said}</span>
    <span class="num">${row.wait != null ? time(row.wait) : row.waited != null ? html`<span class="bad-text">none in ${time(row.waited, 0)}</span>` : "—"}</span>
    <span class="num">${tokens(row.tokens_in)}</span><span class="num">${tokens(row.tokens_out)}</span><span class="num">${money(row.cost)}</span>
    <span class="chips">${row.rules && html`<${Chip} tone="mended" title=${row.rules}>${row.rules.split(" ")[0]}${row.rules.includes(" ") ? ` +${row.rules.split(" ").length - 1}` : ""}<//>`}${row.state !== "complete" || row.status >= 400 ? html`<${Chip} tone=${tone(row)}>${stateWord(row)}<//>` : null}${row.pinned ? html`<${Chip}>pinned<//>` : null}</span>
    <span class="num when" title=${full(row.at)}>${row.live ? html`<${Clock} row=${row} />` : ago(row.at)}</span>
  <//>`;
}
