import type { Slice } from '../../kernel/slice/slice.ts';

export {
  createCredential,
  findOrigin,
  listSecretForms,
  sealCredential,
  unsealCredential,
} from './credential.ts';
export { cleanHostText } from './guarded-fetch.ts';
export {
  createMirrors,
  type Mirrored,
  type Mirrors,
  type PushResult,
  type RefPush,
} from './mirrors.ts';
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
export { createRemoteProblem } from './remote-problems.ts';
export { createRemotes } from './remotes.ts';

/** Has no routes: the way to other Git hosts for the slices of repositories. */
export const gitRemotes: Slice = { name: 'git-remotes' };
