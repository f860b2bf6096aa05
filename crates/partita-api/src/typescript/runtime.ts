// ---------------------------------------------------------------- What every client has

/** Where the design is served, and who calls. */
export interface Options {
  /** The address of the server, without the design's name. In a browser, the page's own if there is none. */
  readonly url?: string | undefined;
  /** A bearer token, or what gives one for each request. `auth.signIn` takes its place, in a design with accounts. */
  readonly token?: string | (() => string | undefined | Promise<string | undefined>) | undefined;
  /** `include` sends the cookie of a session to a server that the page is not from. */
  readonly credentials?: 'include' | 'omit' | 'same-origin' | undefined;
  /** What sends requests, instead of the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
  /** How often a request is sent that may be repeated: a read, or a write with an idempotency key. 4 if it is not said. */
  readonly attempts?: number | undefined;
}

export interface ReadOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface ItemOptions extends ReadOptions {
  /** `include` finds the item also when it is soft-deleted. */
  readonly deleted?: 'include' | undefined;
}

export interface WriteOptions extends ReadOptions {
  /** The same write under the same key is carried out once. `true` makes a key for this call, so that it can be sent again after a failure. */
  readonly idempotencyKey?: string | true | undefined;
  /** The answer does not show the item. */
  readonly minimal?: boolean | undefined;
}

export interface VersionedOptions extends WriteOptions {
  /** The `etag` that was seen: the write passes only while the item has that version. */
  readonly ifMatch?: string | undefined;
}

export interface UpsertOptions extends VersionedOptions {
  /** Only creates: it passes only where nothing is. An `ifMatch` of `*` only changes. */
  readonly ifNoneMatch?: '*' | undefined;
}

export interface PageOptions extends ReadOptions {
  /** Rows at most, up to 100. */
  readonly limit?: number | undefined;
  /** The `cursor` of the page before. */
  readonly cursor?: string | undefined;
}

export interface FeedOptions extends ReadOptions {
  /** The `id` of the last event that was seen: what has happened since is sent. */
  readonly lastEventId?: string | undefined;
}

/** An item, and the tag of the version that was read. */
export interface Found<T> {
  readonly item: T;
  readonly etag: string | undefined;
}

export interface Page<T> {
  readonly items: T[];
  /** Where to go on; the end is reached when there is none. */
  readonly cursor: string | undefined;
}

/** What happens to the rows of a pattern, or to an item. */
export type FeedEvent<Row, Identity> =
  | { readonly event: 'enter' | 'change'; readonly row: Row; readonly id: string }
  | { readonly event: 'leave'; readonly identity: Identity; readonly id: string }
  /** All rows were sent; what follows has just happened. */
  | { readonly event: 'ready'; readonly id: string }
  /** Forget all rows: they follow. */
  | { readonly event: 'refetch'; readonly why: string; readonly id: string };

/** What is told of a row that leaves: the attributes that tell it apart. */
export type Left<T, Names extends keyof T> = Required<Pick<T, Names>>;

/** A write, as `batch` takes it. */
export interface Operation<T> {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: object | undefined;
  readonly ifMatch?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
  /** Nothing at run time: the type of what the write answers. */
  readonly answers?: T;
}

/** What a write came to. */
export class Written<T> {
  readonly status: number;
  readonly etag: string | undefined;
  /** Where the item is, if it is new or has moved. */
  readonly location: string | undefined;
  /** The jobs that do the rest of a write that is larger than a transaction. */
  readonly jobs: readonly string[];
  readonly #item: T | undefined;

  constructor(status: number, headers: { etag?: string | null; location?: string | null; jobs?: string | null }, item: T | undefined) {
    this.status = status;
    this.etag = headers.etag ?? undefined;
    this.location = headers.location ?? undefined;
    this.jobs = (headers.jobs ?? '').split(',').map((job) => job.trim()).filter((job) => job !== '');
    this.#item = item;
  }

  /** Whether the answer shows the item. */
  get isShown(): boolean {
    return this.#item !== undefined;
  }

