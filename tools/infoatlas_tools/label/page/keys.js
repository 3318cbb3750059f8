// The keyboard: everything that the mouse can do.

import { $, element } from "./model.js";

const SHORTCUTS = [
  [["↑", "↓"], "episode before and after (also K and J)"],
  [["G"], "the episode whose label would help most"],
  [["←", "→"], "one step, or move the selected mark by one; with Shift ten"],
  [["Home", "End"], "begin and end of the episode"],
  [["Space"], "play and pause"],
  [[",", "."], "half and double speed"],
  [["1", "9"], "mark a key state at the cursor"],
  [["N"], "mark a new kind of key state, with a name"],
  [["[", "]"], "select the mark before and after"],
  [["Esc"], "select none"],
  [["Delete"], "delete the selected mark; a proposal: it is not in this episode"],
  [["X"], "the selected kind is not in this episode"],
  [["R"], "rename or remove the selected kind"],
  [["Enter"], "confirm all proposals of the episode"],
  [["F"], "follow: find the marked kinds in all episodes"],
  [["U"], "undo (also Ctrl Z)"],
  [["+", "-", "0"], "zoom in, out, and to the whole episode"],
  [["A"], "all episodes, or one"],
  [["W"], "write an annotated copy"],
  [["?"], "this list"],
];

export function fillHelp() {
  const rows = SHORTCUTS.flatMap(([keys, text]) => [
    element("dt", {}, ...keys.map((key) => element("kbd", { textContent: key }))),
    element("dd", { textContent: text }),
  ]);
  $("shortcuts").replaceChildren(...rows);
}

export function listen(actions) {
  // After a choice, keys are those of the page again.
  addEventListener("change", ({ target }) => target.matches("select, [type=checkbox]") && target.blur());
  addEventListener("keydown", (event) => {
    if (document.querySelector("dialog[open]") || event.altKey || event.metaKey) return;
    const node = event.target;
    if (node.matches?.("input, select")) return;
    if (event.ctrlKey && event.key.toLowerCase() !== "z") return;
    // Enter and Space press a button that has the focus; the list of episodes keeps it after a click.
    const pressed = node.matches?.("button") && !node.dataset.kind && !node.closest("#episodes");
    if (["Enter", " "].includes(event.key) && pressed) return;
    if (act(event, actions)) event.preventDefault();
  });
}

function act(event, actions) {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const step = event.shiftKey ? 10 : 1;
  if (event.ctrlKey) return run(actions.undo);
  if (/^[1-9]$/.test(key)) return run(() => actions.markNumber(Number(key) - 1));
  const found = {
    ArrowUp: () => actions.turn(-1),
    ArrowDown: () => actions.turn(1),
    k: () => actions.turn(-1),
    j: () => actions.turn(1),
    g: actions.goNext,
    ArrowLeft: () => actions.nudge(-step),
    ArrowRight: () => actions.nudge(step),
    Home: () => actions.go(0),
    End: () => actions.go(Infinity),
    " ": actions.toggle,
    ",": () => actions.speed(0.5),
    ".": () => actions.speed(2),
    n: actions.add,
    x: actions.absent,
    "[": () => actions.selectBeside(-1),
    "]": () => actions.selectBeside(1),
    Escape: () => actions.select(null),
    Delete: actions.remove,
    Backspace: actions.remove,
    r: actions.renameSelected,
    Enter: actions.accept,
    f: actions.follow,
    u: actions.undo,
    "+": () => actions.zoom(0.5),
    "=": () => actions.zoom(0.5),
    "-": () => actions.zoom(2),
    0: () => actions.zoom(Infinity),
    a: actions.showAll,
    w: actions.copy,
    "?": actions.help,
  }[key];
  return found ? run(found) : false;
}

function run(action) {
  action();
  return true;
}
