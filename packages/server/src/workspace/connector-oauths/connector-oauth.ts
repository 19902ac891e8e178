/** The rules of OAuth configurations, as pure functions. */
import {
  type ConnectorGrantType,
  type ConnectorOauthBody,
  connectorGrantTypes,
  type SecretReference,
} from '@headgate/contract';
import { problem } from '../../kernel/http/problems.ts';
import { requireWord } from '../../kernel/http/words.ts';

/** The types of secret references that hold each secret. */
export const secretTypesOf = {
  clientSecretReference: ['OAUTH_CLIENT_CRED', 'OAUTH_CLIENT_CREDENTIALS'],
  tokenSecretReference: ['OAUTH_AUTHORIZATION_CODE', 'OAUTH_USER_TOKENS'],
} as const satisfies Record<string, readonly SecretReference['type'][]>;

/** Parameters that the request for a token sets itself. */
const ownParameters = new Set([
  'grant_type',
  'client_id',
  'client_secret',
  'client_assertion',
  'code',
  'code_verifier',
  'redirect_uri',
  'refresh_token',
  'scope',
]);
const secretEnding = /(?:password|passwd|secret|assertion|apikey|accesskey|token)$/;

/** Throws `connector-oauth-invalid`. */
export function requireValidOauth(body: ConnectorOauthBody): ConnectorGrantType {
  const grantType = requireWord(connectorGrantTypes, body.grantType, 'grantType');
  requireAddress('body.tokenUrl', body.tokenUrl);
  if (body.authorizationUrl !== undefined) requireAddress('body.authorizationUrl', body.authorizationUrl);
  else if (grantType === 'AUTHORIZATION_CODE')
    throw refuse(
      'body.authorizationUrl',
      'is required for AUTHORIZATION_CODE, such as https://login.example.com/authorize',
    );
  for (const [name, value] of Object.entries(body.additionalParameters ?? {})) {
    const field = `body.additionalParameters.${name}`;
    if (ownParameters.has(name.toLowerCase()))
      throw refuse(field, 'is set by the request for a token itself; remove it');
    if (value !== '' && secretEnding.test(name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')))
      throw refuse(
        field,
        'is a secret, and a configuration holds none. Remove it: store it in a vault, and name it by clientSecretReference',
      );
  }
  return grantType;
}

/** The agent checks the host again, after it has resolved the name. */
function requireAddress(field: string, text: string): void {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || !/^https?:\/\//i.test(text))
    throw refuse(
      field,
      `is ${JSON.stringify(text.slice(0, 200))}, which is not an address; use one such as https://login.example.com/token`,
    );
  if (url.username !== '' || url.password !== '')
    throw refuse(
      field,
      'holds a user name or a password; remove it: the client’s secret is named by clientSecretReference',
    );
  if (text.includes('#')) throw refuse(field, 'has a fragment (#…), which is never sent; remove it');
  if (/[{}\\\s]/.test(text)) throw refuse(field, 'has a character that an address cannot hold');
}

export function refuse(field: string, reason: string) {
  return problem('connector-oauth-invalid', { field, reason });
}

/** The members without which no token can be requested. */
export function listMissing(input: {
  grantType: ConnectorGrantType;
  clientId: string | null;
  clientSecretReference: string | null;
  tokenSecretReference: string | null;
}): string[] {
  const { grantType, ...members } = input;
  const needed =
    grantType === 'CLIENT_CREDENTIALS'
      ? (['clientSecretReference'] as const)
      : (['clientId', 'clientSecretReference', 'tokenSecretReference'] as const);
  return needed.filter((name) => members[name] === null);
}

/** On which the consent of a person, and the tokens that came of it, depend. */
interface Consented {
  grant_type: ConnectorGrantType;
  authorization_url: string | null;
  token_url: string;
  scopes: string[];
  client_id: string | null;
  client_secret_reference: string | null;
  token_secret_reference: string | null;
}

/** Whether a replacement leaves what a person authorized. Tokens of one server must not go to another. */
export function isSameAuthorization(stored: Consented, written: Consented): boolean {
  if (written.grant_type !== 'AUTHORIZATION_CODE') return false;
  return JSON.stringify(selectConsented(stored)) === JSON.stringify(selectConsented(written));
}

const selectConsented = (row: Consented) => [
  row.grant_type,
  row.authorization_url,
  row.token_url,
  row.scopes,
  row.client_id,
  row.client_secret_reference,
  row.token_secret_reference,
];
