// Entities, views and what refers to what, as a picture.

import { svg } from "./draw.js";
import { to } from "./main.js";

const WIDTH = 168;
const HEIGHT = 40;
const GAP_X = 72;
const GAP_Y = 28;

/** Who is referred to stands left of who refers. */
export function diagram(design) {
  const edges = [];
  for (const entity of design.entities) {
    for (const reference of entity.refs) {
      for (const target of reference.targets) {
        if (design.record(target.to)) edges.push({ from: entity.name, to: target.to, name: reference.name });
      }
    }
  }
  for (const view of design.views) edges.push({ from: view.name, to: view.of, name: "view", isView: true });
  const columns = layered(design.records.map((one) => one.name), edges);
  const places = new Map();
  columns.forEach((names, x) => names.forEach((name, y) => places.set(name, { x: 12 + x * (WIDTH + GAP_X), y: 12 + y * (HEIGHT + GAP_Y) })));
  const tallest = Math.max(...columns.map((one) => one.length));
  const width = columns.length * (WIDTH + GAP_X) - GAP_X + 24;
  const height = tallest * (HEIGHT + GAP_Y) - GAP_Y + 24;
  const box = svg("svg.diagram", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": "Diagram of the design" },
    edges.filter((one) => one.from !== one.to).map((one) => line(places, one)),
    design.records.map((one) => node(design, one, places.get(one.name))));
  const scroll = document.createElement("div");
  scroll.className = "scroll";
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", "Diagram");
  scroll.append(box);
  return scroll;
}

function node(design, record, { x, y }) {
  const isView = !design.entity(record.name);
  return svg("a", { href: to(design.name, "data", [record.name]), "aria-label": isView ? `${record.name}, a view of ${record.of}` : record.name },
    svg("rect", { x, y, width: WIDTH, height: HEIGHT, rx: 6, class: isView ? "view" : "entity" }),
    svg("text", { x: x + WIDTH / 2, y: y + HEIGHT / 2 + 5, "text-anchor": "middle" }, record.name.length > 20 ? `${record.name.slice(0, 19)}…` : record.name));
}

function line(places, { from, to: target, name, isView }) {
  const a = places.get(from);
  const b = places.get(target);
  const isLeft = b.x < a.x;
  const start = { x: isLeft ? a.x : a.x + WIDTH, y: a.y + HEIGHT / 2 };
  const isSame = a.x === b.x;
  const end = { x: isLeft || isSame ? b.x + WIDTH : b.x, y: b.y + HEIGHT / 2 };
  const bend = isSame ? 40 : 0;
  const middle = isSame ? start.x + bend : (start.x + end.x) / 2;
  const path = `M${start.x} ${start.y} C${middle} ${start.y} ${middle} ${end.y} ${end.x} ${end.y}`;
  return svg("g", { class: isView ? "edge view" : "edge" }, svg("path", { d: path }), svg("circle", { cx: end.x, cy: end.y, r: 3 }), svg("title", {}, `${from}.${name} → ${target}`));
}

/** Columns: what refers to nothing first, then what refers to it, and so on. A ref that leads back to
 *  where one came from is left aside, or a circle would never end. */
function layered(names, edges) {
  const depth = new Map();
  const visit = (name, path) => {
    if (depth.has(name)) return depth.get(name);
    const targets = edges.filter((one) => one.from === name && !path.includes(one.to) && one.to !== name);
    const deepest = Math.max(-1, ...targets.map((one) => visit(one.to, [...path, name])));
    depth.set(name, deepest + 1);
    return deepest + 1;
  };
  for (const name of names) visit(name, []);
  const columns = [];
  for (const name of names) (columns[depth.get(name)] ??= []).push(name);
  return columns.filter(Boolean);
}
