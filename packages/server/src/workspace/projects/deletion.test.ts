/** Deleting a project deletes everything in it and ends its runs; its events remain. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AccountEventItem, claimLimit, type Operation, operations, type Page } from '@headgate/contract';
import { createInstance, type Instance } from '../../../testing/agent.ts';
import { createCheckingAgent } from '../../../testing/checking-agent.ts';
import { requireProblem } from '../../../testing/client.ts';
import { examples } from '../../../testing/guards.ts';
import { listOwnedTables, type OwnedTable, readRows } from '../../../testing/owned-tables.ts';
import { createPlace, type Place } from '../../../testing/place.ts';
import { createQueryingAgent } from '../../../testing/querying-agent.ts';
import { patientRequests, startTestServer } from '../../../testing/server.ts';

const server = await startTestServer(patientRequests);

async function startIn({ account, agent, project }: Place, environmentName = 'dev'): Promise<string> {
  const body = { pipelineName: 'main', environmentName, agentId: agent.agentId };
  const answer = await account.admin.post<{ pipelineExecutionId: string }>(
    `${project.path}/pipeline-executions`,
    body,
  );
  return answer.body.pipelineExecutionId;
}

async function startWork(
  place: Place,
): Promise<{ instance: Instance; held: { workId: string; epoch: number } }> {
  const id = await startIn(place);
  const instance = createInstance(place.agent);
  // The examples left other work.
  const work = (await instance.claim(claimLimit)).work.find(
    ({ payload }) => payload.pipelineExecutionId === id,
  );
  assert.ok(work);
  const held = { workId: work.workId, epoch: work.epoch };
  await instance.report(held, { type: 'started' });
  const now = new Date().toISOString();
  const step = {
    stepId: server.deps.newId(),
    pipelineRunId: work.workId,
    name: 'Start',
    componentType: 'start',
  };
  await instance.report(held, {
    type: 'progress',
    steps: [{ ...step, status: 'RUNNING', startedAt: now }],
    lines: [{ sequence: 1, timestamp: now, stepId: step.stepId, stream: 'component', text: 'a line' }],
    variables: [{ pipelineRunId: work.workId, variables: [] }],
  });
  return { instance, held };
}

/** Fills every table that a project owns, mostly by the examples of operations that create something in it. */
async function fillTables(place: Place): Promise<void> {
  const { account, project } = place;
  const roles = [{ projectId: project.projectId, environmentName: 'dev', role: 'OPERATOR' as const }];
  await account.actor('MEMBER', ...roles);
  await account.admin.post('/invitations', { userName: place.named('ada'), roles });
  const connection = {
    platformConnectionType: 'COMPONENT_BASIC',
    authProvider: 'NONE',
    authType: 'GENERIC_SECRET',
  };
  await account.admin.post(`${project.path}/connections`, { name: 'reader', ...connection });
  const reference = { type: 'PASSWORD', secretName: 's' };
  await account.admin.post(`${project.path}/secret-references/reader`, reference);
  const checking = await createCheckingAgent(account);
  const answered = checking.answerNext(() => ({ finding: 'RESOLVED' }));
  const check = { agentId: checking.agentId, secretReferenceNames: ['reader'] };
  assert.equal((await account.admin.post(`${project.path}/secret-references/check`, check)).status, 200);
  await answered;
  const querying = await createQueryingAgent(account, place.named('lima'));
  const rows = querying.answerNext({ columns: [], rows: [], isCut: false });
  const query = { environmentName: 'dev', sql: 'select 1', agentId: querying.agentId };
  assert.equal((await account.admin.post(`${project.path}/warehouse-queries`, query)).status, 200);
  await rows;
  const warehouse = { name: 'wh', platformConnectionType: 'dwh', authProvider: 'duckdb', authType: 'none' };
  await account.admin.post(`${project.path}/data-platform-connections`, warehouse);
  const environment = {
    name: 'furnished',
    defaultConnections: { DWH: { DUCKDB: 'wh' } },
    connectionOverrides: [{ connectionName: 'wh', connectionProperties: { schema: { value: 'main' } } }],
  };
  assert.equal((await account.admin.post(`${project.path}/environments`, environment)).status, 201);
  const connectionOverrides = { connectionProperties: { secretName: 's' } };
  const override = {
    environmentName: 'dev',
    connectionName: 'reader',
    authType: connection.authType,
    connectionOverrides,
  };
  assert.equal(
    (await account.admin.post(`${project.path}/connections/environment-overrides`, override)).status,
    201,
  );
  const body = { projects: { [project.projectId]: { environments: ['dev'] } } };
  const list = `/agents/${place.agent.agentId}/allowlist`;
  assert.equal((await account.admin.send('PATCH', list, { body })).status, 200);
  await account.user(undefined, { projectId: project.projectId, role: 'VIEWER' });
  for (const { id } of operations.filter(createsInProject)) {
    const { path, ...asked } = (await examples[id]?.(place)) ?? { path: '' };
    assert.equal((await account.admin.send('POST', path, asked)).status, 201, id);
  }
  await server.database.query(
    `insert into alert (account_id, alert_rule_id, alert_id, cause, reason, environment_name, pipeline_name, raised_at)
     select account_id, alert_rule_id, gen_random_uuid(), 'x', 'x', 'dev', 'main', now() from alert_rule where project_id = $1`,
    [project.projectId],
  );
  await server.database.query(
    `insert into confirmation_day (account_id, project_id, day, mails)
     select account_id, project_id, current_date, 1 from project where project_id = $1`,
    [project.projectId],
  );
  await server.database.query(
    `insert into alert_mail (account_id, mail_id, project_id, recipient, subject, body, state, created_at)
     select a.account_id, a.alert_id, r.project_id, 'a@example.com', 'x', 'x', 'sent', now()
     from alert a join alert_rule r using (account_id, alert_rule_id) where r.project_id = $1`,
    [project.projectId],
  );
  await server.database.query(
    `insert into secret_write (account_id, write_id, agent_id, key_id, jti, name, type, sealed_sha256, status, created_at, project_id)
     select account_id, gen_random_uuid(), $2, 'x', gen_random_uuid(), 'x', 'PASSWORD', 'x', 'WRITTEN', now(), project_id
     from project where project_id = $1`,
    [project.projectId, place.agent.agentId],
  );
  const budget = { body: { monthlyCredits: 10 } };
  assert.equal((await account.admin.send('PUT', `${project.path}/budget`, budget)).status, 200);
  await server.database.query(
    `with run as (
       insert into pipeline_lineage (account_id, project_id, environment_name, pipeline_name, run_id, execution_id, version_name,
         finished_at, digest)
       select account_id, project_id, 'dev', 'main.orch.yaml', gen_random_uuid(), gen_random_uuid(), '1', now(), 'x'
       from project where project_id = $1 returning *
     ), used as (
       insert into dataset_use (account_id, project_id, environment_name, pipeline_key, is_write, dataset)
       select account_id, project_id, environment_name, pipeline_key, true, 'warehouse:t' from run
     )
     insert into column_use (account_id, project_id, environment_name, pipeline_key, dataset, field, to_dataset)
     select account_id, project_id, environment_name, pipeline_key, 'warehouse:s', 'a', 'warehouse:t' from run`,
    [project.projectId],
  );
  await server.database.query(
    `insert into step_lineage (account_id, execution_id, step_id, pipeline_run_id, lineage, characters)
     select account_id, execution_id, gen_random_uuid(), execution_id, '{}', 2 from pipeline_execution where project_id = $1 limit 1`,
    [project.projectId],
  );
  const oauth = { clientId: 'x', clientSecret: 'x', tenantId: 'x', projects: [project.projectId] };
  await account.admin.post('/enterprise-oauths', {
    ...{ name: place.named('oauth'), provider: 'azure-devops', ...oauth },
  });
  await server.database.query(
    `insert into alert_mail_part (account_id, alert_id, recipient, mail_id)
     select m.account_id, m.mail_id, m.recipient, m.mail_id from alert_mail m where m.project_id = $1`,
    [project.projectId],
  );
  const agentConfig = { name: 'data_engineer_agent', projectId: project.projectId };
  const request = {
    agentConfig,
    message: 'List the pipelines.',
    grantedPermissions: [{ toolName: 'write_file' }],
  };
  const task = await account.admin.post<{ taskId: string }>('/ai/agents/tasks', request);
  await account.waitingCall(task.body.taskId);
  await account.endTaskWithEdit(task.body.taskId);
  await server.database.query(
    `insert into ai_run (account_id, task_id, execution_id, kind, started_at)
     select account_id, task_id, gen_random_uuid(), 'PIPELINE', now() from ai_task where task_id = $1`,
    [task.body.taskId],
  );
  await server.database.query(
    `insert into ai_turn (account_id, task_id, turn, group_id, status, through_position, sender_id, attempts, started_at)
     select account_id, task_id, 1, gen_random_uuid(), 'ANSWERED', 1, creator_id, 1, now() from ai_task where task_id = $1`,
    [task.body.taskId],
  );
  await server.database.query(
    `insert into agent_request (account_id, request_id, kind, project_id, name, request, state, created_at, expires_at)
     select account_id, gen_random_uuid(), 'connector-test', project_id, 'x', '{}', 'ANSWERED', now(), now() from project where project_id = $1`,
    [project.projectId],
  );
  const ofRepository = [
    `delivery_rule (account_id, project_id, branch_name, environment_name, written_by, written_at)
     select account_id, project_id, 'main', 'dev', created_by, now()`,
    `git_review (account_id, project_id, branch_name, touched_at) select account_id, project_id, 'main', now()`,
    `git_hook_delivery (account_id, project_id, delivery_id, received_at) select account_id, project_id, 'x', now()`,
    `repository_write (account_id, project_id, write_id, moves, actor_id, actor_kind, begun_at, lease_until)
     select account_id, project_id, gen_random_uuid(), '[]', created_by, 'credential', now(), now()`,
    `repository_migration (account_id, project_id, migration_id, mode, status, phase, target_provider, target_name,
       target_clone_url, provider_parameters, overwrite, requested_by, created_at)
     select account_id, project_id, gen_random_uuid(), 'RECONFIGURE', 'COMPLETED', 'SWITCHING', 'github', 'x', 'x', '{}',
       false, created_by, now()`,
  ];
  for (const rows of ofRepository)
    await server.database.query(`insert into ${rows} from repository where project_id = $1`, [
      project.projectId,
    ]);
}

