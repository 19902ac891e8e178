/** Tokens of a service principal for Azure Storage. */
import { ConnectorError, PermanentFault } from '@headgate/pipelines';
import type { Exchange } from '../connectors/exchange.ts';
import type { StoreTime } from './store-calls.ts';

export interface ServicePrincipal {
  tenantId: string;
  clientId: string;
  clientSecret: string;
}

/** A token that is used for longer than this is renewed before it expires. */
const spareMilliseconds = 120_000;

/** @param authority default: Microsoft's */
export function createAzureTokens(
  { tenantId, clientId, clientSecret }: ServicePrincipal,
  exchange: Pick<Exchange, 'send'>,
  time: StoreTime,
  authority = 'https://login.microsoftonline.com',
): (signal: AbortSignal) => Promise<string> {
  let token: { value: string; until: number } | undefined;
  const url = new URL(`/${encodeURIComponent(tenantId)}/oauth2/v2.0/token`, authority);
  const body = new URLSearchParams({
    ...{ grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret },
    scope: 'https://storage.azure.com/.default',
  }).toString();

  return async (signal) => {
    const now = time.date().getTime();
    if (token !== undefined && token.until > now) return token.value;
    const headers = [['content-type', 'application/x-www-form-urlencoded']] as const;
    const { status, text } = await exchange.send({ method: 'POST', url, headers, body }, signal);
    const answer = parse(text);
    if (status === 200 && typeof answer.access_token === 'string') {
      const seconds = Number(answer.expires_in) || 0;
      token = { value: answer.access_token, until: now + seconds * 1_000 - spareMilliseconds };
      return token.value;
    }
    const message = `Azure gave no token (${status}, ${String(answer.error ?? 'no reason').slice(0, 100)}): check "tenantId", "clientId" and "clientSecret" of the credentials`;
    throw status >= 500 ? new ConnectorError(message) : new PermanentFault(message);
  };
}

function parse(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
