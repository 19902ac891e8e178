/** Walks through the lineage of an environment, with bounds. */
import { type ColumnTransformation, datasetKinds, type LineageNode } from '@headgate/contract';
import { type ColumnTypes, type RowOf, typed } from '../../kernel/database/database.ts';
import { guardedRead } from '../../kernel/security/guarded-read.ts';

type LastRun = NonNullable<LineageNode['lastRun']>;

const inPlace = (row: string) =>
  `${row}.account_id = $account_id and ${row}.project_id = $project_id and ${row}.environment_name = $environment_name`;
const ofPipeline =
  'p.account_id = u.account_id and p.project_id = u.project_id and p.environment_name = u.environment_name and p.pipeline_key = u.pipeline_key';
const kinds = datasetKinds.map((kind) => `'${kind}'`).join(', ');

/** SQL: the end of the run `p` as a LastRun. */
const lastRun = `json_build_object('pipelineExecutionId', p.execution_id, 'versionName', p.version_name,
    'finishedAt', to_char(p.finished_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))`;
const lastRunOf = (key: string) => `(
    select ${lastRun} from dataset_use u join pipeline_lineage p on ${ofPipeline}
    where ${inPlace('u')} and u.dataset_key = ${key} and u.is_write
    order by p.finished_at desc, p.pipeline_name limit 1)`;

const startRow = {
  datasets: typed<{ key: string; lastRun: LastRun | null }[]>('json'),
  pipelines: typed<{ name: string; lastRun: LastRun }[]>('json'),
  columns: typed<{ dataset: string; field: string }[]>('json'),
} satisfies ColumnTypes;
export type GraphStart = RowOf<typeof startRow>;

/** Where a graph begins. No row if the environment does not exist. */
export const lineageStart = guardedRead(
  {
    parameters: {
      environment_name: 'text',
      dataset_name: 'text?',
      pipeline_name: 'text?',
      column_datasets: 'text[]',
      column_fields: 'text[]',
    },
    row: startRow,
  },
  `
  select
    (select coalesce(json_agg(json_build_object('key', found.dataset, 'lastRun', ${lastRunOf('md5(found.dataset)')})), '[]') from (
      select distinct u.dataset from unnest(array[${kinds}]) as k (kind) join dataset_use u on ${inPlace('u')}
        and u.dataset_key = md5(k.kind || ':' || $dataset_name::text)) found) as datasets,
    (select coalesce(json_agg(json_build_object('name', p.pipeline_name, 'lastRun', ${lastRun})), '[]') from pipeline_lineage p
      where ${inPlace('p')} and p.pipeline_key in (md5($pipeline_name::text), md5($pipeline_name::text || '.orch.yaml'),
        md5($pipeline_name::text || '.tran.yaml'))) as pipelines,
    (select coalesce(json_agg(json_build_object('dataset', c.dataset, 'field', c.field)), '[]') from (
      select k.kind || ':' || split.dataset as dataset, split.field
      from unnest(array[${kinds}]) as k (kind) cross join unnest($column_datasets::text[], $column_fields::text[]) as split (dataset, field)) c
      where exists (select from column_use u where ${inPlace('u')} and u.dataset_key = md5(c.dataset) and u.field_key = md5(c.field))
        or exists (select from column_use u where ${inPlace('u')} and u.to_dataset_key = md5(c.dataset) and u.to_field_key = md5(c.field))
        or exists (select from dataset_use u where ${inPlace('u')} and u.dataset_key = md5(c.dataset)
          and u.fields @> jsonb_build_array(jsonb_build_object('name', c.field)))) as columns
  from environment e where ${inPlace('e').replace('environment_name', 'name')}`,
);

const splitsLimit = 20;

/** Both names may contain dots. */
export function splitColumn(column = ''): { column_datasets: string[]; column_fields: string[] } {
  const parts = column.split('.');
  const places = parts.slice(1, -1).map((_, index) => index + 2);
  const chosen = (parts.length > 1 ? [1, ...places] : []).slice(-splitsLimit);
  return {
    column_datasets: chosen.map((place) => parts.slice(0, place).join('.')),
    column_fields: chosen.map((place) => parts.slice(place).join('.')),
  };
}

/** Digests of names, as in the tables. */
const keysOf = (name: string) => `any ($${name}::text[])`;

const datasetEdgeRow = {
  up: 'boolean',
  is_write: 'boolean',
  dataset_key: 'text',
  pipeline_key: 'text',
} satisfies ColumnTypes;
export type DatasetEdgeRow = RowOf<typeof datasetEdgeRow>;

