/**
 * Work that the server does for a principal outside of a request, such as the publication of a push. Rights
 * are those of this moment, read by the same statements as for a request of the principal.
 */
import type { Operation } from '@headgate/contract';
import { type Database, type Transaction, toSend } from '../database/database.ts';
import { makeGuardParameters, requirePermission } from '../security/guard.ts';
import { findRequiredRoles, type Scope } from '../security/permissions.ts';
import type { Place } from '../security/place.ts';
import type { ReadCall } from './call.ts';
import { createGuardedReads } from './read-call.ts';
import { enterWrite, toCallerProblem } from './write.ts';

export interface Acting {
  /** As of a request. Throws `forbidden`, `token-invalid` and `project-not-found`. */
  rows: ReadCall<Operation>['rows'];
  /** Runs a transaction whose first statement checks the rights. Throws the same. */
  write<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result>;
}

/** @param operation what the principal could have asked for; its permission is checked */
export function actFor(
  services: { database: Database },
  operation: Operation,
  { scope, place, now }: { scope: Scope; place: Place; now: Date },
): Acting {
  const roles = findRequiredRoles(requirePermission(operation));
  const asking = { operation, call: { scope, now }, place, roles };
  return {
    rows: createGuardedReads(services.database, asking).rows,
    async write(work) {
      const enter = () => toSend(enterWrite, { ...makeGuardParameters(asking), key_digest: null });
      try {
        return await services.database.transaction(work, enter);
      } catch (failure) {
        throw await toCallerProblem(failure, { ...asking, services });
      }
    },
  };
}
