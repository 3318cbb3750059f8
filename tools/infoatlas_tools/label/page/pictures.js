// Videos, in step with the cursor. Cameras without a video, and those that the browser cannot
// decode, are shown as single frames from the server.

import { get, videoAddress } from "./api.js";
import { $, clamp, element, last, ui } from "./model.js";

let views = [];

const query = (view, more = {}) => new URLSearchParams({ camera: view.name, episode: ui.episode, ...more });

export async function openPictures() {
  views.forEach((view) => view.video?.removeAttribute("src"));
  const own = ui.state.cameras.map((camera) => ({ ...camera, caption: element("figcaption") }));
  views = own;
  $("pictures").replaceChildren(
    ...own.map((view) => {
      view.title = view.name.replace(/.*[/.]/, "");
      fillCaption(view);
      view.figure = element("figure", {}, view.caption);
      return view.figure;
    }),
  );
  await Promise.all(own.map((view) => (view.video ? openVideo(view) : openFrames(view))));
  if (views === own) showPictures();
}

async function openVideo(view) {
  view.video = null;
  const times = await get("video/times", Object.fromEntries(query(view)));
  const video = element("video", { muted: true, playsInline: true, preload: "auto", src: videoAddress(query(view)) });
  video.onerror = () => {
    video.remove();
    view.video = null;
    openFrames(view);
    showPictures();
  };
  Object.assign(view, times, { video });
  view.figure.prepend(video);
}

// A clock that differs is corrected, unless a person says no.
const late = (view) => (ui.uncorrected.has(view.name) ? 0 : (ui.clocks[view.name] ?? 0));

function fillCaption(view) {
  view.caption.replaceChildren(view.title);
  const steps = ui.clocks[view.name];
  if (!steps) return;
  const box = element("input", { type: "checkbox", checked: !ui.uncorrected.has(view.name) });
  box.onchange = () => {
    if (!ui.uncorrected.delete(view.name)) ui.uncorrected.add(view.name);
    showPictures();
  };
  const side = steps > 0 ? "after" : "before";
  const text = `corrected: pictures are ${Math.abs(steps)} steps ${side} the states`;
  view.caption.append(" · ", element("label", {}, box, text));
}

export async function measureClocks() {
  ui.clocks = await get("clocks");
  views.forEach(fillCaption);
  showPictures();
}

function openFrames(view) {
  view.image = element("img", { alt: `Camera ${view.title}` });
  view.image.onload = () => next(view);
  view.image.onerror = async () => {
    const refused = await get("frame", Object.fromEntries(query(view, { step: view.shown }))).catch((e) => e);
    view.image.remove();
    view.image = null;
    view.caption.textContent = `${view.title}: ${refused.message ?? "this frame cannot be shown."}`;
  };
  view.figure.prepend(view.image);
}

// One frame at a time is asked for; of those that pass meanwhile, the newest is next.
function next(view) {
  view.busy = false;
  if (view.image) show(view);
}

function show(view) {
  const step = clamp(ui.step + late(view), 0, last());
  if (view.video) {
    const at = view.begin + ((step + 0.5) / (last() + 1)) * (view.end - view.begin);
    if (Math.abs(view.video.currentTime - at) > 1e-3) view.video.currentTime = at;
  } else if (view.image && !view.busy && view.shown !== step) {
    view.busy = true;
    view.shown = step;
    view.image.src = `frame?${query(view, { step })}`;
  }
}

export const showPictures = () => views.forEach(show);

let timer = null;

export const playing = () => timer !== null;

// Plays in real time. Videos run by themselves, and the first one leads. A video waits where its
// corrected picture is of before or after the episode, as in `show`.
export function play(go) {
  const lead = views.find((view) => view.video && view.video.readyState >= 2);
  if (ui.step >= last()) go(0);
  let [step, before] = [ui.step, performance.now()];
  const tick = () => {
    const now = performance.now();
    step += ((now - before) / 1000) * (ui.state.rate ?? 20) * ui.speed;
    before = now;
    for (const view of views) if (view.video) run(view, step + late(view));
    if (lead?.video && !lead.video.paused) {
      const passed = (lead.video.currentTime - lead.begin) / (lead.end - lead.begin);
      step = passed * (last() + 1) - 0.5 - late(lead);
    }
    if (step >= last()) {
      pause();
      go(last());
      return;
    }
    timer = requestAnimationFrame(tick);
    go(clamp(Math.round(step), 0, last()), true);
    views.filter((view) => !view.video).forEach(show);
  };
  timer = requestAnimationFrame(tick);
  $("play").classList.add("on");
}

function run({ video }, step) {
  video.playbackRate = ui.speed;
  if (step < 0 || step > last()) video.pause();
  else if (video.paused && !video.ended) video.play().catch(() => {});
}

export function pause() {
  cancelAnimationFrame(timer);
  timer = null;
  $("play").classList.remove("on");
  views.forEach((view) => view.video?.pause());
}
