// The page: its actions, and what is drawn after each.

import { get, post, Refused } from "./api.js";
import { fillHelp, listen } from "./keys.js";
import { drawAxis, drawLanes, drawSelection, findMark, share, stepAt } from "./lanes.js";
import { drawHeader, drawList, drawNext, fillNotes } from "./list.js";
import { $, clamp, element, entries, episode, last, seconds, ui } from "./model.js";
import { nameObjects } from "./objects.js";
import { measureClocks, openPictures, pause, play, playing, showPictures } from "./pictures.js";
import { dark, drawLegend, drawSignals, loadSignals } from "./plot.js";
import { drawStrip, rowAt } from "./strip.js";

const NARROWEST = 10; // steps in the view

function say(text, error = false) {
  $("message").hidden = !text;
  $("message").className = error ? "error" : "";
  const close = element("button", { textContent: "Close", onclick: () => say("") });
  $("message").replaceChildren(element("span", { textContent: text }), close);
}

// One request at a time; the answer is the new state.
let busy = Promise.resolve();
let waiting = 0; // for so many answers

function wait(more) {
  waiting += more;
  document.body.toggleAttribute("aria-busy", waiting > 0);
}

function request(path, value) {
  const { moved } = ui;
  busy = busy.then(async () => {
    wait(1);
    try {
      const given = path === "change" ? { ...value, revision: ui.state.revision } : value;
      const state = await post(path, given);
      say(state.said ?? "");
      take(state, moved);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      take(error.state ?? ui.state, moved);
      say(error.message, true);
    } finally {
      wait(-1);
    }
  });
  return busy;
}

// What takes long is beside these: marks are saved meanwhile.
async function compute(path, value) {
  wait(1);
  const poll = setInterval(() => get("work").then(drawWork, () => {}), 400);
  let state;
  try {
    state = await post(path, value);
    say(state.said ?? "");
    take(state, ui.moved);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    say(error.message, true);
  } finally {
    clearInterval(poll);
    drawWork({});
    wait(-1);
  }
  return state;
}

function drawWork({ name, share, cancelled }) {
  $("work").hidden = !name || !waiting;
  if (!name) return;
  $("work").querySelector("span").textContent = cancelled ? `${name}: ends` : `${name}: ${Math.round(100 * share)}%`;
  $("work").querySelector("progress").value = share;
}

// A mark that was moved again since then is still being moved.
function take(state, moved = null) {
  if (state.revision >= ui.state.revision) ui.state = state;
  if (ui.moved === moved) ui.moved = null;
  if (ui.kind !== null && !ui.state.kinds.includes(ui.kind)) ui.kind = null;
  draw();
}

function draw() {
  drawHeader();
  drawNext(choose);
  drawList(choose);
  $("one").hidden = ui.all;
  $("all").hidden = !ui.all;
  $("tab-one").setAttribute("aria-selected", !ui.all);
  $("tab-all").setAttribute("aria-selected", ui.all);
  if (ui.all) drawStrip();
  else drawEpisode();
}

function drawEpisode() {
  drawLanes(actions);
  drawAxis();
  drawSignals();
  drawCursor();
  loadSignals().then(drawCursor).catch((error) => say(error.message, true));
}

function drawCursor() {
  const [board, plot] = [$("board").getBoundingClientRect(), $("plot").getBoundingClientRect()];
  const place = share(ui.step);
  $("cursor").style.left = `${plot.left - board.left + (place / 100) * plot.width}px`;
  $("cursor").hidden = place < 0 || place > 100;
  const time = seconds(ui.step);
  $("clock").textContent = time ? `step ${ui.step} · ${time}` : `step ${ui.step}`;
  drawLegend();
}

function choose(i) {
  if (playing()) toggle();
  const changed = i !== ui.episode;
  ui.episode = i;
  ui.view = [0, last()];
  ui.kind = null;
  ui.step = entries().find((entry) => entry.step != null)?.step ?? 0;
  history.replaceState(null, "", `#${i}`);
  if (changed) openPictures().catch((error) => say(error.message, true));
  draw();
  showPictures();
}

