import type { Slice } from '../../kernel/slice/slice.ts';

export { explainAddressScheme } from './address-words.ts';
export {
  createCredential,
  findOrigin,
  sealCredential,
  unsealCredential,
} from './credential.ts';
export { cleanHostText } from './guarded-fetch.ts';
export {
  createMirrors,
  type Mirrors,
} from './mirrors.ts';
export type {
  Credential,
  GuardedFetch,
  OpenedRemote,
  RemoteFailure,
  RemoteFailureKind,
  Remotes,
} from './remote.ts';
export { RemoteFailed } from './remote.ts';
export { createRemoteProblem } from './remote-problems.ts';
export { createRemotes } from './remotes.ts';

/** Has no routes: the way to other Git hosts for the slices of repositories. */
export const gitRemotes: Slice = { name: 'git-remotes' };
