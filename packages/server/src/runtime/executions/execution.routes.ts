import {
  cancelPipelineExecution,
  getPipelineExecution,
  getPipelineExecutionStatus,
  listPipelineExecutionSteps,
  listPipelineExecutions,
  startPipelineExecution,
} from '@headgate/contract';
import { renderPipelinePath } from '../../delivery/artifacts/index.ts';
import { chooseVersions } from '../../delivery/shared-pipelines/index.ts';
import { type Database, requireRow } from '../../kernel/database/database.ts';
import type { Wakes } from '../../kernel/database/wakes.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { makeEntityTag } from '../../kernel/http/if-match.ts';
import { computePageBounds, makePagingToken, readPagingToken } from '../../kernel/http/paging.ts';
import { createTokenProblem, problem } from '../../kernel/http/problems.ts';
import { isUuid, readTimeOfId, toUuid } from '../../kernel/identifiers.ts';
import { type QueueLimit, requireQueuePlace } from '../../kernel/work/queued-runs.ts';
import { enqueueWork, sendCommand, type WorkTimes } from '../../kernel/work/work.ts';
import { requirePermissionIn } from '../../workspace/environments/index.ts';
import { createStartParameters, requireStart, whatStartNeeds } from './execution.start.ts';
import { recordCancellations } from './execution-cancel.ts';
import {
  executionById,
  executionStatus,
  insertExecution,
  presentDetail,
  presentExecution,
  requireExecution,
} from './store/execution.store.ts';
import { computeIdBounds, listExecutions } from './store/execution-list.store.ts';
import { presentStep, stepsOfRun } from './store/execution-step.store.ts';

export interface ExecutionServices {
  database: Database;
  wakes: Wakes;
  times: WorkTimes;
  config: QueueLimit;
}

import { findStart } from './time-frame.ts';

export function executionRoutes({ read, write }: Endpoints, services: ExecutionServices): void {
  write(startPipelineExecution, async ({ tx, rows, scope, params, body, now, newId }) => {
    const { projectId } = params;
    const { environmentName, executionTag } = body;
    const scalarVariables = body.scalarVariables ?? {};
    const gridVariables = body.gridVariables ?? {};
    const [found] = await rows(whatStartNeeds, createStartParameters(body, services.config));
    const { version, pipeline, agentId, userName, uses, queuedRuns } = requireStart(found, body);
    requireQueuePlace(queuedRuns, environmentName, services.config);
    const sharedArtifacts = await chooseVersions(services.database.read, scope, uses);
    const executionId = newId();
    const execution = {
      executionId,
      projectId,
      environmentName,
      pipelineName: renderPipelinePath(pipeline),
      pipelineType: pipeline.type,
      versionName: version.name,
      manifestDigest: version.manifestDigest,
      agentId,
      executionTag,
      ...(sharedArtifacts.length === 0 ? {} : { sharedArtifacts }),
    };
    insertExecution(
      tx,
      scope,
      { ...execution, userName, scalarVariables, gridVariables },
      readTimeOfId(executionId),
    );
    const work = {
      account_id: scope.accountId,
      work_id: executionId,
      project_id: projectId,
      environment_name: environmentName,
      agent_id: agentId,
      name: execution.pipelineName,
      requested_by: scope.actorId,
    };
    enqueueWork(tx, { ...work, kind: 'pipeline-execution' }, now);
    tx.afterCommit(() => services.wakes.wake(agentId, 'one'));
    return {
      body: { pipelineExecutionId: executionId },
      location: `/v1/projects/${projectId}/pipeline-executions/${executionId}`,
      events: [
        {
          name: 'pipeline-execution-requested',
          projectId,
          environmentName,
          subject: { type: 'pipeline-execution', id: executionId, name: execution.pipelineName },
          after: { ...execution, status: 'RUNNING' },
        },
      ],
    };
  });

  read(listPipelineExecutions, async ({ query, rows, now }) => {
    const startedAfter = findStart(query, now);
    const { limit } = computePageBounds({ page: 0, size: query.limit });
    const after = query.paginationToken === undefined ? undefined : requireIdInToken(query.paginationToken);
    const parameters = {
      in_project_id: query.projectId ?? null,
      environment_name: query.environmentName ?? null,
      name_part: query.pipelineName?.toLowerCase() ?? null,
      statuses: query.status ?? null,
      started_after: startedAfter ?? null,
      started_before: query.startedBefore ?? null,
      ...computeIdBounds(startedAfter, query.startedBefore, after),
      limit: limit + 1,
    };
    const found = await listExecutions(rows, query, parameters);
    const shown = found.slice(0, limit);
    const last = shown.at(-1);
    const more =
      found.length > limit && last !== undefined ? { more: makePagingToken(last.execution_id) } : {};
    return { body: { results: shown.map(presentExecution), ...more } };
  });

  read(getPipelineExecution, async ({ params, rows }) => {
    const id = params.pipelineExecutionId;
    const row = requireRow(await rows(executionById, { run_id: toUuid(id) }), () =>
      problem('execution-not-found', { id }),
    );
    const execution = presentDetail(row);
    return {
      body: { ...execution, result: execution },
      etag: makeEntityTag(id, row.status),
    };
  });

  read(getPipelineExecutionStatus, async ({ params, rows }) => {
    const id = params.pipelineExecutionId;
    const row = requireRow(await rows(executionStatus, { run_id: toUuid(id) }), () =>
      problem('execution-not-found', { id }),
    );
    return { body: { status: row.status } };
  });

  read(listPipelineExecutionSteps, async ({ params, query, page }) => {
    const id = params.pipelineExecutionId;
    const { limit, offset } = computePageBounds(query);
    const { rows, total } = await page(stepsOfRun, { run_id: toUuid(id), limit, offset });
    if (total === null) throw problem('execution-not-found', { id });
    return { body: { page: query.page, results: rows.map(presentStep), size: limit, total } };
  });

  write(cancelPipelineExecution, async ({ tx, scope, params, body, now }) => {
    const id = params.pipelineExecutionId;
    const { projectId } = params;
    const command = body.forceUpdate ? 'force-cancel' : 'cancel';
    const [work] = await sendCommand(tx, scope, [toUuid(id)], command, now, services.times);
    const execution = await requireExecution(tx, scope, projectId, id);
    await requirePermissionIn(
      tx,
      scope,
      projectId,
      execution.environment_name,
      cancelPipelineExecution.permission,
      now,
    );
    if (work === undefined) throw problem('execution-ended', { id, status: execution.status });
    const run = {
      id: work.work_id,
      projectId,
      environmentName: execution.environment_name,
      pipelineName: execution.pipeline_name,
      status: execution.status,
      work,
    };
    const events = recordCancellations(tx, scope, [run], { command, now, wakes: services.wakes });
    return { body: { pipelineExecutionId: id }, events };
  });
}

function requireIdInToken(token: string): string {
  const id = readPagingToken(token);
  if (id !== undefined && isUuid(id)) return id;
  throw createTokenProblem();
}
