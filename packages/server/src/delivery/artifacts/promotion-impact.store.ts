/**
 * What readers in the target of a promotion lose. The latest successful runs of the version in the source environment
 * tell which columns it leaves in the datasets that it writes. The readers are the latest successful runs in the
 * target, and for a pipeline that has run with the version, that run.
 */
import { lostColumnReadersLimit, lostColumnsLimit, type PromotionDryRun } from '@headgate/contract';
import { statement, type Transaction, typed } from '../../kernel/database/database.ts';
import type { Scope } from '../../kernel/security/permissions.ts';

const place = (row: string, environment: string) =>
  `${row}.account_id = $account_id and ${row}.project_id = $project_id and ${row}.environment_name = $${environment}`;
const samePipeline = (row: string) =>
  `${row}.account_id = p.account_id and ${row}.project_id = p.project_id and ${row}.environment_name = p.environment_name and ${row}.pipeline_key = p.pipeline_key`;

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
      lost: typed<PromotionDryRun['lostColumns']>('json'),
    },
  },
  `
  with compared as materialized (
    select p.* from pipeline_lineage p where ${place('p', 'source_environment_name')} and p.version_name = $version_name
  ), written as materialized (
    select u.dataset_key, u.fields from compared p join dataset_use u on ${samePipeline('u')} where u.is_write and u.fields is not null
  ), readers as (
    select u.dataset, u.dataset_key, u.field, p.pipeline_name from compared p join column_use u on ${samePipeline('u')}
    union
    select u.dataset, u.dataset_key, u.field, p.pipeline_name from pipeline_lineage p join column_use u on ${samePipeline('u')}
    where ${place('p', 'target_environment_name')} and p.pipeline_key not in (select c.pipeline_key from compared c)
  ), lost as (
    select r.dataset, r.field, (array_agg(r.pipeline_name order by r.pipeline_name))[1:${lostColumnReadersLimit}] as readers
    from readers r
    where r.dataset_key in (select w.dataset_key from written w) and not exists (
      select from written w cross join jsonb_array_elements(w.fields) f
      where w.dataset_key = r.dataset_key and lower(f ->> 'name') = lower(r.field))
    group by r.dataset, r.field order by r.dataset, r.field limit ${lostColumnsLimit + 1}
  )
  select (select count(*) from compared) as compared, (
    select coalesce(json_agg(json_build_object('dataset', substr(dataset, strpos(dataset, ':') + 1), 'column', field, 'readers', readers)
      order by dataset, field), '[]') from lost) as lost`,
);

export async function readPromotionImpact(
  tx: Transaction,
  { accountId }: Scope,
  promotion: { projectId: string; versionName: string; from: string; to: string },
): Promise<PromotionDryRun> {
  const [row] = await tx.query(selectImpact, {
    account_id: accountId,
    project_id: promotion.projectId,
    version_name: promotion.versionName,
    source_environment_name: promotion.from,
    target_environment_name: promotion.to,
  });
  const { compared = 0, lost = [] } = row ?? {};
  return {
    environmentName: promotion.to,
    versionName: promotion.versionName,
    comparedPipelines: compared,
    lostColumns: lost.slice(0, lostColumnsLimit),
    truncated: lost.length > lostColumnsLimit,
  };
}
