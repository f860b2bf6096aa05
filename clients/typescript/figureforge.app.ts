// Somebody has an image generated; a worker does it.

import { check, first, thrown, type Callers } from './checks.js';
import { connect, Refusal } from './figureforge.js';

const ANN = '00000000-0000-4000-8000-00000000000a';
const BOB = '00000000-0000-4000-8000-00000000000b';

export async function run(callers: Callers): Promise<void> {
  const [ann, bob] = [connect({ url: callers.url, token: callers.ann }), connect({ url: callers.url, token: callers.bob })];
  const worker = connect({ url: callers.url, token: callers.admin });
  await ann.User.create({ user_id: ANN, email: 'ann@example.org' });
  const taken = await thrown(bob.User.create({ user_id: BOB, email: 'ann@example.org' }));
  check(Refusal.is(taken, 'taken') && taken.problem.faults?.[0]?.attribute === 'email', 'an address is one user\'s');

  const job = await ann.GenerationJob.create({ user_id: ANN });
  const of = { user_id: ANN, job_id: job.item.job_id };
  const done = first(ann.GenerationJob.item(of).live(), (now) => now?.status === 'succeeded');
  const shown = first(ann.query.imagesByUser({ user_id: ANN }).live(), (images) => images.length === 1);
  await worker.GenerationJob.startJob(of);
  await worker.GenerationJob.finishJob(of, {
    url: 'https://example.org/figure', tags: ['pose:sitting'], prompt: 'a figure', negative_prompt: '', provider: 'p', model: 'm', cost: 2,
  });
  check((await done)?.job_id === of.job_id, 'the job is done');
  const [image] = await shown;
  check(image?.prompt_json.prompt === 'a figure' && image.cost_cents === 2, 'there is an image');
  const early = await thrown(worker.GenerationJob.startJob(of));
  check(early instanceof Refusal, 'a job is done once');
}
