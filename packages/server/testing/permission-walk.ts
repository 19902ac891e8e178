/** What the tests of permissions share: callers, standings, requests and the expected results. */
import assert from 'node:assert/strict';
import {
  type AccountRole,
  accountRoles,
  environmentRoles,
  type Grant,
  isOfProject,
  type Operation,
  operations,
  type ProblemCode,
  permissions,
  projectRoles,
} from '@headgate/contract';
import { isInTurn } from '@headgate/contract/testing/rounds';
import type { Actor, Grant as RoleGrant } from './account.ts';
import { type Answer, requireProblem } from './client.ts';
import { examples, takesPlaceAway } from './guards.ts';
import { type PermissionRow, permissionRows } from './permission-rows.ts';
import type { Example, Place } from './place.ts';

export const shown = operations.filter((operation) => operation.surface === 'dpc');

export function findRow({ id, permission }: Operation): PermissionRow {
  assert.ok(permission, `${id} declares no permission`);
  return permissionRows[permission];
}

export type Standing =
  | { in: 'nothing' }
  | { in: 'project' | 'dev' | 'prod' | 'another project'; role: string };
export const standings: Standing[] = [
  { in: 'nothing' },
  { in: 'another project', role: 'OWNER' },
  ...projectRoles.map((role) => ({ in: 'project' as const, role })),
  ...environmentRoles.flatMap((role) => [
    { in: 'dev' as const, role },
    { in: 'prod' as const, role },
  ]),
];

/** Credentials with their own roles, and users with those of their groups. MEMBER is a user without a group. */
export interface CallerKind {
  kind: 'actor' | 'user';
  role: AccountRole;
}
export const callers: CallerKind[] = [
  ...accountRoles.map((role) => ({ kind: 'actor' as const, role })),
  { kind: 'user', role: 'MEMBER' },
];

export function describeCaller({ kind, role }: CallerKind): string {
  return kind === 'user' ? `a user, ${role}` : role;
}

/**
 * Whether an operation is checked with a standing in this run; other runs check it with others, and the soak with all.
 * A credential of a MEMBER has only the rights of the standing, so it tries more of them: for the other callers
 * `rights()` sums up what they may do before it is compared with the operation.
 */
export function isChecked(
  { kind, role }: CallerKind,
  operation: number,
  standing: number,
  count: number,
): boolean {
  const few = kind === 'actor' && role === 'MEMBER' ? 4 : 1;
  return isInTurn(operation + standing, count, few);
}

export async function listGrants(standing: Standing, { account, project }: Place): Promise<RoleGrant[]> {
  if (standing.in === 'nothing') return [];
  const role = standing.role as 'OWNER';
  if (standing.in === 'another project') return [{ projectId: (await account.project()).projectId, role }];
  const { projectId } = project;
  return standing.in === 'project'
    ? [{ projectId, role }]
    : [{ projectId, environmentName: standing.in, role }];
}

interface Caller {
  actor: Actor;
  grants: RoleGrant[];
}

/** Returns the caller with a standing in each place. */
export function createCallers(
  { kind, role }: CallerKind,
  standing: Standing,
): (place: Place) => Promise<Caller> {
  const made = new Map<Place, Promise<Caller>>();
  async function make(place: Place): Promise<Caller> {
    const grants = await listGrants(standing, place);
    const actor =
      kind === 'actor'
        ? await place.account.actor(role, ...grants)
        : await place.account.user(role === 'MEMBER' ? undefined : role, ...grants);
    return { actor, grants };
  }
  return (place) => {
    const caller = made.get(place) ?? make(place);
    made.set(place, caller);
    return caller;
  };
}

async function makeRequest(operation: Operation, place: Place): Promise<Example> {
  const example = examples[operation.id];
  assert.ok(example, `no examples of a slice have a request for ${operation.id}`);
  return example(place);
}

export interface PlacedRequest {
  place: Place;
  request: Example;
}

/**
 * Makes requests. One that changes nothing is made once for each operation: all callers can send it. The others
 * are made each time, in the place to change.
 */
export async function createRequests(createPlace: () => Promise<Place>) {
  const retained = await createPlace();
  const made = new Map<string, PlacedRequest>();
  async function make(operation: Operation, findShared: () => Promise<Place>): Promise<PlacedRequest> {
    // Even without the request, such an example may block the place for the others.
    const place = await (takesPlaceAway(operation) ? createPlace() : findShared());
    return { place, request: await makeRequest(operation, place) };
  }
  return async (operation: Operation, expected: Expected, findChanged: () => Promise<Place>) => {
    if (!changesNothing(operation, expected)) return make(operation, findChanged);
    const found = made.get(operation.id) ?? (await make(operation, async () => retained));
    made.set(operation.id, found);
    return found;
  };
}

/** Makes a place at the first use: most callers change nothing. */
export function createOnUse(createPlace: () => Promise<Place>): () => Promise<Place> {
  let made: Promise<Place> | undefined;
  return () => {
    made ??= createPlace();
    return made;
  };
}

export type Expected = 'permitted' | 'forbidden' | 'unknown';

/** Whether a request has no effect: it is refused, or it reads. The agent of an example answers one request only. */
function changesNothing({ method, problems }: Operation, expected: Expected): boolean {
  const asksAgent = problems.includes('warehouse-query-timeout');
  return expected !== 'permitted' || (method === 'GET' && !asksAgent);
}

/** The expected result by the table; the requests are about dev. */
export function findExpected(operation: Operation, role: AccountRole, standing: Standing): Expected {
  const expected = findExpectedByRow(operation, role, standing);
  const { alsoRequires } = operation;
  if (expected !== 'permitted' || alsoRequires === undefined) return expected;
  const { account, project }: Grant = permissions[alsoRequires];
  const list: readonly string[] = standing.in === 'project' ? project : [];
  const isHeld = account.includes(role) || (standing.in !== 'nothing' && list.includes(standing.role));
  return isHeld ? 'permitted' : 'forbidden';
}

function findExpectedByRow(operation: Operation, role: AccountRole, standing: Standing): Expected {
  const { account, project = [], environment = [] } = findRow(operation);
  if (account.includes(role)) return 'permitted';
  if (!isOfProject(operation)) return 'forbidden';
  const list: readonly string[] =
    standing.in === 'project' ? project : standing.in === 'dev' ? environment : [];
  if (standing.in !== 'nothing' && list.includes(standing.role)) return 'permitted';
  const stranger = standing.in === 'nothing' || standing.in === 'another project';
  return stranger && role !== 'SUPER_ADMIN' ? 'unknown' : 'forbidden';
}

export function requireStanding(
  answer: Answer,
  standing: Expected,
  what: string,
  operation?: Operation,
): void {
  if (standing === 'permitted') assert.ok(answer.status < 300, `${what} is permitted: ${answer.text}`);
  else if (standing === 'forbidden') assert.equal(answer.status, 403, `${what} is forbidden: ${answer.text}`);
  else assert.equal(answer.status, 404, `${what} is unknown: ${answer.text}`);
  if (standing === 'forbidden') requireProblem(answer, 403, 'forbidden');
  if (standing === 'unknown') requireProblem(answer, 404, findUnknown(operation));
}

/** What a caller without a role gets: a resource that names no project is itself unknown. */
export function findUnknown(operation: Operation | undefined): ProblemCode {
  const { projectFrom, problems = [] } = operation ?? {};
  const own = problems.find((code) => code.endsWith('-not-found'));
  return (projectFrom === 'resource' ? own : undefined) ?? 'project-not-found';
}
