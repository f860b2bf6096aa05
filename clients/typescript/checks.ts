// What the applications check with. They run in Node.js and in a browser, so they need neither.

/** Who calls, and where. */
export interface Callers {
  readonly url: string;
  /** Tokens. */
  readonly ann: string;
  readonly bob: string;
  readonly admin: string;
  /** The secret of the link that was mailed last. */
  mailed(): Promise<string>;
}

/** Fails unless something is so. */
export function check(isSo: boolean, what: string): asserts isSo {
  if (!isSo) throw new Error(`not so: ${what}`);
}

/** What was thrown by something that must be refused. */
export async function thrown(promise: Promise<unknown>): Promise<unknown> {
  const outcome = await promise.then(() => undefined, (error: unknown) => error);
  check(outcome instanceof Error, 'it is refused');
  return outcome;
}

/** The first value that is wanted, within twenty seconds. */
export async function first<T>(values: AsyncIterable<T>, isWanted: (value: T) => boolean): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('what is wanted does not come')), 20_000);
  });
  const found = (async () => {
    for await (const value of values) if (isWanted(value)) return value;
    throw new Error('the end came first');
  })();
  return await Promise.race([found, late]).finally(() => clearTimeout(timer));
}
