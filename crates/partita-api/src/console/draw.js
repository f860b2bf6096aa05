// Elements by function calls. Whatever is not an element becomes text, so nothing that is stored
// can become markup.

const SVG = "http://www.w3.org/2000/svg";

/** An element: `h("button.main", { onclick }, "Save")`. */
export function h(spec, ...rest) {
  return make(document.createElement(tagOf(spec)), spec, rest);
}

/** The same for pictures. */
export function svg(spec, ...rest) {
  return make(document.createElementNS(SVG, tagOf(spec)), spec, rest);
}

function tagOf(spec) {
  return spec.split(".")[0];
}

function make(element, spec, rest) {
  const names = spec.split(".").slice(1);
  if (names.length) element.setAttribute("class", names.join(" "));
  const [first] = rest;
  const isPlain = first && Object.getPrototypeOf(first) === Object.prototype;
  if (isPlain) setAll(element, rest.shift());
  add(element, rest);
  return element;
}

function setAll(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") element[name] = value;
    else if (name === "class") element.classList.add(...value.split(" ").filter(Boolean));
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

/** Appends children: elements, texts, and lists of both; nothing for null. */
export function add(element, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) add(element, child);
    else element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

/** Replaces what an element shows. */
export function fill(element, ...children) {
  element.replaceChildren();
  return add(element, children);
}

/** A place that shows a skeleton until the promise has something to show, or what went wrong. */
export function later(promise, lines = 3) {
  const place = h("div", { "aria-busy": "true" }, skeleton(lines));
  promise.then(
    (node) => place.replaceWith(node ?? ""),
    (error) => place.replaceWith(trouble(error)),
  );
  return place;
}

export function skeleton(lines) {
  return h("div.skeleton", { "aria-hidden": "true" }, Array.from({ length: lines }, () => h("i")));
}

/** What went wrong, and what to do. */
export function trouble(error) {
  const faults = error.faults ?? [];
  if (!error.problem && !error.isFailure) console.warn(error);
  return h(
    "div.trouble", { role: "alert" },
    h("strong", error.title ?? "That did not work"),
    h("p", error.message),
    faults.length > 0 && h("ul", faults.map((fault) => h("li", h("code", fault.attribute), " ", fault.message))),
    error.request && h("p.quiet", "Request ", h("code", error.request), ": the server's log has it under this id."),
  );
}

/** Says something for a moment, also to who does not look. */
export function tell(text) {
  const place = document.getElementById("told");
  fill(place, h("span", text));
  clearTimeout(tell.timer);
  tell.timer = setTimeout(() => place.replaceChildren(), 6000);
}

/** A dialog over the page. It ends with `close`, Escape, or a click beside it. */
export function dialog(title, build) {
  const box = h("dialog", { "aria-label": title });
  const close = () => { box.close(); box.remove(); };
  box.addEventListener("close", () => box.remove());
  box.addEventListener("click", (event) => { if (event.target === box) close(); });
  add(box, [h("div.sheet", h("h2", title), build(close))]);
  document.body.append(box);
  box.showModal();
  return close;
}

/** A button that copies a text. */
class CopyButton extends HTMLElement {
  connectedCallback() {
    if (this.firstChild) return;
    const copy = async () => {
      await navigator.clipboard.writeText(this.text);
      tell("Copied");
    };
    this.append(h("button.small", { type: "button", onclick: copy }, this.label ?? "Copy"));
  }
}
customElements.define("copy-button", CopyButton);

export function copyButton(label, text) {
  return Object.assign(document.createElement("copy-button"), { label, text });
}
