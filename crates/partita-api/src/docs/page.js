// Draws the page from openapi.json, and sends requests. Everything that comes from the document or
// from an answer is put in as text, never as markup.
'use strict';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
const byId = (id) => document.getElementById(id);

/** An element with attributes and children; a string is text. */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(key, '');
    else if (value !== undefined && value !== false) element.setAttribute(key, value);
  }
  element.append(...children.filter(Boolean));
  return element;
}

/** Text in which `this` is code. */
function prose(text) {
  return (text ?? '').split('`').map((part, at) => (at % 2 ? make('code', {}, part) : part));
}

const page = { document: null, operations: [] };

/** What a reference leads to. */
function resolve(object) {
  let found = object;
  while (found && found.$ref) {
    const steps = found.$ref.slice(2).split('/');
    found = steps.reduce((at, step) => at?.[step.replaceAll('~1', '/')], page.document);
  }
  return found ?? {};
}

async function start() {
  theme();
  remember(byId('token'), 'partita.token');
  byId('filter').addEventListener('input', filter);
  const answer = await fetch('openapi.json');
  if (!answer.ok) throw new Error(`openapi.json answers ${answer.status}`);
  page.document = await answer.json();
  const { info, paths, tags } = page.document;
  document.title = `${info.title} · Partita`;
  byId('title').textContent = info.title;
  byId('about').textContent = info.description;
  for (const [path, methods] of Object.entries(paths)) {
    for (const method of METHODS.filter((method) => methods[method])) {
      page.operations.push({ method, path, ...methods[method] });
    }
  }
  const sections = tags.map((tag) => section(tag)).filter(Boolean);
  byId('sections').replaceChildren(...sections);
  if (location.hash) open(location.hash.slice(1));
  window.addEventListener('hashchange', () => open(location.hash.slice(1)));
}

/** One entity: what it looks like, and what can be done. */
function section(tag) {
  const isQuery = (operation) => operation.operationId.startsWith('query.');
  const operations = page.operations.filter((operation) => operation.tags[0] === tag.name)
    .sort((one, other) => isQuery(one) - isQuery(other));
  const schema = page.document.components.schemas[tag.name];
  if (!operations.length && !schema) return null;
  const links = operations.map((operation) =>
    make('li', { 'data-words': words(operation) },
      make('a', { href: `#${operation.operationId}`, title: operation.path }, operation.operationId)));
  byId('contents').append(
    make('li', {}, make('a', { href: `#tag-${tag.name}` }, tag.name), make('ul', {}, ...links)));
  return make('section', { id: `tag-${tag.name}` },
    make('h2', {}, tag.name),
    tag.description && make('p', {}, ...prose(tag.description)),
    schema && make('details', {}, make('summary', {}, 'Attributes'), fields(schema)),
    ...operations.map(operation));
}

const words = (operation) =>
  `${operation.operationId} ${operation.path} ${operation.summary}`.toLowerCase();

/** One operation, drawn whole only when somebody opens it. */
function operation(described) {
  const { method, path, summary, operationId } = described;
  const details = make('details', { class: 'operation', id: operationId, 'data-words': words(described) },
    make('summary', {},
      make('span', { class: `method ${method}` }, method.toUpperCase()),
      make('span', { class: 'path' }, path),
      make('span', { class: 'says' }, ...prose(summary))));
  details.addEventListener('toggle', () => {
    if (details.open && details.children.length === 1) details.append(inside(described));
  });
  return details;
}

function inside(described) {
  const parameters = (described.parameters ?? []).map(resolve);
  const media = described.requestBody?.content['application/json'];
  const form = caller(described, parameters, media);
  return make('div', { class: 'inside' },
    ...described.description.split('\n\n').map((text) => make('p', {}, ...prose(text))),
    access(described['x-partita-access']),
    parameters.length && make('h3', {}, 'Parameters'),
    parameters.length && list(parameters),
    media && make('h3', {}, 'Body'),
    media && fields(media.schema),
    make('details', {}, make('summary', {}, 'Answers'), answers(described.responses)),
    make('h3', {}, 'Try it'),
    form);
}

