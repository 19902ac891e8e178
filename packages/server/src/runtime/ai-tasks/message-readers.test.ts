/** Messages show the rows of queries to all of their readers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listAiTaskMessages, queryWarehouse } from '@headgate/contract';
import { requirePermission } from '../../kernel/security/guard.ts';
import { findRequiredRoles } from '../../kernel/security/permissions.ts';

test('whoever may read the messages of a task may query the warehouses of the project', () => {
  const readers = findRequiredRoles(requirePermission(listAiTaskMessages));
  const queriers = findRequiredRoles(requirePermission(queryWarehouse));
  for (const place of ['account', 'project', 'environment'] as const) {
    const list = (roles: string) =>
      roles
        .slice(1, -1)
        .split(',')
        // A permission stands for the custom roles that have it; each of them has all of a VIEWER's.
        .filter((role) => role !== '' && !role.includes(':'));
    assert.deepEqual(
      list(readers[place]).filter((role) => !list(queriers[place]).includes(role)),
      [],
      place,
    );
  }
  assert.equal(readers.environment, '{}', 'a role in one environment is not enough to read them');
});
