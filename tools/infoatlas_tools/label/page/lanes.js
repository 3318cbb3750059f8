// Lanes of key states and sub-tasks. A mark is a button, so that it can be reached by keyboard.

import { $, clamp, DOUBTFUL, element, entries, last, parts, percent, seconds, ui } from "./model.js";

export const share = (step) => (100 * (step - ui.view[0])) / Math.max(ui.view[1] - ui.view[0], 1);

// The step below a horizontal place on the page.
export function stepAt(x) {
  const box = $("plot").getBoundingClientRect();
  const [first, end] = ui.view;
  return clamp(Math.round(first + ((x - box.left) / box.width) * (end - first)), 0, last());
}

export function drawLanes(actions) {
  const lanes = entries().map((entry, j) => lane(entry, j, actions));
  if (!lanes.length)
    lanes.push(
      element("p", { className: "empty" }, "No key states yet. Go to a step and press N to mark and name one."),
    );
  else lanes.push(partsLane());
  const selected = document.activeElement?.dataset?.kind;
  $("lanes").replaceChildren(...lanes);
  drawSelection();
  if (selected !== undefined) findMark(selected)?.focus({ preventScroll: true });
  const chips = ui.state.kinds.map((kind, j) =>
    chip(`${kind}`, j < 9 ? j + 1 : "", () => actions.mark(kind, ui.step)),
  );
  $("markers").replaceChildren(...chips, chip("New", "N", actions.add));
}

// The kind that Delete and "Not in this episode" are about.
export function drawSelection() {
  for (const node of $("lanes").children) node.classList.toggle("selected", node.dataset.lane === ui.kind);
  const own = entries().find((entry) => entry.kind === ui.kind);
  $("remove").disabled = own?.step === undefined;
  $("absent").disabled = !own || own.step === null;
}

export const findMark = (kind) =>
  [...$("lanes").querySelectorAll("[data-kind]")].find((node) => node.dataset.kind === kind);

function chip(text, key, onclick) {
  const button = element("button", { onclick, title: "Mark at the cursor" }, text);
  if (key !== "") button.append(element("kbd", { textContent: key }));
  return button;
}

function lane(entry, j, actions) {
  const name = element("button", {
    textContent: entry.kind,
    title: `${entry.kind}: rename or remove`,
    onclick: () => actions.rename(entry.kind),
  });
  const track = element("div", { className: "track" });
  if (entry.step === null) track.append(absent(entry, actions));
  else if (entry.step !== undefined) track.append(...mark(entry, actions));
  const node = element("div", { className: "lane" }, name, track);
  node.dataset.lane = entry.kind;
  return node;
}

function absent(entry, actions) {
  const button = element("button", {
    className: entry.person ? "absent person" : "absent",
    textContent: entry.person ? "not in this episode" : "not found in this episode",
    onclick: () => actions.select(entry.kind),
  });
  button.dataset.kind = entry.kind;
  return button;
}

function mark(entry, actions) {
  const { kind, step, person, sure } = entry;
  const doubtful = !person && sure !== null && sure < DOUBTFUL;
  const button = element("button", {
    className: `mark${person ? "" : " proposed"}${doubtful ? " doubtful" : ""}`,
    onpointerdown: (event) => drag(event, kind, actions),
    onfocus: () => actions.select(kind),
  });
  button.dataset.kind = kind;
  button.style.left = `${share(step)}%`;
  const how = person ? "marked" : sure === null ? "proposed" : `proposed, ${percent(sure)} sure`;
  button.setAttribute("aria-label", `${kind}, step ${step}, ${how}`);
  const text = person ? `${step}` : sure === null ? `${step}` : `${step} · ${percent(sure)}`;
  const note = element("span", { className: "note", textContent: text, title: seconds(step) });
  const right = ((100 - share(step)) / 100) * $("plot").clientWidth > 84;
  if (!right) note.classList.add("left");
  note.style.left = `calc(${share(step)}% ${right ? "+" : "-"} 12px)`;
  return [button, note];
}

// The cursor and the pictures follow a mark that is dragged.
function drag(event, kind, actions) {
  if (event.button) return;
  event.preventDefault();
  const start = event.clientX;
  const before = entries().find((entry) => entry.kind === kind).step;
  let moving = false;
  const move = (now) => {
    moving ||= Math.abs(now.clientX - start) > 2;
    if (moving) actions.preview(kind, clamp(before + stepAt(now.clientX) - stepAt(start), 0, last()));
  };
  const end = (now) => {
    removeEventListener("pointermove", move);
    removeEventListener("pointerup", end);
    removeEventListener("pointercancel", end);
    if (moving && now.type === "pointerup") actions.mark(kind, ui.moved.step);
    else {
      actions.preview(null);
      actions.go(before);
    }
    findMark(kind)?.focus({ preventScroll: true });
  };
  addEventListener("pointermove", move);
  addEventListener("pointerup", end);
  addEventListener("pointercancel", end);
}

function partsLane() {
  const track = element("div", { className: "track" });
  for (const part of parts()) {
    const node = element("span", { className: "part", textContent: part.name, title: part.name });
    node.style.left = `${share(part.first)}%`;
    node.style.width = `${share(part.last) - share(part.first)}%`;
    track.append(node);
  }
  return element("div", { className: "lane parts" }, element("span", { textContent: "sub-tasks" }), track);
}

export function drawAxis() {
  const [first, end] = ui.view;
  const rate = ui.state.rate ?? 1;
  const room = $("plot").clientWidth / 90;
  const rough = (end - first) / rate / Math.max(room, 2);
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1e-9)));
  let tick = [1, 2, 5, 10].find((m) => m * power >= rough) * power;
  if (!ui.state.rate) tick = Math.max(1, Math.round(tick));
  const track = element("div", { className: "track" });
  for (let t = Math.ceil(first / rate / tick) * tick; t <= end / rate + 1e-9; t += tick) {
    const text = element("span", { textContent: ui.state.rate ? `${+t.toFixed(3)} s` : `${t}` });
    text.style.left = `${share(t * rate)}%`;
    if (share(t * rate) < 97) track.append(text);
  }
  $("axis").replaceChildren(element("span", { textContent: ui.state.rate ? "time" : "step" }), track);
}
