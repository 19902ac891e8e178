/**
 * A directory synchronizes its users and groups three times, one request for each user and each 20 members, as
 * real ones do. The server, and then PostgreSQL, is killed by SIGKILL in the middle. Each synchronization ends in
 * the same state, and one that finds this state changes nothing.
 *
 * `TEST_ROUNDS=100 npm test -- directory-sync` has 10,000 users and 200 groups.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { roundsOr, testSeed as seed } from '@headgate/contract/testing/rounds';
import { seededRandom } from '../../packages/server/testing/seeded-random.ts';
import type { Answer, ApiClient } from './harness/client.ts';
import { onDatabaseOf } from './harness/database.ts';
import { Installation } from './harness/installation.ts';

const rounds = roundsOr(2);
const [users, groups] = [rounds * 100, rounds * 2];
/** Of one PATCH, as Entra ID sends them. */
const membersOfPatch = 20;
const groupsOfUser = 3;
const connections = 8;
const scim = '/v1/directory-integration/scim/v2';

interface Listed {
  id: string;
  userName?: string;
  displayName?: string;
  members?: { value: string }[];
}

/** Runs work on each item, some at a time. Stops at the first failure. */
async function forEach<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const waiting = items.values();
  await Promise.all(
    Array.from({ length: connections }, async () => {
      for (const item of waiting) await work(item);
    }),
  );
}

const range = (length: number) => Array.from({ length }, (_, index) => index);
const nameOf = (user: number) => `User.${user}@Example.com`;
const groupOf = (group: number) => `Team ${group}`;
const groupsWith = (user: number) =>
  new Set(range(groupsOfUser).map((each) => (user * (each + 1) + each) % groups));

describe(`a directory (TEST_SEED=${seed})`, () => {
  let headgate: Installation;
  let client: ApiClient;
  let requests = 0;
  /** Called before each request. */
  let disturb: () => Promise<void> | undefined = () => undefined;
  before(async () => {
    headgate = await Installation.create({ environment: { HEADGATE_LOCAL_AGENT: 'off' } });
    await headgate.start('node');
    client = headgate.client();
  });
  after(() => headgate.remove());

  async function send(method: string, path: string, body?: unknown): Promise<Answer> {
    requests += 1;
    await disturb();
    const answer = await client.insist(method, `${scim}${path}`, { body }, () => undefined);
    const isExpected = answer.status < 300 || answer.status === 409;
    assert.ok(isExpected, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer;
  }

  async function find(type: string, name: string, value: string): Promise<string | undefined> {
    const filter = encodeURIComponent(`${name} eq "${value}"`);
    const { body } = await send('GET', `/${type}?filter=${filter}&attributes=id`);
    return body.Resources[0]?.id;
  }

  /** Creates it unless it is there. A creation whose answer was lost is found by the conflict. */
  async function provide(type: string, name: string, resource: Record<string, unknown>): Promise<string> {
    const value = String(resource[name]);
    const found = await find(type, name, value);
    if (found !== undefined) {
      const Operations = [{ op: 'Replace', value: resource }];
      await send('PATCH', `/${type}/${found}?excludedAttributes=members,groups`, { Operations });
      return found;
    }
    const made = await send('POST', `/${type}`, resource);
    return made.status === 409 ? String(await find(type, name, value)) : made.body.id;
  }

  async function synchronize(): Promise<void> {
    const ids: string[] = [];
    await forEach(range(users), async (user) => {
      const [userName, displayName] = [nameOf(user), `User ${user}`];
      ids[user] = await provide('Users', 'userName', { userName, displayName, externalId: `e${user}` });
    });
    await forEach(range(groups), async (group) => {
      const id = await provide('Groups', 'displayName', { displayName: groupOf(group) });
      const members = range(users).filter((user) => groupsWith(user).has(group));
      for (let start = 0; start < members.length; start += membersOfPatch) {
        const value = members.slice(start, start + membersOfPatch).map((user) => ({ value: ids[user] }));
        const Operations = [{ op: 'Add', path: 'members', value }];
        await send('PATCH', `/Groups/${id}?excludedAttributes=members`, { Operations });
      }
    });
  }

  async function list(type: string): Promise<Listed[]> {
    const all: Listed[] = [];
    for (;;) {
      const { body } = await send('GET', `/${type}?startIndex=${all.length + 1}&count=1000`);
      all.push(...body.Resources);
      if (all.length >= body.totalResults) return all;
    }
  }

  /** The ids too: they stay. */
  async function readState() {
    const [allUsers, allGroups] = [await list('Users'), await list('Groups')];
    return {
      users: allUsers.map(({ id, userName }) => `${userName} ${id}`).toSorted(),
      groups: allGroups
        .map(({ id, displayName, members = [] }) => ({
          name: `${displayName} ${id}`,
          members: members.map(({ value }) => value).toSorted(),
        }))
        .toSorted((one, other) => (one.name < other.name ? -1 : 1)),
    };
  }

  const countEvents = () =>
    onDatabaseOf(headgate, async (query) => {
      const [row] = await query<{ count: number }>('select count(*)::integer as count from event');
      return row?.count;
    });

  /** Kills the process before the request with this number. */
  function killAt(number: number, kind: 'server' | 'postmaster'): void {
    let isKilled = false;
    disturb = async () => {
      if (isKilled || requests < number) return;
      isKilled = true;
      await headgate.kill((await headgate.process(kind)).pid);
      if (kind === 'server') await headgate.start('node');
      else await headgate.ready();
    };
  }

  it(`synchronizes ${users} users and ${groups} groups, and the server is killed`, async () => {
    const random = seededRandom(seed);
    killAt(Math.floor(users * 2 * (0.2 + 0.6 * random())), 'server');
    await synchronize();
    const state = await readState();
    assert.equal(state.users.length, users);
    const members = range(users).reduce((sum, user) => sum + groupsWith(user).size, 0);
    assert.equal(
      state.groups.reduce((sum, group) => sum + group.members.length, 0),
      members,
    );
  });

  it('synchronizes again while PostgreSQL is killed, and ends in the same state', async () => {
    const before = await readState();
    killAt(requests + Math.floor(users * 2.2), 'postmaster');
    await synchronize();
    disturb = () => undefined;
    assert.deepEqual(await readState(), before);
  });

  it('changes nothing when it finds this state', async () => {
    const [before, events] = [await readState(), await countEvents()];
    await synchronize();
    assert.deepEqual(await readState(), before);
    assert.equal(await countEvents(), events);
  });
});
