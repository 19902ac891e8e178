/** Calls of a provider's interface through the guarded client, with the token of the repository. */
import { type Credential, findOrigin, RemoteFailed, type Remotes } from '../git-remotes/index.ts';
import {
  type GitProvider,
  type ProviderAddresses,
  type ProviderCall,
  ProviderRefused,
  type ProviderRepository,
} from './git-provider.ts';

export interface InterfaceOptions {
  remotes: Remotes;
  addresses: ProviderAddresses;
  signal?: AbortSignal;
}

const mostAnswerBytes = 4 * 1_048_576;
const answerMilliseconds = 30_000;

/**
 * Undefined if the provider has no interface for the repository, or the credential was made for another origin
 * than that of the repository. The operator pairs the address of an interface with that of its repositories; else
 * both have one origin.
 */
export function openInterface(
  { remotes, addresses, signal }: InterfaceOptions,
  provider: GitProvider,
  repository: ProviderRepository,
  credential: Credential | undefined,
): ProviderCall | undefined {
  const baseUrl = provider.findInterface(repository.cloneUrl, addresses);
  if (baseUrl === undefined || credential?.origin !== findOrigin(repository.cloneUrl)) return undefined;
  const shown = showToInterface(provider, credential, findOrigin(baseUrl));
  return {
    baseUrl,
    repository,
    async send({ method, url, headers, body }) {
      const options = { method, headers, credential: shown, mostBytes: mostAnswerBytes, signal };
      const bounds = { timeoutMilliseconds: answerMilliseconds, ...(body === undefined ? {} : { body }) };
      try {
        return await remotes.fetchText(url, { ...options, ...bounds });
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

/** Git and the interface of a provider may take the same token in different forms. */
function showToInterface(provider: GitProvider, credential: Credential, origin: string): Credential {
  const token = credential.kind === 'basic' ? credential.password : credential.token;
  return provider.tokenScheme(token) === 'bearer'
    ? { kind: 'bearer', origin, token }
    : { kind: 'basic', origin, username: '', password: token };
}