function go(step, fromVideo = false) {
  ui.step = clamp(step, 0, last());
  const [first, end] = ui.view;
  if (ui.step < first || ui.step > end) {
    const from = clamp(ui.step - Math.round((end - first) / 2), 0, last() - (end - first));
    ui.view = [from, from + end - first];
    drawEpisode();
  }
  drawCursor();
  if (!fromVideo) showPictures();
}

function toggle() {
  if (!playing()) return play(go);
  pause();
  showPictures(); // exactly those of the step
}

function preview(kind, step) {
  ui.moved = kind === null ? null : { kind, step };
  drawLanes(actions);
  drawSignals();
  if (kind !== null) go(step);
}

const marked = () => entries().filter((entry) => entry.step != null);

function ask(question, value, ok, extra = "", longest = 60) {
  $("question").textContent = question;
  $("answer").maxLength = longest;
  $("answer").value = value;
  $("ok").textContent = ok;
  $("extra").textContent = extra;
  $("extra").hidden = !extra;
  $("ask").returnValue = "cancel";
  $("ask").showModal();
  $("answer").select();
  return new Promise((resolve) => {
    $("ask").onclose = () => resolve([$("ask").returnValue, $("answer").value.trim()]);
  });
}

const actions = {
  go,
  preview,
  toggle,
  mark(kind, step) {
    ui.kind = kind;
    ui.moved = { kind, step };
    go(step);
    return request("change", { do: "mark", episode: ui.episode, kind, step });
  },
  markNumber(j) {
    const kind = ui.state.kinds[j];
    if (kind !== undefined) actions.mark(kind, ui.step);
    else if (j === ui.state.kinds.length) actions.add();
  },
  async add() {
    const step = ui.step;
    const [answer, name] = await ask("Name of the key state, as grasp:", "", "Mark");
    if (answer !== "ok") return;
    const own = entries().find(({ kind }) => kind.toLowerCase() === name.toLowerCase());
    await request("change", { do: "mark", episode: ui.episode, kind: name, step });
    ui.kind = own?.kind ?? name;
    drawSelection();
    if (own?.person && own.step !== null) say(`${own.kind} was at step ${own.step}: moved to ${step}.`);
  },
  select(kind) {
    ui.kind = kind;
    if (kind === null) document.activeElement?.blur();
    drawSelection();
  },
  selectBeside(way) {
    const own = marked().sort((a, b) => a.step - b.step);
    const at = own.findIndex((e) => (ui.kind === null ? e.step === ui.step : e.kind === ui.kind));
    const beside = way > 0 ? own.find((e) => e.step > ui.step) : own.findLast((e) => e.step < ui.step);
    const to = at < 0 ? beside : own[ui.kind === null ? at : at + way];
    if (!to) return;
    go(to.step);
    findMark(to.kind)?.focus({ preventScroll: true });
  },
  nudge(steps) {
    const focused = document.activeElement?.dataset?.kind;
    const own = entries().find((entry) => entry.kind === focused);
    if (own?.step == null) go(ui.step + steps);
    else preview(focused, clamp(own.step + steps, 0, last()));
  },
  remove() {
    const own = entries().find((entry) => entry.kind === ui.kind);
    if (own?.step === undefined) return say("No mark is selected: select one with [ or ].");
    const given = { episode: ui.episode, kind: ui.kind };
    if (own.person) request("change", { do: "unmark", ...given });
    else request("change", { do: "mark", ...given, step: null });
  },
  absent() {
    if (ui.kind === null) return say("No kind is selected: select a mark with [ or ], or click on its lane.");
    request("change", { do: "mark", episode: ui.episode, kind: ui.kind, step: null });
  },
  speed(factor) {
    ui.speed = clamp(ui.speed * factor, 0.5, 2);
    $("speed").value = ui.speed;
  },
  async rename(kind) {
    const [answer, name] = await ask(`Name of ${kind} in all episodes:`, kind, "Rename", "Remove from all");
    if (answer === "extra") request("change", { do: "rename", kind, name: null });
    else if (answer === "ok" && name !== kind) request("change", { do: "rename", kind, name });
  },
  renameSelected() {
    if (ui.kind === null) say("No mark is selected: select one with [ or ].");
    else actions.rename(ui.kind);
  },
  accept() {
    if (!$("accept").disabled) request("change", { do: "accept", episode: ui.episode });
  },
  follow: () => compute("follow", {}),
  objects: () => nameObjects(compute, request),
  undo: () => request("change", { do: "undo" }),
  turn: (way) => choose(clamp(ui.episode + way, 0, ui.state.episodes.length - 1)),
  goNext() {
    if (ui.state.next) choose(ui.state.next.episode);
  },
  zoom(factor) {
    const wide = clamp(Math.round((ui.view[1] - ui.view[0]) * factor), Math.min(NARROWEST, last()), last());
    const first = clamp(ui.step - Math.round(wide / 2), 0, last() - wide);
    ui.view = [first, first + wide];
    drawEpisode();
  },
  showAll() {
    if (playing()) toggle();
    ui.all = !ui.all;
    draw();
  },
  async copy() {
    const [answer, out] = await ask("File or folder of the annotated copy:", ui.state.copy, "Write", "", 1000);
    if (answer !== "ok") return;
    compute("annotate", { out });
  },
  help: () => $("help").showModal(),
};