/** Who may do this. */
function access(outcomes) {
  const callers = Object.keys(outcomes);
  const cells = callers.map((who) => {
    const outcome = outcomes[who];
    const text = outcome.startsWith('if ') ? ['if ', make('code', {}, outcome.slice(3))] : [outcome];
    return make('td', { class: outcome }, ...text);
  });
  return make('table', { class: 'access' },
    make('tr', {}, ...callers.map((who) => make('th', {}, who))),
    make('tr', {}, ...cells));
}

function list(parameters) {
  return make('table', {}, ...parameters.map((parameter) =>
    make('tr', {},
      make('td', { class: parameter.required ? 'needed' : '' }, make('code', {}, parameter.name)),
      make('td', {}, parameter.in),
      make('td', {}, kind(parameter.schema)),
      make('td', { class: 'quiet' }, ...prose(parameter.description ?? parameter.schema.description)))));
}

/** The members of an object in the order of the design. */
function ordered(schema) {
  const order = schema['x-partita-order'] ?? [];
  const rank = ([name]) => (order.includes(name) ? order.indexOf(name) : order.length);
  return Object.entries(schema.properties ?? {}).sort((one, other) => rank(one) - rank(other));
}

/** The members of an object, those inside maps below them. */
function fields(reference, inside = '') {
  const schema = resolve(reference);
  const rows = [];
  for (const [name, member] of ordered(schema)) {
    const found = resolve(member);
    const needed = (schema.required ?? []).includes(name);
    rows.push(make('tr', {},
      make('td', { class: needed ? 'needed' : '' }, make('code', {}, inside + name)),
      make('td', {}, kind(found)),
      make('td', { class: 'quiet' }, ...prose(found.description))));
    if (found.properties) rows.push(...fields(found, `${inside}${name}.`).children);
  }
  if (schema.additionalProperties === true) {
    rows.push(make('tr', {}, make('td', { class: 'quiet' }, 'and any other')));
  }
  return make('table', {}, ...rows);
}

/** A type in a few words. */
function kind(schema) {
  const found = resolve(schema);
  if (found.const !== undefined) return JSON.stringify(found.const);
  if (found.enum) return found.enum.map((choice) => JSON.stringify(choice)).join(' | ');
  if (found.anyOf) return found.anyOf.map(kind).join(' | ');
  const type = [].concat(found.type ?? 'any').join(' | ');
  if (found.items) return `list of ${kind(found.items)}`;
  const said = [];
  if (found.format) said.push(found.format);
  if (found.minLength || found.maxLength) said.push(`${found.minLength ?? 0} to ${found.maxLength ?? '…'} characters`);
  // Bounds that only say how many digits a number has are not worth reading.
  const bounds = [found.minimum, found.exclusiveMinimum, found.maximum];
  if (bounds.some((bound) => bound !== undefined && Math.abs(bound) < 1e15)) {
    if (found.exclusiveMinimum !== undefined) said.push(`above ${found.exclusiveMinimum}`);
    if (Math.abs(found.minimum) < 1e15) said.push(`from ${found.minimum}`);
    if (Math.abs(found.maximum) < 1e15) said.push(`to ${found.maximum}`);
  }
  return said.length ? `${type} (${said.join(', ')})` : type;
}

function answers(responses) {
  return make('table', {}, ...Object.entries(responses).map(([status, reference]) =>
    make('tr', {},
      make('td', {}, make('code', {}, status)),
      make('td', {}, ...prose(resolve(reference).description)))));
}

/** The form that sends a request. */
function caller(described, parameters, media) {
  const inputs = parameters.map((parameter) => {
    const example = parameter.in === 'path' || parameter.required ? parameter.example : undefined;
    const input = make('input', { value: example ?? parameter.schema.default ?? '', 'data-name': parameter.name });
    // Headers and the rest of the query only go along when somebody fills them in.
    if (!parameter.required) input.value = '';
    return { parameter, input };
  });
  const area = media && make('textarea', { spellcheck: 'false', 'aria-label': 'Body' });
  if (area) area.value = JSON.stringify(media.example ?? {}, null, 2);
  const curl = make('pre', { class: 'curl' });
  const output = make('div', { class: 'output', 'aria-live': 'polite' });
  const request = () => compose(described, inputs, area);
  const redraw = () => { curl.textContent = asCurl(request()); };
  const send = make('button', { type: 'submit', class: 'send' }, 'Send');
  const copy = make('button', { type: 'button' }, 'Copy curl');
  copy.addEventListener('click', async () => {
    await navigator.clipboard.writeText(asCurl(request()));
    copy.textContent = 'Copied';
  });
  const form = make('form', {},
    ...inputs.map(({ parameter, input }) =>
      make('label', { class: 'field' }, make('span', { class: parameter.required ? 'needed' : '' }, parameter.name), input)),
    area, make('div', { class: 'row' }, send, copy), curl, output);
  form.addEventListener('input', redraw);
  byId('token').addEventListener('input', redraw);
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    send.disabled = true;
    output.replaceChildren(...(await show(request())));
    send.disabled = false;
  });
  redraw();
  return form;
}

