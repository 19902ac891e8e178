/**
 * Checks every operation with every role, in the caller's own and in another account, against the table of
 * decisions.md §3, which testing/permission-rows.ts repeats.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type AccountRole,
  accountRoles,
  type EnvironmentRole,
  environmentRoles,
  type Grant,
  isOfProject,
  type Operation,
  operations,
  permissions,
  projectRoles,
} from '@headgate/contract';
import type { Actor, Grant as RoleGrant } from '../../testing/account.ts';
import { type Answer, requireProblem } from '../../testing/client.ts';
import { examples, permissionRowOf, takesPlaceAway } from '../../testing/guards.ts';
import { type PermissionRow, permissionRows } from '../../testing/permission-rows.ts';
import { createPlace, type Example, type Place } from '../../testing/place.ts';
import { isInTurn, testSeed } from '../../testing/rounds.ts';
import { startTestServer } from '../../testing/server.ts';

const server = await startTestServer();
const shown = operations.filter((operation) => operation.surface === 'dpc');
const never = '01890000-0000-7000-8000-000000000000';

function findRow({ id }: Operation): PermissionRow {
  const name = permissionRowOf[id];
  assert.ok(
    name !== undefined,
    `no row of the permission table has ${id}: add it to the guards of its slice`,
  );
  return permissionRows[name];
}

type Standing = { in: 'nothing' } | { in: 'project' | 'dev' | 'prod' | 'another project'; role: string };
const standings: Standing[] = [
  { in: 'nothing' },
  { in: 'another project', role: 'OWNER' },
  ...projectRoles.map((role) => ({ in: 'project' as const, role })),
  ...environmentRoles.flatMap((role) => [
    { in: 'dev' as const, role },
    { in: 'prod' as const, role },
  ]),
];

/**
 * Whether an operation is checked with a standing. For a MEMBER, whose rights are only those of the standing:
 * always. For the other roles of an account: in turn.
 */
function isChecked(role: AccountRole, operation: number, standing: number, count: number): boolean {
  return role === 'MEMBER' || isInTurn(operation + standing, count, 3);
}

async function listGrants(standing: Standing, { account, project }: Place): Promise<RoleGrant[]> {
  if (standing.in === 'nothing') return [];
  const role = standing.role as 'OWNER';
  if (standing.in === 'another project') return [{ projectId: (await account.project()).projectId, role }];
  const { projectId } = project;
  return standing.in === 'project'
    ? [{ projectId, role }]
    : [{ projectId, environmentName: standing.in, role }];
}

async function makeRequest(operation: Operation, place: Place): Promise<Example> {
  const example = examples[operation.id];
  assert.ok(example, `no examples of a slice have a request for ${operation.id}`);
  return example(place);
}

async function send(
  operation: Operation,
  place: Place,
  actor: Pick<Actor, 'send'>,
  projectId?: string,
): Promise<Answer> {
  const { path, ...asked } = await makeRequest(operation, place);
  if (projectId === undefined) return actor.send(operation.method, path, asked);
  if (operation.projectFrom !== undefined) asked.body = { ...(asked.body as object), projectId };
  return actor.send(operation.method, path.replace(place.project.projectId, projectId), asked);
}

/** Members that could name another place than the one the operation declares. */
const strayNames = ['environmentName', 'targetEnvironmentName', 'environment', 'projectId', 'accountId'];

function makeStrays(
  operation: Operation,
  part: 'headers' | 'query' | 'body',
  place: Place,
  elsewhere: string,
) {
  const declared = Object.keys((operation[part] as { properties?: object } | undefined)?.properties ?? {});
  const own = new Set(declared.map((name) => name.toLowerCase()));
  return strayNames
    .filter((name) => !own.has(name.toLowerCase()))
    .map((name): [string, string] => [
      name,
      { projectId: elsewhere, accountId: place.account.accountId }[name] ?? 'prod',
    ]);
}

type StrayPart = 'headers' | 'query' | 'body';
/** Adds members to these parts of the request that name prod and another project. */
async function addStrays(
  operation: Operation,
  place: Place,
  parts: readonly StrayPart[],
  elsewhere: string,
): Promise<Example> {
  const { path, body, headers, ...rest } = await makeRequest(operation, place);
  const url = new URL(path, 'http://x');
  const of = (part: StrayPart) => (parts.includes(part) ? makeStrays(operation, part, place, elsewhere) : []);
  for (const [name, value] of of('query')) url.searchParams.set(name, value);
  const isObject =
    typeof body === 'object' && body !== null && !Buffer.isBuffer(body) && !Array.isArray(body);
  return {
    ...rest,
    path: url.pathname + url.search,
    body: isObject ? { ...Object.fromEntries(of('body')), ...body } : body,
    headers: { ...Object.fromEntries(of('headers')), ...headers },
  };
}

