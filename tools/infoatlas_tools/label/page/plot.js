// Signals of one episode on a canvas, a band for each body or gripper.

import { get } from "./api.js";
import { $, clamp, colour, element, entries, ui } from "./model.js";
import { share } from "./lanes.js";

const [BAND, LINE, FOLDED] = [78, 17, 27]; // pixels of a group, of a name in it, and folded
const WIDEST = 18; // letters of a title in one row: longer ones have two
const ALONE = 5; // groups of one signal: more are joined
const SHOWN = 6; // groups that are not folded at first
const LEVELS = 10000; // of a value, as in signals.py
const LIGHT = ["#c04a1c", "#25804a", "#3d5bc4", "#8b6a00", "#a23b84", "#14808a", "#6d5a4c", "#5f6b76"];
const DARK = ["#f08c5f", "#6cc78d", "#90a8ff", "#d8b94c", "#e08cc6", "#5fc4cd", "#c0a995", "#a5b0ba"];
export const dark = matchMedia("(prefers-color-scheme: dark)");

let piece = null; // the newest signals, and where they are from
let wanted = "";

export async function loadSignals() {
  const [first, end] = ui.view;
  const key = [ui.episode, first, end, $("plot").clientWidth].join();
  if (key === wanted) return;
  wanted = key;
  const width = Math.max(Math.round($("plot").clientWidth), 100);
  const found = await get("signals", { episode: ui.episode, first, last: end, width });
  if (key !== wanted) return; // a newer request is under way
  piece = { ...found, groups: join(found.groups) };
  ui.folded ??= new Set(piece.groups.slice(SHOWN).map(({ name }) => name));
  drawSignals();
}

export function drawSignals() {
  if (!piece) return;
  const canvas = $("plot");
  const heights = piece.groups.map(bandHeight);
  const [width, height] = [canvas.clientWidth, heights.reduce((sum, own) => sum + own, 0)];
  const scale = devicePixelRatio || 1;
  canvas.style.height = `${height}px`;
  canvas.width = width * scale;
  canvas.height = height * scale;
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  const colours = dark.matches ? DARK : LIGHT;
  const x = (step) => (share(step) / 100) * width;
  let below = 0;
  piece.groups.forEach((group, g) => {
    const [top, high] = [below, heights[g]];
    below += high;
    pen.strokeStyle = colour("--soft");
    pen.lineWidth = 1;
    if (g) line(pen, [0, width], [top + 0.5, top + 0.5]);
    pen.lineWidth = 1.4;
    if (ui.folded.has(group.name)) return;
    group.lines.forEach(({ values }, k) => {
      pen.strokeStyle = colours[k % colours.length];
      pen.setLineDash(k < colours.length ? [] : [4, 2]);
      const y = values.map((v) => top + high - 8 - (v / LEVELS) * (high - 16));
      line(pen, y.map((_, i) => x(piece.first + i * piece.step)), y);
    });
    pen.setLineDash([]);
  });
  for (const { step, person } of entries()) {
    if (step == null) continue;
    pen.strokeStyle = colour(person ? "--accent" : "--quiet");
    pen.lineWidth = person ? 2 : 1;
    pen.setLineDash(person ? [] : [4, 4]);
    line(pen, [x(step), x(step)], [0, height]);
  }
}

function line(pen, xs, ys) {
  pen.beginPath();
  xs.forEach((x, i) => pen.lineTo(x, ys[i]));
  pen.stroke();
}

const words = (name) => name.match(/[a-z]?[A-Z]+[a-z]*|[a-z]+|\d+|./g);

// Words that all begin with.
function common(names) {
  const [first, ...others] = names.map(words);
  const end = first.findIndex((word, i) => others.some((own) => own[i] !== word));
  return first.slice(0, end < 0 ? first.length : end);
}

// Groups of one signal are joined by the words that their names begin with, if there are many.
function join(groups) {
  const limits = ({ low, high, lines, ...group }) => ({ ...group, lines: lines.map((line) => ({ low, high, ...line })) });
  const alone = groups.filter(({ lines }) => lines.length === 1);
  if (alone.length <= ALONE) return groups.map(limits);
  const shared = common(alone.map(({ name }) => name)).length;
  const joined = new Map();
  for (const group of alone) {
    const own = words(group.name).slice(0, shared + 1).join("");
    joined.set(own, [...(joined.get(own) ?? []), group]);
  }
  const fresh = [...joined.values()].map((own) => {
    const begin = common(own.map(({ name }) => name));
    const name = begin.join("").replace(/[_/ ]+$/, "");
    const lines = own.map((one) => ({ ...limits(one).lines[0], name: words(one.name).slice(begin.length).join("").trim() || one.name }));
    return { name, lines };
  });
  return [...groups.filter((group) => !alone.includes(group)).map(limits), ...fresh];
}

function bandHeight({ name, lines }) {
  const title = FOLDED + (name.length > WIDEST ? LINE : 0);
  return ui.folded.has(name) ? title : Math.max(BAND, title + 4 + LINE * lines.length);
}

let values = []; // lines of the legend, and where their values are shown
let shown = null; // the piece whose legend is shown

// Names of groups and lines, with their values at the cursor.
export function drawLegend() {
  if (!piece) return;
  if (shown !== piece) buildLegend();
  for (const { line, node, digits } of values) {
    const at = Math.round((ui.step - piece.first) / piece.step);
    const value = line.low + (line.values[at] / LEVELS) * (line.high - line.low);
    node.textContent = isNaN(value) ? "" : value.toFixed(digits).replace(/-(0\.?0*)$/, "$1");
  }
}

function buildLegend() {
  const colours = dark.matches ? DARK : LIGHT;
  shown = piece;
  values = [];
  const blocks = piece.groups.map((group) => {
    const open = !ui.folded.has(group.name);
    const title = element("button", { title: group.name, onclick: () => fold(group.name) });
    title.append(...group.name.split(/(?<=[._ ])/).flatMap((part) => [part, element("wbr")]));
    title.setAttribute("aria-expanded", open);
    const spans = (open ? group.lines : []).map((line, k) => {
      const node = element("i");
      values.push({ line, node, digits: clamp(2 - Math.floor(Math.log10(line.high - line.low || 1)), 0, 6) });
      const span = element("span", {}, element("u", { textContent: line.name, title: line.name }), node);
      span.style.color = colours[k % colours.length];
      return span;
    });
    const block = element("div", {}, title, ...spans);
    block.style.height = `${bandHeight(group)}px`;
    return block;
  });
  $("legend").replaceChildren(...blocks);
}

function fold(name) {
  if (!ui.folded.delete(name)) ui.folded.add(name);
  shown = null;
  drawSignals();
  drawLegend();
  [...$("legend").querySelectorAll("button")].find((node) => node.textContent === name).focus();
}
