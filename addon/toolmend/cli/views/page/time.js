// The time line: a bar for every pixel with bytes, as tall as their logarithm.

const canvas = $("time");
const whole = Math.max(data.times.last, 1);

function edge(width) {
  // where the stream begins; the wait before it has its own box, because it would dwarf the rest
  return data.times.wait ? Math.min(90, width * 0.2) : 6;
}

function place(ms, width) {
  return edge(width) + (ms / whole) * (width - edge(width) - 6);
}

function step(range) {
  const rough = range / 8;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((times) => times * power).find((size) => size >= rough);
}

let counted = { width: -1 };

function columns(width) {
  // bytes by kind and pixel; counted once for each width, since each selection draws it again
  if (counted.width !== width) {
    counted = { width, kinds: new Map() };
    for (const event of events) {
      if (!counted.kinds.has(event.kind)) counted.kinds.set(event.kind, new Map());
      const bytes = counted.kinds.get(event.kind);
      const x = Math.round(place(event.ms, width));
      bytes.set(x, (bytes.get(x) || 0) + Math.max(event.raw.length, sent(event).length));
    }
  }
  return counted.kinds;
}

function drawTime() {
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  const dots = window.devicePixelRatio || 1;
  canvas.width = width * dots;
  canvas.height = height * dots;
  const pen = canvas.getContext("2d");
  pen.scale(dots, dots);
  const color = getComputedStyle($("moment")).color;
  const base = height - 16;
  pen.font = "11px system-ui, sans-serif";
  pen.fillStyle = color;
  const size = step(whole);
  let free = 0;
  for (let n = 0; n * size <= whole; n++) {
    const x = place(n * size, width);
    const label = seconds(n * size);
    const left = Math.min(Math.max(0, x - pen.measureText(label).width / 2), width - pen.measureText(label).width);
    pen.globalAlpha = 0.35;
    pen.fillRect(x, 0, 1, base);
    pen.globalAlpha = 1;
    if (left >= free) {
      pen.fillText(label, left, height - 3);
      free = left + pen.measureText(label).width + 8;
    }
  }
  pen.fillRect(0, base, width, 1);
  if (data.times.wait) {
    pen.globalAlpha = 0.15;
    pen.fillRect(0, 0, edge(width) - 6, base);
    pen.globalAlpha = 1;
    pen.fillText("wait", 4, base / 2 - 2);
    pen.fillText(seconds(data.times.wait), 4, base / 2 + 12);
  }
  const kinds = columns(width);
  const most = Math.log2(2 + [...kinds.values()].flatMap((bytes) => [...bytes.values()]).reduce((top, size) => Math.max(top, size), 0));
  for (const kind of ["same", "silent", "translated", "released", "held", "changed", "added"]) {
    if (!kinds.has(kind)) continue;
    pen.fillStyle = getComputedStyle(document.querySelector("#legend ." + kind)).color;
    for (const [x, bytes] of kinds.get(kind)) {
      const tall = Math.max(3, (Math.log2(1 + bytes) / most) * (base - 8));
      pen.fillRect(x - 1, base - tall, 2, tall);
    }
  }
  const chosen = events[state.event - 1];
  if (chosen) {
    const x = place(chosen.ms, width);
    pen.fillStyle = getComputedStyle(document.body).color;
    pen.beginPath();
    pen.moveTo(x - 5, 0);
    pen.lineTo(x + 5, 0);
    pen.lineTo(x, 7);
    pen.fill();
    pen.fillRect(x - 0.5, 0, 1, base);
  }
}

function near(clientX) {
  const box = canvas.getBoundingClientRect();
  const ms = ((clientX - box.left - edge(box.width)) / (box.width - edge(box.width) - 6)) * whole;
  let low = 0;
  let high = events.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (events[middle].ms < ms) low = middle + 1;
    else high = middle;
  }
  return low > 0 && ms - events[low - 1].ms < events[low].ms - ms ? events[low - 1] : events[low];
}

canvas.addEventListener("mousemove", (mouse) => {
  const event = near(mouse.clientX);
  if (event) $("moment").textContent = `event ${number(event.n)} at ${seconds(event.ms)}: ${event.says || "the end"}`.slice(0, 60);
});
canvas.addEventListener("mouseleave", () => ($("moment").textContent = ""));
canvas.addEventListener("click", (mouse) => {
  const event = near(mouse.clientX);
  if (event) choose(event.n);
});
