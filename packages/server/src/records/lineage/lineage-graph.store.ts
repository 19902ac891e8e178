/** Walks through the lineage of an environment, with bounds. */
import {
  type ColumnTransformation,
  datasetKinds,
  graphEdgesLimit,
  type LineageNode,
} from '@headgate/contract';
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
const lastRunOf = (dataset: string) => `(
    select ${lastRun} from dataset_use u join pipeline_lineage p on ${ofPipeline}
    where ${inPlace('u')} and u.dataset_key = md5(${dataset}) and u.is_write
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
    (select coalesce(json_agg(json_build_object('key', found.dataset, 'lastRun', ${lastRunOf('found.dataset')})), '[]') from (
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

const bounds = {
  environment_name: 'text',
  upstream: 'boolean',
  downstream: 'boolean',
  depth: 'integer',
} as const;
const directions = `(select up from unnest(array[true, false]) as d (up) where case when up then $upstream::boolean else $downstream::boolean end)`;

const datasetEdgeRow = {
  is_write: 'boolean',
  dataset: 'text',
  pipeline_name: 'text',
  pipeline_run: typed<LastRun>('json'),
  dataset_run: typed<LastRun | null>('json'),
} satisfies ColumnTypes;
export type DatasetEdgeRow = RowOf<typeof datasetEdgeRow>;

const use = 'u.is_write, u.dataset, u.pipeline_key';

/**
 * The uses of datasets on the ways from some datasets and pipelines, the nearest first. Upstream leads from a dataset
 * to its writers and from a pipeline to what it reads; downstream is the reverse. So a use leads to a pipeline if
 * `is_write = up`, and to a dataset otherwise.
 */
export const datasetWalk = guardedRead(
  {
    parameters: { ...bounds, datasets: 'text[]', pipelines: 'text[]' },
    row: datasetEdgeRow,
    alone: true,
  },
  `
  with recursive walk (up, is_write, dataset, pipeline_key, half) as (
    select d.up, first.*, 1 from ${directions} d cross join lateral (
      select ${use} from dataset_use u where ${inPlace('u')} and u.is_write = d.up
        and u.dataset_key = any (array(select md5(key) from unnest($datasets::text[]) as s (key)))
      union all
      select ${use} from dataset_use u where ${inPlace('u')} and u.is_write <> d.up
        and u.pipeline_key = any (array(select md5(name) from unnest($pipelines::text[]) as s (name)))) first
    union
    select w.up, next.*, w.half + 1 from walk w cross join lateral (
      select ${use} from dataset_use u where w.is_write = w.up and ${inPlace('u')} and u.pipeline_key = w.pipeline_key and u.is_write <> w.up
      union all
      select ${use} from dataset_use u where w.is_write <> w.up and ${inPlace('u')} and u.dataset_key = md5(w.dataset) and u.is_write = w.up) next
    where w.half < 2 * $depth::integer
  ), bounded as materialized (select * from walk limit ${graphEdgesLimit + 1}),
  written as materialized (
    select found.dataset, ${lastRunOf('found.dataset')} as run from (select distinct dataset from bounded) found
  )
  select u.is_write, u.dataset, p.pipeline_name, ${lastRun} as pipeline_run, written.run as dataset_run
  from bounded u join pipeline_lineage p on ${inPlace('p')} and p.pipeline_key = u.pipeline_key
  join written on written.dataset = u.dataset
  order by u.half`,
);

const columnEdgeRow = {
  dataset: 'text',
  field: 'text',
  to_dataset: 'text',
  to_field: 'text?',
  transformation: typed<ColumnTransformation | null>('text'),
  pipeline_name: 'text',
} satisfies ColumnTypes;
export type ColumnEdgeRow = RowOf<typeof columnEdgeRow>;

const columnUse = 'u.dataset, u.field, u.to_dataset, u.to_field, u.transformation, u.pipeline_key';
const intoColumn = (dataset: string, field: string) =>
  `u.to_dataset_key = md5(${dataset}) and (u.to_field_key = md5(${field}) or u.to_field_key is null)`;
const fromColumn = (dataset: string, field: string) =>
  `u.dataset_key = md5(${dataset}) and u.field_key = md5(${field})`;

/**
 * The uses of columns on the ways from some columns, the nearest first. A dataset whose rows are decided ends a way.
 */
export const columnWalk = guardedRead(
  {
    parameters: { ...bounds, datasets: 'text[]', fields: 'text[]' },
    row: columnEdgeRow,
    alone: true,
  },
  `
  with recursive walk (up, dataset, field, to_dataset, to_field, transformation, pipeline_key, depth) as (
    select d.up, first.*, 1 from ${directions} d cross join unnest($datasets::text[], $fields::text[]) as s (dataset, field)
    cross join lateral (
      select ${columnUse} from column_use u where d.up and ${inPlace('u')} and ${intoColumn('s.dataset', 's.field')}
      union all
      select ${columnUse} from column_use u where not d.up and ${inPlace('u')} and ${fromColumn('s.dataset', 's.field')}) first
    union
    select w.up, next.*, w.depth + 1 from walk w cross join lateral (
      select ${columnUse} from column_use u where w.up and ${inPlace('u')} and ${intoColumn('w.dataset', 'w.field')}
      union all
      select ${columnUse} from column_use u where not w.up and ${inPlace('u')} and ${fromColumn('w.to_dataset', 'w.to_field')}) next
    where w.depth < $depth::integer
  ), bounded as materialized (select * from walk limit ${graphEdgesLimit + 1})
  select u.dataset, u.field, u.to_dataset, u.to_field, u.transformation, p.pipeline_name
  from bounded u join pipeline_lineage p on ${inPlace('p')} and p.pipeline_key = u.pipeline_key
  order by u.depth`,
);
