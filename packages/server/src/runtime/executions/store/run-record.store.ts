/** The tables `execution_log_line` and `execution_variables`: what agents record of their runs. */
import type { ExecutionStatus, LogLine, Report, RunVariable } from '@headgate/contract';
import {
  type ColumnTypes,
  type RowOf,
  statement,
  type Transaction,
  typed,
} from '../../../kernel/database/database.ts';
import { guardedPage } from '../../../kernel/security/guarded-read.ts';
import { environmentOfRun, executionOfRun, statusOfRun } from './execution.store.ts';

// A line of an unknown step is not kept: its run could belong to another execution.
const insertLines = statement(
  { parameters: { account_id: 'uuid', lines: 'jsonb' } },
  `
  insert into execution_log_line (account_id, execution_id, sequence, step_id, pipeline_run_id, stream, printed_at, line)
  select $account_id, "executionId", sequence, "stepId", run_id, stream, "timestamp", text from (
    select l.*, (
      select s.pipeline_run_id from execution_step s
      where s.account_id = $account_id and s.execution_id = l."executionId" and s.step_id = l."stepId") as run_id
    from jsonb_to_recordset($lines) as l ("executionId" uuid, sequence integer, "stepId" uuid, stream text, "timestamp" timestamptz, text text)
  ) known
  where run_id is not null
  on conflict do nothing`,
);

const insertVariables = statement(
  { parameters: { account_id: 'uuid', records: 'jsonb' } },
  `
  insert into execution_variables (account_id, execution_id, pipeline_run_id, variables)
  select $account_id, "executionId", "pipelineRunId", variables
  from jsonb_to_recordset($records) as v ("executionId" uuid, "pipelineRunId" uuid, variables jsonb)
  on conflict do nothing`,
);

type Progress = Extract<Report, { type: 'progress' }>;

/** Writes the lines and variables of reports. Returns the executions with new lines. */
export function writeRunRecords(tx: Transaction, accountId: string, reports: readonly Progress[]): string[] {
  const lines = reports.flatMap((report) =>
    (report.lines ?? []).map((line) => ({ ...line, executionId: report.workId })),
  );
  const records = reports.flatMap((report) =>
    (report.variables ?? []).map((record) => ({ ...record, executionId: report.workId })),
  );
  if (lines.length > 0) tx.send(insertLines, { account_id: accountId, lines: JSON.stringify(lines) });
  if (records.length > 0)
    tx.send(insertVariables, { account_id: accountId, records: JSON.stringify(records) });
  return [...new Set(lines.map((line) => line.executionId))];
}

const lineRow = {
  sequence: 'integer',
  step_id: 'uuid',
  stream: typed<LogLine['stream']>('text'),
  printed_at: 'timestamptz',
  line: 'text',
} satisfies ColumnTypes;
type LineRow = RowOf<typeof lineRow>;

const linesAfter = `
  select l.sequence, l.step_id, l.stream, l.printed_at, l.line from execution_log_line l
  where l.account_id = $account_id and l.execution_id = ${executionOfRun} and l.sequence > $after
    and (l.execution_id = $run_id or l.pipeline_run_id = $run_id)
    and ($step_id::uuid is null or l.step_id = $step_id)
  order by l.sequence limit $limit`;
const lineParameters = {
  run_id: 'uuid',
  after: 'integer',
  step_id: 'uuid?',
  limit: 'bigint',
} as const;

/** The total is null if the project has no such run. */
export const logOfRun = guardedPage(
  {
    parameters: lineParameters,
    row: lineRow,
    totalType: typed<true | null>('boolean'),
    environment: environmentOfRun,
  },
  { rows: linesAfter, total: `select true where ${executionOfRun} is not null` },
);

/** Bytes of the lines in one chunk of a stream. */
const chunkBytes = 65_536;

export interface FollowedRun {
  status: ExecutionStatus;
  executionId: string;
  /** The last line of the execution; a run without lines has 0. */
  last: number;
}

/** The state of a run, null if there is none, and its next lines. The lines are read after the state. */
export const followedRun = guardedPage(
  {
    parameters: lineParameters,
    row: lineRow,
    totalType: typed<FollowedRun | null>('json'),
    environment: environmentOfRun,
  },
  {
    rows: `
    select sequence, step_id, stream, printed_at, line from (
      select n.*, sum(octet_length(line)) over (order by sequence) as size from (${linesAfter}) n) sized
    where size - octet_length(line) < ${chunkBytes}
    order by sequence`,
    total: `
    select json_build_object('status', state.status, 'executionId', ${executionOfRun}, 'last', coalesce((
      select sequence from execution_log_line
      where account_id = $account_id and execution_id = ${executionOfRun} order by sequence desc limit 1), 0))
    from (${statusOfRun}) state`,
  },
);

export function presentLine(row: LineRow): LogLine {
  return {
    sequence: row.sequence,
    timestamp: row.printed_at.toISOString(),
    stepId: row.step_id,
    stream: row.stream,
    text: row.line,
  };
}

const recordsOfRun = `
  from execution_variables v where v.account_id = $account_id and v.execution_id = ${executionOfRun}
    and v.pipeline_run_id = $run_id`;

/** The total is null if the project has no such run. */
export const variablesOfRun = guardedPage(
  {
    parameters: { run_id: 'uuid', limit: 'bigint', offset: 'bigint' },
    row: { variable: typed<RunVariable>('jsonb') },
    totalType: 'bigint?',
    environment: environmentOfRun,
  },
  {
    rows: `
    select item as variable from (select v.variables ${recordsOfRun}) found
    cross join jsonb_array_elements(found.variables) with ordinality as items (item, place)
    order by place limit $limit offset $offset`,
    total: `
    select case when ${executionOfRun} is not null
      then coalesce((select jsonb_array_length(v.variables) ${recordsOfRun}), 0)::bigint end`,
  },
);
