/**
 * The table `work` in memory: the effect of each statement of the lease protocol
 * (packages/server/src/kernel/work/work.ts and the files that it names). All other rules are the server's
 * own. agreement.test.ts compares this with PostgreSQL. An unknown statement is an error.
 */
import pg from 'pg';
import type {
  Database,
  Parameter,
  Read,
  Statement,
  Transaction,
} from '../../packages/server/src/kernel/database/database.ts';

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
  command_bound: Date | null;
  created_at: Date;
  queued_at: Date;
  instance_id: string | null;
  lease_expires_at: Date | null;
  run_bound: Date | null;
  silent_since: Date | null;
  ended_at: Date | null;
}

type Parameters = readonly Parameter[];
type Effect = (rows: Map<string, ModelRow>, parameters: Parameters) => object[];

const before = (time: Date | null, other: Date) => time !== null && time.getTime() < other.getTime();
const byId = (one: ModelRow, other: ModelRow) => (one.work_id < other.work_id ? -1 : 1);
const byAge = (one: ModelRow, other: ModelRow) =>
  one.created_at.getTime() - other.created_at.getTime() || byId(one, other);

function named(rows: Map<string, ModelRow>, ids: Parameter | undefined, states?: Parameter): ModelRow[] {
  const those = (ids as string[]).flatMap((id) => rows.get(id) ?? []);
  return states === undefined ? those : those.filter((row) => (states as string[]).includes(row.state));
}

function change(rows: readonly ModelRow[], to: Partial<ModelRow>): object[] {
  for (const row of rows) Object.assign(row, to);
  return [];
}

