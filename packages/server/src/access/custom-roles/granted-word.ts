/** The word of a role in a request that grants it. */
import type { CustomRoleLevel } from '@headgate/contract';
import type { Transaction } from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import { findWord } from '../../kernel/http/words.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import { holdCustomRoles } from './custom-role.store.ts';
import { type PlaceOfGrant, requireHeldPermissions } from './held-permissions.ts';

interface RequestedRole extends PlaceOfGrant {
  role: string;
  /** Of the body, for the problem. */
  field: string;
  builtIn: readonly string[];
}

/** A built-in role, else a custom role of the place. Throws `unknown-role` and `permissions-not-held`. */
export async function resolveGrantedWord(
  tx: Transaction,
  caller: { scope: Scope; now: Date },
  { role, field, builtIn, ...place }: RequestedRole,
): Promise<string> {
  const word = findWord(builtIn, role);
  if (word !== undefined) return word;
  const level = findLevel(place);
  const custom = level === undefined ? [] : await holdCustomRoles(tx, caller.scope.accountId, level);
  const names = custom.map(({ name }) => name);
  const name = findWord(names, role);
  const found = custom.find((each) => each.name === name);
  if (found === undefined)
    throw problem('unknown-role', { field, found: role, allowed: [...builtIn, ...names] });
  await requireHeldPermissions(tx, caller, found.permissions, place);
  return found.name;
}

function findLevel({ projectId, environmentName }: PlaceOfGrant): CustomRoleLevel | undefined {
  if (environmentName !== null) return 'ENVIRONMENT';
  return projectId === null ? undefined : 'PROJECT';
}
