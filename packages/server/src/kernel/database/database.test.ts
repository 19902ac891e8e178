import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from '../../../testing/server.ts';
import { problem } from '../http/problems.ts';
import { insertStatement, openDatabase, statement, typed } from './database.ts';

const server = await startTestServer();
const { database } = server.deps;
await server.database.query(`
  create table remark (number integer, words text, said_at timestamptz, bytes bytea, facts jsonb, is_true boolean, length integer)`);

const insertAccount = statement(
  { parameters: { account_id: 'uuid', name: 'text' } },
  'insert into account (account_id, name, created_at) values ($account_id, $name, now())',
);
const accountCount = statement(
  { parameters: { name: 'text' }, row: { count: 'bigint' } },
  'select count(*) as count from account where name like $name',
);
const fails = statement({ parameters: { by: 'integer' } }, 'select 1 / $by::integer');

const countAccounts = async (name: string) => (await database.read(accountCount, { name }))[0]?.count;

test('the statements of a transaction are committed together', async () => {
  let effects = 0;
  await database.transaction((tx) => {
    for (let made = 0; made < 3; made += 1)
      tx.send(insertAccount, { account_id: server.deps.newId(), name: `together ${made}` });
    tx.afterCommit(() => {
      effects += 1;
    });
  });
  assert.deepEqual([await countAccounts('together %'), effects], [3, 1]);
});

test('a failed statement rolls back the transaction, and its afterCommit effects do not run', async () => {
  let told = false;
  const attempt = database.transaction((tx) => {
    tx.send(insertAccount, { account_id: server.deps.newId(), name: 'undone' });
    tx.send(fails, { by: 0 });
    tx.send(insertAccount, { account_id: server.deps.newId(), name: 'undone too' });
    tx.afterCommit(() => {
      told = true;
    });
  });
  await assert.rejects(attempt, { code: '22012' });
  assert.deepEqual([await countAccounts('undone%'), told], [0, false]);
});

test('a failure of the work rolls back its statements', async () => {
  const attempt = database.transaction(async (tx) => {
    tx.send(insertAccount, { account_id: server.deps.newId(), name: 'thrown' });
    throw new Error('no');
  });
  await assert.rejects(attempt, /^Error: no$/);
  assert.equal(await countAccounts('thrown'), 0);
});

test('a violated constraint throws the problem set for it', async () => {
  const twice = database.transaction((tx) => {
    tx.onConstraint('account_name_taken', () => problem('account-name-taken', { name: 'twice' }));
    tx.send(insertAccount, { account_id: server.deps.newId(), name: 'twice' });
    tx.send(insertAccount, { account_id: server.deps.newId(), name: 'twice' });
  });
  await assert.rejects(twice, { name: 'Problem', code: 'account-name-taken' });
  assert.equal(await countAccounts('twice'), 0);
});

test('the connection of a failed transaction is reused', async () => {
  for (let round = 0; round < 30; round += 1) {
    await assert.rejects(database.transaction((tx) => tx.query(fails, { by: 0 })));
    assert.equal(await countAccounts('nobody'), 0);
  }
});

const backendOf = statement(
  { parameters: { asked: 'text' }, row: { pid: 'integer', asked: 'text' } },
  'select pg_backend_pid() as pid, $asked::text as asked',
);
const backendOfSlow = statement(
  { parameters: { asked: 'text' }, row: { pid: 'integer', asked: 'text', slow: 'boolean' }, alone: true },
  'select pg_backend_pid() as pid, $asked::text as asked, true as slow',
);

test('concurrent reads share a trip, and a long read has its own', async () => {
  const quick = ['a', 'b', 'c'].map((asked) => database.read(backendOf, { asked }));
  const slow = database.read(backendOfSlow, { asked: 'slow' });
  const [one, ...others] = (await Promise.all(quick)).flat();
  assert.deepEqual(
    others.map((row) => row.pid),
    [one?.pid, one?.pid],
  );
  assert.deepEqual([one?.asked, ...others.map((row) => row.asked)], ['a', 'b', 'c']);
  assert.notEqual((await slow)[0]?.pid, one?.pid);
});

