/**
 * The table `consumption_entry`: what was used, written in the transaction that ends its cause, so that it is counted
 * once, whoever dies. Many transactions add rows and none waits for another one; counting.ts adds them up.
 */
import type { ConsumptionType } from '@headgate/contract';
import { statement, type Transaction } from '../../kernel/database/database.ts';

/** The start of an insert. `day` is made by `dayOf`, and names by `boundName`. */
export const insertIntoConsumptionEntry = `
  insert into consumption_entry (account_id, day, project_id, project_name, environment_name, pipeline_name, kind, runs,
    milliseconds, row_count, byte_count, input_tokens, output_tokens, user_name)`;

/** SQL: the first moment of the day of a time, in UTC. */
export const dayOf = (time: string) => `date_trunc('day', ${time}::timestamptz, 'UTC')`;

/**
 * SQL: a sum of counts that agents report, which may be those of a hostile server. The largest number is that which
 * JSON can have: a larger one would stop the end of the run, and the counting for all accounts.
 */
export const boundSum = (sum: string) => `least(${sum}, ${Number.MAX_SAFE_INTEGER})`;

// A key of an index has at most 2,704 bytes. Names of agents and directories may be longer.
const mostBytes = 1_200;
/** SQL: a name that fits into the key of the table `consumption`. */
export const boundName = (name: string) =>
  `case when octet_length(${name}) <= ${mostBytes} then ${name} else left(${name}, ${mostBytes / 4}) end`;

const insertOne = statement(
  {
    parameters: {
      account_id: 'uuid',
      project_id: 'uuid',
      environment_name: 'text?',
      kind: 'text',
      runs: 'bigint',
      milliseconds: 'bigint',
      input_tokens: 'bigint',
      output_tokens: 'bigint',
      user_id: 'uuid',
      now: 'timestamptz',
    },
  },
  `${insertIntoConsumptionEntry}
  select $account_id, ${dayOf('$now')}, p.project_id, p.name, coalesce($environment_name, ''), '', $kind, $runs, $milliseconds,
    0, 0, $input_tokens, $output_tokens, (
      select ${boundName('u.name')} from principal u where u.account_id = $account_id and u.principal_id = $user_id)
  from project p where p.account_id = $account_id and p.project_id = $project_id`,
);

/** What belongs to no pipeline. */
export interface ProjectUsage {
  kind: ConsumptionType;
  accountId: string;
  projectId: string;
  environmentName: string | null;
  userId: string;
  runs: number;
  milliseconds: number;
  inputTokens: number;
  outputTokens: number;
}

export function recordProjectUsage(tx: Transaction, usage: ProjectUsage, now: Date): void {
  tx.send(insertOne, {
    account_id: usage.accountId,
    project_id: usage.projectId,
    environment_name: usage.environmentName,
    kind: usage.kind,
    runs: usage.runs,
    milliseconds: usage.milliseconds,
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    user_id: usage.userId,
    now,
  });
}