/** The expected result by the table; the requests are about dev. */
function findExpected(
  operation: Operation,
  role: AccountRole,
  standing: Standing,
): 'permitted' | 'forbidden' | 'unknown' {
  const expected = findExpectedByRow(operation, role, standing);
  const { alsoRequires } = operation;
  if (expected !== 'permitted' || alsoRequires === undefined) return expected;
  const { account }: Grant = permissions[alsoRequires];
  return account.includes(role) ? 'permitted' : 'forbidden';
}

function findExpectedByRow(
  operation: Operation,
  role: AccountRole,
  standing: Standing,
): 'permitted' | 'forbidden' | 'unknown' {
  const { account, project = [], environment = [] } = findRow(operation);
  if (account.includes(role)) return 'permitted';
  if (!isOfProject(operation)) return 'forbidden';
  const list: readonly string[] =
    standing.in === 'project' ? project : standing.in === 'dev' ? environment : [];
  if (standing.in !== 'nothing' && list.includes(standing.role)) return 'permitted';
  const stranger = standing.in === 'nothing' || standing.in === 'another project';
  return stranger && role !== 'SUPER_ADMIN' ? 'unknown' : 'forbidden';
}

function requireStanding(
  answer: Answer,
  standing: 'permitted' | 'forbidden' | 'unknown',
  what: string,
): void {
  if (standing === 'permitted') assert.ok(answer.status < 300, `${what} is permitted: ${answer.text}`);
  else if (standing === 'forbidden') assert.equal(answer.status, 403, `${what} is forbidden: ${answer.text}`);
  else assert.equal(answer.status, 404, `${what} is unknown: ${answer.text}`);
  if (standing === 'forbidden') requireProblem(answer, 403, 'forbidden');
  if (standing === 'unknown') requireProblem(answer, 404, 'project-not-found');
}

const isInDevOnly = (standing: Standing) => standing.in === 'dev';

test('the permission table of the code equals the table of this test', () => {
  for (const operation of shown) {
    const { account, project = [], environment = [] } = findRow(operation);
    assert.ok(operation.permission, `${operation.id} declares no permission`);
    const grant: Grant = permissions[operation.permission];
    const sets = (lists: readonly (readonly string[])[]) => lists.map((list) => list.toSorted());
    assert.deepEqual(
      sets([grant.account, grant.project, grant.environment]),
      sets([account, project, environment]),
      operation.id,
    );
  }
  assert.deepEqual(new Set(Object.keys(permissionRowOf)), new Set(shown.map(({ id }) => id)));
});

/** Credentials with their own roles, and users with those of their groups. */
const callers: { kind: 'actor' | 'user'; role: AccountRole }[] = [
  ...accountRoles.map((role) => ({ kind: 'actor' as const, role })),
  { kind: 'user', role: 'MEMBER' },
];

/** MEMBER is what every user is without a group. */
async function createCaller(place: Place, { kind, role }: (typeof callers)[number], standing: Standing) {
  const grants = await listGrants(standing, place);
  if (kind === 'actor') return place.account.actor(role, ...grants);
  return place.account.user(role === 'MEMBER' ? undefined : role, ...grants);
}

