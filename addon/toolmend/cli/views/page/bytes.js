// The bytes of an event: raw, mended, and how they differ.

function indented(text) {
  // indents JSON token by token: values are not parsed, so only the space between tokens changes
  const out = [];
  let depth = 0;
  let inside = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (inside) {
      out.push(char);
      if (char === "\\") out.push(text[++at] ?? "");
      else if (char === '"') inside = false;
    } else if (char === '"') {
      inside = true;
      out.push(char);
    } else if (char === "{" || char === "[") {
      const end = text.slice(at + 1).match(/^\s*[}\]]/);
      if (end) {
        out.push(char + end[0].trim());
        at += end[0].length;
      } else out.push(char, "\n", "  ".repeat(++depth));
    } else if (char === "}" || char === "]") {
      depth = Math.max(0, depth - 1);
      out.push("\n", "  ".repeat(depth), char);
    } else if (char === ",") out.push(",\n", "  ".repeat(depth));
    else if (char === ":") out.push(": ");
    else if (!/\s/.test(char)) out.push(char);
  }
  return out.join("");
}

function lines(text) {
  const found = [];
  for (const one of text.split(/\r\n|\n|\r/)) {
    const body = one.match(/^data: ?(?=\{|\[(?!DONE\]))/) || one.match(/^(?=\{|\[(?!DONE\]))/);
    if (body && one.length <= MAX_SHOWN) found.push(...(body[0] + indented(one.slice(body[0].length))).split("\n"));
    else if (one) found.push(one.slice(0, MAX_SHOWN) + (one.length > MAX_SHOWN ? " …" : ""));
  }
  return found;
}

function compared(before, after) {
  // pairs of lines: [a, a] equal, [a, null] removed, [null, b] added, [a, b] changed
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < before.length - head && tail < after.length - head && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail++;
  const a = before.slice(head, before.length - tail);
  const b = after.slice(head, after.length - tail);
  const pairs = before.slice(0, head).map((one) => [one, one]);
  const gone = [];
  const come = [];
  const flush = () => {
    while (gone.length || come.length) pairs.push([gone.length ? gone.shift() : null, come.length ? come.shift() : null]);
  };
  if (a.length > MAX_LINES || b.length > MAX_LINES) {
    gone.push(...a);
    come.push(...b);
  } else {
    const wide = b.length + 1;
    const common = new Uint16Array((a.length + 1) * wide);
    for (let i = a.length - 1; i >= 0; i--) {
      for (let j = b.length - 1; j >= 0; j--) {
        common[i * wide + j] = a[i] === b[j] ? common[(i + 1) * wide + j + 1] + 1 : Math.max(common[(i + 1) * wide + j], common[i * wide + j + 1]);
      }
    }
    let i = 0;
    let j = 0;
    while (i < a.length || j < b.length) {
      if (i < a.length && j < b.length && a[i] === b[j]) {
        flush();
        pairs.push([a[i++], b[j++]]);
      } else if (j >= b.length || (i < a.length && common[(i + 1) * wide + j] >= common[i * wide + j + 1])) gone.push(a[i++]);
      else come.push(b[j++]);
    }
  }
  flush();
  return pairs.concat(tail ? before.slice(-tail).map((one) => [one, one]) : []);
}

function marked(text, other) {
  // the part of a line that the other line does not have
  if (other === null) return [text];
  let start = 0;
  while (start < text.length && text[start] === other[start]) start++;
  let end = 0;
  while (end < text.length - start && end < other.length - start && text[text.length - 1 - end] === other[other.length - 1 - end]) end++;
  const piece = text.slice(start, text.length - end);
  if ((start + end) * 3 < text.trimStart().length) return [text]; // they have little in common
  return piece ? [text.slice(0, start), el("mark", {}, piece), text.slice(text.length - end)] : [text];
}

function group(event) {
  // with an event that releases held events, these, too
  const answer = event.until ? events[event.until - 1] : event;
  let first = answer.n;
  while (first > 1 && (events[first - 2].until === answer.n || (events[first - 2].kind === "same" && first > 2 && events[first - 3].until === answer.n))) first--;
  return events.slice(first - 1, answer.n);
}

function drawBytes() {
  const pane = $("bytes");
  const event = events[state.event - 1];
  pane.replaceChildren();
  pane.scrollTop = 0;
  for (const tab of $("views").children) pick(tab, state.view);
  if (!event) {
    $("which").textContent = "";
    pane.append(el("p", { className: "quiet" }, "Nothing came from the upstream."));
    return;
  }
  $("which").textContent = `event ${number(event.n)} of ${number(events.length)}, ${seconds(event.ms)}, ${KINDS[event.kind][0]}`;
  if (state.view !== "diff") {
    const text = state.view === "raw" ? event.raw : sent(event);
    const nothing = state.view === "raw" ? "Nothing came here: the body was over." : "Nothing went out for this event.";
    pane.append(text ? el("pre", {}, text.slice(0, MAX_SHOWN)) : el("p", { className: "quiet" }, nothing));
    if (text.length > MAX_SHOWN) {
      const all = el("button", { type: "button" }, `Show all ${number(text.length)} characters`);
      all.addEventListener("click", () => pane.replaceChildren(el("pre", {}, text)));
      pane.append(all);
    }
    return;
  }
  const all = group(event);
  const answer = all[all.length - 1];
  const where = all.length === 1 ? `event ${number(answer.n)}` : `events ${number(all[0].n)} to ${number(answer.n)}`;
  const went = all.map(sent).join("");
  if (answer.kind === "translated" || answer.kind === "silent") {
    const side = (title, said, text) => el("div", {}, el("h2", {}, title), el("p", { className: "said" }, said || "nothing"), el("pre", {}, lines(text).join("\n")));
    pane.append(el("div", { className: "sides" }, side(`Raw, ${data.api}`, answer.says, answer.raw), side(`Mended, ${data.client_api}`, answer.gives, went)));
    return;
  }
  const sides = el("div", { className: "sides" }, el("h2", {}, "Raw, " + where), el("h2", {}, "Mended"));
  if (answer.kind !== "same") {
    sides.append(el("p", { className: "said" }, all.map((one) => one.says).filter(Boolean).join("\n") || "nothing"));
    sides.append(el("p", { className: "said" }, all.map((one) => (one.kind === "same" ? one.says : one.gives)).filter(Boolean).join("\n") || "nothing"));
  }
  const whole = answer.kind === "released"; // both sides are equal, event by event
  const pairs = compared(lines(whole ? all.map((one) => one.raw).join("") : answer.raw), lines(went));
  const before = whole ? [] : all.slice(0, -1).filter((one) => one.kind !== "same");
  for (const [left, right] of [...before.map((one) => [one.raw.trim().slice(0, MAX_SHOWN), null]), ...pairs]) {
    if (left === right) sides.append(el("pre", {}, left), el("pre", { className: "again" }, right));
    else {
      sides.append(left === null ? el("pre", { className: "none" }) : el("pre", { className: "out" }, ...marked(left, right)));
      sides.append(right === null ? el("pre", { className: "none" }) : el("pre", { className: "in" }, ...marked(right, left)));
    }
  }
  pane.append(whole || answer.raw === went ? el("p", { className: "quiet" }, "No difference: these bytes are the client's, too.") : "", sides);
}

$("copy").addEventListener("click", async () => {
  const event = events[state.event - 1];
  if (!event) return;
  const text = state.view === "raw" ? event.raw : sent(event);
  try {
    await navigator.clipboard.writeText(text);
    $("copy").textContent = "Copied";
  } catch {
    getSelection().selectAllChildren($("bytes")); // a page opened from disk may not be allowed to copy
    $("copy").textContent = "Selected";
  }
  setTimeout(() => ($("copy").textContent = "Copy"), 1200);
});
