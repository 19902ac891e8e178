import { problems } from '@headgate/contract';
import { Problem } from '../http/problems.ts';

const reason = 'its credential or user was deleted, deactivated or has expired.';

/**
 * The token is good, but not its owner. A class of its own, so that admission.ts tells it from other refusals: such
 * a request does not count against the account.
 */
export class InactiveCaller extends Problem {
  readonly actorId: string;

  constructor(actorId: string) {
    super('token-invalid', problems['token-invalid'].detail({ reason }));
    this.actorId = actorId;
  }
}
