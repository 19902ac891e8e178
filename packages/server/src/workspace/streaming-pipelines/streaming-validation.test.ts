/** What a definition may not have: each fault names its field and the remedy. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();
const account = await server.account();
const { admin } = account;
const { path: projectPath } = await account.project();
const path = `${projectPath}/streaming-pipelines`;

const password = { secretType: 'aws_secrets_manager', secretName: 'orders-db' };
const connection = { host: 'orders.example.com', port: 5432, username: 'stream', password };
const tables = [{ schema: 'public', table: 'orders' }];
const source = (more: object = {}, type = 'postgres', of: object = {}) => ({
  type,
  connection: {
    ...connection,
    ...(type === 'mysql' || type === 'db2ibmi' ? {} : { database: 'd' }),
    ...more,
  },
  tables,
  ...of,
});
const bucket = { type: 's3', bucket: 'orders' };

let count = 0;
const send = (input: object) =>
  admin.post(path, { name: `p${count++}`, streamingSource: source(), streamingTarget: bucket, ...input });

/** The violations of a definition, without the path of the source or target. */
async function listViolations(input: object): Promise<string[]> {
  const answer = await send(input);
  requireProblem(answer, 400, 'invalid-request');
  return (answer.problem.violations ?? []).map((each) =>
    each.replace(/^body\.streaming(Source|Target)\./, ''),
  );
}

const ofSource = (streamingSource: unknown) => listViolations({ streamingSource });
const ofTarget = (streamingTarget: unknown) => listViolations({ streamingTarget });

const snowflake = {
  type: 'snowflake',
  connection: {
    accountName: 'myorg.eu-west-1',
    username: 'u',
    authentication: { type: 'key-pair', privateKey: password },
  },
  ...{ role: 'r', warehouse: 'w', database: 'd', stageSchema: 's', stageName: 'n', tableSchema: 't' },
  ...{ tablePrefixType: 'none', transformationType: 'change_log' },
};

test('an unknown type lists those that there are, and proposes the nearest', async () => {
  assert.deepEqual(await ofSource(source({}, 'postgress')), [
    'type: must be one of postgres, sqlserver, mysql, oracle, db2ibmi; got "postgress"; did you mean postgres?',
  ]);
  assert.deepEqual(await ofTarget({ type: 'kafka' }), [
    'type: must be one of s3, abs, gcs, snowflake, postgres, file; got "kafka"',
  ]);
  assert.match((await ofTarget({ type: 7 })).join(), /^type: must be one of .*, not a number$/);
  assert.ok((await ofTarget({})).some((each) => each === 'type: is required'));
});

test('each kind has members of its own, all of which are checked', async () => {
  for (const type of ['postgres', 'sqlserver', 'oracle'])
    assert.deepEqual(await ofSource(source({ database: undefined }, type)), [
      'connection.database: is required',
    ]);
  assert.deepEqual(await ofSource({ type: 'MySQL' }), ['connection: is required', 'tables: is required']);
  assert.deepEqual(await ofTarget({ type: 's3' }), ['bucket: is required']);
  assert.deepEqual(await ofTarget({ type: 'abs' }), [
    'container: is required',
    'accountName: is required',
    'accountKey: is required',
  ]);
  assert.equal((await ofTarget({ type: 'snowflake' })).length, 9);
  assert.deepEqual(await ofTarget({ type: 'postgres' }), ['connection: is required', 'schema: is required']);
  assert.deepEqual(await ofTarget({ type: 'file' }), ['path: is required', 'format: is required']);
});

test('bounds and forms are checked', async () => {
  assert.deepEqual(await ofSource(source({ port: 0 })), ['connection.port: must be at least 1; got 0']);
  assert.deepEqual(await ofSource(source({ port: 65_536 })), [
    'connection.port: must be at most 65,535; got 65536',
  ]);
  assert.deepEqual(await ofSource(source({ port: '5432' })), [
    'connection.port: must be an integer, not a string',
  ]);
  for (const host of ['postgres://db', 'user@db', 'db/orders', 'd b', 'db\n'])
    assert.match(
      (await ofSource(source({ host }))).join(),
      /^connection\.host: must be the name or address of a host/,
    );
  assert.deepEqual(await ofSource({ ...source(), tables: [] }), ['tables: must have at least 1 item']);
  const many = Array.from({ length: 5_001 }, (_, index) => ({ schema: 's', table: `t${index}` }));
  assert.deepEqual(await ofSource({ ...source(), tables: many }), [
    'tables: must have at most 5,000 items; it has 5,001',
  ]);
  assert.deepEqual(await ofSource({ ...source(), tables: [{ schema: 's' }, { schema: '', table: 't' }] }), [
    'tables[0].table: is required',
    'tables[1].schema: must not be empty',
  ]);
  for (const target of [
    { type: 's3', bucket: 's3://orders' },
    { type: 'gcs', bucket: 'a/b' },
  ])
    assert.match((await ofTarget(target)).join(), /^bucket: must be the name of a bucket, without scheme/);
  assert.deepEqual(await ofTarget({ ...bucket, decimalMapping: 'logic' }), [
    'decimalMapping: must be one of legacy, logical; got "logic"; did you mean logical?',
  ]);
  assert.deepEqual(await ofTarget({ ...snowflake, transformationType: 'copy', temporalMapping: 1 }), [
    'transformationType: must be one of copy_table, copy_table_soft_delete, change_log; got "copy"',
    'temporalMapping: must be a string, not a number',
  ]);
});

