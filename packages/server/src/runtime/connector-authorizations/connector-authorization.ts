/**
 * Authorization code with PKCE (RFC 6749 §4.1, RFC 7636), as pure functions.
 *
 * - **state**: a random text in the address that the browser brings back. Only its digest is stored.
 * - **grant**: the verifier of PKCE, and the code once the provider has sent it; stored sealed.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { Sealer } from '../../kernel/security/sealed.ts';
import { Secret } from '../../kernel/security/sealed.ts';
import type { ConnectorOauthRow } from '../../workspace/connector-oauths/index.ts';

export const callbackPath = '/oauth/connectors/callback';
/** How long the address of an authorization works. */
export const authorizationSeconds = 600;

export interface Grant {
  codeVerifier: string;
  redirectUri: string;
  code?: string;
}

export const createState = (): string => randomBytes(32).toString('base64url');

export function digestState(sealer: Sealer, state: string): Buffer {
  return sealer.digest(state, 'connector authorization state');
}

const grantPurpose = (oauthId: string) => `connector authorization ${oauthId}`;

export function sealGrant(sealer: Sealer, oauthId: string, grant: Grant): Buffer {
  return sealer.seal(new Secret(JSON.stringify(grant)), grantPurpose(oauthId));
}

export function unsealGrant(sealer: Sealer, oauthId: string, sealed: Buffer): Grant {
  return JSON.parse(sealer.unseal(sealed, grantPurpose(oauthId)).reveal()) as Grant;
}

/** The configuration is complete. Parameters that its address already has are kept, such as `access_type`. */
export function buildAuthorizationUrl(
  { authorization_url: address, client_id: clientId, scopes }: ConnectorOauthRow,
  { state, grant }: { state: string; grant: Grant },
): string {
  const url = new URL(address ?? '');
  const challenge = createHash('sha256').update(grant.codeVerifier).digest('base64url');
  const own = {
    response_type: 'code',
    client_id: clientId ?? '',
    redirect_uri: grant.redirectUri,
    ...(scopes.length === 0 ? {} : { scope: scopes.join(' ') }),
    state,
    code_challenge: challenge,
    code_challenge_method: 'S256',
  };
  for (const [name, value] of Object.entries(own)) url.searchParams.set(name, value);
  return url.href;
}

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escapeText = (text: string) => text.replaceAll(/[&<>"]/g, (character) => escapes[character] ?? '');

/** The page that the browser sees at the end. */
export function renderCallbackPage(title: string, text: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>${escapeText(title)}</title></head>
<body>
<h1>${escapeText(title)}</h1>
<p>${escapeText(text)}</p>
</body>
</html>
`;
}
