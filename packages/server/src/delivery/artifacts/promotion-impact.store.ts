/**
 * What readers in the target of a promotion lose. The latest successful runs of the version in the source environment
 * tell which columns it leaves in the datasets that it writes. The readers are the latest successful runs in the
 * target, and for a pipeline that has run with the version, that run.
 */
import { lostColumnReadersLimit, lostColumnsLimit, type PromotionDryRun } from '@headgate/contract';
import { type Read, statement, typed } from '../../kernel/database/database.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
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
      and u.dataset_key = w.dataset_key and ${condition} join compared p on ${samePipeline('u')}
    union
    select ${columns}, p.pipeline_name from written_datasets w join ${table} u on ${place('u', 'target_environment_name')}
      and u.dataset_key = w.dataset_key and ${condition} join pipeline_lineage p on ${samePipeline('u')}
    where p.pipeline_key not in (select c.pipeline_key from compared c)`;

const selectImpact = statement(
  {
    parameters: {
      account_id: 'uuid',
      project_id: 'uuid',
      version_name: 'text',
      source_environment_name: 'text',
      target_environment_name: 'text',
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
    select u.dataset_key, u.fields from compared p join dataset_use u on ${samePipeline('u')} where u.is_write
  ), written_datasets as materialized (
    select dataset_key from written group by dataset_key having bool_or(fields is not null)
  ), written_fields as materialized (
    select distinct w.dataset_key, lower(f ->> 'name') as field from written w cross join jsonb_array_elements(w.fields) f
    where w.fields is not null
  ), readers as materialized (
    select * from (${selectReaders('u.dataset, u.dataset_key, u.field', 'column_use')}) r limit ${usesLimit + 1}
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
    select distinct pipeline_name from (${selectReaders('u.dataset_key', 'dataset_use', 'not u.is_write')}) r
    where not exists (select from readers known where known.dataset_key = r.dataset_key and known.pipeline_name = r.pipeline_name)
  )
  select (select count(*) from compared) as compared, (select count(*) > ${usesLimit} from readers) as is_truncated, (
      select coalesce(json_agg(json_build_object('dataset', substr(dataset, strpos(dataset, ':') + 1), 'column', field, 'readers', readers)
        order by dataset, field), '[]') from lost) as lost,
    json_build_object(
      'neverRun', (select count(*) from runs where version_name is null),
      'otherVersion', (select count(*) from runs where version_name <> $version_name),
      'unknownColumns', (select count(*) from (select from written group by dataset_key having bool_and(fields is null)) unknown),
      'unknownReaders', (select count(*) from blind)) as not_compared`,
);

export async function readPromotionImpact(
  read: Read,
  { accountId }: Scope,
  promotion: { projectId: string; versionName: string; from: string; to: string },
): Promise<PromotionDryRun> {
  const [row] = await read(selectImpact, {
    account_id: accountId,
    project_id: promotion.projectId,
    version_name: promotion.versionName,
    source_environment_name: promotion.from,
    target_environment_name: promotion.to,
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
