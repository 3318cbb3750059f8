// The header's line, the list of episodes with their state, and the one that would help most.

import { $, DOUBTFUL, element, episode, leastSure, percent, seconds, status, ui } from "./model.js";

function word(i) {
  const state = status(i);
  const sure = leastSure(i);
  return state === "proposed" && sure !== null ? `${percent(sure)} sure` : state;
}

const [items, made] = [[], []]; // of the list, and what each was made of: only changes are drawn

export function drawList(choose) {
  const { state } = ui;
  const focused = $("episodes").contains(document.activeElement);
  state.episodes.forEach((one, i) => {
    const why = state.unlike[i]?.[0];
    const given = [i === ui.episode, status(i), word(i), why].join();
    if (given === made[i]) return;
    made[i] = given;
    const button = element(
      "button",
      { className: status(i), tabIndex: i === ui.episode ? 0 : -1, onclick: () => choose(i) },
      element("span", { textContent: one.name }),
      element("span", { className: "state", textContent: word(i) }),
      ...(why ? [element("span", { className: "why", textContent: why })] : []),
    );
    if (i === ui.episode) button.setAttribute("aria-current", "true");
    const item = element("li", {}, button);
    if (items[i]) items[i].replaceWith(item);
    else $("episodes").append(item);
    items[i] = item;
  });
  const current = items[ui.episode].firstChild;
  if (focused) current.focus({ preventScroll: true });
  scrollTo(current);
}

// Within the list alone, which scrolls to the side on narrow screens.
function scrollTo(item) {
  for (const box of [$("episodes"), $("episodes").parentElement]) {
    const [a, b] = [item.getBoundingClientRect(), box.getBoundingClientRect()];
    if (box.scrollWidth > box.clientWidth && (a.left < b.left || a.right > b.right))
      box.scrollLeft += a.left - b.left - 40;
    if (box.scrollHeight > box.clientHeight && (a.top < b.top || a.bottom > b.bottom))
      box.scrollTop += a.top - b.top - 80;
  }
}

export function drawNext(choose) {
  const { next, unsure, judged, followed, episodes } = ui.state;
  const off = `About ${unsure.toFixed(1)} proposals are off by more than 0.25 s.`;
  if (!next) {
    $("next").replaceChildren(unsure ? `${off} No more labels are needed.` : "All episodes are labelled.");
    return;
  }
  const proposed = episodes.some((one) => Object.keys(one.proposals).length);
  let text = "No proposals yet. Press Follow: without marks, it proposes contacts and switches; with those of one episode, their kinds.";
  if (proposed)
    text = judged
      ? `${off} The next label settles ${next.gain.toFixed(1)}.`
      : "Proposals are contacts and switches in the states. With the marks of one episode, each has a certainty.";
  if (proposed && !followed) text = "Marks have changed since: press Follow for new proposals.";
  $("next").replaceChildren(
    text,
    element(
      "button",
      { id: "go", onclick: () => choose(next.episode), title: next.why },
      `Next: ${episodes[next.episode].name}, ${next.why}`,
    ),
  );
}

// What was left out, and other sentences about the data.
export function fillNotes() {
  const { notes } = ui.state;
  $("notes").hidden = !notes.length;
  $("notes").querySelector("summary").textContent = `Left out, and other notes (${notes.length})`;
  $("notes").querySelector("ul").replaceChildren(...notes.map((text) => element("li", { textContent: text })));
}

export function drawHeader() {
  const { state } = ui;
  const states = state.episodes.map((_, i) => status(i));
  const count = (name) => states.filter((one) => one === name).length;
  const doubtful = state.episodes.filter((_, i) => (leastSure(i) ?? 1) < DOUBTFUL).length;
  const words = [`${count("labelled")} of ${states.length} episodes labelled`];
  if (count("corrected") + count("begun")) words.push(`${count("corrected") + count("begun")} in part`);
  if (count("proposed")) words.push(`${count("proposed")} proposed`);
  if (doubtful) words.push(`${doubtful} doubtful`);
  $("title").textContent = state.title;
  document.title = `${state.title}: label`;
  const saved = count("labelled") + count("corrected") + count("begun") ? "Saved" : "Marks are saved";
  $("progress").textContent = `${words.join(", ")}. ${saved} in ${state.labels}.`;
  $("episode").textContent = `Episode ${episode().name}`;
  const about = [`${episode().length} steps`, seconds(episode().length), status(ui.episode)];
  $("about").textContent = [...about.filter(Boolean), ...(state.unlike[ui.episode] ?? [])].join(" · ");
  $("undo").disabled = !state.undo;
  $("accept").disabled = !Object.keys(episode().proposals).some((kind) => !(kind in episode().marks));
}
