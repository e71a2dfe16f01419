// One request and its answer: what the provider sent, what the client got, and why.
import { html, useState, useEffect, useRef, ask, act, useAsked, useStore, useRows, go, withQuery, Link, useKeys, Failed, Busy, Empty, Chip, Copy, time, tokens, bytes, money, number, plural, full, clockTime, stateWord, tone, pretty, color } from "./base.js";
import { Part, Answer, Growing } from "./parts.js";
import { Lines } from "./prompts.js";

const TABS = [["answer", "Answer", "a"], ["why", "What was mended", "w"], ["events", "Events", "e"], ["request", "Request", "q"], ["diff", "Difference", "d"], ["context", "Context", "c"], ["headers", "Headers", "h"]];

export function Recording({ name, query }) {
  const { value, error, again } = useAsked(() => ask(`recording/${encodeURIComponent(name)}`), [name]);
  const live = useStore((state) => state.live);
  useRows((rows) => { if (rows.some((row) => row.name === name || String(row.id) === name)) again(); }, [name]); // it may change while it is loaded
  if (error && !value) return html`<${Failed} error=${error} again=${again} />`;
  if (!value) return html`<${Busy} />`;
  return html`<${Shown} shown=${{ ...value, row: live.get(value.row.id) || value.row }} query=${query} again=${again} />`;
}

