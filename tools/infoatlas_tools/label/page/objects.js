// Names of the objects that the first camera sees, beside their crops.

import { $, element, ui } from "./model.js";

const [SHOWN, SIDE] = [6, 80]; // crops of an object, and their pixels
const CONTEXT = 2.4; // side of a crop in sides of the object
const SMALLEST = 0.2; // of the height of an image: smaller crops are not recognised

function crop([episode, left, top, width, height]) {
  const canvas = element("canvas", { width: 2 * SIDE, height: 2 * SIDE, title: `episode ${ui.state.episodes[episode].name}` });
  const image = element("img");
  image.onload = () => {
    const [w, h] = [image.naturalWidth, image.naturalHeight];
    const side = Math.min(Math.max(CONTEXT * Math.max(width * w, height * h), SMALLEST * h), w, h);
    const x = Math.min(Math.max((left + width / 2) * w - side / 2, 0), w - side);
    const y = Math.min(Math.max((top + height / 2) * h - side / 2, 0), h - side);
    canvas.getContext("2d").drawImage(image, x, y, side, side, 0, 0, 2 * SIDE, 2 * SIDE);
  };
  image.src = `frame?${new URLSearchParams({ camera: ui.state.cameras[0].name, episode, step: 0 })}`;
  return canvas;
}

export async function nameObjects(compute, request) {
  const found = await compute("objects", {});
  if (!found?.objects) return;
  const { numbers, names, boxes, size } = found.objects;
  const [height, width] = size;
  const rows = numbers.map((number, o) => {
    const seen = boxes.map((own, i) => [i, own[o]]).filter(([, box]) => box[2]);
    const stride = Math.max(1, Math.ceil(seen.length / SHOWN));
    const pictures = seen
      .filter((_, k) => k % stride === 0)
      .map(([i, [x, y, w, h]]) => crop([i, x / width, y / height, w / width, h / height]));
    const name = names[o] === `object ${number}` ? "" : names[o];
    const input = element("input", { name: number, value: name, maxLength: 60, autocomplete: "off", placeholder: `object ${number}` });
    return element("label", {}, element("span", {}, ...pictures), input);
  });
  $("crops").replaceChildren(...rows);
  $("things").returnValue = "cancel";
  $("things").onclose = () => {
    if ($("things").returnValue === "ok") request("names", Object.fromEntries(new FormData($("things").firstElementChild)));
  };
  $("things").showModal();
}
