// Runs the compiled applications of a folder in Node.js.
//
//   node node.js FOLDER CALLERS   where CALLERS is JSON: url, ann, bob, admin, log

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { setTimeout as pause } from 'node:timers/promises';

const [folder, given] = process.argv.slice(2);
const callers = JSON.parse(given);

/** The secret of the last link in the server's log, which has its mails. */
async function mailed() {
  for (let turn = 0; turn < 600; turn++) {
    const links = [...readFileSync(callers.log, 'utf8').matchAll(/\/auth\/[a-z-]+\?token=([\w-]{43})/g)];
    if (links.length > 0) return links.at(-1)[1];
    await pause(50);
  }
  throw new Error('no mail came');
}

for (const design of ['stories', 'storyhub', 'mediahub', 'holdthatthought', 'figureforge']) {
  const { run } = await import(pathToFileURL(path.join(folder, `${design}.app.js`)).href);
  await run({ ...callers, ...callers[design], mailed });
  console.log(design);
}
