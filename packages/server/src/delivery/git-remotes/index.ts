import type { Slice } from '../../kernel/slice/slice.ts';

export type {
  Credential,
  GuardedAnswer,
  GuardedFetch,
  OpenedRemote,
  RemoteFailure,
  RemoteFailureKind,
  RemoteLimits,
  RemoteOptions,
  Remotes,
} from './remote.ts';
export { RemoteFailed, remoteFailureKinds } from './remote.ts';

/** Has no routes: the way to other Git hosts for the slices of repositories. */
export const gitRemotes: Slice = { name: 'git-remotes' };
