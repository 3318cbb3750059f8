// Requests to the server. An error of the server is one sentence, which `Refused` carries.

export class Refused extends Error {
  constructor(text, state) {
    super(text);
    this.state = state;
  }
}

async function answer(path, options) {
  let [response, value] = [];
  try {
    response = await fetch(path, options);
    value = await response.json();
  } catch {
    const lost = options ? " This change may not be saved; those before it are." : "";
    throw new Refused(`The server does not answer: start infoatlas-rt label again.${lost}`);
  }
  if (!response.ok) throw new Refused(value.error, value.state);
  return value;
}

export const get = (path, query = {}) => answer(`${path}?${new URLSearchParams(query)}`);

export const videoAddress = (query) => `video?${query}`;

export const post = (path, value = {}) =>
  answer(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(value),
  });
