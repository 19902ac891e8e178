/** Requests for a token (RFC 6749). The answer holds secrets, so no message quotes more than its error code. */
import { Secret } from '@headgate/contract/without-schemas';
import { ConnectorError } from '@headgate/pipelines';
import type { Exchange, ReceivedResponse } from './exchange.ts';
import { readJsonMembers } from './json-members.ts';

export interface OAuthClient {
  clientId: string;
  clientSecret: string;
}

export interface ReceivedTokens {
  accessToken: Secret;
  refreshToken: Secret | undefined;
  /** Seconds; undefined if the server does not say. */
  lifetime: number | undefined;
}

/** The server refuses the grant: asking again does not help. */
export class GrantRefused extends ConnectorError {
  override name = 'GrantRefused';
  /** The refresh token or code is no longer valid. */
  readonly isGrantOver: boolean;

  constructor(message: string, { isGrantOver = false } = {}) {
    super(message);
    this.isGrantOver = isGrantOver;
  }
}

/** @param client without a secret it is a public client, which only names itself */
export async function requestTokens(
  exchange: Exchange,
  tokenUrl: string,
  client: OAuthClient,
  parameters: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<ReceivedTokens> {
  const url = new URL(tokenUrl);
  const send = (headers: [string, string][], more: Record<string, string>) =>
    exchange.send(
      {
        method: 'POST',
        url,
        headers: [['content-type', 'application/x-www-form-urlencoded'], ...headers],
        body: String(new URLSearchParams({ ...parameters, ...more })),
      },
      signal,
    );
  const { clientId: client_id, clientSecret: client_secret } = client;
  let response = await send([], { client_id, client_secret });
  // Some servers take the client only as Basic authentication. The grant was not used up.
  if (response.status === 401 && readError(response) === 'invalid_client')
    response = await send([['authorization', encodeClient(client)]], {});
  return readTokens(url, response);
}

/** RFC 6749, section 2.3.1. */
function encodeClient({ clientId, clientSecret }: OAuthClient): string {
  const encode = (text: string) => encodeURIComponent(text).replaceAll('%20', '+');
  return `Basic ${Buffer.from(`${encode(clientId)}:${encode(clientSecret)}`).toString('base64')}`;
}

/** Each token is masked in all output, which takes time by its length. Real ones have a few thousand characters. */
const mostTokenCharacters = 16_384;

function readTokens(url: URL, response: ReceivedResponse): ReceivedTokens {
  const place = `${url.origin}${url.pathname}`;
  const { access_token: access, refresh_token: refresh, expires_in: seconds } = readMembers(response);
  if (response.status >= 200 && response.status < 300 && typeof access === 'string' && access !== '') {
    const lifetime = Number(seconds);
    for (const token of [access, refresh])
      if (typeof token === 'string' && token.length > mostTokenCharacters)
        throw new ConnectorError(
          `${place} answered with a token of ${token.length} characters, and at most ${mostTokenCharacters} are read: correct tokenUrl`,
        );
    return {
      accessToken: new Secret(access),
      refreshToken: typeof refresh === 'string' && refresh !== '' ? new Secret(refresh) : undefined,
      lifetime: lifetime > 0 ? lifetime : undefined,
    };
  }
  const code = readError(response);
  if (code === 'invalid_grant')
    throw new GrantRefused(
      `${place} refuses the grant (invalid_grant): it was revoked, was used before, or is over: authorize the OAuth configuration again`,
      { isGrantOver: true },
    );
  if (code === 'invalid_client' || code === 'unauthorized_client')
    throw new GrantRefused(
      `${place} does not accept the client (${code}): correct its id and secret in the vault`,
    );
  if (response.status >= 200 && response.status < 300 && code === undefined)
    throw new ConnectorError(
      `${place} answered ${response.status} without an access_token: correct tokenUrl`,
    );
  const text = `${place} gives no token: it answered ${response.status}${code === undefined ? '' : ` (${code})`}`;
  throw response.status >= 400 && response.status < 500 && response.status !== 429 && code !== undefined
    ? new GrantRefused(`${text}: correct the OAuth configuration`)
    : new ConnectorError(`${text}: try again later, or correct tokenUrl`);
}

/** Some servers answer a form. */
const readMembers = ({ text }: ReceivedResponse): Record<string, unknown> =>
  readJsonMembers(text) ?? Object.fromEntries(new URLSearchParams(text.slice(0, 20_000)));

/** Only what looks like a code of the RFC: the answer is another server's text. */
function readError(response: ReceivedResponse): string | undefined {
  const { error } = readMembers(response);
  return typeof error === 'string' && /^[a-z_.-]{1,60}$/.test(error) ? error : undefined;
}
