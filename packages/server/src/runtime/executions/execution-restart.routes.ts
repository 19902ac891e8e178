/** Restarts an execution: another one that continues where it ended. */
import { fromFailed, restartPipelineExecution } from '@headgate/contract';
import { createVersionProblem } from '../../delivery/artifacts/index.ts';
import { requireRow } from '../../kernel/database/database.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { type Problem, problem, withViolations } from '../../kernel/http/problems.ts';
import { readTimeOfId, toUuid } from '../../kernel/identifiers.ts';
import { requireQueuePlace } from '../../kernel/work/queued-runs.ts';
import { enqueueWork } from '../../kernel/work/work.ts';
import { requireBudget } from '../../records/budgets/index.ts';
import { findStepDays, type KeptDays } from './execution.retention.ts';
import type { ExecutionServices } from './execution.routes.ts';
import type { Repeated } from './restart/restart-effects.ts';
import { planRestart } from './restart/restart-plan.ts';
import { insertExecution } from './store/execution.store.ts';
import { type EndedRow, endedExecution, readRecords } from './store/execution-restart.store.ts';

/** Components that the detail of a problem names, and those in its violations. */
const namedLimit = 10;
const violationLimit = 100;

const dayMilliseconds = 86_400_000;

export function executionRestartRoutes(
  { write }: Endpoints,
  services: ExecutionServices,
  retained: KeptDays,
): void {
  const stepDays = findStepDays(retained);
  write(restartPipelineExecution, async ({ tx, rows, scope, params, body, now, newId }) => {
    const { projectId, pipelineExecutionId: id } = params;
    const { from = fromFailed, acceptEffects = [] } = body;
    const parameters = { run_id: toUuid(id), queue_limit: services.config.queuedRuns };
    const base = requireRow(await rows(endedExecution, parameters), () =>
      problem('execution-not-found', { id }),
    );
    requireRestartable(base, id);
    requireKeptSteps(base, id, stepDays, now);
    requireBudget(base.budget_stop, now);
    requireQueuePlace(base.queued_runs, base.environment_name, services.config);
    const restartOf = base.execution_id;
    const records = await readRecords(services.database.read, scope.accountId, restartOf);
    if (records === undefined)
      throw problem('execution-not-restartable', {
        id,
        reason: 'the records of its steps are larger than 32 MB',
      });
    const planned = planRestart(
      {
        id: restartOf,
        pipelineName: base.pipeline_name,
        ...records,
        base: base.restart ?? undefined,
        isLost: base.agent_lost,
      },
      from === fromFailed ? undefined : from,
    );
    if ('unknown' in planned)
      throw problem('unknown-restart-component', { name: planned.unknown, id, nearest: planned.nearest });
    if ('reason' in planned) throw problem('execution-not-restartable', { id, reason: planned.reason });
    requireAccepted(planned.repeated, acceptEffects);
    const executionId = newId();
    const execution = {
      executionId,
      projectId,
      environmentName: base.environment_name,
      pipelineName: base.pipeline_name,
      pipelineType: base.pipeline_type,
      versionName: base.version_name,
      manifestDigest: base.manifest_digest,
      agentId: base.agent_id,
      executionTag: base.execution_tag ?? undefined,
      restartOf,
    };
    tx.onConstraint('pipeline_execution_restarted_once', () =>
      problem('execution-not-restartable', { id, reason: 'it was restarted by another request' }),
    );
    insertExecution(
      tx,
      scope,
      {
        ...execution,
        userName: base.user_name,
        scalarVariables: base.scalar_variables,
        gridVariables: base.grid_variables,
        ...(base.shared_artifacts === null ? {} : { sharedArtifacts: base.shared_artifacts }),
        restart: planned.plan,
        ...(base.schedule_id === null || base.schedule_tick === null
          ? {}
          : { ofSchedule: { id: base.schedule_id, tick: base.schedule_tick } }),
      },
      readTimeOfId(executionId),
    );
    const work = {
      account_id: scope.accountId,
      work_id: executionId,
      project_id: projectId,
      environment_name: base.environment_name,
      agent_id: base.agent_id,
      name: base.pipeline_name,
      requested_by: scope.actorId,
    };
    enqueueWork(tx, { ...work, kind: 'pipeline-execution', ability: 'restarted-execution' }, now);
    // Some waiting instances may be too old for it.
    tx.afterCommit(() => services.wakes.wake(base.agent_id, 'all'));
    return {
      body: { pipelineExecutionId: executionId, restartOf },
      location: `/v1/projects/${projectId}/pipeline-executions/${executionId}`,
      events: [
        {
          name: 'pipeline-execution-requested',
          projectId,
          environmentName: base.environment_name,
          subject: { type: 'pipeline-execution', id: executionId, name: base.pipeline_name },
          after: { ...execution, from, status: 'RUNNING' },
        },
      ],
    };
  });
}

/** Throws `execution-not-restartable`, `artifact-not-found`, `artifact-disabled` and `unknown-agent`. */
function requireRestartable(outcome: EndedRow, id: string): void {
  const {
    status,
    restarted_by: other,
    environment_name: environmentName,
    version_name: versionName,
  } = outcome;
  if (status !== 'FAILED' && status !== 'CANCELLED')
    throw problem('execution-not-restartable', {
      id,
      reason: `its status is ${status}; only one that is FAILED or CANCELLED can be restarted`,
    });
  if (other !== null)
    throw problem('execution-not-restartable', {
      id,
      reason: `it was restarted by the execution ${other}: restart that one`,
    });
  if (outcome.enabled === null) throw createVersionProblem(environmentName, versionName);
  if (!outcome.enabled) throw problem('artifact-disabled', { versionName, environmentName });
  if (!outcome.has_agent) throw problem('unknown-agent', { id: outcome.agent_id });
}

/** Retention may have deleted some of its steps. Throws `execution-not-restartable`. */
function requireKeptSteps(
  { finished_at: finishedAt }: EndedRow,
  id: string,
  days: number | undefined,
  now: Date,
): void {
  if (days === undefined || finishedAt === null) return;
  if (now.getTime() - finishedAt.getTime() < days * dayMilliseconds) return;
  const reason = `it ended more than ${days} days ago, and its steps are not kept for longer: start the pipeline again`;
  throw problem('execution-not-restartable', { id, reason });
}

/** Throws `restart-repeats-effects`. */
function requireAccepted(repeated: readonly Repeated[], accepted: readonly string[]): void {
  const left = repeated.filter(({ component }) => !accepted.includes(component));
  if (left.length > 0) throw createRepeatsProblem(left);
}

function createRepeatsProblem(repeated: readonly Repeated[]): Problem {
  const components = repeated.slice(0, namedLimit).map(({ component }) => component);
  const about = { components, more: repeated.length - components.length };
  const violations = repeated.slice(0, violationLimit).map(({ component, why }) => ({
    field: 'body.acceptEffects',
    pointer: '/body/acceptEffects',
    detail: `${JSON.stringify(component)} ${why}`,
  }));
  return withViolations(problem('restart-repeats-effects', about), violations);
}
