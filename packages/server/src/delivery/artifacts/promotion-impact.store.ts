/**
 * What readers in the target of a promotion lose. The latest successful runs of the version in the source environment
 * tell which columns it leaves in the datasets that it writes. The readers are the latest successful runs in the
 * target, and for a pipeline that has run with the version, that run.
 *
 * If the connections of the two environments have other databases or schemas, a dataset that the version writes in the
 * schema of the source is also compared under the name that it has in the target.
 */
import {
  lostColumnReadersLimit,
  lostColumnsLimit,
  type ProjectWarehouse,
  type PromotionDryRun,
  readSnowflakeName,
} from '@headgate/contract';
import { datasetNames } from '@headgate/pipelines';
import { type Read, statement, typed } from '../../kernel/database/database.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import { selectWarehouse } from '../../workspace/connections/index.ts';
import { selectPipelinePaths } from './manifest.store.ts';

const place = (row: string, environment: string) =>
  `${row}.account_id = $account_id and ${row}.project_id = $project_id and ${row}.environment_name = $${environment}`;
const samePipeline = (row: string) =>
  `${row}.account_id = p.account_id and ${row}.project_id = p.project_id and ${row}.environment_name = p.environment_name and ${row}.pipeline_key = p.pipeline_key`;

/** Uses of columns that one dry run compares. */
const usesLimit = 200_000;

/** SQL: the uses of the datasets that the version writes, by pipelines that read them after the promotion. */
const selectReaders = (columns: string, table: string, condition = 'true') => `
    select ${columns}, p.pipeline_name from written_datasets w join ${table} u on ${place('u', 'source_environment_name')}
      and u.dataset_key = w.source_key and w.is_target and ${condition} join compared p on ${samePipeline('u')}
    union
    select ${columns}, p.pipeline_name from written_datasets w join ${table} u on ${place('u', 'target_environment_name')}
      and u.dataset_key = w.dataset_key and ${condition} join pipeline_lineage p on ${samePipeline('u')}
    where p.pipeline_key not in (select c.pipeline_key from compared c)`;

const selectPlaces = statement(
  {
    parameters: {
      account_id: 'uuid',
      project_id: 'uuid',
      source_environment_name: 'text',
      target_environment_name: 'text',
    },
    row: { source: typed<ProjectWarehouse | null>('jsonb'), target: typed<ProjectWarehouse | null>('jsonb') },
  },
  `
  select ${selectWarehouse('s')} as source, ${selectWarehouse('t')} as target
  from (values ($account_id::uuid, $project_id::uuid, $source_environment_name::text)) s (account_id, project_id, environment_name),
    (values ($account_id::uuid, $project_id::uuid, $target_environment_name::text)) t (account_id, project_id, environment_name)`,
);

/** How the names of datasets in the schema and in the database of an environment's connection begin. */
function readPlace(warehouse: ProjectWarehouse | null): { schema: string; database: string } | undefined {
  const properties = warehouse?.connection?.properties ?? {};
  const find = (name: string) => {
    const property = properties[name];
    return property === undefined || !('value' in property) ? '' : String(property.value).trim();
  };
  const isSnowflake = warehouse?.kind === 'snowflake';
  const read = (name: string) => (isSnowflake ? readSnowflakeName(name) : name);
  const database = read(find('database'));
  if (database === '') return undefined;
  const schema = read(find('schema')) || (isSnowflake ? 'PUBLIC' : 'public');
  const begin = (...path: string[]) => `warehouse:${datasetNames.served(path)}.`;
  return { schema: begin(database, schema), database: begin(database) };
}

/** SQL: the name that `u.dataset` has in the target. */
const moved = ['schema', 'database'].reduceRight(
  (otherwise, part) =>
    `case when starts_with(u.dataset, $source_${part}) then $target_${part} || substr(u.dataset, length($source_${part}) + 1) else ${otherwise} end`,
  'u.dataset',
);