test('a failed read does not fail the others of its trip, and none returns rows twice', async () => {
  const answers = await Promise.allSettled([
    database.read(backendOf, { asked: 'before' }),
    database.read(fails, { by: 0 }),
    database.read(backendOf, { asked: 'after' }),
  ]);
  assert.deepEqual(
    answers.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  const requests = [answers[0], answers[2]].map((answer) =>
    answer?.status === 'fulfilled' ? answer.value.map((row) => ('asked' in row ? row.asked : '')) : [],
  );
  assert.deepEqual(requests, [['before'], ['after']]);
});

const makeAccount = (name: string) =>
  database.transaction((tx) => {
    tx.send(insertAccount, { account_id: server.deps.newId(), name });
  });
const transactionsOf = statement(
  { parameters: { name: 'text' }, row: { count: 'bigint' } },
  'select count(distinct xmin::text) as count from account where name like $name',
);
const listTransactions = async (name: string) => (await database.read(transactionsOf, { name }))[0]?.count;

test('writes that arrive during another write share a transaction', async () => {
  await Promise.all(['first', 'a', 'b', 'c'].map((name) => makeAccount(`shared ${name}`)));
  assert.deepEqual([await countAccounts('shared %'), await listTransactions('shared %')], [4, 2]);
});

test('a failed write does not fail the others of its trip, and the next writes are sent alone', async () => {
  const good = ['first', 'a', 'b'].map((name) => makeAccount(`bystander ${name}`));
  const failing = database.transaction((tx) => {
    tx.send(insertAccount, { account_id: server.deps.newId(), name: 'bystander none' });
    tx.send(fails, { by: 0 });
  });
  const all = await Promise.allSettled([...good, failing]);
  assert.deepEqual(
    all.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'fulfilled', 'rejected'],
  );
  assert.deepEqual([await countAccounts('bystander %'), await listTransactions('bystander %')], [3, 3]);
  await Promise.all(['first', 'a', 'b'].map((name) => makeAccount(`careful ${name}`)));
  assert.equal(await listTransactions('careful %'), 3);
  for (let made = 0; made < 64; made += 1) await makeAccount(`again alone ${made}`);
  await Promise.all(['first', 'a', 'b'].map((name) => makeAccount(`trusting ${name}`)));
  assert.equal(await listTransactions('trusting %'), 2);
});

test('statements in progress when the database is closed still finish', async () => {
  const opened = openDatabase({
    connection: server.database.connection,
    connections: 2,
    patienceMilliseconds: 60_000,
    onConnectionError: () => undefined,
  });
  const writes = ['first', 'a', 'b'].map((name) =>
    opened.transaction((tx) =>
      tx.send(insertAccount, { account_id: server.deps.newId(), name: `closing ${name}` }),
    ),
  );
  const read = opened.read(accountCount, { name: 'closing %' });
  await opened.close();
  await Promise.all([...writes, read]);
  assert.equal(await countAccounts('closing %'), 3);
});

const lockAccount = statement(
  { parameters: { name: 'text' } },
  'select 1 from account where name = $name for update',
);
const renameAccount = statement(
  { parameters: { name: 'text', new_name: 'text' } },
  'update account set name = $new_name where name = $name',
);

test('a write that waits for a lock does not block the others of its trip', async () => {
  await makeAccount('locked');
  const held = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const holder = database.transaction(async (tx) => {
    await tx.query(lockAccount, { name: 'locked' });
    locked.resolve();
    await held.promise;
  });
  await locked.promise;
  for (let made = 0; made < 64; made += 1) await makeAccount(`trust ${made}`);
  let renamed = false;
  const waits = database
    .transaction((tx) => tx.send(renameAccount, { name: 'locked', new_name: 'unlocked' }))
    .then(() => {
      renamed = true;
    });
  await Promise.all(['first', 'a', 'b'].map((name) => makeAccount(`passing ${name}`)));
  assert.deepEqual([await countAccounts('passing %'), renamed], [3, false]);
  held.resolve();
  await Promise.all([holder, waits]);
  assert.deepEqual([await countAccounts('unlocked'), renamed], [1, true]);
});

const insertRemark = insertStatement(
  'remark',
  {
    number: 'integer',
    words: 'text?',
    said_at: 'timestamptz',
    bytes: 'bytea?',
    facts: 'jsonb',
    is_true: 'boolean',
  },
  { derived: { length: 'length(given.words)' } },
);
const remarksOf = statement(
  {
    row: {
      number: 'integer',
      words: 'text?',
      said_at: 'timestamptz',
      bytes: 'bytea?',
      facts: typed<unknown>('jsonb'),
      is_true: 'boolean',
      length: 'integer?',
    },
  },
  'select number, words, said_at, bytes, facts, is_true, length from remark order by number',
);

test('inserts that share a trip store their own values', async () => {
  const words = ['plain', '"quoted", {braced} and \\ slashed', 'NULL', '', null, 'Grüße 🌊\n', 'last'];
  const rows = words.map((each, number) => ({
    number,
    words: each,
    said_at: new Date(number * 1_000),
    bytes: number % 2 === 0 ? Buffer.from([0, 92, 34, number]) : null,
    facts: JSON.stringify({ each, list: ['"', '\\'] }),
    is_true: number % 2 === 0,
  }));
  await Promise.all(rows.map((row) => database.transaction((tx) => tx.send(insertRemark, row))));
  assert.deepEqual(
    await database.read(remarksOf, {}),
    words.map((each, number) => ({
      number,
      words: each,
      said_at: new Date(number * 1_000),
      bytes: number % 2 === 0 ? Buffer.from([0, 92, 34, number]) : null,
      facts: { each, list: ['"', '\\'] },
      is_true: number % 2 === 0,
      length: each === null ? null : [...each].length,
    })),
  );
});
