/** The tables of the graph: `pipeline_lineage`, `dataset_use` and `column_use`. */
import {
  type ColumnTypes,
  type Read,
  type RowOf,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';
import { type HeldKey, removeWork } from '../../kernel/work/server-work.ts';
import type { LineageRecord } from './lineage-record.ts';
import type { PipelineLineage } from './pipeline-lineage.ts';

const graphRow = {
  account_id: 'uuid',
  record: typed<LineageRecord>('jsonb'),
  /** Of the runs that the record stands for. */
  work_ids: 'uuid[]',
} satisfies ColumnTypes;
export type GraphRow = RowOf<typeof graphRow>;

/** Runs that one work takes along. */
const mostTogether = 63;

const ofSamePipeline = `w.account_id = own.account_id and w.record ->> 'environmentId' = own.record ->> 'environmentId'
      and md5(w.record ->> 'pipelineName') = md5(own.record ->> 'pipelineName')`;

const selectLast = statement(
  { parameters: { account_id: 'uuid', work_id: 'uuid', is_alone: 'boolean' }, row: graphRow },
  `
  with own as materialized (
    select account_id, work_id, record, sequence from lineage_event where account_id = $account_id and work_id = $work_id
  ), waiting as materialized (
    select * from own union all (
      select w.account_id, w.work_id, w.record, w.sequence
      from own join lineage_event w on ${ofSamePipeline} and w.work_id is not null and w.work_id <> own.work_id
      join server_work s on s.account_id = w.account_id and s.work_id = w.work_id
      where not $is_alone::boolean and s.attempts = 0 and s.lease_until is null
      limit ${mostTogether})
  )
  select account_id, record, (select array_agg(work_id) from waiting) as work_ids
  from waiting order by record ->> 'eventTime' desc, sequence desc limit 1`,
);

/**
 * The last of the successful runs of a pipeline that wait for the graph, which shows no other. After a failure, and to
 * give it up, the run of the work alone: one that fails takes no other along.
 *
 * @returns undefined if the run of the work is gone
 */
export async function readRecord(
  read: Read,
  { account_id, work_id }: HeldKey,
  { isAlone }: { isAlone: boolean },
): Promise<GraphRow | undefined> {
  return (await read(selectLast, { account_id, work_id, is_alone: isAlone }))[0];
}

const workKey = { account_id: 'uuid', work_id: 'uuid' } as const;
const updateDone = statement(
  { parameters: workKey },
  'update lineage_event set is_new = false, work_id = null where account_id = $account_id and work_id = $work_id',
);

// What a server has claimed since is its own.
const updateOthers = statement(
  { parameters: { account_id: 'uuid', work_ids: 'uuid[]' } },
  `
  with gone as (
    delete from server_work where account_id = $account_id and work_id = any (array(
      select work_id from server_work
      where account_id = $account_id and work_id = any ($work_ids::uuid[]) and attempts = 0 and lease_until is null
      for update skip locked))
    returning work_id
  )
  update lineage_event e set is_new = false, work_id = null from gone
  where e.account_id = $account_id and e.work_id = gone.work_id`,
);

/** The run is in the graph, or has been given up; so are the runs of `workIds`. @throws LeaseLost */
export async function finishRecords(
  tx: Transaction,
  held: HeldKey,
  workIds: readonly string[] = [],
): Promise<void> {
  const { account_id, work_id } = held;
  const others = workIds.filter((id) => id !== work_id);
  if (others.length > 0) tx.send(updateOthers, { account_id, work_ids: others });
  tx.send(updateDone, { account_id, work_id });
  await removeWork(tx, held);
}

const place = {
  account_id: 'uuid',
  project_id: 'uuid',
  environment_name: 'text',
  pipeline_name: 'text',
} as const;
const ofPipeline =
  'account_id = $account_id and project_id = $project_id and environment_name = $environment_name and pipeline_key = md5($pipeline_name)';

// Runs of a pipeline take turns, so that the digest is that of the rows.
const lockPipeline = statement(
  { parameters: place },
  `select pg_advisory_xact_lock(hashtextextended(concat_ws(' ', $account_id::uuid, $project_id::uuid, $environment_name::text, $pipeline_name::text), 0))`,
);
const selectDigest = statement(
  { parameters: place, row: { digest: 'text' } },
  `select digest from pipeline_lineage where ${ofPipeline}`,
);

// The environment may have been deleted, and another one created under its name.
const upsertPipeline = statement(
  {
    parameters: {
      ...place,
      environment_id: 'uuid',
      run_id: 'uuid',
      execution_id: 'uuid',
      version_name: 'text',
      finished_at: 'timestamptz',
      digest: 'text',
      omitted_columns: 'integer',
    },
    row: { digest: 'text' },
  },
  `
  insert into pipeline_lineage (account_id, project_id, environment_name, pipeline_name, run_id, execution_id, version_name, finished_at, digest, omitted_columns)
  select $account_id, $project_id, $environment_name, $pipeline_name, $run_id, $execution_id, $version_name, $finished_at, $digest, $omitted_columns
  from environment e where e.account_id = $account_id and e.project_id = $project_id and e.name = $environment_name
    and e.environment_id = $environment_id
  on conflict (account_id, project_id, environment_name, pipeline_key) do update set run_id = excluded.run_id,
    execution_id = excluded.execution_id, version_name = excluded.version_name, finished_at = excluded.finished_at,
    digest = excluded.digest, omitted_columns = excluded.omitted_columns
  where pipeline_lineage.finished_at <= excluded.finished_at
  returning digest`,
);

const deleteDatasets = statement({ parameters: place }, `delete from dataset_use where ${ofPipeline}`);
const deleteColumns = statement({ parameters: place }, `delete from column_use where ${ofPipeline}`);
const insertDatasets = statement(
  { parameters: { ...place, datasets: 'jsonb' } },
  `
  insert into dataset_use (account_id, project_id, environment_name, pipeline_key, is_write, dataset, fields, row_count, written_at)
  select $account_id, $project_id, $environment_name, md5($pipeline_name), d."isWrite", d.dataset, d.fields, d."rowCount", d."writtenAt"
  from jsonb_to_recordset($datasets) as d ("isWrite" boolean, dataset text, fields jsonb, "rowCount" bigint, "writtenAt" timestamptz)`,
);
const insertColumns = statement(
  { parameters: { ...place, columns: 'jsonb' } },
  `
  insert into column_use (account_id, project_id, environment_name, pipeline_key, dataset, field, to_dataset, to_field, transformation)
  select $account_id, $project_id, $environment_name, md5($pipeline_name), c.dataset, c.field, c."toDataset", c."toField", c.transformation
  from jsonb_to_recordset($columns) as c (dataset text, field text, "toDataset" text, "toField" text, transformation text)`,
);
const updateCounts = statement(
  { parameters: { ...place, datasets: 'jsonb' } },
  `
  update dataset_use u set row_count = d."rowCount", written_at = d."writtenAt"
  from jsonb_to_recordset($datasets) as d ("isWrite" boolean, dataset text, "rowCount" bigint, "writtenAt" timestamptz)
  where ${ofPipeline} and u.is_write and d."isWrite" and u.dataset_key = md5(d.dataset)`,
);

/** Replaces the lineage of the pipeline in its environment, unless a later run is there. */
export async function replaceLineage(
  tx: Transaction,
  row: GraphRow,
  { datasets, columns, omittedColumns, digest }: PipelineLineage,
): Promise<void> {
  const { record } = row;
  const of = {
    account_id: row.account_id,
    project_id: record.projectId,
    environment_name: record.environmentName,
    pipeline_name: record.pipelineName,
  };
  tx.send(lockPipeline, of);
  const [before] = await tx.query(selectDigest, of);
  const [written] = await tx.query(upsertPipeline, {
    ...of,
    environment_id: record.environmentId,
    run_id: record.runId,
    execution_id: record.executionId,
    version_name: record.versionName,
    finished_at: new Date(record.eventTime),
    digest,
    omitted_columns: omittedColumns,
  });
  if (written === undefined) return;
  const written_datasets = JSON.stringify(datasets);
  if (before?.digest === digest) {
    tx.send(updateCounts, { ...of, datasets: written_datasets });
    return;
  }
  tx.send(deleteDatasets, of);
  tx.send(deleteColumns, of);
  tx.send(insertDatasets, { ...of, datasets: written_datasets });
  tx.send(insertColumns, { ...of, columns: JSON.stringify(columns) });
}