function createsInProject({ method, path, success }: Operation): boolean {
  return method === 'POST' && success.status === 201 && path.startsWith('/v1/projects/{projectId}/');
}

async function countRows(tables: readonly OwnedTable[], projectId: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of tables) counts[table.name] = await readRows(server.database, table, projectId);
  return counts;
}

test('deleting a project deletes all its rows, and none of another project', async () => {
  const place = await createPlace(await server.account());
  const other = { ...place, project: (await createPlace(place.account)).project };
  for (const each of [place, other]) {
    await fillTables(each);
    await startWork(each);
  }
  const tables = await listOwnedTables(server.database);
  assert.ok(tables.length >= 10, 'tables with a project key exist');
  const { projectId, path } = place.project;
  const before = await countRows(tables, projectId);
  const empty = Object.keys(before).filter((name) => before[name] === 0);
  assert.deepEqual(empty, [], 'each table that a project owns has a row in this test: see fillTables()');
  const others = await countRows(tables, other.project.projectId);

  assert.equal((await place.account.admin.delete(path)).status, 204);
  const left = await countRows(tables, projectId);
  assert.deepEqual(
    Object.keys(left).filter((name) => left[name] !== 0),
    [],
  );
  assert.deepEqual(await countRows(tables, other.project.projectId), others);
  requireProblem(await place.account.admin.get(path), 404, 'project-not-found');
});

