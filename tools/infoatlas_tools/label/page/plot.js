// Signals of one episode on a canvas, a band for each body or gripper.

import { get } from "./api.js";
import { $, clamp, colour, element, entries, ui } from "./model.js";
import { share } from "./lanes.js";

const BAND = 78; // pixels, as in label.css
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
  piece = found;
  drawSignals();
}

export function drawSignals() {
  if (!piece) return;
  const canvas = $("plot");
  const [width, height] = [canvas.clientWidth, BAND * piece.groups.length];
  const scale = devicePixelRatio || 1;
  canvas.style.height = `${height}px`;
  canvas.width = width * scale;
  canvas.height = height * scale;
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  const colours = dark.matches ? DARK : LIGHT;
  const x = (step) => (share(step) / 100) * width;
  piece.groups.forEach((group, g) => {
    const top = g * BAND;
    pen.strokeStyle = colour("--soft");
    pen.lineWidth = 1;
    if (g) line(pen, [0, width], [top + 0.5, top + 0.5]);
    pen.lineWidth = 1.4;
    group.lines.forEach(({ values }, k) => {
      pen.strokeStyle = colours[k % colours.length];
      pen.setLineDash(k < colours.length ? [] : [4, 2]);
      const y = values.map((v) => top + BAND - 8 - (v / LEVELS) * (BAND - 16));
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

// Names of groups and lines, with their values at the cursor.
export function drawLegend() {
  if (!piece) return;
  const colours = dark.matches ? DARK : LIGHT;
  const blocks = piece.groups.map(({ name, low, high, lines }) => {
    const digits = clamp(2 - Math.floor(Math.log10(high - low || 1)), 0, 6);
    const at = Math.round((ui.step - piece.first) / piece.step);
    const spans = lines.map((line, k) => {
      const value = low + (line.values[at] / LEVELS) * (high - low);
      const text = isNaN(value) ? "" : ` ${value.toFixed(digits)}`.replace(/-(0\.?0*)$/, "$1");
      const span = element("span", {}, line.name, element("i", { textContent: text }));
      span.style.color = colours[k % colours.length];
      return span;
    });
    return element("div", {}, element("b", { textContent: name }), ...spans);
  });
  $("legend").replaceChildren(...blocks);
}
