/**
 * Compares the model of the table `work` with PostgreSQL: runs the server's functions on both, in random
 * orders.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Report } from '../../packages/contract/src/index.ts';
import { type Database, statement, typed } from '../../packages/server/src/kernel/database/database.ts';
import { claimWork, declareClaim } from '../../packages/server/src/kernel/work/claim.ts';
import {
  collectCommands,
  endWork,
  enqueueWork,
  sendCommand,
  type WorkOwners,
} from '../../packages/server/src/kernel/work/work.ts';
import { sweepWork } from '../../packages/server/src/kernel/work/work-sweep.ts';
import { applyReports, renewLeases } from '../../packages/server/src/runtime/agent-link/holding.ts';
import { startTestServer } from '../../packages/server/testing/server.ts';
import { times } from './simulated-server.ts';
import { ModelDatabase } from './work-model.ts';

const server = await startTestServer();
const account = await server.account();
const { projectId } = await account.project();
const nothing = () => undefined;
const owner = {
  ...{ onStarted: nothing, onSilent: nothing, onCameBack: nothing, onRequeued: nothing, onEnded: nothing },
  claimed: { with: [], payload: "select '{}'::json" },
};
const owners: WorkOwners = new Map([['pipeline-execution', owner]]);
const claimQuery = declareClaim(owners);
const instances = [randomUUID(), randomUUID()] as const;

const shown = `work_id, epoch, state, report_sequence, command, command_bound, queued_at, instance_id, lease_expires_at, run_bound,
  silent_since, ended_at`;
const selectAll = statement(
  {
    parameters: { account_id: 'uuid', agent_id: 'uuid' },
    row: {
      work_id: 'uuid',
      epoch: 'integer',
      state: typed<string>('work_state'),
      report_sequence: 'integer',
      command: typed<string | null>('work_command'),
      command_bound: 'timestamptz?',
      queued_at: 'timestamptz',
      instance_id: 'uuid?',
      lease_expires_at: 'timestamptz?',
      run_bound: 'timestamptz?',
      silent_since: 'timestamptz?',
      ended_at: 'timestamptz?',
    },
  },
  `select ${shown} from work where account_id = $account_id and agent_id = $agent_id order by work_id`,
);

type CallingAgent = Parameters<typeof applyReports>[1];
type Services = Parameters<typeof applyReports>[0] & Parameters<typeof sweepWork>[0];

/** PostgreSQL or the model. Both have the same clock. */
interface Side {
  database: Pick<Database, 'read' | 'transaction'>;
  services: Services;
  agent: CallingAgent;
}

function sideOf(database: Side['database'], agentId: string, now: () => Date): Side {
  const services = {
    ...{ database, owners, times, newId: randomUUID, clock: { now } },
    wakes: { wake: nothing, wait: () => nothing, waiting: () => 0 },
  };
  const agent = { accountId: account.accountId, agentId, name: 'agent', generation: 0 };
  return { database, services: services as unknown as Services, agent: agent as CallingAgent };
}

/** One action on a side. Both sides must return the same. */
type Act = (side: Side, now: Date, works: readonly string[]) => Promise<unknown>;
const shownAs = (name: string, act: Act): Act => Object.assign(act, { toString: () => name });

const claimAct = (who: number, max: number): Act =>
  shownAs(`claim(${who}, ${max})`, async ({ database, agent }, now) => {
    const { accountId, agentId } = agent;
    const instanceId = instances[who] ?? '';
    const by = { accountId, agentId, instanceId, max, requestId: randomUUID(), generation: 0 };
    const { works, commands } = await database.transaction((tx) => ({
      works: claimWork(tx, claimQuery, by, { now, newId: server.deps.newId }, times),
      commands: collectCommands(tx, accountId, agentId, instanceId),
    }));
    const notices = works.map(({ work_id, epoch }) => `${work_id} ${epoch}`).toSorted();
    return [
      notices,
      commands.map(({ work_id, epoch, command }) => `${work_id} ${epoch} ${command}`).toSorted(),
    ];
  });

const beat = (which: number, epoch: number): Act =>
  shownAs(`beat(${which}, ${epoch})`, ({ services, agent }, _now, works) =>
    renewLeases(services, agent, [{ workId: works[which] ?? '', epoch }], randomUUID()),
  );

const sayings = [
  { type: 'started' },
  { type: 'completed', outcome: { status: 'SUCCESS' } },
  { type: 'released', reason: 'so' },
] as const;