test('a plain secret is refused with the remedy, and is not repeated', async () => {
  const reference = /must be a reference to a secret, such as \{"secretType": .*store the secret in a vault$/;
  const authentication = { type: 'key-pair', privateKey: 'hunter2', passphrase: 'hunter2' };
  const places: [given: object, fields: string[]][] = [
    [{ streamingSource: source({ password: 'hunter2' }) }, ['connection.password']],
    [
      { streamingTarget: { type: 'abs', container: 'c', accountName: 'a', accountKey: 'hunter2' } },
      ['accountKey'],
    ],
    [
      { streamingTarget: { ...snowflake, connection: { ...snowflake.connection, authentication } } },
      ['connection.authentication.privateKey', 'connection.authentication.passphrase'],
    ],
  ];
  for (const [input, fields] of places) {
    const violations = await listViolations(input);
    assert.deepEqual(
      violations.map((each) => each.split(':')[0]),
      fields,
    );
    for (const each of violations) assert.match(each, reference);
    assert.ok(!violations.join().includes('hunter2'));
  }
  const inside = await listViolations({ streamingSource: source({ password: { value: 'hunter2' } }) });
  assert.deepEqual(inside, [
    'connection.password.secretType: is required',
    'connection.password.secretName: is required',
  ]);
});

test('a plain secret among the properties is refused, and a switch with such a name is not', async () => {
  const secrets = [
    'password',
    'sslPassword',
    'javax.net.ssl.trustStorePassword',
    'private_key_pwd',
    'access-token',
  ];
  for (const name of secrets) {
    const places = {
      'body.streamingSource.connection.jdbcProperties': {
        streamingSource: source({ jdbcProperties: { [name]: 'hunter2' } }),
      },
      'body.advancedProperties': { advancedProperties: { [name]: 'hunter2' } },
    };
    for (const [field, input] of Object.entries(places)) {
      const answer = await send(input);
      requireProblem(answer, 422, 'streaming-definition');
      assert.ok(answer.problem.detail.startsWith(`${field}.${name} is a secret`), answer.problem.detail);
      assert.ok(!answer.text.includes('hunter2'));
    }
  }
  const switches = { requirePassword: 'true', sendToken: false, 'password.encoder': 'x', emptyPassword: '' };
  assert.equal((await send({ advancedProperties: switches })).status, 201);
});

test('a member of another kind is refused, and null for it is not', async () => {
  const cases: [given: object, detail: RegExp][] = [
    [
      { streamingSource: source({ database: 'd' }, 'mysql') },
      /connection\.database is not a member of a mysql source/,
    ],
    [
      { streamingSource: source({ pdb: 'p' }) },
      /streamingSource\.connection\.pdb is not a member of a postgres source/,
    ],
    [
      { streamingTarget: { ...bucket, container: 'c' } },
      /streamingTarget\.container is not a member of a s3 target/,
    ],
    [{ streamingTarget: { ...bucket, connection: {} } }, /streamingTarget\.connection is not a member/],
    [{ streamingTarget: { ...bucket, path: { deep: [1] } } }, /streamingTarget\.path is not a member/],
  ];
  for (const [input, detail] of cases) {
    const answer = await send(input);
    requireProblem(answer, 422, 'streaming-definition');
    assert.match(answer.problem.detail, detail);
  }
  const made = await send({
    streamingSource: source({ database: null, pdb: null, jdbcProperties: null }, 'mysql'),
    streamingTarget: { ...bucket, prefix: null, decimalMapping: null, container: null, accountKey: null },
    advancedProperties: null,
    agentId: null,
  });
  assert.equal(made.status, 201, made.text);
  assert.deepEqual((made.body as { streamingTarget: object }).streamingTarget, bucket);
});

test('unknown members are ignored, or refused on request', async () => {
  const streamingSource = { ...source({ sslMode: 'x' }), tabels: [] };
  const made = await send({ streamingSource });
  assert.deepEqual((made.body as { streamingSource: object }).streamingSource, source());
  assert.match(made.headers['headgate-warning'] ?? '', /tabels/);
  const body = { name: 'strict', streamingSource, streamingTarget: bucket };
  const strict = await admin.post(path, body, { headers: { prefer: 'handling=strict' } });
  requireProblem(strict, 400, 'invalid-request');
  assert.equal(strict.problem.violations?.length, 2);
});

test('`key` and `secretKey` are one member, shown under both names; different values are refused', async () => {
  const write = (keys: object) => send({ streamingSource: source({ password: { ...password, ...keys } }) });
  for (const keys of [{ key: 'k' }, { secretKey: 'k' }, { key: 'k', secretKey: 'k' }]) {
    const { body } = await write(keys);
    const { streamingSource } = body as { streamingSource: { connection: { password: object } } };
    assert.deepEqual(streamingSource.connection.password, { ...password, key: 'k', secretKey: 'k' });
  }
  const answer = await write({ key: 'k', secretKey: 'other' });
  requireProblem(answer, 422, 'streaming-definition');
  assert.match(
    answer.problem.detail,
    /^body\.streamingSource\.connection\.password\.key differs from `secretKey`/,
  );
});

test('properties are strings, numbers that keep their digits, and booleans', async () => {
  const advancedProperties = { a: 1000, b: true, c: ' x ', d: 0.1, e: -0, f: 1e-7, g: '' };
  const { body } = await send({ advancedProperties });
  assert.deepEqual((body as { advancedProperties: object }).advancedProperties, {
    ...{ a: '1000', b: 'true', c: ' x ', d: '0.1', e: '0', f: '1e-7', g: '' },
  });
  for (const value of [null, {}, [], 2 ** 53, -(2 ** 60)])
    assert.equal((await listViolations({ advancedProperties: { p: value } })).length, 1, String(value));
  const many = Object.fromEntries(Array.from({ length: 501 }, (_, index) => [`p${index}`, 'x']));
  assert.deepEqual(await listViolations({ advancedProperties: many }), [
    'body.advancedProperties: must have at most 500 members; it has 501',
  ]);
  assert.equal((await listViolations({ advancedProperties: { p: 'x'.repeat(4_097) } })).length, 1);
  assert.equal((await listViolations({ advancedProperties: { '': 'x' } })).length, 1);
});

test('null is refused in a replacement', async () => {
  const made = await send({});
  const { streamingPipelineId } = made.body as { streamingPipelineId: string };
  const body = {
    name: 'n',
    agentId: null,
    streamingSource: source(),
    streamingTarget: { ...bucket, prefix: null },
  };
  const answer = await admin.send('PUT', `${path}/${streamingPipelineId}`, { body });
  requireProblem(answer, 400, 'invalid-request');
  assert.deepEqual(answer.problem.violations, [
    'body.agentId: must be a string, not null',
    'body.streamingTarget.prefix: must be a string, not null',
  ]);
});

test('stray bodies are refused', async () => {
  for (const stray of [null, 7, 'text', [], {}, [{}]]) {
    for (const member of ['streamingSource', 'streamingTarget'])
      requireProblem(await send({ [member]: stray }), 400, 'invalid-request');
  }
  for (const name of [null, 7, [], {}, '', 'x'.repeat(256)])
    requireProblem(await send({ name }), 400, 'invalid-request');
  for (const stray of [[], 7, '"x"'])
    requireProblem(await send({ advancedProperties: stray }), 400, 'invalid-request');
  const nul = source({ username: 'a\0b' });
  requireProblem(await send({ streamingSource: nul }), 400, 'invalid-request');
  requireProblem(await send({ streamingTarget: { ...bucket, prefix: '\ud800' } }), 400, 'invalid-request');
});

test('a definition of 5,000 tables is kept in order', async () => {
  const many = Array.from({ length: 5_000 }, (_, index) => ({
    schema: 'public',
    table: `orders_${index % 100}_${index}`,
  }));
  const made = await send({ streamingSource: { ...source(), tables: many } });
  assert.equal(made.status, 201, made.text.slice(0, 500));
  assert.deepEqual((made.body as { streamingSource: { tables: object[] } }).streamingSource.tables, many);
});