/** The request that a form describes. */
function compose(described, inputs, area) {
  const base = page.document.servers[0].url;
  const query = new URLSearchParams();
  const headers = {};
  let path = described.path;
  for (const { parameter, input } of inputs) {
    if (parameter.in === 'path') path = path.replace(`{${parameter.name}}`, encodeURIComponent(input.value));
    else if (input.value === '') continue;
    else if (parameter.in === 'query') query.set(parameter.name, input.value);
    else headers[parameter.name] = input.value;
  }
  const token = byId('token').value.trim();
  if (token) headers.Authorization = `Bearer ${token}`;
  const body = area?.value.trim() || undefined;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  const asked = query.size ? `?${query}` : '';
  return { method: described.method.toUpperCase(), url: `${location.origin}${base}${path}${asked}`, headers, body };
}

/** The same as a command, for a shell. */
function asCurl({ method, url, headers, body }) {
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const parts = ['curl', '-i', '-X', method, quoted(url)];
  for (const [name, value] of Object.entries(headers)) parts.push('-H', quoted(`${name}: ${value}`));
  if (body !== undefined) parts.push('--data-binary', quoted(body));
  return parts.join(' ');
}

/** Sends a request, and shows what comes back. */
async function show({ method, url, headers, body }) {
  const began = performance.now();
  let answer;
  try {
    answer = await fetch(url, { method, headers, body });
  } catch (error) {
    return [make('p', { class: 'status bad' }, `The server does not answer: ${error.message}`)];
  }
  const text = await answer.text();
  const millis = Math.round(performance.now() - began);
  const lines = [...answer.headers].map(([name, value]) => `${name}: ${value}`);
  return [
    make('p', { class: `status ${answer.ok ? 'good' : 'bad'}` }, `${answer.status} ${answer.statusText} `,
      make('span', { class: 'quiet' }, `in ${millis} ms`)),
    make('details', {}, make('summary', {}, 'Headers'), make('pre', {}, lines.join('\n'))),
    make('pre', { class: 'answer' }, pretty(text)),
  ];
}

/** JSON on several lines. Numbers with more digits than JavaScript keeps are left as they came. */
function pretty(text) {
  try {
    const parsed = JSON.parse(text);
    return /\d{16}/.test(text) ? text : JSON.stringify(parsed, null, 2);
  } catch {
    return text;
  }
}

function filter() {
  const wanted = byId('filter').value.trim().toLowerCase();
  for (const element of document.querySelectorAll('[data-words]')) {
    element.classList.toggle('hidden', !element.dataset.words.includes(wanted));
  }
}

/** Opens the operation that the address names. */
function open(id) {
  const found = byId(decodeURIComponent(id));
  if (found instanceof HTMLDetailsElement) found.open = true;
  found?.scrollIntoView();
}

/** Keeps a field for as long as the tab is open. */
function remember(input, key) {
  input.value = sessionStorage.getItem(key) ?? '';
  input.addEventListener('input', () => sessionStorage.setItem(key, input.value));
}

function theme() {
  const root = document.documentElement;
  const key = 'partita.theme';
  if (localStorage.getItem(key)) root.dataset.theme = localStorage.getItem(key);
  byId('theme').addEventListener('click', () => {
    const isDark = getComputedStyle(root).colorScheme === 'dark'
      || (!root.dataset.theme && matchMedia('(prefers-color-scheme: dark)').matches);
    root.dataset.theme = isDark ? 'light' : 'dark';
    localStorage.setItem(key, root.dataset.theme);
  });
}

start().catch((error) => {
  byId('sections').replaceChildren(make('p', { class: 'status bad' }, error.message));
});
