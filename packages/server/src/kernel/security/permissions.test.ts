/**
 * Checks every operation with every role, in the caller's own and in another account, against the table of
 * testing/permission-rows.ts.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type EnvironmentRole, type Grant, type Permission, permissions } from '@headgate/contract';
import { testSeed } from '@headgate/contract/testing/rounds';
import { permissionRows } from '../../../testing/permission-rows.ts';
import {
  callers,
  createCallers,
  createOnUse,
  createRequests,
  describeCaller,
  findExpected,
  findRow,
  isChecked,
  requireStanding,
  type Standing,
  shown,
  standings,
} from '../../../testing/permission-walk.ts';
import { createPlace } from '../../../testing/place.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();
const createOwnPlace = async () => createPlace(await server.account());
const findRequest = await createRequests(createOwnPlace);

const isInDevOnly = (standing: Standing) => standing.in === 'dev';

test('the permission table of the code equals the table of this test', () => {
  const sets = (lists: readonly (readonly string[])[]) => lists.map((list) => list.toSorted());
  for (const [name, grant] of Object.entries<Grant>(permissions)) {
    const { account, project = [], environment = [] } = permissionRows[name as Permission];
    assert.deepEqual(
      sets([grant.account, grant.project, grant.environment]),
      sets([account, project, environment]),
      name,
    );
  }
});

for (const callerKind of callers) {
  const { role } = callerKind;
  test(`${describeCaller(callerKind)}: every operation, without a role and with roles in the project and in an environment (TEST_SEED=${testSeed})`, async () => {
    for (const [standingNumber, standing] of standings.entries()) {
      const callerIn = createCallers(callerKind, standing);
      const findChanged = createOnUse(createOwnPlace);
      for (const [number, operation] of shown.entries()) {
        if (!isChecked(callerKind, number, standingNumber, standings.length)) continue;
        const what = `${operation.id} as ${role} with ${JSON.stringify(standing)}`;
        const expected = findExpected(operation, role, standing);
        const { place, request } = await findRequest(operation, expected, findChanged);
        const { path, ...asked } = request;
        const { actor } = await callerIn(place);
        // Errors of SCIM have no codes.
        const headers = { accept: 'application/json', ...asked.headers };
        const answer = await actor.send(operation.method, path, { ...asked, headers });
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
        } else requireStanding(answer, expected, what, operation);
      }
    }
  });
}
