import type { Slice } from '../../kernel/slice/slice.ts';

export { cleanProviderText } from './failure-rules.ts';
export {
  type CommitState,
  type CommitStatus,
  type GitProvider,
  type HookReading,
  type HookRequest,
  type ProviderAddresses,
  type ProviderAnswer,
  type ProviderCall,
  type ProviderFailure,
  type ProviderFinding,
  type ProviderFindingCode,
  type ProviderName,
  ProviderRefused,
  type ProviderRepository,
  type ProviderRequest,
  type RepositoryDescription,
  type RotatedToken,
  type SendToProvider,
} from './git-provider.ts';
export { oldestHookSeconds } from './hook-reading.ts';
export { openInterface } from './open-interface.ts';
export { providerAdapters } from './provider-adapters.ts';

/** Has no routes: what the slices of repositories ask of providers. */
export const gitProviders: Slice = { name: 'git-providers' };
