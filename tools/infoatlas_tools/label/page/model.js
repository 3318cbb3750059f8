// What is shown: the server's state, and where the person is in it.

export const DOUBTFUL = 0.8; // certainty below which a proposal is drawn as doubtful

export const ui = {
  state: null,
  episode: 0,
  step: 0,
  view: [0, 1], // first and last step that are shown
  kind: null, // of the selected mark
  moved: null, // { kind, step } of a mark that is being dragged
  clocks: {}, // steps by which the pictures of each camera are late
  uncorrected: new Set(), // cameras whose pictures are shown as recorded
  folded: null, // groups of signals
  speed: 1,
  all: false, // whether the chart of all episodes is shown
};

export const episode = (i = ui.episode) => ui.state.episodes[i];
export const last = (i = ui.episode) => episode(i).length - 1;
export const clamp = (x, low, high) => Math.min(Math.max(x, low), high);

// The entry of each kind in an episode; a person's mark comes before a proposal.
// step: null where it is said to be absent, undefined where nothing is known.
export function entries(i = ui.episode) {
  const { marks, proposals } = episode(i);
  return ui.state.kinds.map((kind) => {
    if (ui.moved && i === ui.episode && ui.moved.kind === kind)
      return { kind, step: ui.moved.step, person: true, sure: 1 };
    if (kind in marks) return { kind, step: marks[kind], person: true, sure: 1 };
    const [step, sure] = proposals[kind] ?? [undefined, null];
    return { kind, step, person: false, sure };
  });
}

export function status(i) {
  const own = entries(i);
  const by = own.filter((entry) => entry.person).length;
  if (by && by === own.length) return "labelled";
  if (by) return own.some((e) => !e.person && e.step !== undefined) ? "corrected" : "begun";
  return own.some((entry) => entry.step !== undefined) ? "proposed" : "open";
}

// Certainty of the least sure proposal; null if there is none.
export function leastSure(i) {
  const sure = entries(i).filter((e) => !e.person && e.sure !== null && e.step !== undefined);
  return sure.length ? Math.min(...sure.map((e) => e.sure)) : null;
}

// Sub-tasks between key states: { name, first, last, end }.
export function parts() {
  const cuts = entries()
    .filter((entry) => entry.step != null)
    .sort((a, b) => a.step - b.step);
  let first = 0;
  const found = cuts.map(({ kind, step }) => {
    const part = { name: `until ${kind}`, first, last: step };
    first = step;
    return part;
  });
  if (found.length) found.push({ name: "until end", first, last: last() });
  return found;
}

export const seconds = (steps) => (ui.state.rate ? `${(steps / ui.state.rate).toFixed(2)} s` : "");
export const percent = (share) => `${Math.round(100 * share)}%`;

export function element(tag, given = {}, ...children) {
  const node = Object.assign(document.createElement(tag), given);
  node.append(...children);
  return node;
}

export const $ = (id) => document.getElementById(id);
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
