// A receiver of events. It notes every event that it takes in a file, before it says that it has it.
//
//     events.js PORT FILE
//
// The secret is in SECRET. Port 0 is a free one; the first line of the output is the one that it has.
// With MISTAKE=forgets it says of some events that it has them, and has them not; with
// MISTAKE=reorders it notes an event behind the next one of its item. Changes of tables, at /bus, it
// notes as they come.

import { createServer } from "node:http";
import { appendFileSync } from "node:fs";
import { Webhook } from "standardwebhooks";

const [port, file] = process.argv.slice(2);
const webhook = new Webhook(process.env.SECRET);

const write = (line) => appendFileSync(file, JSON.stringify(line) + "\n");
const mistake = process.env.MISTAKE;
let count = 0;
const held = new Map();

function note(line) {
  count += 1;
  const item = `${line.path} ${line.event.subject}`;
  const earlier = held.get(item);
  if (line.path === "/bus" || !mistake) {
    write(line);
  } else if (mistake === "forgets") {
    if (count % 20 !== 0) write(line);
  } else if (earlier) {
    held.delete(item);
    write(line);
    write(earlier);
  } else {
    held.set(item, line);
  }
}

const server = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const body = Buffer.concat(chunks).toString("utf8");
    let event;
    try {
      event = webhook.verify(body, request.headers);
      if (!request.headers["content-type"].startsWith("application/cloudevents+json")) {
        throw new Error("it is no CloudEvent");
      }
      if (event.specversion !== "1.0" || event.id !== request.headers["webhook-id"]) {
        throw new Error("it is no CloudEvent of version 1.0");
      }
    } catch (error) {
      write({ refused: String(error) });
      response.writeHead(400).end();
      return;
    }
    note({ path: request.url, event });
    response.writeHead(204).end();
  });
});
server.listen(Number(port), "127.0.0.1", () => console.log(server.address().port));
