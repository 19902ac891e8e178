/**
 * The table `work` in memory: the effect of each statement of the lease protocol
 * (packages/server/src/kernel/work/work.ts and the files that it names). All other rules are the server's
 * own. agreement.test.ts compares this with PostgreSQL. An unknown statement is an error.
 */
import pg from 'pg';
import type {
  Database,
  Read,
  Statement,
  Transaction,
} from '../../packages/server/src/kernel/database/database.ts';
import type { PreparedStatement } from '../../packages/server/src/kernel/database/trips/statement.ts';

export interface ModelRow {
  work_id: string;
  project_id: string;
  agent_id: string;
  kind: string;
  name: string;
  epoch: number;
  state: 'queued' | 'held' | 'silent' | 'ended';
  report_sequence: number;
  command: string | null;
  /** The callers of the simulation have no names. */
  command_by: null;
  command_bound: Date | null;
  created_at: Date;
  queued_at: Date;
  instance_id: string | null;
  lease_expires_at: Date | null;
  run_bound: Date | null;
  silent_since: Date | null;
  ended_at: Date | null;
}

/** The parameters of the statements, by their names: each statement has some of them. */
type Effect = (rows: Map<string, ModelRow>, parameters: Given) => object[];
interface Given {
  work_id: string;
  project_id: string;
  agent_id: string;
  instance_id: string;
  kind: string;
  name: string;
  max: number;
  command: string;
  work_ids: string[];
  ended_ids: string[];
  states: string[];
  report_sequences: number[];
  now: Date;
  created_at: Date;
  lease_expires_at: Date;
  run_bound: Date;
  bound: Date | null;
  grace_start: Date;
  queue_start: Date;
  forget_before: Date;
}

const before = (time: Date | null, other: Date) => time !== null && time.getTime() < other.getTime();
const byId = (one: ModelRow, other: ModelRow) => (one.work_id < other.work_id ? -1 : 1);
const byAge = (one: ModelRow, other: ModelRow) =>
  one.created_at.getTime() - other.created_at.getTime() || byId(one, other);

function named(rows: Map<string, ModelRow>, ids: string[], states?: string[]): ModelRow[] {
  const those = ids.flatMap((id) => rows.get(id) ?? []);
  return states === undefined ? those : those.filter((row) => states.includes(row.state));
}

function change(rows: readonly ModelRow[], to: Partial<ModelRow>): object[] {
  for (const row of rows) Object.assign(row, to);
  return [];
}

const insert: Effect = (rows, { work_id, project_id, agent_id, kind, name, created_at: created }) => {
  rows.set(work_id, {
    work_id,
    project_id,
    agent_id,
    kind,
    name,
    epoch: 0,
    state: 'queued',
    report_sequence: 0,
    command: null,
    command_by: null,
    command_bound: null,
    created_at: created,
    queued_at: created,
    instance_id: null,
    lease_expires_at: null,
    run_bound: null,
    silent_since: null,
    ended_at: null,
  });
  return [];
};

const claim: Effect = (rows, { agent_id, max, instance_id, lease_expires_at, run_bound }) => {
  const free = [...rows.values()].filter(
    (row) => row.agent_id === agent_id && row.state === 'queued' && row.command === null,
  );
  return free
    .sort(byAge)
    .slice(0, max)
    .map((row) => {
      change([row], {
        ...{ state: 'held', epoch: row.epoch + 1, report_sequence: 0, instance_id },
        ...{ lease_expires_at, run_bound, silent_since: null },
      });
      return { work_id: row.work_id, kind: row.kind, epoch: row.epoch, payload: {} };
    });
};

const selectHeld: Effect = (rows, { agent_id, work_ids }) =>
  named(rows, work_ids)
    .filter((row) => row.agent_id === agent_id)
    .sort(byId)
    .map((row) => ({ ...row }));

const lockAsRead: Effect = (rows, { work_ids, states }) => {
  const same = work_ids.filter((id, index) => {
    const row = rows.get(id);
    const now = row && [row.epoch, row.state, row.report_sequence, row.command ?? []].flat().join(' ');
    return now === states[index];
  });
  if (same.length === work_ids.length) return [];
  throw Object.assign(new pg.DatabaseError('refused', 0, 'error'), { code: 'HG412' });
};

const report: Effect = (rows, { work_ids, report_sequences, ended_ids, lease_expires_at, now }) => {
  for (const [index, row] of named(rows, work_ids).entries()) {
    const over = ended_ids.includes(row.work_id);
    const report_sequence = report_sequences[index] ?? 0;
    change([row], { report_sequence, silent_since: null, lease_expires_at });
    change(
      [row],
      over ? { state: 'ended', ended_at: now, command: null } : { state: 'held', ended_at: null },
    );
  }
  return [];
};

const command: Effect = (rows, { work_ids, command: expected, bound }) =>
  named(rows, work_ids)
    .filter((row) => row.state !== 'ended')
    .map((row) => {
      if (row.command !== 'force-cancel') row.command = expected;
      row.command_bound ??= bound;
      const { work_id, state, agent_id, command_by } = row;
      return { work_id, state, agent_id, command_by };
    });

const commandsFor: Effect = (rows, { agent_id, instance_id }) =>
  [...rows.values()].filter(
    (row) =>
      row.agent_id === agent_id &&
      row.command !== null &&
      (row.state === 'held' || row.state === 'silent') &&
      row.instance_id === instance_id,
  );

