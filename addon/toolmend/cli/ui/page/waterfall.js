// One time axis with a lane for each agent: requests, waiting, streaming, and the tools that ran in between.
import { html, useRef, useEffect, useState, useMemo, time, store, color } from "./base.js";

const LANE = 26, TOP = 22, NAMES = 118;

/** Rows with their positions: overlapping requests of a lane are below each other. */
export function placed(recordings, lanes) {
  const out = [];
  let y = 0;
  for (const lane of lanes) {
    const ends = [];
    const mine = recordings.filter((row) => row.sub === lane.sub);
    for (const row of mine) {
      const from = row.at, to = until(row);
      let level = ends.findIndex((end) => end <= from + 0.001);
      if (level < 0) level = ends.length;
      ends[level] = to;
      out.push({ row, from, first: row.wait != null ? from + row.wait / 1000 : to, to, level: y + Math.min(level, 5), lane });
    }
    lane.y = y;
    y += Math.max(1, Math.min(6, ends.length));
  }
  return { bars: out, height: TOP + y * LANE + 6 };
}

export function until(row) {
  if (row.live) return store.now();
  if (row.waited != null) return row.at + row.waited / 1000;
  return row.at + ((row.wait || 0) + (row.last || 0)) / 1000;
}

export function Waterfall({ recordings, lanes, chosen, onChoose, range, onRange, laneName }) {
  const box = useRef(), canvas = useRef(), drag = useRef(null);
  const [hover, setHover] = useState(null), [width, setWidth] = useState(800), [, again] = useState(0);
  const live = recordings.some((row) => row.live);
  useEffect(() => { const watch = new ResizeObserver(([entry]) => setWidth(entry.contentRect.width)); watch.observe(box.current); return () => watch.disconnect(); }, []);
  useEffect(() => { if (!live) return undefined; const timer = setInterval(() => again((n) => n + 1), 250); return () => clearInterval(timer); }, [live]);
  const { bars, height } = placed(recordings, lanes);
  const names = lanes.length > 1 && width > 560 ? NAMES : 0;
  const begin = Math.min(...bars.map((bar) => bar.from)), finish = Math.max(begin + 0.5, ...bars.map((bar) => bar.to));
  const scale = (width - names - 10) / (finish - begin);
  const x = (at) => names + 4 + (at - begin) * scale;
  const at = (px) => begin + (px - names - 4) / scale;

  useEffect(() => {
    const screen = canvas.current, ratio = devicePixelRatio || 1;
    screen.width = width * ratio; screen.height = height * ratio;
    const pen = screen.getContext("2d");
    pen.scale(ratio, ratio);
    pen.clearRect(0, 0, width, height);
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    const step = nice((finish - begin) / Math.max(3, width / 130));
    pen.fillStyle = color("--quiet");
    for (let tick = 0; tick <= finish - begin + 1e-9; tick += step) {
      const left = x(begin + tick);
      pen.fillStyle = color("--line");
      pen.fillRect(Math.round(left), TOP - 4, 1, height - TOP);
      pen.fillStyle = color("--quiet");
      if (left < width - 34) pen.fillText(tick === 0 ? "0" : words(tick, step), left + 3, 9);
    }
    if (names) for (const lane of lanes) { pen.fillStyle = color("--text"); pen.fillText(fit(pen, laneName(lane), names - 8), 2, TOP + lane.y * LANE + 10); }
    const byLane = new Map();
    for (const bar of bars) {
      const before = byLane.get(bar.row.sub);
      if (before && bar.from > before.to) {
        const left = x(before.to), wide = x(bar.from) - left, y = TOP + before.level * LANE + 10;
        pen.fillStyle = color("--tool");
        pen.fillRect(left, y - 1, Math.max(0, wide), 2);
        const calls = before.row.calls;
        if (calls && wide > 30) { pen.fillStyle = color("--quiet"); pen.fillText(fit(pen, calls.split(" ").join(", "), wide - 6), left + 3, y + 9); }
      }
      if (!before || bar.to > before.to) byLane.set(bar.row.sub, bar);
    }
    for (const bar of bars) {
      const y = TOP + bar.level * LANE + 2, left = x(bar.from), middle = x(Math.min(bar.first, bar.to)), right = Math.max(x(bar.to), left + 2);
      const row = bar.row;
      const fill = row.state === "unanswered" || row.state === "upstream_error" || row.status >= 400 ? "--bad" : row.rules ? "--mended" : row.live ? "--live" : row.sub ? "--sub" : "--bar";
      const out = range && (bar.to < range[0] || bar.from > range[1]);
      pen.globalAlpha = out ? 0.25 : 1;
      hatch(pen, left, y, Math.max(1, middle - left), 16, color(row.state === "unanswered" || row.state === "waiting" ? "--bad-soft" : "--wait"), color("--back"));
      pen.fillStyle = color(fill);
      round(pen, middle, y, Math.max(1.5, right - middle), 16);
      if (row.gap > 15000) { pen.fillStyle = color("--bad"); pen.fillRect(middle, y + 14, Math.max(2, right - middle), 2); }
      if (row.suspect) { pen.fillStyle = color("--warn"); pen.fillRect(right - 3, y, 3, 16); }
      if (row.id === chosen) { pen.strokeStyle = color("--text"); pen.lineWidth = 1.5; pen.strokeRect(left - 1, y - 1.5, right - left + 2, 19); }
      pen.globalAlpha = 1;
    }
    const marked = drag.current?.moved ? [drag.current.from, drag.current.to].sort((a, b) => a - b) : range;
    if (marked) { pen.fillStyle = color("--accent"); pen.globalAlpha = 0.14; pen.fillRect(x(marked[0]), TOP - 4, x(marked[1]) - x(marked[0]), height); pen.globalAlpha = 1; }
  });

  const hit = (event) => {
    const place = canvas.current.getBoundingClientRect(), left = event.clientX - place.left, top = event.clientY - place.top;
    const found = bars.filter((bar) => left >= x(bar.from) - 3 && left <= Math.max(x(bar.to), x(bar.from) + 4) + 2 && top >= TOP + bar.level * LANE - 2 && top <= TOP + bar.level * LANE + 22);
    return { found: found[found.length - 1], left, top };
  };
  const move = (event) => {
    const { found, left, top } = hit(event);
    if (drag.current) { drag.current.to = at(left); drag.current.moved = drag.current.moved || Math.abs(left - drag.current.left) > 5; again((n) => n + 1); }
    setHover(found ? { ...found, left, top } : null);
  };
  const down = (event) => { if (event.button) return; const { left } = hit(event); drag.current = { left, from: at(left), to: at(left), moved: false }; canvas.current.setPointerCapture(event.pointerId); };
  const up = (event) => {
    const { found } = hit(event), was = drag.current;
    drag.current = null;
    if (was?.moved) onRange([was.from, was.to].sort((a, b) => a - b));
    else if (found) onChoose(found.row);
    else onRange(null);
  };
  const row = hover?.row;
  return html`<div class="waterfall" ref=${box}>
    <canvas ref=${canvas} style=${{ width: `${width}px`, height: `${height}px` }} role="img" aria-label=${`${recordings.length} requests over ${time((finish - begin) * 1000)}`} onPointerMove=${move} onPointerDown=${down} onPointerUp=${up} onPointerLeave=${() => setHover(null)}></canvas>
    ${row && html`<div class="tip" style=${{ left: `${Math.min(hover.left + 12, Math.max(0, width - 270))}px`, top: `${hover.top + 14}px` }}><b>${row.model}</b> ${row.calls ? `calls ${row.calls.split(" ").join(", ")}` : row.error || ""}<br/>first byte ${row.wait != null ? time(row.wait) : row.waited != null ? `none in ${time(row.waited)}` : "—"} · streams ${time(row.last)}${row.rules ? html`<br/>mended: ${row.rules}` : ""}</div>`}
  </div>`;
}

