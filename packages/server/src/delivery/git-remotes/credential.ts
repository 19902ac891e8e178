/** Credentials of Git hosts: how each provider takes its token, and how a credential is stored. */
import type { RepositoryProvider } from '@headgate/contract';
import { type Sealer, Secret } from '../../kernel/security/sealed.ts';
import type { Credential, ShownCredential } from './remote.ts';

/** Scheme, host and port. A credential is sent to this origin only. */
export function findOrigin(url: string): string {
  return new URL(url).origin;
}

/** A token as the provider takes it from Git. */
export function createCredential(
  provider: RepositoryProvider,
  { url, token, username }: { url: string; token: Secret; username?: string | undefined },
): Credential {
  const origin = findOrigin(url);
  const basic = (name: string): Credential => ({ kind: 'basic', origin, username: name, password: token });
  switch (provider) {
    case 'github':
      return basic('x-access-token');
    case 'gitlab':
      return basic('oauth2');
    case 'azure-devops':
      return isEntraToken(token) ? { kind: 'bearer', origin, token } : basic('');
    default:
      return basic(username ?? 'headgate');
  }
}

/** Tokens of Entra are JWTs; personal tokens of Azure DevOps have no dots. */
function isEntraToken(token: Secret): boolean {
  return /^eyJ[\w-]*\.[\w-]+\.[\w-]*$/.test(token.reveal());
}

export function showCredential(credential: Credential): ShownCredential {
  return {
    origin: credential.origin,
    authorization: renderAuthorization(credential),
    secretForms: listSecretForms(credential),
  };
}

/** The value of the Authorization header. */
function renderAuthorization(credential: Credential): string {
  if (credential.kind === 'bearer') return `Bearer ${credential.token.reveal()}`;
  const pair = `${credential.username}:${credential.password.reveal()}`;
  return `Basic ${Buffer.from(pair).toString('base64')}`;
}

/** All forms in which a host could send the credential back. */
export function listSecretForms(credential: Credential | undefined): string[] {
  if (credential === undefined) return [];
  const secret = credential.kind === 'basic' ? credential.password : credential.token;
  const [, shown = ''] = renderAuthorization(credential).split(' ');
  const text = secret.reveal();
  return [shown, text, encodeURIComponent(text)].filter((form) => form.length > 3);
}

/** Binds a sealed credential to its project, so that it cannot be read as another one's. */
const makePurpose = (accountId: string, projectId: string) => `git credential ${accountId} ${projectId}`;

interface Place {
  accountId: string;
  projectId: string;
}

export function sealCredential(sealer: Sealer, place: Place, credential: Credential): Buffer {
  const secret = credential.kind === 'basic' ? credential.password : credential.token;
  const username = credential.kind === 'basic' ? credential.username : null;
  const stored = JSON.stringify([credential.kind, credential.origin, username, secret.reveal()]);
  return sealer.seal(new Secret(stored), makePurpose(place.accountId, place.projectId));
}

export function unsealCredential(sealer: Sealer, place: Place, sealed: Buffer): Credential {
  const stored = sealer.unseal(sealed, makePurpose(place.accountId, place.projectId)).reveal();
  const [kind, origin, username, text] = JSON.parse(stored) as [string, string, string | null, string];
  const secret = new Secret(text);
  return kind === 'bearer'
    ? { kind, origin, token: secret }
    : { kind: 'basic', origin, username: username ?? '', password: secret };
}
