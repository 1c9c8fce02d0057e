// The certified OpenID provider, for one test. It prints its port, and ends
// with its standard input. The query of its interaction names the account
// (`login`) or denies the sign-in (`deny`).
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(pathToFileURL(`${process.env.OIDC_MODULES}/package.json`));
const { Provider } = await import(pathToFileURL(require.resolve('oidc-provider')));

const accounts = JSON.parse(process.env.OIDC_ACCOUNTS);

const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [{
      client_id: 'pia',
      client_secret: process.env.OIDC_SECRET,
      redirect_uris: [process.env.OIDC_CALLBACK],
    }],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    cookies: { keys: ['a key of this test'] },
    features: { devInteractions: { enabled: false } },
    findAccount: (_, id) => accounts[id] && ({
      accountId: id,
      claims: () => ({ sub: id, ...accounts[id] }),
    }),
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    pkce: { required: () => true },
    ttl: {
      AccessToken: 600, AuthorizationCode: 60, Grant: 600, IdToken: 600, Interaction: 600, Session: 600,
    },
  });

  const interact = async (request, response) => {
    const details = await provider.interactionDetails(request, response);
    const query = new URL(request.url, issuer).searchParams;
    if (query.has('deny')) {
      const denied = { error: 'access_denied', error_description: 'They changed their mind.' };
      return provider.interactionFinished(request, response, denied, { mergeWithLastSubmission: false });
    }
    const accountId = query.get('login');
    const grant = new provider.Grant({ accountId, clientId: details.params.client_id });
    grant.addOIDCScope(details.params.scope);
    const result = { login: { accountId }, consent: { grantId: await grant.save() } };
    return provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
  };

  const handle = provider.callback();
  server.on('request', (request, response) => {
    if (!request.url.startsWith('/interaction/')) return handle(request, response);
    return interact(request, response).catch((err) => {
      console.error(err);
      response.writeHead(500).end();
    });
  });
  console.log(server.address().port);
});

process.stdin.on('end', () => process.exit(0)).resume();
