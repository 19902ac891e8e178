import type { Log } from '../../kernel/log.ts';
import type { EgressGuard } from '../../kernel/security/egress.ts';
import { findOrigin } from './credential.ts';
import { createGuardedFetch } from './guarded-fetch.ts';
import { createRelayThread } from './relay-thread.ts';
import type { Remotes } from './remote.ts';

export interface RemotesOptions {
  guard: EgressGuard;
  log: Log;
  /** The operator's addresses of providers, which the guard does not check. */
  trustedAddresses: readonly string[];
  /** More certificate authorities to trust, for tests. */
  ca?: string | undefined;
}

/** Nothing listens before the first remote is opened. */
export function createRemotes({ guard, log, trustedAddresses, ca }: RemotesOptions): Remotes {
  const trustedOrigins = trustedAddresses.map(findOrigin);
  return {
    ...createGuardedFetch({ guard, trustedOrigins: new Set(trustedOrigins), ca }),
    ...createRelayThread({ guard, log, trustedOrigins, ca }),
  };
}
