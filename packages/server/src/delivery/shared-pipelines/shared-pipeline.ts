/** Names and representations of shared pipelines. */
import type { IgnoredResource, SharedArtifactDetails, SharedPipeline } from '@headgate/contract';
import type { ColumnTypes, RowOf } from '../../kernel/database/database.ts';
import { problem, withViolations } from '../../kernel/http/problems.ts';
import {
  buildPartViolation,
  isPipelinePath,
  type PipelineDescription,
  renderPipelinePath,
  type Upload,
} from '../artifacts/index.ts';

export const versionRow = {
  prefix: 'text',
  version_name: 'text',
  branch: 'text?',
  commit_hash: 'text?',
  provider: 'text',
  enabled: 'boolean',
  created_at: 'timestamptz',
} satisfies ColumnTypes;
export type VersionRow = RowOf<typeof versionRow>;

export type ListedPipeline = Pick<PipelineDescription, 'name' | 'type' | 'description'>;

const toldFaultLimit = 100;

/** Throws `shared-version-without-pipeline` with the reasons why no pipeline was accepted. */
export function requirePipelines({ pipelines, ignored }: Upload): void {
  if (pipelines.length > 0) return;
  const unread = ignored.filter(({ name }: IgnoredResource) => isPipelinePath(name)).slice(0, toldFaultLimit);
  const violations = unread.map(({ name, reason }) => buildPartViolation(name, reason));
  throw withViolations(problem('shared-version-without-pipeline'), violations);
}

export function presentVersion(row: VersionRow): SharedArtifactDetails {
  const details: SharedArtifactDetails = {
    createdAt: row.created_at.toISOString(),
    enabled: row.enabled,
    provider: row.provider,
    sharedPipelineIdPrefix: row.prefix,
    versionName: row.version_name,
  };
  if (row.branch !== null) details.branch = row.branch;
  if (row.commit_hash !== null) details.commitHash = row.commit_hash;
  return details;
}

export function presentPipeline(prefix: string, { name, type, description }: ListedPipeline): SharedPipeline {
  return {
    description: description ?? '',
    sharedPipelineId: `${prefix}/${name}`,
    sourcePipeline: renderPipelinePath({ name, type }),
  };
}
