// An OpenID provider for tests: `provider.js CLIENT SECRET REDIRECT_URI…`. It prints the port at
// which it listens.
//
// Its sign-in page takes any name. `ann` has a confirmed address, `ann.unconfirmed` has one that is
// not, and `ann.silent` tells none.
import { createServer } from "node:http";

import Provider from "oidc-provider";

const [client, secret, ...redirects] = process.argv.slice(2);

// What the provider says of itself as a development server is nobody's port.
console.info = console.error;

const server = createServer();
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const { port } = server.address();

function claims(account) {
  const [name, ...marks] = account.split(".");
  const told = { sub: `subject-of-${account}`, name, given_name: name };
  if (!marks.includes("silent")) {
    told.email = `${name}@example.org`;
    told.email_verified = !marks.includes("unconfirmed");
  }
  return told;
}

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id: client,
      client_secret: secret,
      redirect_uris: redirects,
      response_types: ["code"],
      grant_types: ["authorization_code"],
    },
  ],
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "given_name"] },
  // The claims are in the id token, as Google's are.
  conformIdTokenClaims: false,
  pkce: { required: () => true, methods: ["S256"] },
  cookies: { keys: ["for tests"] },
  features: { devInteractions: { enabled: true } },
  findAccount: (_, account) => ({ accountId: account, claims: () => claims(account) }),
});

server.on("request", provider.callback());
console.log(port);
