// The way in: an account, a token, or a link.

import { held, keep, signIn } from "./api.js";
import { fill, h, trouble } from "./draw.js";

export function enter(app, served, name, inside, error = null) {
  const said = h("div", error && trouble(error));
  const choose = (event) => { location.hash = `#/${encodeURIComponent(event.target.value)}`; };
  const design = served.find((one) => one.name === name);

  const attempt = (work) => async (event) => {
    event.preventDefault();
    fill(said);
    try {
      await work(new FormData(event.target));
      inside();
    } catch (problem) {
      fill(said, trouble(problem));
    }
  };
  const account = design.accounts && h(
    "form", { onsubmit: attempt((form) => signIn(name, form.get("login"), form.get("password"))) },
    h("h2", "Sign in"),
    field("Login", { name: "login", autocomplete: "username", required: true }),
    field("Password", { name: "password", type: "password", autocomplete: "current-password", required: true }),
    h("button.main", "Sign in"),
  );
  const token = h(
    "form", {
      onsubmit: attempt((form) => {
        held.tokens[name] = form.get("token").trim();
        keep();
      }),
    },
    h("h2", "Use a token"),
    field("Token", { name: "token", autocomplete: "off", spellcheck: "false", required: true }),
    h("p.quiet", "Of an administrator of the design. It is kept in this tab, and nowhere else. ", h("code", `partita token ${name} --user ann${design.accounts ? "" : " --role admin"}`), " makes one."),
    h("button", { class: design.accounts ? "" : "main" }, "Open the console"),
  );
  document.title = `${name} · Partita`;
  fill(app, h(
    "main.enter",
    h("header", h("img", { src: "/console/icon.svg", alt: "", width: 40, height: 40 }), h("h1", "Partita console")),
    served.length > 1 && h("label.field", h("span", "Design"), h("select", { onchange: choose }, served.map((one) => h("option", { value: one.name, selected: one.name === name }, one.name)))),
    design.about && h("p.quiet", design.about),
    said, account, token,
    h("section", h("h2", "On this machine"), h("p.quiet", "Whoever runs the server gets a link that opens the console once: ", h("code", `partita console ${name}`))),
  ));
}

function field(label, attributes) {
  return h("label.field", h("span", label), h("input", attributes));
}
