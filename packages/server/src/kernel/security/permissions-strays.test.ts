/** Checks that no member that an operation does not declare changes the place of its permission check. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AccountRole, environmentRoles, isOfProject, type Operation } from '@headgate/contract';
import { isInTurn, testSeed } from '@headgate/contract/testing/rounds';
import type { Answer } from '../../../testing/client.ts';
import {
  callers,
  createCallers,
  createOnUse,
  createRequests,
  describeCaller,
  findExpected,
  isChecked,
  requireStanding,
  type Standing,
  shown,
} from '../../../testing/permission-walk.ts';
import { createPlace, type Example, type Place } from '../../../testing/place.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();
const createOwnPlace = async () => createPlace(await server.account());
const findRequest = await createRequests(createOwnPlace);

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
function addStrays(
  operation: Operation,
  { path, body, headers, ...rest }: Example,
  place: Place,
  parts: readonly StrayPart[],
  elsewhere: string,
): Example {
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
  } else requireStanding(answer, findExpected(operation, role, standing), what, operation);
}

const strayParts: readonly StrayPart[] = ['headers', 'query', 'body'];
const elsewhereOnly: Standing[] = [
  { in: 'another project', role: 'OWNER' },
  ...environmentRoles.map((role) => ({ in: 'prod' as const, role })),
];

for (const callerKind of callers.filter((each) => each.role !== 'SUPER_ADMIN')) {
  const { kind, role } = callerKind;
  test(`${describeCaller(callerKind)}: no unknown header, query or body member changes the place of a check (TEST_SEED=${testSeed})`, async () => {
    const inProject = shown.filter(isOfProject);
    for (const [standingNumber, standing] of elsewhereOnly.entries()) {
      const callerIn = createCallers(callerKind, standing);
      const findChanged = createOnUse(createOwnPlace);
      for (const [number, operation] of inProject.entries()) {
        if (!isChecked(callerKind, number, standingNumber, elsewhereOnly.length)) continue;
        const expected = findExpected(operation, role, standing);
        const alone = strayParts.filter((_, part) =>
          isInTurn(number + standingNumber + part, strayParts.length, 1),
        );
        const isMember = role === 'MEMBER' && kind === 'actor';
        for (const parts of [strayParts, ...(isMember ? alone.map((part) => [part]) : [])]) {
          const { place, request } = await findRequest(operation, expected, findChanged);
          const { actor, grants } = await callerIn(place);
          const { path, ...asked } = addStrays(operation, request, place, parts, grants[0]?.projectId ?? '');
          const what = `${operation.id} as ${role} with ${JSON.stringify(standing)} and stray ${parts.join()}`;
          requireUnmoved(operation, role, standing, await actor.send(operation.method, path, asked), what);
        }
      }
    }
  });
}
