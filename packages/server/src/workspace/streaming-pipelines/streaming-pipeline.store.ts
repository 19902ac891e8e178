/** The table `streaming_pipeline`. */
import type {
  StreamingPipeline,
  StreamingProblem,
  StreamingSource,
  StreamingStatus,
  StreamingTarget,
} from '@headgate/contract';
import {
  type ColumnTypes,
  type RowOf,
  requireRow,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';
import { makeEntityTag } from '../../kernel/http/if-match.ts';
import { problem } from '../../kernel/http/problems.ts';
import { isUuid, toUuid } from '../../kernel/identifiers.ts';
import { guardedPage, guardedRead } from '../../kernel/security/guarded-read.ts';
import type { Scope } from '../../kernel/security/permissions.ts';

const streamingPipelineRow = {
  streaming_pipeline_id: 'uuid',
  name: 'text',
  agent_id: 'uuid?',
  source: typed<StreamingSource>('jsonb'),
  target: typed<StreamingTarget>('jsonb'),
  advanced_properties: typed<Record<string, string> | null>('jsonb'),
  status: typed<StreamingStatus>('text'),
  version: 'bigint',
  /** Whether the agent exists; true without an agent. */
  has_agent: 'boolean',
} satisfies ColumnTypes;
export type StreamingPipelineRow = RowOf<typeof streamingPipelineRow>;

const columns = `p.streaming_pipeline_id, p.name, p.agent_id, p.source, p.target, p.advanced_properties, p.status, p.version,
  (p.agent_id is null or exists (
    select from agent a where a.account_id = p.account_id and a.agent_id = p.agent_id)) as has_agent`;

export const streamingPipelinePage = guardedPage(
  { parameters: { limit: 'bigint', offset: 'bigint' }, row: streamingPipelineRow },
  {
    rows: `
    select ${columns} from streaming_pipeline p
    where p.account_id = $account_id and p.project_id = $project_id
    order by p.streaming_pipeline_id desc limit $limit offset $offset`,
    total: `
    select count(*)::bigint as total from streaming_pipeline p
    where p.account_id = $account_id and p.project_id = $project_id`,
  },
);

export const streamingPipelineById = guardedRead(
  { parameters: { streaming_pipeline_id: 'uuid' }, row: streamingPipelineRow },
  `select ${columns} from streaming_pipeline p
  where p.account_id = $account_id and p.project_id = $project_id and p.streaming_pipeline_id = $streaming_pipeline_id`,
);

const lockOne = statement(
  {
    parameters: { account_id: 'uuid', project_id: 'uuid', streaming_pipeline_id: 'uuid' },
    row: streamingPipelineRow,
  },
  `
  select ${columns} from streaming_pipeline p
  where p.account_id = $account_id and p.project_id = $project_id and p.streaming_pipeline_id = $streaming_pipeline_id
  for update of p`,
);

/** Throws `streaming-pipeline-not-found`. */
export async function lockStreamingPipeline(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  id: string,
): Promise<StreamingPipelineRow> {
  const found = await tx.query(lockOne, {
    account_id: scope.accountId,
    project_id: projectId,
    streaming_pipeline_id: toUuid(id),
  });
  return requireRow(found, () => problem('streaming-pipeline-not-found', { id }));
}

const selectAgentType = statement(
  { parameters: { account_id: 'uuid', agent_id: 'uuid' }, row: { name: 'text', agent_type: 'text' } },
  'select name, agent_type from agent where account_id = $account_id and agent_id = $agent_id',
);

/** Throws `unknown-agent` and `streaming-agent-type`. */
export async function requireStreamingAgent(tx: Transaction, scope: Scope, agentId: string): Promise<string> {
  const [row] = isUuid(agentId)
    ? await tx.query(selectAgentType, { account_id: scope.accountId, agent_id: agentId })
    : [];
  if (row === undefined) throw problem('unknown-agent', { id: agentId });
  const { name, agent_type: agentType } = row;
  if (agentType !== 'streaming') throw problem('streaming-agent-type', { name, agentType });
  return agentId;
}

const definitionParameters = {
  account_id: 'uuid',
  project_id: 'uuid',
  streaming_pipeline_id: 'uuid',
  name: 'text',
  agent_id: 'uuid?',
  source: 'jsonb',
  target: 'jsonb',
  advanced_properties: 'jsonb?',
  version: 'bigint',
} as const;

const insertOne = statement(
  { parameters: { ...definitionParameters, status: 'text', created_at: 'timestamptz' } },
  `
  insert into streaming_pipeline (account_id, project_id, streaming_pipeline_id, name, agent_id, source, target,
    advanced_properties, status, version, created_at)
  values ($account_id, $project_id, $streaming_pipeline_id, $name, $agent_id, $source, $target,
    $advanced_properties, $status, $version, $created_at)`,
);

const updateOne = statement(
  { parameters: definitionParameters },
  `
  update streaming_pipeline set name = $name, agent_id = $agent_id, source = $source, target = $target,
    advanced_properties = $advanced_properties, version = $version
  where account_id = $account_id and project_id = $project_id and streaming_pipeline_id = $streaming_pipeline_id`,
);

function renderDefinition(scope: Scope, projectId: string, row: StreamingPipelineRow) {
  const { advanced_properties: properties } = row;
  return {
    account_id: scope.accountId,
    project_id: projectId,
    streaming_pipeline_id: row.streaming_pipeline_id,
    name: row.name,
    agent_id: row.agent_id,
    source: JSON.stringify(row.source),
    target: JSON.stringify(row.target),
    advanced_properties: properties === null ? null : JSON.stringify(properties),
    version: row.version,
  };
}

function refuseTakenName(tx: Transaction, name: string): void {
  tx.onConstraint('streaming_pipeline_name_taken', () => problem('streaming-pipeline-name-taken', { name }));
}

/** Throws `streaming-pipeline-name-taken`. */
export function insertStreamingPipeline(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  row: StreamingPipelineRow,
  now: Date,
): void {
  refuseTakenName(tx, row.name);
  tx.send(insertOne, {
    ...renderDefinition(scope, projectId, row),
    status: row.status,
    created_at: now,
  });
}

/** Throws `streaming-pipeline-name-taken`. */
export function updateStreamingPipelineRow(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  row: StreamingPipelineRow,
): void {
  refuseTakenName(tx, row.name);
  tx.send(updateOne, renderDefinition(scope, projectId, row));
}

const key = { account_id: 'uuid', project_id: 'uuid', streaming_pipeline_id: 'uuid' } as const;

const setStatus = statement(
  { parameters: { ...key, status: 'text' } },
  `
  update streaming_pipeline set status = $status
  where account_id = $account_id and project_id = $project_id and streaming_pipeline_id = $streaming_pipeline_id`,
);

/** The caller has locked the row. */
export function updateStreamingStatus(
  tx: Transaction,
  scope: Scope,
  projectId: string,
  id: string,
  status: StreamingStatus,
): void {
  tx.send(setStatus, {
    account_id: scope.accountId,
    project_id: projectId,
    streaming_pipeline_id: id,
    status,
  });
}

export const deleteStreamingPipelineRow = statement(
  { parameters: key },
  `
  delete from streaming_pipeline
  where account_id = $account_id and project_id = $project_id and streaming_pipeline_id = $streaming_pipeline_id`,
);

export function presentStreamingPipeline(row: StreamingPipelineRow, projectId: string): StreamingPipeline {
  const shown: StreamingPipeline = {
    streamingPipelineId: row.streaming_pipeline_id,
    projectId,
    name: row.name,
    streamingSource: row.source,
    streamingTarget: row.target,
  };
  if (row.agent_id !== null) shown.agentId = row.agent_id;
  if (row.advanced_properties !== null) shown.advancedProperties = row.advanced_properties;
  return { ...shown, ...presentProblem(row) };
}

/** Why it could not run; no member without a problem. */
export function presentProblem({ has_agent: hasAgent, agent_id: agentId }: StreamingPipelineRow): {
  problem?: StreamingProblem;
} {
  if (hasAgent || agentId === null) return {};
  const detail = `The agent ${agentId} was deleted. Replace the definition with another agentId.`;
  return { problem: { code: 'unknown-agent', detail } };
}

export function renderStreamingPipelineEtag(row: StreamingPipelineRow): string {
  return makeEntityTag(row.streaming_pipeline_id, row.version);
}
