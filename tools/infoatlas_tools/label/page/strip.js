// All episodes as rows, aligned at a kind of key state, so that an outlier is seen at once. Only
// rows in view are drawn: browsers draw nothing on a canvas as high as 10,000 of them.

import { get } from "./api.js";
import { $, clamp, colour, element, entries, episode, seconds, ui } from "./model.js";

const [BEGIN, END] = ["begin", "end"];
let shades = null; // the newest overview, and its group
let wanted = -1;
let from = 0; // the first pixel of all rows that is drawn

addEventListener("scroll", () => ui.all && shades && draw(), true);

export async function drawStrip() {
  fill($("align"), [BEGIN, ...ui.state.kinds, END], ui.state.kinds[0] ?? BEGIN);
  fill($("shade"), ui.state.groups, ui.state.groups[0]);
  const group = Math.max(ui.state.groups.indexOf($("shade").value), 0);
  if (group !== wanted) {
    wanted = group;
    shades = ui.state.groups.length ? await get("overview", { group }) : [];
  }
  if (shades) draw();
}

function fill(select, names, chosen) {
  const kept = names.includes(select.value) ? select.value : chosen;
  select.replaceChildren(...names.map((name) => element("option", { textContent: name, value: name })));
  select.value = kept;
}

const rowHeight = () => (ui.state.episodes.length > 60 ? 7 : 22);

// The step at which an episode is aligned; undefined if it has no such key state.
function origin(i) {
  const kind = $("align").value;
  if (kind === BEGIN) return 0;
  if (kind === END) return episode(i).length - 1;
  return entries(i).find((entry) => entry.kind === kind)?.step ?? undefined;
}

function draw() {
  const canvas = $("strip");
  const box = canvas.parentElement;
  const [row, top] = [rowHeight(), 22];
  const width = box.clientWidth;
  const total = top + row * ui.state.episodes.length + 4;
  const height = Math.min(total, innerHeight);
  const scale = devicePixelRatio || 1;
  box.style.height = `${total}px`;
  from = clamp(-box.getBoundingClientRect().top, 0, total - height);
  Object.assign(canvas.style, { width: `${width}px`, height: `${height}px`, top: `${from}px` });
  canvas.width = width * scale;
  canvas.height = height * scale;
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, -from * scale);
  pen.font = "12px system-ui, sans-serif";
  const origins = ui.state.episodes.map((_, i) => origin(i));
  const before = Math.max(1, ...origins.map((o) => o ?? 0));
  const after = Math.max(1, ...origins.map((o, i) => episode(i).length - 1 - (o ?? 0)));
  const left = row > 10 ? 46 : 8;
  const x = (step) => left + ((step + before) / (before + after)) * (width - left - 8);
  const ink = colour("--ink");
  pen.fillStyle = colour("--quiet");
  pen.textAlign = "center";
  const [begin, end] = [seconds(-before) || `${-before}`, seconds(after) || `${after}`];
  pen.textAlign = "left";
  if (before > 1) pen.fillText(begin, left, 14);
  pen.textAlign = "right";
  pen.fillText(`+${end}`, width - 8, 14);
  pen.textAlign = "center";
  const middle = Math.min(Math.max(x(0), left + 90), width - 100);
  pen.fillText($("align").value, middle, 14);
  ui.state.episodes.forEach((one, i) => {
    const y = top + i * row;
    if (y + row < from || y > from + height) return;
    if (i === ui.episode) {
      pen.fillStyle = colour("--tint");
      pen.fillRect(0, y, width, row);
    }
    if (row > 10) {
      pen.fillStyle = colour(ui.state.unlike[i]?.length ? "--warn" : "--quiet");
      pen.textAlign = "left";
      pen.fillText(one.name.slice(-6), 4, y + row / 2 + 4);
    }
    const zero = origins[i];
    if (zero === undefined) {
      pen.fillStyle = colour("--quiet");
      if (row > 10) pen.fillText(`no ${$("align").value}`, left, y + row / 2 + 4);
      return;
    }
    shade(pen, shades[i], x(-zero), x(one.length - 1 - zero), y + 2, row - 4, ink);
    for (const { step, person, sure } of entries(i)) {
      if (step == null) continue;
      pen.strokeStyle = colour(person ? "--accent" : (sure ?? 1) < 0.8 ? "--warn" : "--ink");
      pen.lineWidth = person ? 3 : 2;
      pen.setLineDash(person || row < 10 ? [] : [4, 2]);
      pen.beginPath();
      pen.moveTo(x(step - zero), y + 1);
      pen.lineTo(x(step - zero), y + row - 1);
      pen.stroke();
    }
  });
}

function shade(pen, levels = [], from, to, y, height, ink) {
  pen.fillStyle = ink;
  const edge = (k) => Math.round(from + (k / levels.length) * (to - from));
  levels.forEach((level, k) => {
    pen.globalAlpha = 0.06 + (0.34 * level) / 255;
    pen.fillRect(edge(k), y, edge(k + 1) - edge(k), height);
  });
  pen.globalAlpha = 1;
}

// The episode of the row at a place on the canvas; undefined outside of the rows.
export function rowAt(y) {
  const i = Math.floor((y + from - 22) / rowHeight());
  return i >= 0 && i < ui.state.episodes.length ? i : undefined;
}
