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
export { gitProviders } from './git-providers.ts';
export { oldestHookSeconds } from './hook-reading.ts';