test('deleting a project ends its work, notifies the agent, and is logged', async () => {
  const place = await createPlace(await server.account());
  const { admin } = place.account;
  const { instance, held } = await startWork(place);
  const queued = await startIn(place);
  await admin.delete(place.project.path);

  assert.deepEqual(await instance.heartbeat(held), [{ ...held, state: 'lost' }]);
  assert.deepEqual((await instance.claim()).work, [], 'queued work is not claimed any more');
  const late = await instance.report(held, { type: 'completed', outcome: { status: 'SUCCESS' } });
  assert.ok(!late.accepted && late.code === 'work-not-found');
  const range = 'from=2020-01-01T00:00:00.000Z&to=2100-01-01T00:00:00.000Z';
  const { body } = await admin.get<Page<AccountEventItem>>(
    `/events?${range}&projectId=${place.project.projectId}&size=100`,
  );
  const names = body.results.map((event) => event.eventName);
  assert.equal(names[0], 'project-deleted');
  assert.ok(names.includes('project-created') && names.includes('variable-created'), 'earlier events remain');
  const outcomes = body.results.filter((event) => event.eventName === 'pipeline-execution-ended');
  assert.deepEqual(new Set(outcomes.map((event) => event.eventSubjectId)), new Set([held.workId, queued]));
  for (const { additionalInfo, actorId } of outcomes) {
    assert.deepEqual(additionalInfo.after, { status: 'CANCELLED', message: 'The project was deleted.' });
    assert.equal(actorId, admin.actorId);
  }
});