const sweepable: Effect = (rows, { now: at, grace_start: graceStart, queue_start: queueStart }) => {
  const isDue = (row: ModelRow) => {
    if (row.state === 'ended') return false;
    if (before(row.command_bound, at)) return true;
    if (row.state === 'queued') return before(row.queued_at, queueStart);
    if (before(row.run_bound, at)) return true;
    return row.state === 'held' ? before(row.lease_expires_at, at) : before(row.silent_since, graceStart);
  };
  const findReason = (row: ModelRow) => {
    if (before(row.command_bound, at)) return 'command bound';
    if (row.state === 'queued') return 'queue bound';
    if (before(row.run_bound, at)) return 'run bound';
    return row.state === 'silent' ? 'grace passed' : 'silent';
  };
  return [...rows.values()]
    .filter(isDue)
    .sort(byId)
    .slice(0, 500)
    .map((row) => ({ ...row, account_id: 'account', agent_name: 'agent', due_reason: findReason(row) }));
};

const forget: Effect = (rows, { forget_before: at }) => {
  for (const row of [...rows.values()]) {
    if (row.state === 'ended' && before(row.ended_at, at)) rows.delete(row.work_id);
  }
  return [];
};

/** The first pattern that matches the text of a statement gives its effect. */
const effects: readonly (readonly [RegExp, Effect])[] = [
  [/ insert into work \(/, insert],
  [/set state = 'held', epoch = epoch \+ 1/, claim],
  [
    /^select work_id, project_id, environment_name, kind, name, epoch, state, report_sequence, command\b.* from work/,
    selectHeld,
  ],
  [/where is_so = was_so/, lockAsRead],
  [
    /^update work set state = 'held', silent_since = null, lease_expires_at = \$lease_expires_at/,
    (rows, { work_ids, lease_expires_at }) =>
      change(named(rows, work_ids), { state: 'held', silent_since: null, lease_expires_at }),
  ],
  [/^update work set report_sequence = \(\$report_sequences/, report],
  [
    /^update work set state = 'ended', ended_at = \$now, command = null/,
    (rows, { work_ids, now, states }) =>
      change(named(rows, work_ids, states), { state: 'ended', ended_at: now, command: null }),
  ],
  [
    /^update work set state = 'queued', queued_at = \$now/,
    (rows, { work_ids, states, now }) =>
      change(named(rows, work_ids, states), {
        ...{ state: 'queued', queued_at: now, instance_id: null },
        ...{ lease_expires_at: null, silent_since: null, run_bound: null },
      }),
  ],
  [/^update work set command = case when command = 'force-cancel'/, command],
  [/^select work_id, epoch, command, command_by from work/, commandsFor],
  [/^select coalesce\( \(select true from work where due_at <= \$now/, () => [{ due: true }]],
  [/as due_reason from work w join/, sweepable],
  [
    /^update work set state = 'silent'/,
    (rows, { work_ids, now, states }) =>
      change(named(rows, work_ids, states), { state: 'silent', silent_since: now }),
  ],
  [/^delete from work where ctid = any/, forget],
  [/insert into execution_step/, () => []],
  // The model has one environment, and runs one transaction after the other.
  [/^select pg_advisory_xact_lock/, () => []],
  [/^select is_short from work_turn/, () => []],
  [/^select execution_id, count\(\*\)::integer as steps, /, () => []],
];

const known = new Map<string, Effect>();

function effectOf({ name, source }: PreparedStatement): Effect {
  let effect = known.get(name);
  if (effect === undefined) {
    const plain = source.replaceAll(/\s+/g, ' ').trim();
    effect = effects.find(([form]) => form.test(plain))?.[1];
    if (effect === undefined) throw new Error(`The model of work does not know this statement: ${plain}`);
    known.set(name, effect);
  }
  return effect;
}

export class ModelDatabase implements Pick<Database, 'read' | 'transaction'> {
  rows = new Map<string, ModelRow>();
  /** Runs transactions one after the other, as if each locked all rows that it reads. */
  #turn: Promise<unknown> = Promise.resolve();
  readonly #trip: () => Promise<void>;

  /** `trip` runs for each read, query and commit, which fail with what it throws. */
  constructor(trip: () => Promise<void> = () => Promise.resolve()) {
    this.#trip = trip;
  }

  read: Read = async <Row, Parameters>(
    query: Statement<Row, Parameters>,
    parameters: NoInfer<Parameters>,
  ) => {
    const rows = effectOf(query)(this.rows, parameters as Given) as Row[];
    await this.#trip();
    return rows;
  };

  transaction<Result>(work: (tx: Transaction) => Promise<Result> | Result): Promise<Result> {
    const mine = this.#turn.then(() => this.#run(work));
    this.#turn = mine.catch(() => undefined);
    return mine;
  }

  async #run<Result>(work: (tx: Transaction) => Promise<Result> | Result): Promise<Result> {
    const retained = new Map([...this.rows].map(([id, row]) => [id, { ...row }]));
    const after: (() => void)[] = [];
    const apply = <Row, Parameters>(query: Statement<Row, Parameters>, parameters: NoInfer<Parameters>) =>
      effectOf(query)(this.rows, parameters as Given) as Row[];
    let failure: unknown;
    try {
      const result = await work({
        query: async (query, parameters) => {
          await this.#trip();
          return apply(query, parameters);
        },
        send: (query, parameters) => {
          try {
            if (failure === undefined) apply(query, parameters);
          } catch (caught) {
            failure = caught;
          }
        },
        collect: apply,
        onConstraint: () => undefined,
        afterCommit: (effect) => after.push(effect),
      });
      await this.#trip();
      if (failure !== undefined) throw failure;
      for (const effect of after) effect();
      return result;
    } catch (caught) {
      this.rows = retained;
      throw caught;
    }
  }
}
