/** The pipelines that can be started in an environment. */
import { listPublishedPipelines } from '@headgate/contract';
import { typed } from '../../kernel/database/database.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import { guardedPage } from '../../kernel/security/guarded-read.ts';
import { environmentExists, selectChosenVersion } from './artifact.store.ts';
import { renderPipelinePath } from './reading/pipeline-description.ts';

const newestVersion = `
  (${selectChosenVersion('manifest_digest, deployed_at')}) v join manifest m on m.account_id = $account_id
    and m.digest = v.manifest_digest`;

/** The total is null if the environment does not exist. */
const publishedPage = guardedPage(
  {
    parameters: { environment_name: 'text', version_name: 'text?', limit: 'bigint', offset: 'bigint' },
    row: {
      name: 'text',
      type: typed<'ORCHESTRATION' | 'TRANSFORMATION'>('text'),
      deployed_at: 'timestamptz',
    },
    totalType: 'bigint?',
  },
  {
    rows: `
    select p ->> 'name' as name, p ->> 'type' as type, v.deployed_at
    from ${newestVersion} cross join jsonb_array_elements(m.pipelines) as each (p)
    order by p ->> 'name' collate "C", p ->> 'type' collate "C" limit $limit offset $offset`,
    total: `
    select case when ${environmentExists} then
      coalesce((select jsonb_array_length(m.pipelines) from ${newestVersion}), 0)::bigint end as total`,
  },
);

export function publishedPipelineRoutes({ read }: Endpoints): void {
  read(listPublishedPipelines, async ({ query, page }) => {
    const { limit, offset } = computePageBounds(query);
    const name = query.environmentName;
    const { rows, total } = await page(publishedPage, {
      environment_name: name,
      version_name: null,
      limit,
      offset,
    });
    if (total === null) throw problem('environment-not-found', { name });
    const results = rows.map((row) => ({
      name: renderPipelinePath(row),
      publishedTime: row.deployed_at.toISOString(),
    }));
    return { body: { page: query.page, results, size: limit, total } };
  });
}