test('a deletion with If-Match is refused if the project has changed', async () => {
  const place = await createPlace(await server.account());
  const { admin } = place.account;
  const { etag } = await admin.get(place.project.path);
  await admin.patch(place.project.path, { description: 'changed after the read' });
  const refused = await admin.delete(place.project.path, { headers: { 'if-match': etag } });
  requireProblem(refused, 412, 'etag-mismatch');
  const current = (await admin.get(place.project.path)).etag;
  assert.equal((await admin.delete(place.project.path, { headers: { 'if-match': current } })).status, 204);
});

test('the name of a deleted project can be used again, and the new project is empty', async () => {
  const account = await server.account();
  const expected = { name: 'Sales', warehouse: 'DUCKDB', agentDeploymentType: 'HYBRID' };
  const make = async () =>
    (await account.admin.post<{ projectId: string }>('/projects', expected)).body.projectId;
  const first = await make();
  await account.admin.post(`/projects/${first}/variables`, {
    name: 'city',
    type: 'TEXT',
    behaviour: 'SHARED',
  });
  await account.admin.delete(`/projects/${first}`);
  const second = await make();
  const { body } = await account.admin.get<Page<unknown>>(`/projects/${second}/variables`);
  assert.deepEqual(body.results, []);
});

test('deleting an environment cancels its work and deletes its rows, but none of another environment', async () => {
  const place = await createPlace(await server.account());
  const { admin } = place.account;
  const { path } = place.project;
  await fillTables(place);
  const { instance, held } = await startWork(place);
  const queued = await startIn(place);
  assert.equal((await admin.delete(`${path}/environments/dev?confirm=true`)).status, 204);

  assert.deepEqual(await instance.heartbeat(held), [{ ...held, state: 'held', command: 'force-cancel' }]);
  await instance.report(held, { type: 'completed', outcome: { status: 'CANCELLED' } });
  server.clock.advance(1);
  await server.sweep();
  for (const id of [held.workId, queued]) {
    const { body } = await admin.get<{ status: string }>(`${path}/pipeline-executions/${id}/status`);
    assert.equal(body.status, 'CANCELLED', 'executions can still be read');
  }
  requireProblem(await admin.get(`${path}/environments/dev`), 404, 'environment-not-found');
  assert.equal((await admin.get(`${path}/environments/prod`)).status, 200);
  for (const table of ['variable_override', 'connection_override', 'artifact_version']) {
    const rows = await server.database.query(
      `select from ${table} where project_id = $1 and environment_name = 'dev'`,
      [place.project.projectId],
    );
    assert.equal(rows.length, 0, table);
  }
  const grants = await server.database.query(
    'select from role_grant where project_id = $1 and environment_name is not null',
    [place.project.projectId],
  );
  assert.equal(grants.length, 0);
});
