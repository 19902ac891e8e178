/** Which credential is shown to which of the two hosts. */
import type { RepositoryProvider } from '@headgate/contract';
import type { Database } from '../../kernel/database/database.ts';
import { Problem } from '../../kernel/http/problems.ts';
import type { Sealer, Secret } from '../../kernel/security/sealed.ts';
import type { OauthTokens } from '../enterprise-oauths/index.ts';
import {
  type GitProvider,
  type ProviderAddresses,
  type ProviderCall,
  ProviderRefused,
  providerAdapters,
} from '../git-providers/index.ts';
import { type Credential, findOrigin, RemoteFailed, type Remotes } from '../git-remotes/index.ts';
import { MigrationFailed, type Side } from './migration-failure.ts';

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

const mostAnswerBytes = 4 * 1024 * 1024;
const answerMilliseconds = 30_000;

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
  const baseUrl = provider.findInterface(repository.cloneUrl, config.gitAddresses);
  if (baseUrl === undefined || token === undefined || token.origin !== findOrigin(repository.cloneUrl))
    return undefined;
  // The operator pairs the address of an interface with that of its repositories; else the origin is the same.
  const origin = findOrigin(baseUrl);
  const credential: Credential =
    provider.tokenScheme(token.secret) === 'bearer'
      ? { kind: 'bearer', origin, token: token.secret }
      : { kind: 'basic', origin, username: '', password: token.secret };
  return {
    baseUrl,
    repository,
    async send({ method, url, headers, body }) {
      try {
        return await remotes.fetchText(url, {
          method,
          headers,
          ...(body === undefined ? {} : { body }),
          credential,
          mostBytes: mostAnswerBytes,
          timeoutMilliseconds: answerMilliseconds,
          signal,
        });
      } catch (failure) {
        if (!(failure instanceof RemoteFailed)) throw failure;
        throw new ProviderRefused({
          code: 'provider-unreachable',
          detail: failure.failure.reason,
          remedy: 'Check the address of the provider, and that the server can reach it.',
        });
      }
    },
  };
}
