import { listPublishedPipelines, type PublishedPipeline } from '@headgate/contract';
import { pipelinePath } from '@headgate/pipelines';
import type { Endpoints } from '../../kernel/endpoint.ts';
import { guardedPage } from '../../kernel/guarded-read.ts';
import { pageBounds } from '../../kernel/paging.ts';
import { problem } from '../../kernel/problems.ts';
import { chosenVersion } from './artifact.store.ts';
import type { PipelineDescription } from './pipeline-description.ts';

type PublishedRow = Pick<PipelineDescription, 'name' | 'type'> & { deployed_at: Date };

const published = `
  from (${chosenVersion('manifest_digest, deployed_at')}) v
  join manifest m on m.account_id = $1 and m.digest = v.manifest_digest
  cross join jsonb_to_recordset(m.pipelines) as p (name text, type text)`;

/** Parameters: environment, null for the newest enabled version, limit, offset. The total is null without the environment. */
const publishedPage = guardedPage<PublishedRow, number | null>({
  rows: `select p.name, p.type, v.deployed_at ${published} order by p.name collate "C", p.type limit $11 offset $12`,
  total: `
    select case when exists (select from environment where account_id = $1 and project_id = $3 and name = $9)
      then (select count(*)::bigint ${published}) end as total`,
});

export function publishedPipelineRoutes({ read }: Endpoints): void {
  read(listPublishedPipelines, async ({ query, page }) => {
    const { limit, offset } = pageBounds(query);
    const name = query.environmentName;
    const { rows, total } = await page(publishedPage, [name, null, limit, offset]);
    if (total === null) throw problem('environment-not-found', { name });
    return { body: { page: query.page, results: rows.map(presentPublished), size: limit, total } };
  });
}

/** A pipeline has one name in every answer: its path with its extension (decisions.md §5). */
function presentPublished({ name, type, deployed_at }: PublishedRow): PublishedPipeline {
  const path = pipelinePath(name, type === 'ORCHESTRATION' ? 'orchestration' : 'transformation');
  return { name: path, publishedTime: deployed_at.toISOString() };
}
