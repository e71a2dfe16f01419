// The list of events. Only the visible rows are rendered.

const list = $("list");
const rows = $("rows");

function filters() {
  const options = [["all", "all events"], ["different", "differences"], ...data.rules.map((rule) => ["rule:" + rule.name, rule.name])];
  $("only").append(...options.map(([value, text]) => el("option", { value }, text)));
  if (!options.some(([value]) => value === state.only)) state.only = "all";
  $("only").value = state.only;
  $("find").value = state.find;
}

function filter() {
  const word = state.find.toLowerCase();
  shown = events.filter((event) => {
    if (state.only === "different" && !differs(event)) return false;
    if (state.only.startsWith("rule:") && ruleOf(event) !== state.only.slice(5) && !event.rules.includes(state.only.slice(5))) return false;
    return !word || event.raw.toLowerCase().includes(word) || (event.sent || "").toLowerCase().includes(word);
  });
  $("count").textContent = shown.length === events.length ? plural(events.length, "event") : `${number(shown.length)} of ${number(events.length)}`;
  rows.style.height = shown.length * ROW + "px";
  drawRows();
}

function line(event) {
  if (event.kind === "same" || event.kind === "held" || event.kind === "silent") return event.says;
  if (!event.says || event.says === event.gives) return event.gives || event.says;
  return event.kind === "released" ? event.says : event.says + " → " + (event.gives || "other bytes");
}

function drawRows() {
  const first = Math.max(0, Math.floor(list.scrollTop / ROW) - 8);
  const last = Math.min(shown.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW) + 8);
  rows.replaceChildren(
    ...shown.slice(first, last).map((event, at) => {
      const row = el(
        "div",
        { className: "row " + event.kind + (event.by ? " mended" : "") + (event.n === state.event ? " chosen" : ""), role: "option", id: "event-" + event.n },
        el("span", { className: "n" }, number(event.n)),
        el("span", { className: "ms" }, precise(event.ms)),
        el("span", { className: "says", title: line(event) }, line(event)),
        el("span", { className: "rule", title: KINDS[event.kind][1] }, ruleOf(event) || (event.kind === "same" ? "" : KINDS[event.kind][0])),
      );
      row.setAttribute("aria-selected", event.n === state.event);
      row.setAttribute("aria-setsize", shown.length);
      row.setAttribute("aria-posinset", first + at + 1);
      row.style.top = (first + at) * ROW + "px";
      row.dataset.n = event.n;
      return row;
    }),
  );
  const here = document.getElementById("event-" + state.event);
  if (here) list.setAttribute("aria-activedescendant", here.id);
  else list.removeAttribute("aria-activedescendant");
}

let waiting = false;
list.addEventListener("scroll", () => {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    drawRows();
  });
});
rows.addEventListener("click", (mouse) => {
  const row = mouse.target.closest(".row");
  if (row) choose(Number(row.dataset.n));
});

function position() {
  // the index of the event among the shown ones, or where it would be
  let low = 0;
  let high = shown.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (shown[middle].n < state.event) low = middle + 1;
    else high = middle;
  }
  return low;
}

function choose(n) {
  state.event = n;
  const at = position();
  if (shown[at] && shown[at].n === n) {
    if (at * ROW < list.scrollTop) list.scrollTop = at * ROW;
    if ((at + 1) * ROW > list.scrollTop + list.clientHeight) list.scrollTop = (at + 1) * ROW - list.clientHeight;
  }
  drawRows();
  drawTime();
  drawBytes();
  if (state.tab === "rule") drawAbout();
  writeAddress();
}

function move(by) {
  if (!shown.length) return;
  let at = position();
  const on = shown[at] && shown[at].n === state.event;
  at = on || by < 0 ? at + by : at + by - 1;
  choose(shown[Math.max(0, Math.min(shown.length - 1, at))].n);
}

function difference(direction) {
  for (let at = state.event - 1 + direction; at >= 0 && at < events.length; at += direction) {
    if (differs(events[at])) return choose(events[at].n);
  }
}
