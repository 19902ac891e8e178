import type { Slice } from '../../kernel/slice/slice.ts';

export {
  type CommitStatus,
  type GitProvider,
  type HookReading,
  type ProviderAddresses,
  type ProviderCall,
  type ProviderFinding,
  type ProviderFindingCode,
  ProviderRefused,
  type RepositoryDescription,
  type RotatedToken,
} from './git-provider.ts';
export { openInterface } from './open-interface.ts';
export { providerAdapters } from './provider-adapters.ts';

/** Has no routes: what the slices of repositories ask of providers. */
export const gitProviders: Slice = { name: 'git-providers' };
