/** How a request shows who sends it: one adapter for each type of authentication. */
import type { Secret } from '@headgate/contract';
import {
  type Authentication,
  type AuthenticationType,
  type ConnectionValue,
  ConnectorError,
  isHeaderValue,
} from '@headgate/pipelines';

/** What is added to a request. */
export interface Credentials {
  headers: readonly (readonly [name: string, value: string])[];
  query: readonly (readonly [name: string, value: string])[];
}

export interface CredentialSources {
  /** @throws Error that names the reference */
  readSecret(name: string, key?: string): Promise<Secret>;
  /** An access token of an OAuth configuration. `refused`: the token that the server did not accept. */
  readToken(oauth: string, refused: string | undefined): Promise<Secret>;
}

type Adapters = {
  [Type in AuthenticationType]: (
    authentication: Extract<Authentication, { type: Type }>,
    sources: CredentialSources,
    refused: string | undefined,
  ) => Promise<Credentials & { token?: string }>;
};

const nothing = { headers: [], query: [] };

async function reveal(value: ConnectionValue, sources: CredentialSources): Promise<string> {
  if ('text' in value) return value.text;
  return (await sources.readSecret(value.secretName, value.secretKey)).reveal();
}

const createBearer = (token: string): Credentials => ({
  headers: [['authorization', `Bearer ${requireHeader(token, 'the token')}`]],
  query: [],
});

function requireHeader(value: string, what: string): string {
  if (isHeaderValue(value)) return value;
  throw new ConnectorError(
    `${what} has a character that a header cannot hold, such as a line break: store it without`,
  );
}

const adapters: Adapters = {
  NONE: async () => nothing,
  async BASIC({ username, password }, sources) {
    const [name, word] = [await reveal(username, sources), await reveal(password, sources)];
    if (name.includes(':'))
      throw new ConnectorError('the username has a colon, which Basic authentication cannot send');
    return {
      headers: [['authorization', `Basic ${Buffer.from(`${name}:${word}`).toString('base64')}`]],
      query: [],
    };
  },
  BEARER: async ({ token }, sources) => createBearer(await reveal(token, sources)),
  async API_KEY({ keys }, sources) {
    const headers: [string, string][] = [];
    const query: [string, string][] = [];
    for (const { name, addTo, value } of keys) {
      const revealed = await reveal(value, sources);
      if (addTo === 'QUERY') query.push([name, revealed]);
      else headers.push([name.toLowerCase(), requireHeader(revealed, `the API key "${name}"`)]);
    }
    return { headers, query };
  },
  async OAUTH({ name }, sources, refused) {
    const token = (await sources.readToken(name, refused)).reveal();
    return { ...createBearer(token), token };
  },
};

/** @param refused the token of an earlier request that got 401 */
export function createCredentials(
  authentication: Authentication,
  sources: CredentialSources,
  refused?: string,
): Promise<Credentials & { token?: string }> {
  // The adapter is looked up by the type, so the types match.
  const adapter = adapters[authentication.type] as (
    input: Authentication,
    from: CredentialSources,
    before: string | undefined,
  ) => Promise<Credentials & { token?: string }>;
  return adapter(authentication, sources, refused);
}
