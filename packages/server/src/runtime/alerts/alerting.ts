/**
 * Raises the alerts of rules: each once. The rules of an account read its event log from a position that moves in
 * the transaction that writes the alerts, so no event is judged twice and none is lost. What comes true with time
 * is looked for periodically; the unique cause of an alert keeps two servers from raising it twice.
 * alert-turns.ts calls this for each account in turn.
 */
import type { Clock } from '../../kernel/clock.ts';
import { type Database, statement, type Transaction } from '../../kernel/database/database.ts';
import { type AccountEvent, recordEvents } from '../../kernel/database/events.ts';
import type { FailureLog } from '../../kernel/failure-log.ts';
import { numberNextEvents } from '../../records/events/index.ts';
import type { Cause } from './cause.ts';
import { takeEventCauses } from './event-cause.store.ts';
import { type MailServices, writeMails } from './mail.store.ts';
import { findUnendedCauses, type RunPlace } from './unended-cause.store.ts';
import { judge, type Verdict } from './verdict.ts';

export interface AlertServices extends MailServices {
  database: Database;
  clock: Clock;
  failures: FailureLog;
  config: MailServices['config'] & {
    /** For each statement. An account that needs longer gets its next turn with a smaller part. */
    alertTurnMilliseconds: number;
  };
}

const limitTime = statement(
  { parameters: { milliseconds: 'text' }, row: { timeout: 'text' } },
  "select set_config('statement_timeout', $milliseconds, true) as timeout",
);

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
  services: AlertServices,
): Promise<void> {
  if (raised.length === 0) return;
  const { newId } = services;
  const identified = raised.map((each) => ({ ...each, alertId: newId() }));
  const list = <Value>(pick: (cause: Cause) => Value) => raised.map(({ about }) => pick(about));
  const inserted = await tx.query(insertAlerts, {
    account_id: accountId,
    alert_ids: identified.map(({ alertId }) => alertId),
    alert_rule_ids: list((about) => about.alert_rule_id),
    causes: raised.map(({ cause }) => cause),
    reasons: raised.map(({ reason }) => reason),
    environment_names: list((about) => about.environment_name) as string[],
    pipeline_names: list((about) => about.pipeline_name) as string[],
    execution_ids: list((about) => about.execution_id) as string[],
    schedule_ids: list((about) => about.schedule_id) as string[],
    now,
  });
  const isNew = new Set(inserted.map(({ alert_id }) => alert_id));
  const source = { accountId, actorId: null, actorKind: 'system', requestId: null } as const;
  const written = identified.filter(({ alertId }) => isNew.has(alertId));
  recordEvents(tx, source, written.map(buildAlertEvent), now, newId);
  await writeMails(tx, accountId, written, services, now);
}

function buildAlertEvent({ about, reason, alertId }: Raised & { alertId: string }): AccountEvent {
  const { execution_id: pipelineExecutionId, schedule_id: scheduleId } = about;
  return {
    name: 'alert-raised',
    projectId: about.project_id,
    environmentName: about.environment_name ?? undefined,
    subject: { type: 'alert-rule', id: about.alert_rule_id, name: about.name },
    after: {
      alertId,
      rule: about.name,
      condition: about.condition_type,
      reason,
      ...(about.environment_name === null ? {} : { environmentName: about.environment_name }),
      ...(about.pipeline_name === null ? {} : { pipelineName: about.pipeline_name }),
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

/**
 * Judges the next events of an account, `most` at most. Returns whether there are more.
 */
export async function judgeNewEvents(
  services: AlertServices,
  accountId: string,
  most: number,
): Promise<boolean> {
  const { database, clock, config } = services;
  const { hasMore } = await numberNextEvents(database, accountId);
  return database.transaction(async (tx) => {
    const now = clock.now();
    tx.send(limitTime, { milliseconds: String(config.alertTurnMilliseconds) });
    const taken = await takeEventCauses(tx, accountId, { most, now });
    if (taken === undefined) return false;
    await raise(tx, accountId, listRaised(taken.causes, now), now, services);
    return taken.hasMore || hasMore;
  });
}

/**
 * Judges the next runs of an account that have not ended, `most` at most. Returns where to go on; undefined at
 * the end.
 */
export function judgeUnendedRuns(
  services: AlertServices,
  accountId: string,
  { after, most }: { after: RunPlace | undefined; most: number },
): Promise<RunPlace | undefined> {
  const now = services.clock.now();
  return services.database.transaction(async (tx) => {
    tx.send(limitTime, { milliseconds: String(services.config.alertTurnMilliseconds) });
    const { causes, next } = await findUnendedCauses(tx, accountId, { after, most, now });
    await raise(tx, accountId, listRaised(causes, now), now, services);
    return next;
  });
}
