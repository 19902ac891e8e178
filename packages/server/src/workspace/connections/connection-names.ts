/** The vault secrets that the properties of connections and their overrides name. */
import type { Transaction } from '../../kernel/database/database.ts';
import type { AccountEvent } from '../../kernel/database/events.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import { listVaultNames, requireVaultNames } from '../agents/index.ts';

/** Returns the event of what the caller granted. Throws `vault-name-not-granted` and `too-many-vault-names`. */
export function requireConnectionNames(
  call: { tx: Transaction; scope: Scope; now: Date },
  projectId: string,
  details: { connectionProperties?: object | undefined } | null,
): Promise<AccountEvent[]> {
  const names = listVaultNames(details?.connectionProperties);
  return requireVaultNames(call, { projectId, agentId: null, names, orReference: true });
}
