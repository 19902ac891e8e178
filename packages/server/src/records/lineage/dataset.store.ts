/** The datasets of an environment, as the latest successful run of each pipeline read and wrote them. */
import {
  type DatasetField,
  type DatasetItem,
  type DatasetKind,
  datasetPipelinesLimit,
} from '@headgate/contract';
import { type ColumnTypes, type RowOf, typed } from '../../kernel/database/database.ts';
import { guardedPage } from '../../kernel/security/guarded-read.ts';
import { splitDatasetKey } from './lineage-graph.ts';

const datasetRow = {
  dataset: 'text',
  fields: typed<DatasetField[] | null>('jsonb'),
  writers: 'text[]',
  readers: 'text[]',
  written_at: 'timestamptz?',
  row_count: 'bigint?',
  execution_id: 'uuid?',
} satisfies ColumnTypes;

const inPlace =
  'u.account_id = $account_id and u.project_id = $project_id and u.environment_name = $environment_name';
const uses = `
    select u.fields, u.row_count, coalesce(u.written_at, p.finished_at) as written_at, p.pipeline_name, p.finished_at, p.execution_id from dataset_use u
    join pipeline_lineage p on p.account_id = u.account_id and p.project_id = u.project_id
      and p.environment_name = u.environment_name and p.pipeline_key = u.pipeline_key
    where ${inPlace} and u.dataset_key = found.dataset_key`;
const pipelinesOf = (condition: string) =>
  `array(select pipeline_name from (${uses} and ${condition}) n order by pipeline_name limit ${datasetPipelinesLimit})`;

/** The total is null if the environment does not exist. */
export const datasetPage = guardedPage(
  {
    parameters: { environment_name: 'text', limit: 'bigint', offset: 'bigint' },
    row: datasetRow,
    totalType: 'bigint?',
  },
  {
    rows: `
    select found.dataset, (
        select fields from (${uses} and u.fields is not null order by u.is_write desc, p.finished_at desc, p.pipeline_name limit 1) known) as fields,
      ${pipelinesOf('u.is_write')} as writers, ${pipelinesOf('not u.is_write')} as readers,
      last.written_at, last.row_count, last.execution_id
    from (
      select dataset, dataset_key from (
        select distinct on (u.dataset_key) u.dataset, u.dataset_key from dataset_use u where ${inPlace} order by u.dataset_key) one
      order by substr(dataset, strpos(dataset, ':') + 1), dataset limit $limit offset $offset) found
    left join lateral (${uses} and u.is_write order by written_at desc, p.pipeline_name limit 1) last on true
    order by substr(found.dataset, strpos(found.dataset, ':') + 1), found.dataset`,
    total: `
    select case when exists (select from environment e where e.account_id = $account_id and e.project_id = $project_id and e.name = $environment_name)
      then (select count(distinct u.dataset_key) from dataset_use u where ${inPlace})::bigint end as total`,
  },
);

export function presentDataset(environmentName: string, row: RowOf<typeof datasetRow>): DatasetItem {
  const { kind, name } = splitDatasetKey(row.dataset);
  const item: DatasetItem = {
    name,
    kind: kind as DatasetKind,
    environmentName,
    columns: row.fields ?? [],
    writers: [...row.writers],
    readers: [...row.readers],
  };
  if (row.written_at !== null) item.lastWrittenAt = row.written_at.toISOString();
  if (row.row_count !== null) item.lastRowCount = row.row_count;
  if (row.execution_id !== null) item.lastExecutionId = row.execution_id;
  return item;
}