for (const { kind, role } of callers) {
  const who = kind === 'user' ? `a user, ${role}` : role;
  test(`${who}: every operation, without a role and with roles in the project and in an environment (TEST_SEED=${testSeed})`, async () => {
    const refusing = await createPlace(await server.account());
    const refused = new Map<string, Example>();
    for (const [standingNumber, standing] of standings.entries()) {
      const setUp = async (place: Place) => ({
        place,
        actor: await createCaller(place, { kind, role }, standing),
      });
      const inRefusing = await setUp(refusing);
      const permitting = await setUp(await createPlace(await server.account()));
      for (const [number, operation] of shown.entries()) {
        if (!isChecked(role, number, standingNumber, standings.length)) continue;
        const what = `${operation.id} as ${role} with ${JSON.stringify(standing)}`;
        const expected = findExpected(operation, role, standing);
        let answer: Answer;
        if (expected === 'permitted') {
          const { place, actor } = takesPlaceAway(operation)
            ? await setUp(await createPlace(await server.account()))
            : permitting;
          answer = await send(operation, place, actor);
        } else {
          // It has no effect, so that the next caller can send it too.
          const request = refused.get(operation.id) ?? (await makeRequest(operation, refusing));
          refused.set(operation.id, request);
          const { path, ...asked } = request;
          answer = await inRefusing.actor.send(operation.method, path, asked);
        }
        const elsewhere =
          standing.in === 'prod' &&
          findRow(operation).environment?.includes(standing.role as EnvironmentRole) === true &&
          role !== 'SUPER_ADMIN';
        if (operation.id === 'writeOverrides' && elsewhere) {
          // Each override is checked separately.
          const { failedOverride } = answer.body as { failedOverride: { code: string }[] };
          assert.deepEqual(
            failedOverride.map((failed) => failed.code),
            ['FORBIDDEN'],
            what,
          );
        } else if (operation.id === 'promoteArtifact' && isInDevOnly(standing) && role !== 'SUPER_ADMIN') {
          // The caller has the right in the target, but cannot read the source, prod.
          requireStanding(answer, 'forbidden', what);
        } else requireStanding(answer, expected, what);
      }
    }
  });
}

/**
 * The expected result for a caller with a role in prod or in another project: the request is about dev, and
 * stray members must not change that.
 */
function requireUnmoved(
  operation: Operation,
  role: AccountRole,
  standing: Standing,
  answer: Answer,
  what: string,
) {
  if (operation.id === 'writeOverrides' && answer.status < 300) {
    const { failedOverride } = answer.body as { failedOverride: { code: string }[] };
    assert.deepEqual(
      failedOverride.map((failed) => failed.code),
      ['FORBIDDEN'],
      what,
    );
  } else requireStanding(answer, findExpected(operation, role, standing), what);
}

const strayParts: readonly StrayPart[] = ['headers', 'query', 'body'];
const elsewhereOnly: Standing[] = [
  { in: 'another project', role: 'OWNER' },
  ...environmentRoles.map((role) => ({ in: 'prod' as const, role })),
];

for (const { kind, role } of callers.filter((each) => each.role !== 'SUPER_ADMIN')) {
  const who = kind === 'user' ? `a user, ${role}` : role;
  test(`${who}: no unknown header, query or body member changes the place of a check`, async () => {
    const place = await createPlace(await server.account());
    const inProject = shown.filter(isOfProject);
    for (const [standingNumber, standing] of elsewhereOnly.entries()) {
      const grants = await listGrants(standing, place);
      const actor =
        kind === 'user'
          ? await place.account.user(undefined, ...grants)
          : await place.account.actor(role, ...grants);
      const elsewhere = grants[0]?.projectId ?? '';
      for (const [number, operation] of inProject.entries()) {
        if (!isChecked(role, number, standingNumber, elsewhereOnly.length)) continue;
        const alone = strayParts.filter((_, part) =>
          isInTurn(number + standingNumber + part, strayParts.length, 1),
        );
        const isMember = role === 'MEMBER' && kind === 'actor';
        for (const parts of [strayParts, ...(isMember ? alone.map((part) => [part]) : [])]) {
          const { path, ...asked } = await addStrays(operation, place, parts, elsewhere);
          const what = `${operation.id} as ${role} with ${JSON.stringify(standing)} and stray ${parts.join()}`;
          requireUnmoved(operation, role, standing, await actor.send(operation.method, path, asked), what);
        }
      }
    }
  });
}

