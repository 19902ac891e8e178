/** No secret that passes through the system appears in a table, log line, response or event. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operations } from '@headgate/contract';
import { createClient } from '../../../testing/client.ts';
import { examples, sortGuards, takesPlaceAway } from '../../../testing/guards.ts';
import { createPlace } from '../../../testing/place.ts';
import { listForms } from '../../../testing/secret-forms.ts';
import { startTestServer } from '../../../testing/server.ts';
import { clientSecretPurpose } from '../../access/credentials/index.ts';
import { secretOfExample } from '../../runtime/secrets/secret.examples.ts';

const masterKey = Buffer.from('canary of the master key: 32 b!!');
const server = await startTestServer({ settings: { HEADGATE_MASTER_KEY: masterKey.toString('base64') } });

function findForms(secrets: Record<string, string>, where: string, text: string): string[] {
  return Object.entries(secrets).flatMap(([name, secret]) =>
    listForms(secret).some((form) => text.includes(form)) ? [`${name} in ${where}`] : [],
  );
}

async function dumpDatabase(): Promise<[string, string][]> {
  const tables = await server.database.query<{ name: string }>(
    `select quote_ident(tablename) as name from pg_tables where schemaname = 'public'`,
  );
  assert.ok(tables.length > 10);
  const dumps: [string, string][] = [];
  for (const { name } of tables) {
    const rows = await server.database.query<{ row: string }>(`select t::text as row from ${name} t`);
    dumps.push([
      `the table ${name}`,
      rows.map(({ row }) => row.replaceAll('""', '"').replaceAll('\\\\', '\\')).join('\n'),
    ]);
  }
  return dumps;
}

test('all forms of a secret are detected', () => {
  const secret = 'a "secret" / über + all';
  const bytes = Buffer.from(secret);
  const texts = [
    secret,
    JSON.stringify({ secret }),
    `?s=${encodeURIComponent(secret)}`,
    bytes.toString('hex'),
    bytes.toString('base64'),
    Buffer.from(`x${secret}x`).toString('base64url'),
    Buffer.from(`xy${secret}yz`).toString('base64'),
  ];
  for (const text of texts) assert.deepEqual(findForms({ secret }, 'it', text), ['secret in it'], text);
  assert.deepEqual(findForms({ secret }, 'it', 'nothing of the kind'), []);
});

test('a client secret, a token and the master key appear nowhere', async () => {
  const place = await createPlace(await server.account());
  const { admin, accountId } = place.account;
  const clientSecret = 'canary "of/a+client" \\ sécret, long enough';
  const digest = server.deps.sealer.digest(clientSecret, clientSecretPurpose);
  await server.database.query('update credential set secret_digest = $2 where account_id = $1', [
    accountId,
    digest,
  ]);
  const anonymous = createClient(server.transport, '', async () => undefined);
  const answers: string[] = [];
  const form = (members: Record<string, string>) =>
    anonymous.post<{ access_token: string }>('/oauth/dpc/token', new URLSearchParams(members).toString(), {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
  const grant = { grant_type: 'client_credentials', client_id: admin.clientId, client_secret: clientSecret };
  const { access_token: token } = (await form(grant)).body;
  const wrong = [
    await form({ ...grant, grant_type: 'password' }),
    await form({ ...grant, client_secret: `${clientSecret}x` }),
    await form({ ...grant, client_id: clientSecret }),
    await anonymous.post(`/oauth/dpc/token?client_secret=${encodeURIComponent(clientSecret)}`, ''),
  ];
  answers.push(...wrong.map((answer) => answer.text + JSON.stringify(answer.headers)));

  // Send the token to every operation, including those of the other API.
  const caller = createClient(server.transport, '/dpc/v1', async () => token);
  for (const { id, method } of sortGuards(operations.filter((each) => each.id in examples))) {
    const example = examples[id] ?? assert.fail(id);
    const { path, ...asked } = await example(
      takesPlaceAway({ id }) ? await createPlace(place.account) : place,
    );
    const headers = { ...asked.headers, 'idempotency-key': `once ${id}` };
    const answer = await caller.send(method, path, { ...asked, headers });
    assert.ok(answer.status < 300, `${id}: ${answer.text}`);
    answers.push(answer.text + JSON.stringify(answer.headers));
  }
  for (const path of [`/projects?access_token=${token}`, '/projects?size=x']) {
    const answer = await caller.get(path, { headers: { 'x-token': token } });
    answers.push(answer.text + JSON.stringify(answer.headers));
  }
  const tampered = `${token.slice(0, -6)}AAAAAA`;
  answers.push((await createClient(server.transport, '/dpc/v1', async () => tampered).get('/projects')).text);
  answers.push((await anonymous.get('/metrics')).text);

  const [, claims = '', signature = ''] = token.split('.');
  const secrets = {
    'the client secret': clientSecret,
    'the token': token,
    'the claims of the token': claims,
    'the signature of the token': signature,
    'the master key': masterKey.toString('latin1'),
    'the secret of the agent': place.agent.secret.reveal(),
    'a secret for a vault': secretOfExample,
  };
  assert.ok(server.logLines.length > 20, 'there is a log to look at');
  const leaks = [
    ...(await dumpDatabase()).flatMap(([where, text]) => findForms(secrets, where, text)),
    ...server.logLines.flatMap((line) => findForms(secrets, 'the log', line)),
    ...answers.flatMap((text) => findForms(secrets, 'an answer', text)),
  ];
  assert.deepEqual([...new Set(leaks)], []);
});

test('the signing key is stored sealed', async () => {
  const rows = await server.database.query<{ text: string; sealed: Buffer }>(
    'select public_key::text as text, private_key_sealed as sealed from signing_key',
  );
  for (const { text, sealed } of rows) {
    assert.ok(!('d' in JSON.parse(text)));
    assert.ok(!sealed.toString('latin1').includes('PRIVATE KEY'));
  }
});
