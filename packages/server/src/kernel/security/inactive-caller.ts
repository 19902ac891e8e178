import { problems } from '@headgate/contract';
import { Problem } from '../http/problems.ts';
import type { Scope } from './permissions.ts';

const reason = 'its credential or user was deleted, deactivated or has expired.';

/**
 * The token or the session is good, but not its owner. A class of its own, so that admission.ts tells it from other
 * refusals: such a request does not count against the account.
 */
export class InactiveCaller extends Problem {
  readonly actorId: string;

  constructor({ actorId, sessionId }: Pick<Scope, 'actorId' | 'sessionId'>) {
    if (sessionId === undefined) super('token-invalid', problems['token-invalid'].detail({ reason }));
    else super('session-invalid', problems['session-invalid'].detail());
    this.actorId = actorId;
  }
}
