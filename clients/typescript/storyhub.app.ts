// Readers follow the chapters of a story and vote for them, while its author writes.

import { check, first, thrown, type Callers } from './checks.js';
import { connect, Refusal, type Client } from './storyhub.js';

export async function run(callers: Callers): Promise<void> {
  const [ann, bob] = [connect({ url: callers.url, token: callers.ann }), connect({ url: callers.url, token: callers.bob })];
  // More than one browser or program may run this beside the others.
  const run = crypto.randomUUID();
  await ann.User.upsert({ userId: 'ann' }, { email: 'ann@example.org', displayName: 'Ann' });
  await bob.User.upsert({ userId: 'bob' }, { email: 'bob@example.org', displayName: 'Bob' });
  const story = await ann.Story.create({ title: run, synopsis: 'Sand.', authorId: 'ann', genre: 'sf', ageRating: '12' });
  const { storyId } = story.item;
  const chapter = await ann.ChapterNode.create({ storyId, authorId: 'ann', title: 'One', content: '…' });
  const { nodeId } = chapter.item;

  check(story.etag !== undefined, 'a story has a tag');
  const published = await ann.Story.update({ storyId }, { status: 'PUBLISHED' });
  const late = await thrown(ann.Story.update({ storyId }, { genre: 'fantasy' }, { ifMatch: story.etag }));
  check(Refusal.is(late, 'stale-version') && late.problem.status === 412, 'what was changed since is not overwritten');
  await ann.Story.update({ storyId }, { genre: 'fantasy' }, { ifMatch: published.etag });

  const item = bob.Story.item({ storyId });
  const found = await item.get();
  check(found.etag !== undefined && (await item.getUnless(found.etag)) === undefined, 'it is as it was');

  const chapters = bob.query.chapters({ storyId });
  const voted = first(chapters.live(), ([one]) => one?.stats.upvotes === 1);
  const total = first(item.live(), (now) => now?.stats.totalUpvotes === 1);
  await bob.Vote.create({ userId: 'bob', storyId, nodeId, voteType: 'UPVOTE' });
  check((await voted).length === 1, 'the vote is seen on the chapter');
  check((await total)?.title === run, 'and on the story');

  const events: string[] = [];
  for await (const event of chapters.feed()) {
    events.push(event.event);
    if (event.event === 'ready') await bob.ChapterNode.recordRead({ storyId, nodeId });
    if (event.event === 'change') break;
  }
  check(events.join() === 'enter,ready,change', events.join());

  const told = ann.query.notifications({ userId: 'ann' }, { order: 'desc' });
  const [latest] = (await told.page({ limit: 1 })).items;
  check(latest !== undefined, 'the author is told');
  check((await ann.action.markRead({ notificationId: latest.notificationId })).status < 300, 'and has read it');

  let isThere = false;
  for await (const one of bob.query.browse()) isThere ||= one.storyId === storyId;
  check(isThere, 'a published story is listed');
  const nobody = await thrown(connect({ url: callers.url }).Vote.create({ userId: 'bob', storyId, nodeId, voteType: 'UPVOTE' }));
  check(Refusal.is(nobody, 'unauthenticated'), 'nobody votes without a token');
}

/** What the types refuse. Nobody calls this. */
export function refused(api: Client): void {
  // @ts-expect-error: there is no such state
  void api.Story.update({ storyId: '' }, { status: 'GONE' });
  // @ts-expect-error: an author is for good
  void api.Story.update({ storyId: '' }, { authorId: 'bob' });
  // @ts-expect-error: a sum is nobody's to change
  void api.Story.update({ storyId: '' }, { stats: { totalUpvotes: 7 } });
}
