/** Which credential is shown to which of the two hosts. */
import type { RepositoryProvider } from '@headgate/contract';
import type { Database } from '../../../kernel/database/database.ts';
import { Problem } from '../../../kernel/http/problems.ts';
import type { Sealer, Secret } from '../../../kernel/security/sealed.ts';
import type { OauthTokens } from '../../enterprise-oauths/index.ts';
import {
  type GitProvider,
  openInterface as openProviderInterface,
  type ProviderAddresses,
  type ProviderCall,
  providerAdapters,
} from '../../git-providers/index.ts';
import { type Credential, findOrigin, type Remotes } from '../../git-remotes/index.ts';
import { MigrationFailed, type Side } from '../git/migration-failure.ts';

export interface SignInServices {
  database: Database;
  sealer: Sealer;
  remotes: Remotes;
  oauthTokens: OauthTokens;
  config: { gitAddresses: ProviderAddresses };
}

/** A token of an application of the account. @throws MigrationFailed */
export async function signInByApplication(
  { oauthTokens }: Pick<SignInServices, 'oauthTokens'>,
  side: Side['side'],
  accountId: string,
  enterpriseOauthId: string,
): Promise<Credential> {
  try {
    return await oauthTokens.getCredential(accountId, enterpriseOauthId);
  } catch (failure) {
    if (!(failure instanceof Problem)) throw failure;
    throw new MigrationFailed(
      'sign-in-failed',
      `The enterprise OAuth connection of the ${side} gives no token: ${failure.message}`,
    );
  }
}

/** The adapter of a provider; hosted repositories are plain Git. */
export function findProvider(name: RepositoryProvider): GitProvider {
  return providerAdapters[name === 'headgate' ? 'git' : name];
}

/** A credential is used for a host only if it was made for its origin. */
export function fitsOrigin(credential: Credential | undefined, cloneUrl: string): boolean {
  return credential !== undefined && credential.origin === findOrigin(cloneUrl);
}

export const getSecret = (credential: Credential): Secret =>
  credential.kind === 'basic' ? credential.password : credential.token;

/**
 * The interface of the provider for a repository, or undefined if there is none, or no credential for it.
 *
 * @param origin of the clone address, for which the token was made
 */
export function openInterface(
  { remotes, config }: Pick<SignInServices, 'remotes' | 'config'>,
  provider: GitProvider,
  repository: ProviderCall['repository'],
  token: { secret: Secret; origin: string } | undefined,
  signal: AbortSignal,
): ProviderCall | undefined {
  const options = { remotes, addresses: config.gitAddresses, signal };
  const credential = token && ({ kind: 'bearer', origin: token.origin, token: token.secret } as const);
  return openProviderInterface(options, provider, repository, credential);
}