function Shown({ shown, query, again }) {
  const { row } = shown;
  const mended = shown.rules && shown.rules.length > 0 && !row.live;
  const tabs = TABS.filter(([tab]) => tab !== "why" || mended).filter(([tab]) => !["events"].includes(tab) || (shown.runs && shown.runs.length));
  const tab = query.get("tab") || (mended ? "why" : "answer");
  const open = (to) => () => go(withQuery({ tab: to }), true);
  useKeys({
    ...Object.fromEntries(tabs.map(([to, word, key]) => [key, [open(to), ""]])),
    Tab: [(event) => { if (event.target !== document.body && event.target.tagName !== "MAIN") return false; const at = tabs.findIndex(([to]) => to === tab); open(tabs[(at + (event.shiftKey ? -1 : 1) + tabs.length) % tabs.length][0])(); return true; }, "next view"],
    "[": [() => shown.before && go(`/r/${shown.before.name}${location.search}`), shown.before ? "request before" : ""],
    "]": [() => shown.after && go(`/r/${shown.after.name}${location.search}`), shown.after ? "request after" : ""],
    s: [() => go(`/s/${encodeURIComponent(row.session)}`), "session"],
  }, [tab, shown]);
  const ttft = shown.times?.ttft;
  return html`<div class="recording">
    <section class="session-head">
      <div class="heading"><${Link} to=${`/s/${encodeURIComponent(row.session)}`} class="up" title="The session (s)">‹ session<//><h1>${row.title || row.model || row.name}</h1><${Chip} tone=${tone(row)}>${stateWord(row)}<//>
        <span class="walk">${shown.before && html`<${Link} to=${`/r/${shown.before.name}${location.search}`} title="The request before ([)">‹ before<//>`}${shown.after && html`<${Link} to=${`/r/${shown.after.name}${location.search}`} title="The request after (])">after ›<//>`}</span></div>
      <p class="line-facts"><span>${row.agent}</span><span class="mono">${row.model}</span><span class="mono">${row.host}</span><span>${full(row.at)}</span>${row.status ? html`<span>${row.status}</span>` : null}
        <span><b>${row.waited != null ? `none in ${time(row.waited)}` : time(row.wait)}</b> first byte</span>${ttft != null && html`<span><b>${time(ttft)}</b> first token</span>`}${row.last != null && html`<span><b>${time(row.last)}</b> streamed</span>`}${shown.times?.tokens_per_second && html`<span><b>${shown.times.tokens_per_second}</b> tok/s</span>`}${shown.times?.longest_gap > 1000 && html`<span><b>${time(shown.times.longest_gap)}</b> longest gap</span>`}
        <span><b>${tokens(row.tokens_in)}</b> in${row.cached ? `, ${tokens(row.cached)} cached` : ""}</span><span><b>${tokens(row.tokens_out)}</b> out</span>${row.cost != null && html`<span><b>${money(row.cost)}</b></span>`}</p>
      ${(shown.notices || []).map((notice) => html`<p class="notice">${notice}</p>`)}
      ${shown.problem && html`<p class="notice bad">${shown.problem}</p>`}
      ${shown.suspects?.length ? shown.suspects.map((one) => html`<div class="notice warn"><b>It looks like a call of ${one.name || "a tool"}, and was not made one:</b> ${one.why}${one.text && html`<pre class="text">${one.text}</pre>`}${one.remedy && html`<p>Mend it: <span class="mono">${one.remedy}</span></p>`}</div>`) : row.suspect && html`<p class="notice warn">It looks like a call, and was not made one: ${row.suspect}.</p>`}
      <${Actions} row=${row} again=${again} />
    </section>
    <div class="lanes" role="tablist" aria-label="Views">${tabs.map(([to, word, key]) => html`<button role="tab" aria-selected=${tab === to} onClick=${open(to)} title=${`key ${key}`}>${word}${to === "why" ? html`<span class="dim">${shown.rules.length}</span>` : ""}</button>`)}</div>
    <div class="pane" tabindex="-1">
      ${tab === "answer" && html`<${AnswerTab} shown=${shown} />`}
      ${tab === "why" && mended && html`<${Why} shown=${shown} />`}
      ${tab === "events" && html`<${Events} shown=${shown} />`}
      ${tab === "request" && html`<${Request} shown=${shown} />`}
      ${tab === "diff" && html`<${Difference} row=${row} query=${query} />`}
      ${tab === "context" && html`<${Context} row=${row} />`}
      ${tab === "headers" && html`<${Headers} shown=${shown} />`}
    </div></div>`;
}

function Actions({ row, again }) {
  const [told, tell] = useState(null), [busy, setBusy] = useState(""), readOnly = useStore((state) => state.status?.read_only);
  const [promoting, setPromoting] = useState(false);
  const run = (what, body, word) => async () => { setBusy(what); try { tell({ word, ...(await act(row.name, what, body)) }); } catch (error) { tell({ word, problem: error.message }); } setBusy(""); again(); };
  useKeys({ p: [run(row.pinned ? "unpin" : "pin", {}, ""), readOnly ? "" : row.pinned ? "unpin" : "pin"] }, [row.pinned, row.name]);
  if (row.live) return null;
  return html`<div class="actions">
    <button disabled=${!!busy} onClick=${run("play", {}, "Replayed with this toolmend")}>Play again</button>
    <button disabled=${!!busy} onClick=${run("play", { dialects: "all" }, "Played with all dialects")}>… with all dialects</button>
    <button disabled=${!!busy} onClick=${run("verify", {}, "Verified")}>Verify</button>
    ${!readOnly && html`<button disabled=${!!busy} onClick=${run(row.pinned ? "unpin" : "pin", {}, row.pinned ? "Unpinned" : "Pinned")}>${row.pinned ? "Unpin" : "Pin"}</button><button onClick=${() => setPromoting(!promoting)}>Promote …</button>`}
    <${Copy} label="Copy as curl" text=${async () => (await ask(`recording/${row.id}/curl`)).text} />
    ${promoting && html`<${Promote} run=${(body) => run("promote", body, "Promoted")()} />`}
    ${told && html`<div class="told ${told.problem ? "bad" : ""}" role="status"><button class="icon" aria-label="Close" onClick=${() => tell(null)}>✕</button><b>${told.word}:</b> ${told.problem || told.done || (told.same ? "the client gets the same bytes" : "the client gets something else")}${told.rules ? html`, rules: ${told.rules.join(", ") || "none"}` : ""}
      ${(told.findings || []).map((one) => html`<p class="mono">${one}</p>`)}${(told.notes || []).map((one) => html`<p class="dim">${one}</p>`)}
      ${told.diff && told.diff.length ? html`<${Lines} lines=${told.diff.map((line) => [line.slice(0, 1), line.slice(1)])} />` : null}</div>`}
  </div>`;
}

function Promote({ run }) {
  const [name, setName] = useState(""), [small, setSmall] = useState(true);
  return html`<form class="promote" onSubmit=${(event) => { event.preventDefault(); if (name) run({ case: name, minimise: small }); }}><input placeholder="case, as in kimi/split-header" aria-label="Name of the case" value=${name} onInput=${(event) => setName(event.target.value)} /><label><input type="checkbox" checked=${small} onChange=${(event) => setSmall(event.target.checked)} /> leave out what does not matter</label><button>Write the fixture</button></form>`;
}

function AnswerTab({ shown }) {
  const { row, answer } = shown;
  if (row.live) return html`<div class="narrow"><${Growing} row=${row} /></div>`;
  const both = answer && answer.raw && answer.mended && shown.rules.length > 0;
  return html`<div class=${both ? "before-after" : "narrow"}>${both && html`<section><h2>What the provider sent</h2><${Answer} answer=${answer.raw} row=${row} plain=${true} /></section>`}<section>${both && html`<h2>What the client got</h2>`}<${Answer} answer=${answer && (answer.mended || answer.raw)} row=${row} showThoughts=${true} />
    ${answer?.mended?.finish && html`<p class="dim pad">Ended with <span class="mono">${answer.mended.finish}</span>.</p>`}</section></div>`;
}

function Why({ shown }) {
  const changed = shown.runs.filter((run) => !run.quiet && run.kind !== "same");
  return html`<div class="why">
    <ol class="rules">${shown.rules.map((rule) => html`<li><b class="mono">${rule.name}</b><p>${rule.what}</p>${rule.why && html`<p class="dim">${rule.why}</p>`}${rule.events.length > 0 && html`<p class="dim small">at event ${rule.events.slice(0, 8).join(", ")}${rule.events.length > 8 ? " …" : ""} of ${shown.events}</p>`}</li>`)}</ol>
    <${AnswerTab} shown=${shown} />
    <h2 class="pad">Event by event</h2>
    <div class="changes">${changed.slice(0, 300).map((run) => html`<${Change} key=${run.from} run=${run} row=${shown.row} />`)}</div>
  </div>`;
}

const KIND = { same: "same", held: "held back", released: "let go", changed: "changed", added: "added", translated: "translated", silent: "nothing for it" };

function Change({ run, row }) {
  const [open, set] = useState(false), [bytes_, setBytes] = useState(null);
  const toggle = async () => { if (!bytes_) setBytes((await ask(`recording/${row.id}/events`, { from: run.from, n: 1 })).events[0]); set(!open); };
  return html`<div class="change ${run.kind}"><button class="change-head" onClick=${toggle} aria-expanded=${open}><span class="num dim">${run.from}</span><span class="num dim">${time(run.ms, 3)}</span><span class="kind ${run.kind}">${KIND[run.kind]}</span><span class="says mono">${run.says}</span><span class="arrow">→</span><span class="gives mono">${run.kind === "held" ? (run.until ? `until event ${run.until}` : "for good") : run.kind === "same" ? "the same" : run.gives || "nothing"}</span><span class="dim">${run.by ? run.by[0] : ""}</span></button>
    ${open && bytes_ && html`<div class="bytes"><div><h3>came</h3><pre class="text">${shownBytes(bytes_.raw)}</pre></div><div><h3>went out</h3><pre class="text">${bytes_.sent == null ? "the same bytes" : shownBytes(bytes_.sent) || "nothing"}</pre></div></div>`}</div>`;
}
/** An event's JSON, indented; other text, as `[DONE]`, is unchanged. */
const shownBytes = (text) => (text || "").split("\n").map((line) => { const found = /^(data: ?)(\{.*\})$/.exec(line); return found ? found[1] + pretty(found[2]) : line; }).join("\n").trimEnd();

function Events({ shown }) {
  const [open, setOpen] = useState(null), [only, setOnly] = useState(false), [text, setText] = useState("");
  const chart = useRef();
  const runs = shown.runs.filter((run) => (!only || !run.quiet) && (!text || `${run.says} ${run.text} ${run.gives}`.toLowerCase().includes(text.toLowerCase())));
  useEffect(() => {
    if (!window.uPlot || shown.pace.length < 3) return undefined;
    const axis = { stroke: color("--quiet"), grid: { stroke: color("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui" };
    const made = new window.uPlot({ width: chart.current.clientWidth, height: 120, legend: { show: false }, cursor: { y: false }, scales: { x: { time: false } }, axes: [{ ...axis, size: 26, values: (_, all) => all.map((one) => `${one} s`) }, { ...axis, size: 46 }], series: [{}, { stroke: color("--accent"), width: 1.5, fill: color("--chosen"), points: { show: false } }] },
      [shown.pace.map(([ms]) => ms / 1000), shown.pace.map(([, n]) => n)], chart.current);
    const watch = new ResizeObserver(([entry]) => made.setSize({ width: entry.contentRect.width, height: 120 }));
    watch.observe(chart.current);
    return () => { watch.disconnect(); made.destroy(); };
  }, [shown]);
  return html`<div class="events">
    ${shown.pace.length > 2 && html`<div class="chart" ref=${chart} role="img" aria-label="Events over time"></div>`}
    <div class="filters"><input type="search" placeholder="Find in the events" aria-label="Find in the events" value=${text} onInput=${(event) => setText(event.target.value)} /><label><input type="checkbox" checked=${only} onChange=${(event) => setOnly(event.target.checked)} /> only what was mended</label><span class="dim">${plural(shown.events, "event")} in ${plural(shown.runs.length, "line")}</span></div>
    <div class="event-list">${runs.slice(0, 1500).map((run) => html`<${Run} key=${run.from} run=${run} row=${shown.row} open=${open === run.from} toggle=${() => setOpen(open === run.from ? null : run.from)} />`)}</div>
  </div>`;
}

function Run({ run, row, open, toggle }) {
  const [events, set] = useState(null);
  const many = run.to - run.from + 1;
  useEffect(() => { if (open && !events) ask(`recording/${row.id}/events`, { from: run.from, n: Math.min(many, 200) }).then((value) => set(value.events)); }, [open]);
  return html`<div class="run ${run.kind}"><button class="run-head" onClick=${toggle} aria-expanded=${open}><span class="num dim">${run.from}${many > 1 ? `–${run.to}` : ""}</span><span class="num dim">${time(run.ms, 3)}</span><span class="kind ${run.kind}">${run.kind === "same" ? "" : KIND[run.kind]}</span><span class="says mono">${many > 1 ? html`<b>${run.word}</b> <span class="dim">${plural(many, "event")}, ${time(run.end - run.ms)}</span> ${run.text}` : run.says}</span><span class="dim">${run.rules.join(", ")}</span></button>
    ${open && events && html`<div class="raw">${events.map((event) => html`<div class="raw-event"><span class="num dim">${event.n}</span><pre class="text">${shownBytes(event.raw)}</pre>${event.sent != null && html`<pre class="text went">${shownBytes(event.sent) || "nothing went out"}</pre>`}</div>`)}${many > 200 && html`<p class="dim pad">… and ${many - 200} more</p>`}</div>`}</div>`;
}

function Request({ shown }) {
  const { value, error } = useAsked(() => ask(`recording/${shown.row.id}/parts`), [shown.row.id, shown.row.whole]);
  if (error) return html`<${Failed} error=${error} />`;
  if (!value) return html`<${Busy} />`;
  const fields = Object.entries(shown.request?.fields || {});
  return html`<div class="narrow">${value.parts.map((part, n) => html`<${Part} key=${n} part=${part} />`)}
    ${fields.length > 0 && html`<details class="part system" open><summary><span class="who">Other fields</span></summary><dl class="fields">${fields.map(([name, text]) => html`<dt class="mono">${name}</dt><dd><pre class="text">${text}</pre></dd>`)}</dl></details>`}
    ${shown.forwarded && html`<details class="part system"><summary><span class="who">What went to the provider</span> <span class="dim">another request than the client's</span></summary><pre class="text">${JSON.stringify(shown.forwarded.fields, null, 2)}</pre></details>`}
    ${(shown.forwarded?.notes || []).map((note) => html`<p class="notice">${note}</p>`)}</div>`;
}

function Difference({ row, query }) {
  const against = query.get("against") || "prev";
  const { value, error } = useAsked(() => ask(`recording/${row.id}/diff`, { against }), [row.id, against]);
  return html`<div class="narrow diff"><${Against} row=${row} against=${against} />
    ${error ? html`<${Failed} error=${error} />` : !value ? html`<${Busy} />` : !value.against ? html`<${Empty} title="The first request of its conversation"><p>There is no earlier request in this conversation. Choose another one to compare with.</p><//>` : html`<${Changes} value=${value} />`}</div>`;
}

/** The request to compare with: one of the session, or any recording by its name. */
function Against({ row, against }) {
  const { value } = useAsked(() => ask("recordings", { session: row.session }), [row.session]);
  const others = (value?.recordings || []).filter((one) => one.id !== row.id);
  const known = against === "prev" || others.some((one) => one.name === against);
  const choose = (event) => event.target.value && go(withQuery({ against: event.target.value === "prev" ? "" : event.target.value }), true);
  return html`<div class="filters"><select aria-label="Compare with" value=${known ? against : ""} onChange=${choose}><option value="prev">Compare with the request before</option>${!known && html`<option value="">${against}</option>`}${others.map((one) => html`<option value=${one.name}>${clockTime(one.at)} ${one.sub_name || (one.sub ? "subagent" : "")} ${one.model}: ${(one.said || one.title || "").slice(0, 60)}</option>`)}</select>
    <input type="search" placeholder="or the name of any recording" aria-label="Compare with a recording by its name" onChange=${choose} /></div>`;
}

function Changes({ value }) {
  return html`<p class="lead">Against <${Link} to=${`/r/${value.against.name}`}>${value.against.name}<//>, ${full(value.against.at)}: <b class="good-text">+${plural(value.added.length, "part")}</b>, <b class="bad-text">−${value.removed.length}</b>, ${value.same} the same. System prompt ${value.system ? "the same" : html`<b class="warn-text">changed</b>`}, tools ${value.tools ? "the same" : html`<b class="warn-text">changed</b>`}.${value.why && html` <span class="warn-text">Less came from the cache: ${value.why}.</span>`}</p>
    ${value.changes.filter((one) => one.lines.length).map((one) => html`<h3>${one.place}</h3><${Lines} lines=${one.lines} />`)}
    ${value.removed.map((part) => html`<div class="gone"><${Part} part=${part} /></div>`)}${value.added.map((part) => html`<div class="came-new"><${Part} part=${part} /></div>`)}`;
}

const CLASSES = [["system", "System prompt"], ["tools", "Tools"], ["user", "User"], ["assistant", "Assistant"], ["reasoning", "Reasoning"], ["calls", "Calls"], ["results", "Results"], ["files", "Images, files"]];

function Context({ row }) {
  const { value, error } = useAsked(() => ask(`recording/${row.id}/context`), [row.id]);
  if (error) return html`<${Failed} error=${error} />`;
  if (!value) return html`<${Busy} />`;
  const total = value.parts.reduce((sum, part) => sum + part.size, 0);
  const sums = CLASSES.map(([cls, word]) => ({ cls, word, size: value.parts.filter((part) => part.cls === cls).reduce((sum, part) => sum + part.size, 0), count: value.parts.filter((part) => part.cls === cls).length })).filter((one) => one.size);
  const largest = [...value.parts].sort((one, other) => other.size - one.size).slice(0, 25);
  if (!total) return html`<${Empty} title="The request is not readable" />`;
  return html`<div class="narrow context"><p class="lead"><b>${bytes(total)}</b> of text in ${plural(value.parts.length, "part")}${row.tokens_in ? html`; the provider counted <b>${number(row.tokens_in)}</b> tokens, of which ${number(row.cached || 0)} came from its cache` : ""}.</p>
    <div class="stack" role="img" aria-label=${sums.map((one) => `${one.word} ${Math.round((100 * one.size) / total)} %`).join(", ")}>${sums.map((one) => html`<i class=${`c-${one.cls}`} style=${{ width: `${(100 * one.size) / total}%` }} title=${`${one.word}: ${bytes(one.size)}`}></i>`)}</div>
    <table class="sums"><tbody>${sums.map((one) => html`<tr><td><i class=${`swatch c-${one.cls}`}></i>${one.word}</td><td class="num">${bytes(one.size)}</td><td class="num">${((100 * one.size) / total).toFixed(1)} %</td><td class="num dim">${plural(one.count, "part")}</td></tr>`)}</tbody></table>
    <h2>The largest</h2><table class="sums"><tbody>${largest.map((part) => html`<tr><td><i class=${`swatch c-${part.cls}`}></i><span class="one-line">${part.name}</span></td><td class="num">${bytes(part.size)}</td><td class="num">${((100 * part.size) / total).toFixed(1)} %</td><td class="num dim">part ${part.at + 1}</td></tr>`)}</tbody></table></div>`;
}

function Headers({ shown }) {
  const table = (rows) => html`<table class="sums"><tbody>${rows.map(([name, text]) => html`<tr><td class="mono">${name}</td><td class="mono wide">${text}</td></tr>`)}</tbody></table>`;
  const { row } = shown;
  return html`<div class="narrow"><h2>Request</h2>${table([["", `${shown.method} ${shown.path}`], ...(shown.headers?.request || [])])}<h2>Response</h2>${table([["", `${shown.http_version} ${row.status || ""}`], ...(shown.headers?.response || [])])}
    <h2>Recording</h2>${table([["folder", row.path], ["name", row.name], ["state", row.state], ["error", row.error], ["api", row.client_api === row.api ? row.api : `${row.client_api} → ${row.api}`], ["route", row.route], ["toolmend", shown.toolmend], ["size", bytes(row.size)], ...Object.entries(shown.settings || {})].filter(([, text]) => text))}</div>`;
}
