// A session: its agents, its time line, and each part of its conversation once.
import { html, useState, useEffect, useRef, useMemo, useLayoutEffect, ask, useAsked, useStore, useRows, go, withQuery, useKeys, Failed, Busy, Dot, Chip, tokens, money, time, plural, full } from "./base.js";
import { Waterfall, until } from "./waterfall.js";
import { Part, Answer, Growing, Facts } from "./parts.js";

export function Session({ id, query }) {
  const known = useRef(null), since = useRef(0);
  const { value, error, again } = useAsked(async () => {
    const from = since.current;
    since.current = Infinity;
    const some = await ask(`session/${encodeURIComponent(id)}`, { since: from });
    known.current = from && known.current ? together(known.current, some) : some;
    return known.current;
  }, [id]);
  const live = useStore((state) => state.live);
  const timer = useRef(0), last = useRef(0);
  useRows((rows, gone) => {
    const mine = rows.filter((row) => row.session === id);
    if (!mine.length && !gone.some((one) => known.current?.recordings.some((row) => row.id === one))) return;
    since.current = mine.length ? Math.min(since.current, ...mine.map((row) => row.at)) : 0;
    clearTimeout(timer.current);
    timer.current = setTimeout(() => { last.current = Date.now(); again(); }, Math.max(30, 400 - (Date.now() - last.current)));
  }, [id]);
  if (error && !value) return html`<${Failed} error=${error} again=${again} />`;
  if (!value) return html`<${Busy} />`;
  return html`<${Shown} value=${value} live=${live} query=${query} />`;
}

/** A session with the changes since it was loaded. */
function together(before, some) {
  const fresh = new Set(some.recordings.map((row) => row.id));
  return { ...some, recordings: [...before.recordings.filter((row) => !fresh.has(row.id)), ...some.recordings], turns: [...before.turns.filter((turn) => !fresh.has(turn.recording)), ...some.turns], misses: { ...before.misses, ...some.misses } };
}