const report = (which: number, epoch: number, sequence: number, what: number): Act =>
  shownAs(`report(${which}, ${epoch}, ${sequence}, ${what})`, ({ services, agent }, _now, works) => {
    const said = { workId: works[which] ?? '', epoch, sequence, ...(sayings[what] ?? sayings[0]) };
    return applyReports(services, agent, [said as Report], randomUUID());
  });

const cancel = (which: number, forced: boolean): Act =>
  shownAs(`cancel(${which}, ${forced})`, ({ database, agent: { accountId, agentId: actorId } }, now, works) =>
    database.transaction(async (tx) => {
      const id = works[which] ?? '';
      const [work] = await sendCommand(
        tx,
        { accountId, actorId },
        [id],
        forced ? 'force-cancel' : 'cancel',
        now,
        times,
      );
      if (work?.state === 'queued') endWork(tx, accountId, [id], now);
      return work?.state;
    }),
  );

const sweep: Act = shownAs('sweep', ({ services }, now) => sweepWork(services, owners, times, now));
const pass = (seconds: number) => shownAs(`pass(${seconds})`, async () => server.clock.advance(seconds));

const which = fc.nat({ max: 3 });
const epoch = fc.integer({ min: 1, max: 3 });
const acts = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(fc.nat({ max: 1 }), fc.integer({ min: 1, max: 3 })).map((by) => claimAct(...by)),
  },
  { weight: 2, arbitrary: fc.tuple(which, epoch).map((of) => beat(...of)) },
  {
    weight: 5,
    arbitrary: fc
      .tuple(which, epoch, fc.integer({ min: 1, max: 4 }), fc.nat({ max: 2 }))
      .map((of) => report(...of)),
  },
  { weight: 1, arbitrary: fc.tuple(which, fc.boolean()).map((of) => cancel(...of)) },
  { weight: 3, arbitrary: fc.constant(sweep) },
  { weight: 3, arbitrary: fc.constantFrom(1, 14, 15, 16, 29, 31, 61, 121, 700).map(pass) },
);

/** Runs the same act on both. An act that moves the clock runs once. */
async function onBoth(act: Act, sides: readonly [Side, Side], works: readonly string[]): Promise<void> {
  const now = server.clock.now();
  const [real, model] = sides;
  const answered = await act(real, now, works);
  if (act.toString().startsWith('pass')) return;
  assert.deepEqual(plain(await act(model, now, works)), plain(answered), `what ${act} answers`);
}

const plain = (value: unknown) => JSON.parse(JSON.stringify(value ?? null));

async function rowsOf(side: Side): Promise<unknown> {
  const { accountId, agentId } = side.agent;
  const model = side.database instanceof ModelDatabase ? [...side.database.rows.values()] : undefined;
  const rows: readonly object[] =
    model ?? (await side.database.read(selectAll, { account_id: accountId, agent_id: agentId }));
  const columns = shown.split(',').map((name) => name.trim());
  return plain(
    rows
      .map((row) => Object.fromEntries(columns.map((name) => [name, (row as Record<string, unknown>)[name]])))
      .toSorted((one, other) => (String(one.work_id) < String(other.work_id) ? -1 : 1)),
  );
}

test('after each of many random acts, the model has the same rows as PostgreSQL', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(acts, { minLength: 20, maxLength: 60, size: 'max' }), async (schedule) => {
      const { agentId } = await account.agent();
      const now = () => server.clock.now();
      const sides = [
        sideOf(server.deps.database, agentId, now),
        sideOf(new ModelDatabase(), agentId, now),
      ] as const;
      const works = Array.from({ length: 4 }, () => randomUUID()).toSorted();
      for (const work_id of works) {
        const place = { account_id: account.accountId, project_id: projectId, environment_name: 'dev' };
        const work = {
          ...place,
          work_id,
          agent_id: agentId,
          kind: 'pipeline-execution',
          name: 'main',
        };
        for (const { database } of sides) await database.transaction((tx) => enqueueWork(tx, work, now()));
      }
      for (const act of schedule) {
        await onBoth(act, sides, works);
        assert.deepEqual(await rowsOf(sides[1]), await rowsOf(sides[0]), `the rows after ${act}`);
      }
      // The sweep of the next round must find only its own work.
      await server.database.query('delete from work where agent_id = $1', [agentId]);
    }),
    { numRuns: 20 },
  );
});
