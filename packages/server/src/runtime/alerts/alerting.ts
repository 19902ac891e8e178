/**
 * Raises the alerts of rules: each once. The rules of an account read its event log from a position that moves in
 * the transaction that writes the alerts, so no event is judged twice and none is lost. What comes true with time
 * is looked for periodically; the unique cause of an alert keeps two servers from raising it twice.
 */
import type { Clock } from '../../kernel/clock.ts';
import { type Database, statement, type Transaction } from '../../kernel/database/database.ts';
import { type AccountEvent, recordEvents } from '../../kernel/database/events.ts';
import type { FailureLog } from '../../kernel/failure-log.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import type { PeriodicJob } from '../../kernel/retention/periodic-job.ts';
import { readLogBounds } from '../../records/events/index.ts';
import { type Cause, listAccountsBehind, listUnendedCauses, takeEventCauses } from './cause.store.ts';
import { writeMails } from './mail.store.ts';
import { judge, type Verdict } from './verdict.ts';

const everyMilliseconds = 2_000;

export interface AlertServices {
  database: Database;
  clock: Clock;
  newId: NewId;
  failures: FailureLog;
  config: { publicUrl: string };
}

interface Raised extends Verdict {
  about: Cause;
}

const insertAlerts = statement(
  {
    parameters: {
      account_id: 'uuid',
      alert_ids: 'uuid[]',
      alert_rule_ids: 'uuid[]',
      causes: 'text[]',
      reasons: 'text[]',
      environment_names: 'text[]',
      pipeline_names: 'text[]',
      execution_ids: 'uuid[]',
      schedule_ids: 'uuid[]',
      now: 'timestamptz',
    },
    row: { alert_id: 'uuid' },
  },
  `
  with given as (
    select * from unnest($alert_ids::uuid[], $alert_rule_ids::uuid[], $causes::text[], $reasons::text[], $environment_names::text[],
      $pipeline_names::text[], $execution_ids::uuid[], $schedule_ids::uuid[])
      as g (alert_id, alert_rule_id, cause, reason, environment_name, pipeline_name, execution_id, schedule_id)
  ), held as (
    -- A rule that is deleted now raises nothing.
    select r.alert_rule_id from alert_rule r
    where r.account_id = $account_id and r.alert_rule_id = any ($alert_rule_ids::uuid[]) and r.enabled
    order by r.alert_rule_id for update
  ), raised as (
    insert into alert (account_id, alert_rule_id, alert_id, cause, reason, environment_name, pipeline_name, execution_id, schedule_id,
      raised_at)
    select $account_id, g.alert_rule_id, g.alert_id, g.cause, g.reason, g.environment_name, g.pipeline_name, g.execution_id,
      g.schedule_id, $now
    from given g join held h on h.alert_rule_id = g.alert_rule_id
    on conflict do nothing
    returning alert_id, alert_rule_id
  ), noted as (
    update alert_rule r set last_raised_at = $now
    where r.account_id = $account_id and r.alert_rule_id in (select alert_rule_id from raised)
  )
  select alert_id from raised`,
);

/** Writes alerts that were not raised before, each with its event. */
async function raise(
  tx: Transaction,
  accountId: string,
  raised: readonly Raised[],
  now: Date,
  { newId, config }: AlertServices,
): Promise<void> {
  if (raised.length === 0) return;
  const identified = raised.map((each) => ({ ...each, alertId: newId() }));
  const list = <Value>(pick: (cause: Cause) => Value) => raised.map(({ about }) => pick(about));
  const inserted = await tx.query(insertAlerts, {
    account_id: accountId,
    alert_ids: identified.map(({ alertId }) => alertId),
    alert_rule_ids: list((about) => about.alert_rule_id),
    causes: raised.map(({ cause }) => cause),
    reasons: raised.map(({ reason }) => reason),
    environment_names: list((about) => about.environment_name),
    pipeline_names: list((about) => about.pipeline_name),
    execution_ids: list((about) => about.execution_id) as string[],
    schedule_ids: list((about) => about.schedule_id) as string[],
    now,
  });
  const isNew = new Set(inserted.map(({ alert_id }) => alert_id));
  const source = { accountId, actorId: null, actorKind: 'system', requestId: null } as const;
  const written = identified.filter(({ alertId }) => isNew.has(alertId));
  recordEvents(tx, source, written.map(buildAlertEvent), now, newId);
  await writeMails(tx, accountId, written, { now, newId, publicUrl: config.publicUrl });
}

function buildAlertEvent({ about, reason, alertId }: Raised & { alertId: string }): AccountEvent {
  const { execution_id: pipelineExecutionId, schedule_id: scheduleId } = about;
  return {
    name: 'alert-raised',
    projectId: about.project_id,
    environmentName: about.environment_name,
    subject: { type: 'alert-rule', id: about.alert_rule_id, name: about.name },
    after: {
      alertId,
      rule: about.name,
      condition: about.condition_type,
      reason,
      environmentName: about.environment_name,
      pipelineName: about.pipeline_name,
      ...(pipelineExecutionId === null ? {} : { pipelineExecutionId }),
      ...(scheduleId === null ? {} : { scheduleId }),
      webhookIds: about.webhook_ids,
    },
  };
}

function listRaised(causes: readonly Cause[], now: Date): Raised[] {
  const found = new Map<string, Raised>();
  for (const about of causes) {
    const verdict = judge(about, now);
    // An insert cannot meet its own conflict twice.
    if (verdict !== undefined) found.set(`${about.alert_rule_id} ${verdict.cause}`, { ...verdict, about });
  }
  return [...found.values()];
}

/** Judges the new events of an account. */
export async function judgeNewEvents(services: AlertServices, accountId: string): Promise<void> {
  const { database, clock } = services;
  await readLogBounds(database, accountId);
  for (let hasMore = true; hasMore; ) {
    const now = clock.now();
    hasMore = await database.transaction(async (tx) => {
      const taken = await takeEventCauses(tx, accountId, now);
      if (taken === undefined) return false;
      await raise(tx, accountId, listRaised(taken.causes, now), now, services);
      return taken.hasMore;
    });
  }
}

/** The job in the log whose failure is that of one account. */
const oneAccount = 'alerts of one account';

/**
 * Judges all that is new: the events of all accounts, and what came true with time. One account must not stop
 * the others.
 */
export async function raiseDueAlerts(services: AlertServices): Promise<void> {
  const { database, clock, failures } = services;
  let failed = 0;
  async function attempt(accountId: string, work: Promise<void>): Promise<void> {
    await work.catch((failure: unknown) => {
      failed += 1;
      const message = 'the alerts of an account could not be raised; it will be tried again';
      failures.recordFailure(oneAccount, failure, message, { accountId });
    });
  }
  for (const accountId of await listAccountsBehind(database.read))
    await attempt(accountId, judgeNewEvents(services, accountId));
  const now = clock.now();
  const causes = await listUnendedCauses(database.read, now);
  for (const [accountId, some] of Map.groupBy(causes, (cause) => cause.account_id)) {
    const raised = listRaised(some, now);
    await attempt(
      accountId,
      database.transaction((tx) => raise(tx, accountId, raised, now, services)),
    );
  }
  if (failed === 0) failures.recordSuccess(oneAccount);
}

export function createAlertJob(services: AlertServices): PeriodicJob {
  return {
    name: 'alerts',
    everyMilliseconds,
    async run() {
      await raiseDueAlerts(services);
      return false;
    },
  };
}