const selectUses = (up: boolean, isWrite: boolean, frontier: string) => `
    select ${up} as up, u.is_write, u.dataset_key, u.pipeline_key from dataset_use u
    where ${inPlace('u')} and ${isWrite ? '' : 'not '}u.is_write and ${frontier}`;

/**
 * One level of a walk: upstream from datasets to their writers and from pipelines to what they read, downstream the
 * reverse. So a use leads to a pipeline if `is_write = up`, and to a dataset otherwise.
 */
export const datasetLevel = guardedRead(
  {
    parameters: {
      environment_name: 'text',
      up_datasets: 'text[]',
      up_pipelines: 'text[]',
      down_datasets: 'text[]',
      down_pipelines: 'text[]',
      limit: 'bigint',
    },
    row: datasetEdgeRow,
    alone: true,
  },
  `
  select * from (
    ${selectUses(true, true, `u.dataset_key = ${keysOf('up_datasets')}`)} union all
    ${selectUses(true, false, `u.pipeline_key = ${keysOf('up_pipelines')}`)} union all
    ${selectUses(false, false, `u.dataset_key = ${keysOf('down_datasets')}`)} union all
    ${selectUses(false, true, `u.pipeline_key = ${keysOf('down_pipelines')}`)}) level limit $limit`,
);

const namesRow = {
  datasets: typed<{ key: string; dataset: string; lastRun: LastRun | null }[]>('json'),
  pipelines: typed<{ key: string; name: string; lastRun: LastRun; isPartial: boolean }[]>('json'),
} satisfies ColumnTypes;
export type GraphNames = RowOf<typeof namesRow>;

/** What the nodes of a graph are. */
export const graphNames = guardedRead(
  {
    parameters: { environment_name: 'text', dataset_keys: 'text[]', pipeline_keys: 'text[]' },
    row: namesRow,
    alone: true,
  },
  `
  select (
    select coalesce(json_agg(json_build_object('key', d.dataset_key, 'dataset', d.dataset, 'lastRun', ${lastRunOf('d.dataset_key')})), '[]')
    from (
      select distinct on (u.dataset_key) u.dataset_key, u.dataset from dataset_use u
      where ${inPlace('u')} and u.dataset_key = ${keysOf('dataset_keys')} order by u.dataset_key) d) as datasets, (
    select coalesce(json_agg(json_build_object('key', p.pipeline_key, 'name', p.pipeline_name, 'lastRun', ${lastRun},
      'isPartial', p.omitted_columns > 0)), '[]')
    from pipeline_lineage p where ${inPlace('p')} and p.pipeline_key = ${keysOf('pipeline_keys')}) as pipelines`,
);

const columnEdgeRow = {
  up: 'boolean',
  dataset: 'text',
  field: 'text',
  to_dataset: 'text',
  to_field: 'text?',
  transformation: typed<ColumnTransformation | null>('text'),
  pipeline_key: 'text',
} satisfies ColumnTypes;
export type ColumnEdgeRow = RowOf<typeof columnEdgeRow>;

const columnUse = 'u.dataset, u.field, u.to_dataset, u.to_field, u.transformation, u.pipeline_key';
const columnsOf = (direction: string) =>
  `unnest($${direction}_datasets::text[], $${direction}_fields::text[]) as s (dataset_key, field_key) join column_use u on ${inPlace('u')}`;

/**
 * One level of a walk: the uses of columns that lead into some columns (upstream) or from them. The rows of
 * `up_decided` datasets are decided by the columns that are found, too.
 */
export const columnLevel = guardedRead(
  {
    parameters: {
      environment_name: 'text',
      up_datasets: 'text[]',
      up_fields: 'text[]',
      up_decided: 'text[]',
      down_datasets: 'text[]',
      down_fields: 'text[]',
      limit: 'bigint',
    },
    row: columnEdgeRow,
    alone: true,
  },
  `
  select * from (
    select true as up, ${columnUse} from ${columnsOf('up')} and u.to_dataset_key = s.dataset_key and u.to_field_key = s.field_key
    union all
    select true, ${columnUse} from column_use u
    where ${inPlace('u')} and u.to_dataset_key = ${keysOf('up_decided')} and u.to_field_key is null
    union all
    select false, ${columnUse} from ${columnsOf('down')} and u.dataset_key = s.dataset_key and u.field_key = s.field_key) level
  limit $limit`,
);
