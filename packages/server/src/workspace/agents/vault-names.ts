/**
 * The one judge of bodies that name secrets of a vault (docs/adr/0083): a project uses names that begin with
 * its own id, or that were granted to it. A caller who may manage agents grants other names by using them.
 */
import type { Transaction } from '../../kernel/database/database.ts';
import type { AccountEvent } from '../../kernel/database/events.ts';
import { isPlainObject } from '../../kernel/http/json-schema.ts';
import { problem } from '../../kernel/http/problems.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import {
  findGranter,
  findUngrantedNames,
  insertVaultNames,
  type NamedInVault,
  requireRoomForGrants,
} from './vault-grant.store.ts';

/** The problem lists at most this many granted names. */
const toldNames = 10;

/**
 * Returns the event of what the caller granted. Throws `vault-name-not-granted`, `too-many-vault-names` and
 * `unknown-agent`.
 */
export async function requireVaultNames(
  { tx, scope, now }: { tx: Transaction; scope: Scope; now: Date },
  named: NamedInVault,
): Promise<AccountEvent[]> {
  const { projectId, agentId } = named;
  if (named.names.length === 0) return [];
  const names = await findUngrantedNames(tx, scope, named);
  if (names.length === 0) return [];
  const { mayGrant, granted, count } = await findGranter(tx, scope, { projectId, limit: toldNames, now });
  if (!mayGrant)
    throw problem('vault-name-not-granted', { names, projectId, granted, more: count - granted.length });
  requireRoomForGrants(count, names.length);
  insertVaultNames(tx, scope, { projectId, agentId, names });
  return [buildGrantEvent(projectId, { names, ...(agentId === null ? {} : { agentId }) })];
}

function buildGrantEvent(projectId: string, after: object): AccountEvent {
  return { name: 'vault-names-granted', projectId, subject: { type: 'project', id: projectId }, after };
}

/** Returns the secrets that a part of a body names, such as the properties of a connection. */
export function listVaultNames(part: unknown): string[] {
  if (Array.isArray(part)) return part.flatMap(listVaultNames);
  if (!isPlainObject(part)) return [];
  return Object.entries(part).flatMap(([member, value]) => {
    if (typeof value !== 'string') return listVaultNames(value);
    return (member === 'secretName' || member === 'credentialSecretName') && value !== '' ? [value] : [];
  });
}