  /** The item as it is now. Fails where the answer does not show it: `minimal`, or the caller may not read it. */
  get item(): T {
    if (this.#item === undefined) throw new Error('the answer to this write does not show the item');
    return this.#item;
  }
}

/** A request that was refused. */
export class Refusal extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail);
    this.name = 'Refusal';
    this.problem = problem;
  }

  /** Whether something that was thrown is a refusal, of one of these kinds if any are named. */
  static is<Kind extends ProblemKind = ProblemKind>(thrown: unknown, ...kinds: Kind[]): thrown is Refusal & { readonly problem: ProblemOf<Kind> } {
    if (!(thrown instanceof Refusal)) return false;
    return kinds.length === 0 || kinds.some((kind) => thrown.problem.type === `urn:partita:problem:${kind}`);
  }
}

/** An answer that is none of the server's: of a proxy, say. */
export class UnexpectedAnswer extends Error {
  readonly status: number;
  readonly text: string;

  constructor(status: number, text: string) {
    super(`an answer with status ${status} that is no answer of this API`);
    this.name = 'UnexpectedAnswer';
    this.status = status;
    this.text = text;
  }
}

/** The rows of a pattern. */
export class Rows<T> implements AsyncIterable<T> {
  protected readonly server: Server;
  protected readonly path: string;

  constructor(server: Server, path: string) {
    this.server = server;
    this.path = path;
  }

  /** One page of them. */
  async page(options: PageOptions = {}): Promise<Page<T>> {
    const path = asking(this.path, { limit: options.limit, cursor: options.cursor });
    const answer = await this.server.send('GET', path, options);
    const page = (await body(answer)) as { items: T[]; cursor?: string };
    return { items: page.items, cursor: page.cursor };
  }

  /** All of them, page by page. */
  async *pages(options: PageOptions = {}): AsyncGenerator<T[], void, undefined> {
    for (let cursor = options.cursor, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
      const page = await this.page({ ...options, cursor });
      yield page.items;
      cursor = page.cursor;
    }
  }

  /** All of them, one by one. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const page of this.pages({ limit: 100 })) yield* page;
  }
}

/** The rows of a pattern that can be followed. */
export class FollowedRows<T, Identity> extends Rows<T> {
  /** The rows as they are, then what happens to them, also across connections that break. */
  feed(options: FeedOptions = {}): AsyncGenerator<FeedEvent<T, Identity>, void, undefined> {
    return follow(this.server, this.path, options);
  }
}

/** The rows of a pattern that are all of one kind, so that their identity tells them apart. */
export class LiveRows<T, Identity> extends FollowedRows<T, Identity> {
  readonly #identity: readonly string[];

  constructor(server: Server, path: string, identity: readonly string[]) {
    super(server, path);
    this.#identity = identity;
  }

