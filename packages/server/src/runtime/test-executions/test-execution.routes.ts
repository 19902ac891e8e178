import { cancelTestExecution, getTestExecution, startTestExecution } from '@headgate/contract';
import { chooseVersions } from '../../delivery/shared-pipelines/index.ts';
import { type Database, requireRow } from '../../kernel/database/database.ts';
import type { AccountEvent } from '../../kernel/database/events.ts';
import type { Wakes } from '../../kernel/database/wakes.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { problem } from '../../kernel/http/problems.ts';
import { readTimeOfId, toUuid } from '../../kernel/identifiers.ts';
import { type QueueLimit, requireQueuePlace } from '../../kernel/work/queued-runs.ts';
import {
  describeCancellation,
  endWork,
  enqueueWork,
  sendCommand,
  type WorkTimes,
} from '../../kernel/work/work.ts';
import { requireBudget } from '../../records/budgets/index.ts';
import { requirePermissionIn } from '../../workspace/environments/index.ts';
import { createPlaceParameters, requireAgent, requireVersion, whatStartNeeds } from '../executions/index.ts';
import { chooseTests, requireListOfScope } from './test-choice.ts';
import {
  closeTestResults,
  insertTestExecution,
  presentTestExecution,
  requireTestExecution,
  setTestExecutionStatus,
  subjectName,
  testExecutionById,
  testedPipelines,
} from './test-execution.store.ts';

export interface TestExecutionServices {
  database: Database;
  wakes: Wakes;
  times: WorkTimes;
  config: QueueLimit;
}

export function testExecutionRoutes({ read, write }: Endpoints, services: TestExecutionServices): void {
  write(startTestExecution, async ({ tx, rows, scope, params, body, now, newId }) => {
    requireListOfScope(body);
    const { projectId } = params;
    const { environmentName, executionTag } = body;
    const [found] = await rows(whatStartNeeds, createPlaceParameters(body, services.config));
    const { row, version } = requireVersion(found, body);
    requireBudget(row.budget_stop, now);
    requireQueuePlace(row.queued_runs, environmentName, services.config);
    const pipelines = await rows(testedPipelines, { manifest_digest: version.manifestDigest });
    const tests = chooseTests(body, { name: version.name, pipelines });
    const agentId = requireAgent(row, body);
    const sharedArtifacts = await chooseVersions(services.database.read, scope, row.uses ?? []);
    const testExecutionId = newId();
    const execution = {
      testExecutionId,
      projectId,
      environmentName,
      scope: body.scope,
      versionName: version.name,
      manifestDigest: version.manifestDigest,
      agentId,
      executionTag,
    };
    const { user_name: userName } = row;
    const made = { ...execution, userName, sharedArtifacts, tests };
    insertTestExecution(tx, scope, made, readTimeOfId(testExecutionId));
    const work = {
      account_id: scope.accountId,
      work_id: testExecutionId,
      project_id: projectId,
      environment_name: environmentName,
      agent_id: agentId,
      kind: 'test-execution',
      name: subjectName,
      requested_by: scope.actorId,
    };
    enqueueWork(tx, work, now);
    // Wake all waiting instances: some may be too old for this work.
    tx.afterCommit(() => services.wakes.wake(agentId, 'all'));
    return {
      body: { testExecutionId },
      location: `/v1/projects/${projectId}/test-executions/${testExecutionId}`,
      events: [
        {
          name: 'test-execution-requested',
          projectId,
          environmentName,
          subject: { type: 'test-execution', id: testExecutionId, name: subjectName },
          after: { ...execution, status: 'RUNNING', tests: tests.length },
        },
      ],
    };
  });

  read(getTestExecution, async ({ params, rows }) => {
    const id = params.testExecutionId;
    const row = requireRow(await rows(testExecutionById, { test_execution_id: toUuid(id) }), () =>
      problem('test-execution-not-found', { id }),
    );
    return { body: presentTestExecution(row) };
  });

  write(cancelTestExecution, async ({ tx, scope, params, body, now }) => {
    const { projectId, testExecutionId: id } = params;
    const { accountId } = scope;
    const command = body.forceUpdate ? 'force-cancel' : 'cancel';
    const [work] = await sendCommand(tx, scope, [toUuid(id)], command, now, services.times);
    const execution = await requireTestExecution(tx, scope, projectId, id);
    const { permission } = cancelTestExecution;
    await requirePermissionIn(tx, scope, projectId, execution.environment_name, permission, now);
    if (work === undefined) throw problem('tests-ended', { id, status: execution.status });
    // No agent holds the work, so the cancellation takes effect at once.
    const hasEnded = work.state === 'queued';
    if (hasEnded) {
      endWork(tx, accountId, [id], now);
      closeTestResults(tx, accountId, [id], 'CANCELLED');
    }
    const status = hasEnded ? 'CANCELLED' : execution.status === 'RUNNING' ? 'CANCELLING' : execution.status;
    const message = hasEnded
      ? `${describeCancellation(work.command_by ?? undefined)} before an agent claimed it.`
      : undefined;
    if (status !== execution.status) setTestExecutionStatus(tx, accountId, { id, status, message }, now);
    if (!hasEnded) tx.afterCommit(() => services.wakes.wake(work.agent_id, 'all'));
    const change = {
      projectId,
      environmentName: execution.environment_name,
      subject: { type: 'test-execution', id, name: subjectName },
      before: { status: execution.status },
      after: { status, command },
    };
    const events: AccountEvent[] = [{ name: 'test-execution-cancel-requested', ...change }];
    if (hasEnded) events.push({ name: 'test-execution-ended', ...change });
    return { body: { testExecutionId: id }, events };
  });
}
