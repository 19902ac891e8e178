/** The tables of the graph: `pipeline_lineage`, `dataset_use` and `column_use`. */
import {
  type ColumnTypes,
  type Read,
  type RowOf,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';
import type { LineageRecord } from './lineage-record.ts';
import type { PipelineLineage } from './pipeline-lineage.ts';

const newRow = {
  account_id: 'uuid',
  generated_at: 'timestamptz',
  sequence: 'bigint',
  record: typed<LineageRecord>('jsonb'),
} satisfies ColumnTypes;
export type LineageRow = RowOf<typeof newRow>;

const selectOldest = statement(
  { parameters: { limit: 'bigint' }, row: newRow, alone: true },
  'select account_id, generated_at, sequence, record from lineage_event where is_new order by sequence limit $limit',
);

/** The successful runs that are not in the graph yet, oldest first. */
export function selectNew(read: Read, limit: number): Promise<LineageRow[]> {
  return read(selectOldest, { limit });
}

const rowKey = { account_id: 'uuid', generated_at: 'timestamptz', sequence: 'bigint' } as const;
const updateDone = statement(
  { parameters: rowKey },
  `
  update lineage_event set is_new = false
  where account_id = $account_id and generated_at = $generated_at and sequence = $sequence`,
);

export async function markDone(
  tx: Transaction,
  { account_id, generated_at, sequence }: LineageRow,
): Promise<void> {
  tx.send(updateDone, { account_id, generated_at, sequence });
}

const place = {
  account_id: 'uuid',
  project_id: 'uuid',
  environment_name: 'text',
  pipeline_name: 'text',
} as const;
const ofPipeline =
  'account_id = $account_id and project_id = $project_id and environment_name = $environment_name and pipeline_key = md5($pipeline_name)';

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
  insert into dataset_use (account_id, project_id, environment_name, pipeline_key, is_write, dataset, fields, row_count)
  select $account_id, $project_id, $environment_name, md5($pipeline_name), d."isWrite", d.dataset, d.fields, d."rowCount"
  from jsonb_to_recordset($datasets) as d ("isWrite" boolean, dataset text, fields jsonb, "rowCount" bigint)`,
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
  update dataset_use u set row_count = d."rowCount"
  from jsonb_to_recordset($datasets) as d ("isWrite" boolean, dataset text, "rowCount" bigint)
  where ${ofPipeline} and u.is_write and d."isWrite" and u.dataset_key = md5(d.dataset)`,
);

/** Replaces the lineage of the pipeline in its environment, unless a later run is there. */
export async function replaceLineage(
  tx: Transaction,
  row: LineageRow,
  { datasets, columns, omittedColumns, digest }: PipelineLineage,
): Promise<void> {
  const { record } = row;
  const of = {
    account_id: row.account_id,
    project_id: record.projectId,
    environment_name: record.environmentName,
    pipeline_name: record.pipelineName,
  };
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
  await markDone(tx, row);
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
