// Somebody writes stories at one place, and sees them change at another.

import { check, first, thrown, type Callers } from './checks.js';
import { connect, operations, Refusal, type Client } from './stories.js';

export async function run({ url, ann, bob }: Callers): Promise<void> {
  const api = connect({ url, token: () => Promise.resolve(ann) });
  const made = await api.Story.create({ userId: 'ann', title: 'Dune' }, { idempotencyKey: 'dune' });
  const again = await api.Story.create({ userId: 'ann', title: 'Dune' }, { idempotencyKey: 'dune' });
  check(again.item.id === made.item.id, 'under one key it is written once');
  const dune = { userId: 'ann', storyId: made.item.id };

  const stories = api.query.stories({ userId: 'ann' });
  const seen = first(stories.live(), (rows) => rows.some((row) => row.title === 'Dune Messiah'));
  await api.Story.update(dune, { title: 'Dune Messiah' }, { idempotencyKey: true });
  check((await seen).length === 1, 'the feed shows the story once');

  const [emma, node] = await api.batch([
    operations.Story.create({ userId: 'ann', title: 'Emma' }),
    operations.Node.create({ ...dune, prompt: 'Where are you?' }),
  ]);
  check(emma.status === 201 && node.item.prompt === 'Where are you?', 'both are written');
  const titles: string[] = [];
  for await (const story of stories) titles.push(story.title);
  check(titles.sort().join() === 'Dune Messiah,Emma', titles.join());
  const page = await stories.page({ limit: 1 });
  check(page.items.length === 1 && page.cursor !== undefined, 'a page has a cursor');

  const foreign = await thrown(connect({ url, token: bob }).Story.update(dune, { title: 'Mine' }));
  check(Refusal.is(foreign, 'forbidden', 'not-found'), 'it is not for others');
  const empty = await thrown(api.Story.create({ userId: 'ann', title: '' }));
  check(Refusal.is(empty, 'invalid') && empty.problem.faults?.[0]?.attribute === 'title', 'the fault is told');

  await api.Story.delete(dune);
  check((await api.Story.item(dune).find()) === undefined, 'it is deleted');
  check((await api.Story.get(dune, { deleted: 'include' })).item.deleted, 'softly');
  await api.Story.restore(dune);
  check((await api.Story.get(dune)).item.title === 'Dune Messiah', 'it is back');
  const away = await thrown(api.Story.get({ userId: 'ann', storyId: '..' }));
  check(away instanceof RangeError, 'no value leads to another path');
}

/** What the types refuse. Nobody calls this. */
export function refused(api: Client): void {
  const dune = { userId: 'ann', storyId: '01JGZ3V8Q2Y7R4T5W6X9A0B1C2' };
  // @ts-expect-error: it has a title
  void api.Story.create({ userId: 'ann' });
  // @ts-expect-error: nobody changes its identity
  void api.Story.update(dune, { userId: 'bob' });
  // @ts-expect-error: the time is the server's
  void api.Story.create({ userId: 'ann', title: 'Dune', UpdatedAt: '2026-01-01T00:00:00.000Z' });
  // @ts-expect-error: there is no version that could be matched
  void api.Story.update(dune, { title: 'Dune' }, { ifMatch: '"1"' });
}