function nice(step) {
  for (const one of [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400]) if (one >= step) return one;
  return Math.ceil(step / 86400) * 86400;
}
const words = (s, step) => (step < 1 ? `${s.toFixed(1)} s` : s < 120 ? `${Math.round(s)} s` : s < 7200 ? `${Math.round(s / 6) / 10} min` : `${Math.round(s / 360) / 10} h`);
function fit(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  let end = text.length;
  while (end > 1 && pen.measureText(`${text.slice(0, end)}…`).width > width) end--;
  return end > 1 ? `${text.slice(0, end)}…` : "";
}
function round(pen, x, y, width, height) { pen.beginPath(); pen.roundRect(x, y, width, height, Math.min(3, width / 2)); pen.fill(); }
function hatch(pen, x, y, width, height, color, back) {
  pen.save();
  pen.beginPath(); pen.roundRect(x, y, width, height, Math.min(3, width / 2)); pen.clip();
  pen.fillStyle = color; pen.globalAlpha *= 0.45; pen.fillRect(x, y, width, height);
  pen.globalAlpha = Math.min(1, pen.globalAlpha * 2); pen.strokeStyle = color; pen.lineWidth = 2;
  for (let at = x - height; at < x + width; at += 6) { pen.beginPath(); pen.moveTo(at, y + height); pen.lineTo(at + height, y); pen.stroke(); }
  pen.restore();
}
