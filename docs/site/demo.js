// Answers of a server, recorded. Marks last until the page is left.

const data = RECORDED;
const past = [];

const bytes = Uint8Array.from(atob(data.video), (letter) => letter.charCodeAt(0));
const video = URL.createObjectURL(new Blob([bytes], { type: "video/mp4" }));
export const videoAddress = () => video;

export class Refused extends Error {}

export async function get(path, query) {
  if (path === "state") return data.state;
  if (path === "work" || path === "clocks") return {};
  if (path === "overview") return data.overview[query.group];
  return (path === "signals" ? data.signals : data.times)[query.episode];
}

export async function post(path, { do: what, episode, kind, step }) {
  const { state } = data;
  const own = state.episodes[episode];
  const before = structuredClone(state.episodes.map(({ marks }) => marks));
  if (what === "undo") past.pop().forEach((marks, i) => (state.episodes[i].marks = marks));
  else if (what === "mark") own.marks[kind] = step;
  else if (what === "unmark") delete own.marks[kind];
  else if (what === "accept")
    for (const name in own.proposals) own.marks[name] ??= own.proposals[name][0];
  else throw new Refused("This page shows recorded proposals and saves nothing. For this, run infoatlas-rt label.");
  if (what !== "undo") past.push(before);
  if (what === "mark" && !state.kinds.includes(kind)) state.kinds.push(kind);
  state.undo = past.length > 0;
  state.revision += 1;
  return state;
}
