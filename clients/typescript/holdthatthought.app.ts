// Two people talk, and send each other a file.

import { check, first, type Callers } from './checks.js';
import { connect } from './holdthatthought.js';

export async function run(callers: Callers): Promise<void> {
  const [ann, bob] = [connect({ url: callers.url, token: callers.ann }), connect({ url: callers.url, token: callers.bob })];
  await ann.UserProfile.create({ userId: 'ann', email: 'ann@example.org', displayName: 'Ann' });
  await bob.UserProfile.create({ userId: 'bob', email: 'bob@example.org', displayName: 'Bob' });
  const talk = await ann.ConversationMeta.create({ conversationType: 'direct', participantIds: ['ann', 'bob'] });
  const { conversationId } = talk.item;

  const heard = first(bob.query.messages({ convId: conversationId }).feed(), (event) => event.event === 'enter');
  const granted = await ann.files.upload('messages', { contentType: 'text/plain', size: 6 });
  await ann.files.send(granted, 'Hello!');
  const attachment = { s3Key: granted.name, fileName: 'hello.txt', contentType: 'text/plain' };
  await ann.Message.create({ conversationId, messageText: 'See', attachments: [attachment] });

  const event = await heard;
  check(event.event === 'enter' && event.row.messageText === 'See', 'the message is heard');
  const name = event.row.attachments?.[0]?.s3Key;
  check(name !== undefined, 'it names a file');
  const { url } = await bob.files.read(name);
  check((await (await fetch(url)).text()) === 'Hello!', 'whom it was sent to reads the file');
}
