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
      view.caption.textContent = view.title;
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
  if (view.image && view.shown !== ui.step) show(view);
}

function show(view) {
  if (view.video) {
    const at = view.begin + ((ui.step + 0.5) / (last() + 1)) * (view.end - view.begin);
    if (Math.abs(view.video.currentTime - at) > 1e-3) view.video.currentTime = at;
  } else if (view.image && !view.busy && view.shown !== ui.step) {
    view.busy = true;
    view.shown = ui.step;
    view.image.src = `frame?${query(view, { step: ui.step })}`;
  }
}

export const showPictures = () => views.forEach(show);

let timer = null;

export const playing = () => timer !== null;

// Plays in real time. Videos run by themselves, and the first one leads.
export function play(go) {
  const lead = views.find((view) => view.video && view.video.readyState >= 2);
  const running = views.filter((view) => view.video);
  const rate = ui.state.rate ?? 20;
  if (ui.step >= last()) go(0);
  const [from, began] = [ui.step, performance.now()];
  running.forEach((view) => view.video.play().catch(() => {}));
  const tick = () => {
    let step = from + ((performance.now() - began) / 1000) * rate;
    if (lead) {
      const passed = (lead.video.currentTime - lead.begin) / (lead.end - lead.begin);
      step = passed * (last() + 1) - 0.5;
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
}

export function pause() {
  cancelAnimationFrame(timer);
  timer = null;
  views.forEach((view) => view.video?.pause());
}
