/**
 * Guard: every operation of the agent protocol, called with the ids of another agent's work, changes
 * nothing of it and responds as for ids that never existed. It iterates over the contract, so new
 * operations are tested too.
 */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { before, test } from 'node:test';
import { type Operation, operations } from '@headgate/contract';
import type { RegisteredAgent } from '../../../testing/account.ts';
import type { Answer } from '../../../testing/client.ts';
import { instanceId } from '../../../testing/executions.ts';
import { protocolExamples } from '../../../testing/guards.ts';
import { createPlace, type Example, type Place } from '../../../testing/place.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();
const ofAgents = operations.filter((operation) => operation.surface === 'agent');
const victim = await createPlace(await server.account());
// The examples leave many runs of one environment under way.
before(async () => {
  await victim.agent.client.post('/hello', {
    protocolVersions: [1],
    agentVersion: '0.1.0',
    instanceId,
    abilities: [
      'pipeline-execution',
      'test-execution',
      'secret-write',
      'connector-test',
      'connector-authorization',
    ],
    concurrency: 1_000,
  });
});

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const sha256 = /\b[0-9a-f]{64}\b/g;
/** The parts of a response about a certificate that differ each time. */
const issued = /-----BEGIN[^"]*|"(?:kid|notBefore|notAfter)":"[^"]*"/g;

/**
 * Every row of the database that does not belong to the attacker, except the certificate authority, which
 * the first request creates.
 */
async function rowsWithout({ agentId }: RegisteredAgent): Promise<string[]> {
  const tables = await server.database.query<{ name: string }>(
    `select quote_ident(tablename) as name from pg_tables 
     where schemaname = 'public' and tablename <> 'certificate_authority' order by 1`,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const rows = await server.database.query<{ row: string }>(
      `select t::text as row from ${name} t where strpos(t::text, $1) = 0 order by 1`,
      [agentId],
    );
    found.push(...rows.map(({ row }) => `${name} ${row}`));
  }
  return found;
}

/** The same request with ids that never existed. */
function aboutNothing({ path, body, ...asked }: Example): Example {
  const replaced = new Map<string, string>();
  const replaceId = (id: string, make: () => string) => {
    const other = replaced.get(id) ?? make();
    replaced.set(id, other);
    return other;
  };
  const changed = (text: string) =>
    text
      .replaceAll(uuid, (id) => replaceId(id, randomUUID))
      .replaceAll(sha256, (id) => replaceId(id, () => randomBytes(32).toString('hex')));
  const other = body === undefined ? undefined : JSON.parse(changed(JSON.stringify(body)));
  return { ...asked, path: changed(path), ...(other === undefined ? {} : { body: other }) };
}

const steady = ({ status, text }: Answer) => ({
  status,
  text: text.replaceAll(uuid, 'id').replaceAll(sha256, 'digest').replaceAll(issued, 'issued'),
});

const send = ({ client }: RegisteredAgent, { method }: Operation, { path, ...asked }: Example) =>
  client.send(method, path, asked);

async function exampleOf(operation: Operation, place: Place): Promise<Example> {
  const example = await protocolExamples[operation.id]?.(place);
  return example ?? assert.fail(`no examples of a slice have a request for ${operation.id}`);
}

const attackers: Record<string, () => Promise<{ agent: RegisteredAgent; mayRead: readonly string[] }>> = {
  'of another account': async () => ({ agent: await (await server.account()).agent(), mayRead: [] }),
  'of the same account, restricted to another project': async () => {
    const { account } = victim;
    const agent = await account.agent();
    const path = `/agents/${agent.agentId}`;
    await account.admin.patch(path, { restrictedAccess: true });
    const { projectId } = await account.project();
    await account.admin.send('PUT', `${path}/allowlist`, { body: { projects: { [projectId]: {} } } });
    // It deletes what it has of deleted environments, also of projects that were taken from its allowlist.
    return { agent, mayRead: ['agentDeletedEnvironments'] };
  },
  'of the same account': async () => ({
    agent: await victim.account.agent(),
    // May run any project of the account.
    mayRead: ['agentArtifact', 'agentBlob', 'agentDeletedEnvironments'],
  }),
};

for (const [name, make] of Object.entries(attackers)) {
  test(`an agent ${name}, cannot read or change another agent’s work by its ids`, async () => {
    const { agent, mayRead } = await make();
    for (const operation of ofAgents.filter(({ id }) => !mayRead.includes(id))) {
      const example = await exampleOf(operation, victim);
      const before = await rowsWithout(agent);
      const answer = await send(agent, operation, example);
      const after = await rowsWithout(agent);
      const [was, is] = [new Set(before), new Set(after)];
      const changed = [...before.filter((row) => !is.has(row)), ...after.filter((row) => !was.has(row))];
      assert.deepEqual(changed, [], `${operation.id} changed this: ${answer.text}`);
      const known = new Set(JSON.stringify([example, agent]).match(uuid));
      const rows = before.join('\n');
      const leaked = (answer.text.match(uuid) ?? []).filter((id) => !known.has(id) && rows.includes(id));
      assert.deepEqual(leaked, [], `${operation.id} returned ids of others: ${answer.text}`);
      const ofNothing = await send(agent, operation, aboutNothing(example));
      assert.deepEqual(steady(answer), steady(ofNothing), operation.id);
    }
  });
}

test('the agent of the work gets what the others do not', async () => {
  // Of its own: the runs that the examples leave under way would fill the share of the environment.
  const place = await createPlace(await server.account());
  for (const operation of ofAgents) {
    const answer = await send(place.agent, operation, await exampleOf(operation, place));
    assert.equal(answer.status, operation.success.status, `${operation.id}: ${answer.text}`);
    assert.ok(!answer.text.includes('"accepted":false'), `${operation.id}: ${answer.text}`);
  }
});
