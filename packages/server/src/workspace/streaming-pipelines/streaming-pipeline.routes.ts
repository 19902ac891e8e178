import {
  commandStreamingPipeline,
  createStreamingPipeline,
  deleteStreamingPipeline,
  getStreamingPipeline,
  getStreamingPipelineStatus,
  listStreamingPipelines,
  type StreamingCommand,
  type StreamingPipelineBody,
  type StreamingStatus,
  streamingCommands,
  updateStreamingPipeline,
} from '@headgate/contract';
import { requireRow, type Transaction } from '../../kernel/database/database.ts';
import type { AccountEvent } from '../../kernel/database/events.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { requireMatch } from '../../kernel/http/if-match.ts';
import { computePageBounds } from '../../kernel/http/paging.ts';
import { problem } from '../../kernel/http/problems.ts';
import { requireWord } from '../../kernel/http/words.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import { listVaultNames, requireVaultNames } from '../agents/index.ts';
import { readDefinition } from './streaming-definition.ts';
import {
  deleteStreamingPipelineRow,
  insertStreamingPipeline,
  lockStreamingPipeline,
  presentProblem,
  presentStreamingPipeline,
  renderStreamingPipelineEtag,
  requireStreamingAgent,
  type StreamingPipelineRow,
  streamingPipelineById,
  streamingPipelinePage,
  updateStreamingPipelineRow,
  updateStreamingStatus,
} from './streaming-pipeline.store.ts';

export function streamingPipelineRoutes(endpoints: Endpoints): void {
  readingRoutes(endpoints);
  writingRoutes(endpoints);
  commandRoute(endpoints);
}

function readingRoutes({ read }: Endpoints): void {
  read(listStreamingPipelines, async ({ params, query, page }) => {
    const { limit, offset } = computePageBounds(query);
    const { rows, total } = await page(streamingPipelinePage, { limit, offset });
    const results = rows.map((row) => presentStreamingPipeline(row, params.projectId));
    return { body: { page: query.page, results, size: limit, total } };
  });

  read(getStreamingPipeline, async ({ params, rows }) => {
    const id = params.streamingPipelineId;
    const row = requireRow(await rows(streamingPipelineById, { streaming_pipeline_id: toUuid(id) }), () =>
      problem('streaming-pipeline-not-found', { id }),
    );
    return {
      body: presentStreamingPipeline(row, params.projectId),
      etag: renderStreamingPipelineEtag(row),
    };
  });

  read(getStreamingPipelineStatus, async ({ params, rows }) => {
    const id = params.streamingPipelineId;
    const row = requireRow(await rows(streamingPipelineById, { streaming_pipeline_id: toUuid(id) }), () =>
      problem('streaming-pipeline-not-found', { id }),
    );
    return { body: { status: row.status, ...presentProblem(row) } };
  });
}