test('a role in one environment neither promotes to, starts in, enables in nor overrides connections of another', async () => {
  const place = await createPlace(await server.account());
  const { path, projectId } = place.project;
  const actor = await place.account.actor('MEMBER', {
    projectId,
    environmentName: 'dev',
    role: 'CONTRIBUTOR',
  });
  const override = await examples.writeConnectionOverride?.(place);
  const attempts: [string, string, object][] = [
    ['POST', `${path}/artifacts/promotions`, promotionToProd],
    ['POST', `${path}/pipeline-executions`, { pipelineName: 'main', environmentName: 'prod' }],
    ['PATCH', `${path}/artifacts`, { environmentName: 'prod', versionName: 'v1', enabled: false }],
    ['POST', override?.path ?? '', { ...(override?.body as object), environmentName: 'prod' }],
  ];
  for (const [method, at, body] of attempts) {
    const answer = await actor.send(method, at, { body, headers: { environmentName: 'dev' } });
    const { detail } = requireProblem(answer, 403, 'forbidden');
    assert.match(detail, /^This needs the permission environment:(deliver|run) \(/);
    assert.match(
      detail,
      /OWNER, .*CONTRIBUTOR.* in the environment "prod"|OWNER or CONTRIBUTOR in the environment "prod"/,
    );
    assert.match(detail, /The caller has: MEMBER in the account; CONTRIBUTOR in the environment "dev"\.$/);
  }
});

const promotionToProd = {
  versionName: 'v1',
  sourceEnvironmentName: 'dev',
  targetEnvironmentName: 'prod',
};

test('only callers with a role in the environment see its executions', async () => {
  const place = await createPlace(await server.account());
  const { projectId } = place.project;
  const start = { pipelineName: 'main', environmentName: 'dev', agentId: place.agent.agentId };
  await place.account.admin.post(`${place.project.path}/pipeline-executions`, start);
  for (const role of environmentRoles) {
    for (const [environmentName, count] of [
      ['dev', 1],
      ['prod', 0],
    ] as const) {
      const grant = { projectId, environmentName, role };
      for (const actor of [
        await place.account.actor('MEMBER', grant),
        await place.account.user(undefined, grant),
      ]) {
        const { results } = (await actor.get<{ results: unknown[] }>('/pipeline-executions')).body;
        assert.equal(results.length, count, `${role} in ${environmentName}`);
      }
    }
  }
});

test('for every operation a project of another account looks like one that does not exist', async () => {
  const place = await createPlace(await server.account());
  const stranger = (await server.account()).admin;
  for (const operation of shown.filter(isOfProject)) {
    const foreign = (await send(operation, place, stranger)).problem;
    const unknown = (await send(operation, place, stranger, never)).problem;
    const bare = ({ traceId: _, ...rest }: typeof foreign) =>
      JSON.stringify(rest)
        .replaceAll(place.project.projectId, never)
        .replace(/[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32}/g, 'id');
    assert.equal(bare(foreign), bare(unknown), operation.id);
    assert.equal(foreign.code, 'project-not-found', operation.id);
  }
});

test('lists contain nothing of other accounts', async () => {
  const place = await createPlace(await server.account());
  await send(
    shown.find((each) => each.id === 'startPipelineExecution') ?? assert.fail(),
    place,
    place.account.admin,
  );
  const stranger = (await server.account()).admin;
  for (const path of ['/projects', '/agents', '/pipeline-executions']) {
    assert.equal((await place.account.admin.get<{ results: unknown[] }>(path)).body.results.length > 0, true);
    assert.deepEqual((await stranger.get<{ results: unknown[] }>(path)).body.results, []);
  }
});

test('two accounts may use the same names', async () => {
  const [one, other] = [await createPlace(await server.account()), await createPlace(await server.account())];
  const change = { type: 'TEXT', behaviour: 'SHARED', value: 'changed' };
  await one.account.admin.patch(`${one.project.path}/variables/city`, change);
  const { body } = await other.account.admin.get<{ value: string }>(`${other.project.path}/variables/city`);
  assert.equal(body.value, 'Oslo');
});

test('a missing permission is reported before conflicts and missing resources', async () => {
  const place = await createPlace(await server.account());
  const viewer = await place.account.actor('MEMBER', { projectId: place.project.projectId, role: 'VIEWER' });
  const stranger = await place.account.actor('MEMBER');
  const misfit = { name: 'city', type: 'NUMBER', behaviour: 'SHARED', value: 'x' };
  const variables = `${place.project.path}/variables`;
  requireProblem(await viewer.post(variables, misfit), 403, 'forbidden');
  requireProblem(await stranger.post(variables, misfit), 404, 'project-not-found');
  requireProblem(await viewer.patch(`${variables}/town`, misfit), 403, 'forbidden');
  requireProblem(await stranger.delete(`${variables}/town`), 404, 'project-not-found');
  requireProblem(await stranger.post(`${variables}/town/environment-overrides`, []), 400, 'invalid-request');
  const start = { pipelineName: 'nothing', environmentName: 'uat' };
  requireProblem(await viewer.post(`${place.project.path}/pipeline-executions`, start), 403, 'forbidden');
});
