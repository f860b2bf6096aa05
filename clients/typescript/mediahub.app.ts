// Somebody signs up and in, and makes an album.

import { check, first, thrown, type Callers } from './checks.js';
import { connect, Refusal, type Client, type User } from './mediahub.js';

const PASSWORD = 'correct horse battery';
const LOGIN = 'ann@example.org';

export async function run({ url, mailed }: Callers): Promise<void> {
  const api = connect({ url });
  await api.auth.signUp({ email: LOGIN, password: PASSWORD, username: 'ann', emailPreferences: {} });
  const token = await mailed();
  const early = await thrown(api.auth.signIn({ login: LOGIN, password: PASSWORD }));
  check(Refusal.is(early, 'unverified'), 'an address is confirmed first');
  await api.auth.verifyEmail({ token, password: PASSWORD });
  const wrong = await thrown(api.auth.signIn({ login: LOGIN, password: 'incorrect horse' }));
  check(Refusal.is(wrong, 'wrong-credentials'), 'a password is needed');

  const session = await api.auth.signIn({ login: LOGIN, password: PASSWORD });
  const { user } = await api.auth.me();
  check('username' in user && user.username === 'ann' && session.token !== undefined, 'she is who she says');
  const createdBy = (user as User).userId;
  const mine = first(api.query.albumsByCreator({ createdBy }).live(), (albums) => albums.length === 1);
  const album = await api.Album.create({ title: 'Sand', createdBy, tags: ['dunes'] });
  check((await mine)[0]?.id === album.item.id, 'her album is listed');
  check(api.auth.signInAtProvider('google', '/').endsWith('/mediahub/auth/oidc/google?return=%2F'), 'a browser is sent there');

  // Another client goes on with the session that this one keeps.
  const other = connect({ url, token: session.token });
  await api.Album.update({ albumId: album.item.id }, { title: 'Rock' });
  check((await other.Album.get({ albumId: album.item.id })).item.title === 'Rock', 'it is one account');
  await api.auth.signOut();
  const out = await thrown(other.auth.me());
  check(out instanceof Refusal && out.problem.status === 401, 'the session is over');
}

/** What the types refuse. Nobody calls this. */
export function refused(api: Client, user: User): void {
  // @ts-expect-error: what is secret is never answered
  void user.salt;
  // @ts-expect-error: a hash is nobody's to give
  void api.User.update({ userId: '' }, { passwordHash: '' });
}