const selectImpact = statement(
  {
    parameters: {
      account_id: 'uuid',
      project_id: 'uuid',
      version_name: 'text',
      source_environment_name: 'text',
      target_environment_name: 'text',
      source_schema: 'text?',
      target_schema: 'text?',
      source_database: 'text?',
      target_database: 'text?',
    },
    row: {
      compared: 'bigint',
      is_truncated: 'boolean',
      lost: typed<PromotionDryRun['lostColumns']>('json'),
      not_compared: typed<PromotionDryRun['notCompared']>('json'),
    },
    alone: true,
  },
  `
  with compared as materialized (
    select p.* from pipeline_lineage p where ${place('p', 'source_environment_name')} and p.version_name = $version_name
  ), written as materialized (
    select u.dataset_key as source_key, u.fields, n.dataset, md5(n.dataset) as dataset_key, n.is_target
    from compared p join dataset_use u on ${samePipeline('u')} cross join lateral (
      select ${moved} as dataset, true as is_target
      union all select u.dataset, false where u.dataset <> ${moved}) n
    where u.is_write
  ), written_datasets as materialized (
    select source_key, dataset_key, dataset, is_target from written group by source_key, dataset_key, dataset, is_target
    having bool_or(fields is not null)
  ), written_fields as materialized (
    select distinct w.dataset_key, lower(f ->> 'name') as field from written w cross join jsonb_array_elements(w.fields) f
    where w.fields is not null
  ), readers as materialized (
    select * from (${selectReaders('w.dataset, w.dataset_key, u.field', 'column_use')}) r limit ${usesLimit + 1}
  ), lost as materialized (
    select r.dataset, r.field, (array_agg(r.pipeline_name order by r.pipeline_name))[1:${lostColumnReadersLimit}] as readers
    from readers r left join written_fields w on w.dataset_key = r.dataset_key and w.field = lower(r.field)
    where w.field is null
    group by r.dataset, r.field order by r.dataset, r.field limit ${lostColumnsLimit + 1}
  ), of_version as materialized (
    select distinct md5(path) as pipeline_key from (${selectPipelinePaths(`(
      select v.manifest_digest from artifact_version v where ${place('v', 'source_environment_name')} and v.version_name = $version_name)`)}) listed
  ), runs as (
    select p.version_name from of_version o left join pipeline_lineage p on ${place('p', 'source_environment_name')}
      and p.pipeline_key = o.pipeline_key
  ), blind as (
    select distinct pipeline_name from (${selectReaders('w.dataset_key', 'dataset_use', 'not u.is_write')}) r
    where not exists (select from readers known where known.dataset_key = r.dataset_key and known.pipeline_name = r.pipeline_name)
  )
  select (select count(*) from compared) as compared, (select count(*) > ${usesLimit} from readers) as is_truncated, (
      select coalesce(json_agg(json_build_object('dataset', substr(dataset, strpos(dataset, ':') + 1), 'column', field, 'readers', readers)
        order by dataset, field), '[]') from lost) as lost,
    json_build_object(
      'neverRun', (select count(*) from runs where version_name is null),
      'otherVersion', (select count(*) from runs where version_name <> $version_name),
      'unknownColumns', (select count(*) from (select from written where is_target
        group by source_key having bool_and(fields is null)) unknown),
      'unknownReaders', (select count(*) from blind)) as not_compared`,
);

export async function readPromotionImpact(
  read: Read,
  { accountId }: Scope,
  promotion: { projectId: string; versionName: string; from: string; to: string },
): Promise<PromotionDryRun> {
  const at = {
    account_id: accountId,
    project_id: promotion.projectId,
    source_environment_name: promotion.from,
    target_environment_name: promotion.to,
  };
  const [places] = await read(selectPlaces, at);
  const source = readPlace(places?.source ?? null);
  const target = readPlace(places?.target ?? null);
  // With one of them alone, names are compared as they are.
  const isMoved = source !== undefined && target !== undefined;
  const [row] = await read(selectImpact, {
    ...{ ...at, version_name: promotion.versionName },
    source_schema: isMoved ? source.schema : null,
    target_schema: isMoved ? target.schema : null,
    source_database: isMoved ? source.database : null,
    target_database: isMoved ? target.database : null,
  });
  if (row === undefined) throw new Error('The impact of a promotion has no row.');
  const { compared, lost } = row;
  return {
    environmentName: promotion.to,
    versionName: promotion.versionName,
    comparedPipelines: compared,
    notCompared: row.not_compared,
    lostColumns: lost.slice(0, lostColumnsLimit),
    truncated: lost.length > lostColumnsLimit || row.is_truncated,
  };
}