function Shown({ value, live, query }) {
  const { session, turns, misses } = value;
  const recordings = useMemo(() => value.recordings.map((row) => live.get(row.id) || row), [value, live]);
  const by = useMemo(() => new Map(recordings.map((row) => [row.id, row])), [recordings]);
  const lanes = value.lanes;
  const lane = query.get("lane") ?? (lanes.some((one) => one.sub === "") ? "" : "*");
  const [sharing, setSharing] = useState(false), [range, setRange] = useState(null), [chosen, setChosen] = useState(null), [thoughts, setThoughts] = useState(false);
  const box = useRef(), inner = useRef(), stick = useRef(true), [behind, setBehind] = useState(false);
  const shown = turns.filter((turn) => (lane === "*" || turn.sub === lane) && (!range || inside(by.get(turn.recording), range)));
  const results = useMemo(() => { const found = new Map(); for (const turn of turns) for (const part of turn.parts) if (part.kind === "result" && part.id) found.set(part.id, { ...part, asked: by.get(turn.recording)?.at }); return found; }, [turns, by]);
  const called = useMemo(() => new Set(turns.flatMap((turn) => (turn.answer?.calls || []).map((call) => call.id))), [turns]);
  const laneName = (one) => one.name || (one.sub ? one.title || "subagent" : "main agent");
  const laneOf = (call) => {
    let given; try { given = JSON.parse(call.arguments); } catch { return null; }
    const prompt = typeof given?.prompt === "string" ? given.prompt.replace(/\s+/g, " ").trim() : "";
    const found = prompt && lanes.find((one) => one.sub && one.title && (prompt.startsWith(one.title) || one.title.startsWith(prompt.slice(0, 150))));
    return found ? withQuery({ lane: found.sub }) : null;
  };
  const scrolled = () => { const at = box.current; stick.current = at.scrollHeight - at.scrollTop - at.clientHeight < 90; if (stick.current) setBehind(false); };
  const toEnd = () => { stick.current = true; box.current.scrollTop = box.current.scrollHeight; setBehind(false); };
  useLayoutEffect(() => { if (stick.current && (query.get("end") !== "0")) box.current.scrollTop = box.current.scrollHeight; else if (recordings.some((row) => row.live)) setBehind(true); });
  useEffect(() => { // elements that are rendered when they become visible get their real height then
    const watch = new ResizeObserver(() => { if (stick.current) box.current.scrollTop = box.current.scrollHeight; });
    watch.observe(inner.current);
    return () => watch.disconnect();
  }, []);
  const show = (row) => { setChosen(row.id); if (lane !== "*" && row.sub !== lane) go(withQuery({ lane: row.sub || null }), true); stick.current = false; setTimeout(() => document.getElementById(`turn-${row.id}`)?.scrollIntoView({ block: "start", behavior: reduced() ? "auto" : "smooth" }), 30); };
  const at = Math.max(0, shown.findIndex((turn) => turn.recording === chosen));
  const move = (by_) => () => { const next = shown[Math.max(0, Math.min(shown.length - 1, chosen == null ? (by_ > 0 ? 0 : shown.length - 1) : at + by_))]; if (next) show(by.get(next.recording)); };
  useKeys({
    j: [move(1), "next"], k: [move(-1), "previous"],
    Enter: [() => chosen && go(`/r/${by.get(chosen).name}`), "open the request"],
    r: [() => setThoughts(!thoughts), thoughts ? "fold reasoning" : "show reasoning"],
    f: [toEnd, "follow"],
    l: [() => { const order = [...lanes.map((one) => one.sub), ...(lanes.length > 1 ? ["*"] : [])]; go(withQuery({ lane: order[(order.indexOf(lane) + 1) % order.length] }), true); }, lanes.length > 1 ? "next agent" : ""],
  }, [chosen, shown, thoughts, lane]);
  const busy = recordings.filter((row) => row.live);
  const others = busy.filter((row) => lane !== "*" && row.sub !== lane).length;
  return html`<div class="session">
    <section class="session-head">
      ${sharing && html`<${Share} session=${session} close=${() => setSharing(false)} />`}
      <div class="heading"><h1>${session.title || session.model || session.session}</h1><button class="share" onClick=${() => setSharing(true)}>Share …</button>${busy.length ? html`<${Chip} tone="live">${plural(busy.length, "answer")} now<//>` : null}</div>
      <p class="line-facts"><span>${session.agent || session.agents}</span><span class="mono">${(session.models || "").split(",").join(", ")}</span><span>${plural(session.requests, "request")}</span>${session.subagents ? html`<span>${plural(session.subagents, "subagent")}</span>` : null}<span>${full(session.at)}</span>
        <span><b>${tokens(session.tokens_in)}</b> in${session.tokens_in ? `, ${Math.round((100 * session.cached) / session.tokens_in)} % cached` : ""}</span><span><b>${tokens(session.tokens_out)}</b> out</span><span title=${session.cost == null ? "No price is known: pip install toolmend[ui] has a table of prices, and [[price]] in the settings adds to it" : "By a table of prices; + where some requests have none"}>cost <b>${money(session.cost, session.unpriced)}</b></span>
        ${session.mended ? html`<${Chip} tone="mended" title=${session.rules.join(", ")}>${session.mended} mended<//>` : null}${session.suspects ? html`<${Chip} tone="warn">${session.suspects} suspect<//>` : null}${session.unanswered + session.failed ? html`<${Chip} tone="bad">${session.unanswered + session.failed} failed<//>` : null}</p>
    </section>
    <${Waterfall} recordings=${recordings} lanes=${lanes} chosen=${chosen} onChoose=${show} range=${range} onRange=${setRange} laneName=${laneName} />
    ${(lanes.length > 1 || range) && html`<div class="lanes" role="tablist" aria-label="Agents">
      ${lanes.map((one) => html`<button role="tab" aria-selected=${lane === one.sub} onClick=${() => go(withQuery({ lane: one.sub }) + (one.sub ? "" : (location.search ? "" : "")), true)} title=${one.title}>${one.sub && html`<i class="branch">↳</i>`}${laneName(one)}<span class="dim">${one.requests}</span>${busy.some((row) => row.sub === one.sub) && html`<${Dot} tone="live" title="live" />`}</button>`)}
      ${lanes.length > 1 && html`<button role="tab" aria-selected=${lane === "*"} onClick=${() => go(withQuery({ lane: "*" }), true)}>all, by time</button>`}
      ${range && html`<button class="clear" onClick=${() => setRange(null)}>only ${time((range[1] - range[0]) * 1000)} of it ✕</button>`}
    </div>`}
    <div class="talk" ref=${box} onScroll=${scrolled} tabindex="-1"><div ref=${inner}>
      ${shown.length === 0 && html`<p class="dim pad">No request of ${lane === "" ? "the main agent" : "this agent"} is there${range ? " in this time" : ""}.</p>`}
      ${shown.map((turn) => { const row = by.get(turn.recording); return row && html`<${Turn} key=${turn.recording} turn=${turn} row=${row} on=${chosen === turn.recording} results=${results} called=${called} lanes=${laneOf} miss=${misses[turn.recording]} named=${lane === "*" && lanes.length > 1 ? laneName(lanes.find((one) => one.sub === turn.sub)) : ""} thoughts=${thoughts} />`; })}
      ${others > 0 && html`<p class="dim pad">+${others} in subagents</p>`}
    </div></div>
    ${behind && html`<button class="to-end" onClick=${toEnd}>↓ what comes now</button>`}
  </div>`;
}

const reduced = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
const inside = (row, range) => row && until(row) >= range[0] && row.at <= range[1];

const LEAVE = [["system", "system prompts"], ["tools", "lists of tools"], ["results", "results of tools"], ["reasoning", "reasoning"]];

/** The export of a session: first a review of what looks like a secret, part by part. */
function Share({ session, close }) {
  const box = useRef();
  const path = `/api/session/${encodeURIComponent(session.session)}`;
  const post = async (what, body) => { const answer = await fetch(`${path}/${what}`, { method: "POST", headers: { "X-Toolmend": "1" }, body: JSON.stringify(body) }); if (!answer.ok) throw new Error(`The server answered ${answer.status}.`); return answer; };
  const { value, error } = useAsked(async () => (await post("review", {})).json(), [session.session]);
  const [allow, setAllow] = useState(new Set()), [leave, setLeave] = useState(new Set(["system", "tools"]));
  const toggle = (set, put) => (one) => () => { const next = new Set(set); if (!next.delete(one)) next.add(one); put(next); };
  useEffect(() => { box.current.showModal(); }, []);
  const save = async () => {
    const url = URL.createObjectURL(await (await post("export", { allow: [...allow], leave: [...leave] })).blob());
    const link = document.createElement("a");
    link.href = url;
    link.download = `session-${session.session.slice(0, 8)}.html`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
    box.current.close();
  };
  return html`<dialog ref=${box} class="sharing" onClose=${close}><h2>Share this session as one page</h2>
    <p class="dim">The page has no script and needs no network. It contains the whole conversation: read it before you share it.</p>
    <fieldset><legend>Leave out</legend>${LEAVE.map(([name, word]) => html`<label><input type="checkbox" checked=${leave.has(name)} onChange=${toggle(leave, setLeave)(name)} /> ${word}</label>`)}</fieldset>
    ${error && html`<p class="bad-text">${error.message}</p>`}${!value && !error && html`<${Busy} />`}
    ${value && (value.findings.length ? html`<p><b>${plural(value.findings.length, "part")} ${value.findings.length === 1 ? "looks" : "look"} like a secret, and ${value.findings.length === 1 ? "is" : "are"} left out.</b> Tick those that you have read, and that hold none:</p><ul class="findings">${value.findings.map((one) => html`<li><label><input type="checkbox" checked=${allow.has(one.part)} onChange=${toggle(allow, setAllow)(one.part)} /> ${one.kind} of ${one.role}: ${one.what.join(", ")}</label> <a href=${`#turn-${one.recording}`} onClick=${(event) => { event.preventDefault(); box.current.close(); document.getElementById(`turn-${one.recording}`)?.scrollIntoView(); }}>see it</a></li>`)}</ul>` : html`<p>Nothing in it looks like a secret.</p>`)}
    <p class="buttons"><button onClick=${save} disabled=${!value}>Save the page</button><button onClick=${() => box.current.close()}>Cancel</button></p></dialog>`;
}

function Turn({ turn, row, on, results, called, lanes, miss, named, thoughts }) {
  const parts = turn.parts.filter((part) => !(part.kind === "result" && called.has(part.id)));
  return html`<article class="turn ${on ? "on" : ""}" id=${`turn-${row.id}`}>
    <div class="turn-body">${named && html`<div class="lane-name">${named}</div>`}
      ${parts.map((part) => html`<${Part} key=${part.part} part=${part} />`)}
      ${row.live ? html`<${Growing} row=${row} />` : html`<${Answer} answer=${turn.answer} row=${row} results=${results} lanes=${lanes} showThoughts=${thoughts} />`}
    </div>
    <${Facts} row=${row} miss=${miss} />
  </article>`;
}