function scrub(event) {
  if (event.button || event.target.closest("button")) return;
  if (event.clientX < $("plot").getBoundingClientRect().left) return;
  if (playing()) toggle();
  actions.select(event.target.closest(".lane")?.dataset.lane ?? null);
  const move = (now) => go(stepAt(now.clientX));
  const end = () => removeEventListener("pointermove", move);
  move(event);
  addEventListener("pointermove", move);
  addEventListener("pointerup", end, { once: true });
  addEventListener("pointercancel", end, { once: true });
}

async function start() {
  try {
    ui.state = await get("state");
  } catch (error) {
    say(error.message, true);
    return;
  }
  for (const button of document.querySelectorAll("[data-key]"))
    if (button.id !== "keys") button.append(element("kbd", { textContent: button.dataset.key.replace(/^./, (c) => c.toUpperCase()) }));
  fillHelp();
  listen(actions);
  for (const id of ["follow", "undo", "accept", "copy", "remove", "absent", "objects"]) $(id).onclick = actions[id];
  for (const [id, factor] of [["wider", 2], ["closer", 0.5], ["whole", Infinity]])
    $(id).onclick = () => actions.zoom(factor);
  $("speed").onchange = () => actions.speed($("speed").value / ui.speed);
  $("cancel").onclick = () => post("cancel").catch((error) => say(error.message, true));
  $("objects").hidden = !ui.state.cameras.length;
  fillNotes();
  $("keys").onclick = actions.help;
  $("play").onclick = toggle;
  $("tab-one").onclick = () => ui.all && actions.showAll();
  $("tab-all").onclick = () => ui.all || actions.showAll();
  $("board").onpointerdown = scrub;
  $("align").onchange = $("shade").onchange = drawStrip;
  $("strip").onclick = (event) => {
    const row = rowAt(event.offsetY);
    if (row === undefined) return;
    ui.all = false;
    choose(row);
  };
  // A mark that arrow keys moved is saved when the key is released.
  addEventListener("keyup", ({ key }) => {
    const focused = document.activeElement?.dataset?.kind;
    if (/^Arrow/.test(key) && ui.moved && focused === ui.moved.kind) actions.mark(focused, ui.moved.step);
  });
  addEventListener("resize", draw);
  dark.addEventListener("change", draw);
  addEventListener("focus", () => refresh());
  const asked = Number(location.hash.slice(1));
  ui.episode = -1;
  if (ui.state.cameras.length) measureClocks().catch(() => {});
  choose(asked >= 0 && asked < ui.state.episodes.length ? asked : (ui.state.next?.episode ?? 0));
}

// Another tab may have changed the marks.
async function refresh() {
  const state = await get("state").catch((error) => say(error.message, true));
  if (state && state.revision !== ui.state.revision && !ui.moved) take(state);
}

start();
