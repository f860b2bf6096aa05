// Carries out operations with the clients that orval made.
//
//   node call.js FOLDER DESIGN URL   with calls in FOLDER/calls/orval/DESIGN.json

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, design, url] = process.argv.slice(2);
const client = await import(pathToFileURL(path.resolve(folder, 'out', 'orval', `${design}.js`)).href);
const calls = JSON.parse(readFileSync(path.join(folder, 'calls', 'orval', `${design}.json`), 'utf8'));

// The document names the server by a path: its own origin.
const send = globalThis.fetch;
globalThis.fetch = (address, options) => send(new URL(address, url), options);

for (const [id, { token, path: values, query, body }] of Object.entries(calls)) {
  const name = id.split('.').map((part, at) => (at === 0 ? part[0].toLowerCase() : part[0].toUpperCase()) + part.slice(1)).join('');
  const takes = [...values, ...(body === null ? [] : [body]), ...(query === null ? [] : [query])];
  const answer = await client[name](...takes, { headers: { authorization: `Bearer ${token}` } });
  if (answer.status >= 300) throw new Error(`${id} answers ${answer.status}: ${JSON.stringify(answer.data)}`);
}