  /** All rows as they are, and all rows again after each event. Later ones come last. */
  async *live(options: ReadOptions = {}): AsyncGenerator<T[], void, undefined> {
    const rows = new Map<string, T>();
    let isReady = false;
    for await (const event of this.feed(options)) {
      if (event.event === 'refetch') rows.clear();
      else if (event.event === 'leave') rows.delete(key(event.identity, this.#identity));
      else if (event.event !== 'ready') rows.set(key(event.row, this.#identity), event.row);
      isReady = event.event === 'ready' || (isReady && event.event !== 'refetch');
      if (isReady) yield [...rows.values()];
    }
  }
}

/** The item that a pattern or an identity leads to. */
export class One<T> {
  protected readonly server: Server;
  protected readonly path: string;

  constructor(server: Server, path: string) {
    this.server = server;
    this.path = path;
  }

  /** Reads it. Where it is not there, this is refused as `not-found`. */
  async get(options: ItemOptions = {}): Promise<Found<T>> {
    const answer = await this.server.send('GET', asking(this.path, { deleted: options.deleted }), options);
    return { item: (await body(answer)) as T, etag: answer.headers.get('etag') ?? undefined };
  }

  /** Reads it, unless it looks as it did when it had this `etag`. */
  async getUnless(etag: string, options: ItemOptions = {}): Promise<Found<T> | undefined> {
    const path = asking(this.path, { deleted: options.deleted });
    const answer = await this.server.send('GET', path, { signal: options.signal, ifNoneMatch: etag });
    if (answer.status === 304) return undefined;
    return { item: (await body(answer)) as T, etag: answer.headers.get('etag') ?? undefined };
  }

  /** Reads it; nothing where it is not there, or not for the caller. */
  async find(options: ItemOptions = {}): Promise<Found<T> | undefined> {
    try {
      return await this.get(options);
    } catch (thrown) {
      if (Refusal.is(thrown, 'not-found')) return undefined;
      throw thrown;
    }
  }
}

/** An item that can be followed. */
export class FollowedOne<T, Identity> extends One<T> {
  /** The item as it is, if it is there, then what happens to it, also across connections that break. */
  feed(options: FeedOptions = {}): AsyncGenerator<FeedEvent<T, Identity>, void, undefined> {
    return follow(this.server, this.path, options);
  }

  /** The item as it is, and again whenever it changes; nothing while it is not there. */
  async *live(options: ReadOptions = {}): AsyncGenerator<T | undefined, void, undefined> {
    let item: T | undefined;
    let isReady = false;
    for await (const event of this.feed(options)) {
      if (event.event === 'refetch' || event.event === 'leave') item = undefined;
      else if (event.event !== 'ready') item = event.row;
      isReady = event.event === 'ready' || (isReady && event.event !== 'refetch');
      if (isReady) yield item;
    }
  }
}

/** The requests of one client. */
export class Server {
  readonly #options: Options;
  readonly #design: string;
  /** The token of the session that `auth.signIn` has opened. */
  session: string | undefined;

  constructor(design: string, options: Options) {
    this.#design = design;
    this.#options = options;
  }

  /** The address of something below the design, or of what begins with a slash on the server. */
  address(path: string): string {
    const origin = (this.#options.url ?? '').replace(/\/+$/, '');
    if (/^https?:\/\//.test(path)) return path;
    return path.startsWith('/') ? origin + path : `${origin}/${this.#design}/${path}`;
  }

  /** How often something is sent that may be repeated. */
  get attempts(): number {
    return Math.max(1, this.#options.attempts ?? 4);
  }

  /** Sends a request once, and answers whatever comes back. */
  async once(method: string, address: string, headers: Headers, body: BodyInit | undefined, signal: AbortSignal | undefined): Promise<Response> {
    const given = this.#options.token;
    const token = this.session ?? (typeof given === 'function' ? await given() : given);
    if (token !== undefined) headers.set('authorization', `Bearer ${token}`);
    const send = this.#options.fetch ?? fetch;
    return await send(address, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
      ...(this.#options.credentials === undefined ? {} : { credentials: this.#options.credentials }),
    });
  }

  /** Sends a request, again where that does no harm and helps, and throws what is refused. */
  async send(method: string, path: string, options: WriteOptions & { ifMatch?: string | undefined; ifNoneMatch?: string | undefined } = {}, given?: object): Promise<Response> {
    const headers = new Headers();
    if (given !== undefined) headers.set('content-type', 'application/json');
    if (options.ifMatch !== undefined) headers.set('if-match', options.ifMatch);
    if (options.ifNoneMatch !== undefined) headers.set('if-none-match', options.ifNoneMatch);
    if (options.minimal === true) headers.set('prefer', 'return=minimal');
    const idempotencyKey = options.idempotencyKey === true ? crypto.randomUUID() : options.idempotencyKey;
    if (idempotencyKey !== undefined) headers.set('idempotency-key', idempotencyKey);
    const attempts = method === 'GET' || idempotencyKey !== undefined ? this.attempts : 1;
    const text = given === undefined ? undefined : JSON.stringify(given);
    for (let attempt = 1; ; attempt++) {
      let wait = 100 * 2 ** attempt;
      try {
        const answer = await this.once(method, this.address(path), headers, text, options.signal);
        if (answer.ok || answer.status === 304) return answer;
        wait = Math.max(wait, 1000 * Number(answer.headers.get('retry-after') ?? 0));
        throw await refusal(answer);
      } catch (thrown) {
        if (options.signal?.aborted === true || attempt >= attempts || !isPassing(thrown)) throw thrown;
      }
      await pause(wait, options.signal);
    }
  }

  /** Sends a request, and reads what it answers. */
  async ask<T>(method: string, path: string, options: ReadOptions = {}, given?: object): Promise<T> {
    return (await body(await this.send(method, path, options, given))) as T;
  }

  /** Sends a request that may open a session, and keeps the session's token for the next ones. */
  async open<T>(path: string, options: ReadOptions | undefined, given: object): Promise<T> {
    const opened = await this.ask<T>('POST', path, options, given);
    const { token } = opened as { token?: string };
    if (token !== undefined) this.session = token;
    return opened;
  }

  /** Ends the session that is used. */
  async close(path: string, options?: ReadOptions): Promise<void> {
    await this.ask('POST', path, options);
    this.session = undefined;
  }

  /** Sends the bytes of an upload. The signed address is all that it needs. */
  async upload(granted: { upload: { method: string; url: string; headers: object } }, bytes: BodyInit, options: ReadOptions = {}): Promise<void> {
    const { method, url, headers } = granted.upload;
    const sent = new Headers(headers as Record<string, string>);
    const answer = await (this.#options.fetch ?? fetch)(this.address(url), {
      method,
      headers: sent,
      body: bytes,
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    if (!answer.ok) throw await refusal(answer);
  }

  /** Where a file can be read for a while. */
  async file<T extends { url: string }>(name: string, options?: ReadOptions): Promise<T> {
    const found = await this.ask<T>('GET', path('files', name), options);
    return { ...found, url: this.address(found.url) };
  }

  /** Carries out one write. */
  async write<T>(operation: Operation<T>, options: UpsertOptions = {}): Promise<Written<T>> {
    const answer = await this.send(operation.method, operation.path, options, operation.body);
    const headers = { etag: answer.headers.get('etag'), location: answer.headers.get('location'), jobs: answer.headers.get('partita-job') };
    return new Written(answer.status, headers, (await body(answer)) as T | undefined);
  }

  /** Carries out several writes in one transaction, all or none. */
  async batch<const Operations extends readonly Operation<unknown>[]>(operations: Operations, options: WriteOptions = {}): Promise<Results<Operations>> {
    const answer = await this.send('POST', 'batch', options, { operations });
    const jobs = answer.headers.get('partita-job');
    const { results } = (await body(answer)) as { results: { status: number; etag?: string; location?: string; body?: unknown }[] };
    const written = results.map((result) => new Written(result.status, { jobs, ...result }, result.body));
    return written as unknown as Results<Operations>;
  }
}

/** What each write of a batch came to. */
export type Results<Operations extends readonly Operation<unknown>[]> = {
  -readonly [At in keyof Operations]: Operations[At] extends Operation<infer T> ? Written<T> : never;
};

/** A path of parts that are nobody else's: none of them leads elsewhere. */
function path(...parts: (string | number | boolean)[]): string {
  return parts.map((part) => {
    const text = String(part);
    if (text === '' || text === '.' || text === '..') throw new RangeError(`"${text}" is no part of a path`);
    return encodeURIComponent(text);
  }).join('/');
}

/** A path with parameters behind it; those that are not given are left out. */
function asking(path: string, parameters: object): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== null) query.set(name, String(value));
  }
  if (query.size === 0) return path;
  return path + (path.includes('?') ? '&' : '?') + query.toString();
}

/** A value inside an item, by its name in the design: `stats.upvotes`. */
function inside(item: unknown, name: string): unknown {
  return name.split('.').reduce<unknown>((value, part) => (value as Record<string, unknown> | undefined)?.[part], item);
}

/** What tells a row apart from others of its kind. */
function key(row: unknown, identity: readonly string[]): string {
  return JSON.stringify(identity.map((name) => inside(row, name)));
}

/** The document that an answer has; nothing if it has none. */
async function body(answer: Response): Promise<unknown> {
  if (answer.status === 204 || answer.status === 205) return undefined;
  const text = await answer.text();
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new UnexpectedAnswer(answer.status, text);
  }
}

/** Why a request was refused. */
async function refusal(answer: Response): Promise<Refusal | UnexpectedAnswer> {
  const text = await answer.text();
  try {
    const problem = JSON.parse(text) as Problem;
    if (problem.type.startsWith('urn:partita:problem:')) return new Refusal(problem);
  } catch {
    // It is told of as it is.
  }
  return new UnexpectedAnswer(answer.status, text);
}

/** Whether what went wrong may not go wrong again: the network, or a server that cannot answer now. */
function isPassing(thrown: unknown): boolean {
  if (thrown instanceof Refusal) return thrown.problem.status === 503 || Refusal.is(thrown, 'conflict');
  if (thrown instanceof UnexpectedAnswer) return [502, 503, 504].includes(thrown.status);
  return thrown instanceof TypeError;
}

async function pause(millis: number, signal: AbortSignal | undefined): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, millis);
    signal?.addEventListener('abort', done);
    if (signal?.aborted === true) done();
  });
}

/** The longest silence of a feed: the server sends a sign of life every 15 seconds. */
const SILENCE_MILLIS = 50_000;

/** Follows a pattern or an item until the signal is aborted, or nobody wants more events. */
async function* follow<Row, Identity>(server: Server, path: string, options: FeedOptions): AsyncGenerator<FeedEvent<Row, Identity>, void, undefined> {
  let id = options.lastEventId ?? '';
  let retry = 2000;
  let failures = 0;
  let hasBegun = false;
  const isOver = (): boolean => options.signal?.aborted === true;
  while (!isOver()) {
    const connection = new AbortController();
    const stop = (): void => connection.abort();
    options.signal?.addEventListener('abort', stop);
    let wait = retry;
    try {
      const headers = new Headers({ accept: 'text/event-stream' });
      if (id !== '') headers.set('last-event-id', id);
      const answer = await server.once('GET', server.address(path), headers, undefined, connection.signal);
      if (!answer.ok) {
        wait = Math.max(wait, 1000 * Number(answer.headers.get('retry-after') ?? 0));
        throw await refusal(answer);
      }
      for await (const message of messages(answer, connection)) {
        hasBegun = true;
        failures = 0;
        retry = message.retry ?? retry;
        wait = retry;
        id = message.id ?? id;
        const event = eventOf<Row, Identity>(message, id);
        if (event !== undefined) yield event;
      }
    } catch (thrown) {
      failures += 1;
      if (!isOver() && (!(isPassing(thrown) || isCut(thrown)) || (!hasBegun && failures >= server.attempts))) throw thrown;
      wait = Math.min(wait * 2 ** Math.min(failures - 1, 4), 60_000);
    } finally {
      options.signal?.removeEventListener('abort', stop);
      connection.abort();
    }
    // Those that a restart has cut off do not all come back at once.
    await pause(wait * (0.5 + Math.random()), options.signal);
  }
}

/** Whether a connection ended in the middle, or was given up because nothing came. */
function isCut(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.name === 'AbortError';
}

interface Message {
  readonly event: string | undefined;
  readonly data: string;
  readonly id: string | undefined;
  readonly retry: number | undefined;
}

/** Server-sent events, as they come. */
async function* messages(answer: Response, connection: AbortController): AsyncGenerator<Message, void, undefined> {
  if (answer.body === null) return;
  const reader = answer.body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    for (;;) {
      timer = setTimeout(() => connection.abort(), SILENCE_MILLIS);
      const { done, value } = await reader.read();
      clearTimeout(timer);
      if (done) return;
      text += decoder.decode(value, { stream: true });
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) yield message(block);
    }
  } finally {
    clearTimeout(timer);
  }
}

function message(block: string): Message {
  const fields = new Map(block.split('\n').map((line) => {
    const colon = line.indexOf(': ');
    return colon < 0 ? [line.replace(/:$/, ''), ''] as const : [line.slice(0, colon), line.slice(colon + 2)] as const;
  }));
  const retry = fields.get('retry');
  return { event: fields.get('event'), data: fields.get('data') ?? '', id: fields.get('id'), retry: retry === undefined ? undefined : Number(retry) };
}

function eventOf<Row, Identity>({ event, data }: Message, id: string): FeedEvent<Row, Identity> | undefined {
  switch (event) {
    case 'enter':
    case 'change':
      return { event, row: JSON.parse(data) as Row, id };
    case 'leave':
      return { event, identity: JSON.parse(data) as Identity, id };
    case 'ready':
      return { event, id };
    case 'refetch':
      return { event, why: (JSON.parse(data) as { why: string }).why, id };
    default:
      // A sign of life, or an event that a later server has.
      return undefined;
  }
}