function writingRoutes({ write }: Endpoints): void {
  write(createStreamingPipeline, async ({ tx, scope, params, body, now, newId }) => {
    const { projectId } = params;
    const written = await readWritten(tx, scope, body);
    const row: StreamingPipelineRow = {
      ...written,
      streaming_pipeline_id: newId(),
      status: 'stopped',
      version: 1,
    };
    insertStreamingPipeline(tx, scope, projectId, row, now);
    const granted = await requireStreamingNames({ tx, scope, now }, projectId, row);
    const after = presentStreamingPipeline(row, projectId);
    return {
      body: after,
      etag: renderStreamingPipelineEtag(row),
      location: `/v1/projects/${projectId}/streaming-pipelines/${row.streaming_pipeline_id}`,
      events: [buildStreamingEvent('streaming-pipeline-created', projectId, row, { after }), ...granted],
    };
  });

  write(updateStreamingPipeline, async ({ tx, scope, params, headers, body, now }) => {
    const { projectId, streamingPipelineId } = params;
    const stored = await lockStreamingPipeline(tx, scope, projectId, streamingPipelineId);
    requireMatch(headers['If-Match'], renderStreamingPipelineEtag(stored));
    const written = await readWritten(tx, scope, body);
    const row: StreamingPipelineRow = { ...stored, ...written, version: stored.version + 1 };
    updateStreamingPipelineRow(tx, scope, projectId, row);
    const granted = await requireStreamingNames({ tx, scope, now }, projectId, row);
    const before = presentStreamingPipeline(stored, projectId);
    const after = presentStreamingPipeline(row, projectId);
    return {
      body: after,
      etag: renderStreamingPipelineEtag(row),
      events: [
        buildStreamingEvent('streaming-pipeline-updated', projectId, row, { before, after }),
        ...granted,
      ],
    };
  });

  write(deleteStreamingPipeline, async ({ tx, scope, params, headers }) => {
    const { projectId, streamingPipelineId } = params;
    const stored = await lockStreamingPipeline(tx, scope, projectId, streamingPipelineId);
    requireMatch(headers['If-Match'], renderStreamingPipelineEtag(stored));
    tx.send(deleteStreamingPipelineRow, {
      account_id: scope.accountId,
      project_id: projectId,
      streaming_pipeline_id: stored.streaming_pipeline_id,
    });
    const before = presentStreamingPipeline(stored, projectId);
    return { events: [buildStreamingEvent('streaming-pipeline-deleted', projectId, stored, { before })] };
  });
}

function commandRoute({ write }: Endpoints): void {
  write(commandStreamingPipeline, async ({ tx, scope, params, body }) => {
    const { projectId, streamingPipelineId } = params;
    const command = requireWord(streamingCommands, body.command, 'command');
    const stored = await lockStreamingPipeline(tx, scope, projectId, streamingPipelineId);
    const move = moves[command][stored.status];
    if (move.problem !== undefined) throw problem(move.problem, { name: stored.name });
    updateStreamingStatus(tx, scope, projectId, stored.streaming_pipeline_id, move.to);
    const [before, after] = [{ status: stored.status }, { status: move.to }];
    return {
      body: { ...after, ...presentProblem(stored) },
      events: [buildStreamingEvent('streaming-pipeline-stopped', projectId, stored, { before, after })],
    };
  });
}

/** What the body writes. Throws `streaming-definition`, `unknown-agent` and `streaming-agent-type`. */
async function readWritten(tx: Transaction, scope: Scope, body: StreamingPipelineBody) {
  const { source, target, advancedProperties } = readDefinition(body);
  const agentId = body.agentId === undefined ? null : await requireStreamingAgent(tx, scope, body.agentId);
  return {
    name: body.name,
    agent_id: agentId,
    source,
    target,
    advanced_properties: advancedProperties,
    has_agent: true,
  };
}

/** Throws `vault-name-not-granted` and `too-many-vault-names`. */
function requireStreamingNames(
  call: { tx: Transaction; scope: Scope; now: Date },
  projectId: string,
  { agent_id: agentId, source, target }: StreamingPipelineRow,
): Promise<AccountEvent[]> {
  const names = listVaultNames([source, target]);
  return requireVaultNames(call, { projectId, agentId, names, orReference: true });
}

function buildStreamingEvent(
  name: AccountEvent['name'],
  projectId: string,
  row: StreamingPipelineRow,
  states: { before?: object; after?: object },
): AccountEvent {
  const subject = { type: 'streaming-pipeline', id: row.streaming_pipeline_id, name: row.name };
  return { name, projectId, subject, ...states };
}

type Move =
  | { to: StreamingStatus; problem?: undefined }
  | { problem: 'streaming-not-supported' | 'streaming-pipeline-not-running' };

/** What a command does in each state. */
const moves: Readonly<Record<StreamingCommand, Readonly<Record<StreamingStatus, Move>>>> = {
  START: {
    stopped: { problem: 'streaming-not-supported' },
    running: { problem: 'streaming-not-supported' },
  },
  STOP: {
    stopped: { problem: 'streaming-pipeline-not-running' },
    running: { to: 'stopped' },
  },
};