const insert: Effect = (rows, [, id, project, , agent, kind, name, now]) => {
  const created = now as Date;
  rows.set(id as string, {
    work_id: id as string,
    project_id: project as string,
    agent_id: agent as string,
    kind: kind as string,
    name: name as string,
    epoch: 0,
    state: 'queued',
    report_sequence: 0,
    command: null,
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

const claim: Effect = (rows, [, agent, max, instance, lease, bound]) => {
  const free = [...rows.values()].filter(
    (row) => row.agent_id === agent && row.state === 'queued' && row.command === null,
  );
  return free
    .sort(byAge)
    .slice(0, max as number)
    .map((row) => {
      change([row], {
        ...{ state: 'held', epoch: row.epoch + 1, report_sequence: 0, instance_id: instance as string },
        ...{ lease_expires_at: lease as Date, run_bound: bound as Date, silent_since: null },
      });
      return { work_id: row.work_id, kind: row.kind, epoch: row.epoch, payload: {} };
    });
};

const selectHeld: Effect = (rows, [, agent, ids]) =>
  named(rows, ids)
    .filter((row) => row.agent_id === agent)
    .sort(byId)
    .map((row) => ({ ...row }));

const lockAsRead: Effect = (rows, [, ids, states]) => {
  const same = (ids as string[]).filter((id, index) => {
    const row = rows.get(id);
    const now = row && [row.epoch, row.state, row.report_sequence, row.command ?? []].flat().join(' ');
    return now === (states as string[])[index];
  });
  if (same.length === (ids as string[]).length) return [];
  throw Object.assign(new pg.DatabaseError('refused', 0, 'error'), { code: 'HG412' });
};

const report: Effect = (rows, [, ids, sequences, ended, lease, now]) => {
  for (const [index, row] of named(rows, ids).entries()) {
    const over = (ended as string[]).includes(row.work_id);
    const report_sequence = (sequences as number[])[index] ?? 0;
    change([row], { report_sequence, silent_since: null, lease_expires_at: lease as Date });
    change(
      [row],
      over ? { state: 'ended', ended_at: now as Date, command: null } : { state: 'held', ended_at: null },
    );
  }
  return [];
};

const command: Effect = (rows, [, id, wanted, bound]) => {
  const row = rows.get(id as string);
  if (row === undefined || row.state === 'ended') return [];
  if (row.command !== 'force-cancel') row.command = wanted as string;
  row.command_bound ??= bound as Date | null;
  return [{ state: row.state, agent_id: row.agent_id }];
};

const commandsFor: Effect = (rows, [, agent, instance]) =>
  [...rows.values()].filter(
    (row) =>
      row.agent_id === agent &&
      row.command !== null &&
      (row.state === 'held' || row.state === 'silent') &&
      row.instance_id === instance,
  );

const sweepable: Effect = (rows, [now, graceStart, queueStart]) => {
  const at = now as Date;
  const isDue = (row: ModelRow) => {
    if (row.state === 'ended') return false;
    if (before(row.command_bound, at)) return true;
    if (row.state === 'queued') return before(row.queued_at, queueStart as Date);
    if (before(row.run_bound, at)) return true;
    return row.state === 'held'
      ? before(row.lease_expires_at, at)
      : before(row.silent_since, graceStart as Date);
  };
  const fateOf = (row: ModelRow) => {
    if (before(row.command_bound, at)) return 'command bound';
    if (row.state === 'queued') return 'queue bound';
    if (before(row.run_bound, at)) return 'run bound';
    return row.state === 'silent' ? 'grace passed' : 'silent';
  };
  return [...rows.values()]
    .filter(isDue)
    .sort(byId)
    .slice(0, 500)
    .map((row) => ({ ...row, account_id: 'account', agent_name: 'agent', fate: fateOf(row) }));
};

const forget: Effect = (rows, [at]) => {
  for (const row of [...rows.values()]) {
    if (row.state === 'ended' && before(row.ended_at, at as Date)) rows.delete(row.work_id);
  }
  return [];
};

/** The first pattern that matches the text of a statement gives its effect. */
const effects: readonly (readonly [RegExp, Effect])[] = [
  [/ insert into work \(/, insert],
  [/set state = 'held', epoch = epoch \+ 1/, claim],
  [
    /^select work_id, project_id, kind, name, epoch, state, report_sequence, command\b.* from work/,
    selectHeld,
  ],
  [/where is_so = was_so/, lockAsRead],
  [
    /^update work set state = 'held', silent_since = null, lease_expires_at = \$3/,
    (rows, [, ids, lease]) =>
      change(named(rows, ids), { state: 'held', silent_since: null, lease_expires_at: lease as Date }),
  ],
  [/^update work set report_sequence = \(\$3/, report],
  [
    /^update work set state = 'ended', ended_at = \$3, command = null/,
    (rows, [, ids, now, states]) =>
      change(named(rows, ids, states), { state: 'ended', ended_at: now as Date, command: null }),
  ],
  [
    /^update work set state = 'queued', queued_at = \$4/,
    (rows, [, ids, states, now]) =>
      change(named(rows, ids, states), {
        ...{ state: 'queued', queued_at: now as Date, instance_id: null },
        ...{ lease_expires_at: null, silent_since: null, run_bound: null },
      }),
  ],
  [/^update work set command = case when command = 'force-cancel'/, command],
  [/^select work_id, epoch, command from work/, commandsFor],
  [/^select coalesce\( \(select true from work where due_at <= \$1/, () => [{ due: true }]],
  [/as fate from work w join/, sweepable],
  [
    /^update work set state = 'silent'/,
    (rows, [, ids, now, states]) =>
      change(named(rows, ids, states), { state: 'silent', silent_since: now as Date }),
  ],
  [/^delete from work where ctid = any/, forget],
  [/insert into execution_step/, () => []],
  [/^select execution_id, count\(\*\)::integer as steps, /, () => []],
];

const known = new Map<string, Effect>();

function effectOf({ name, text }: Statement<unknown>): Effect {
  let effect = known.get(name);
  if (effect === undefined) {
    const plain = text.replaceAll(/\s+/g, ' ').trim();
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

  read: Read = async <Row>(query: Statement<Row>, parameters: Parameters) => {
    const rows = effectOf(query)(this.rows, parameters) as Row[];
    await this.#trip();
    return rows;
  };

  transaction<Result>(work: (tx: Transaction) => Promise<Result> | Result): Promise<Result> {
    const mine = this.#turn.then(() => this.#run(work));
    this.#turn = mine.catch(() => undefined);
    return mine;
  }

  async #run<Result>(work: (tx: Transaction) => Promise<Result> | Result): Promise<Result> {
    const kept = new Map([...this.rows].map(([id, row]) => [id, { ...row }]));
    const after: (() => void)[] = [];
    const apply = <Row>(query: Statement<Row>, parameters: Parameters) =>
      effectOf(query)(this.rows, parameters) as Row[];
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
      this.rows = kept;
      throw caught;
    }
  }
}
