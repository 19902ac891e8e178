/** Reads answers of a provider's interface. They are not trusted: a member may have any type. */
import { trimEnd } from '@headgate/pipelines';
import {
  type GitProvider,
  type ProviderAnswer,
  type ProviderCall,
  ProviderRefused,
  type ProviderRequest,
} from './git-provider.ts';

export type Members = Readonly<Record<string, unknown>>;

export const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
export const asMembers = (value: unknown): Members => (isMembers(value) ? value : {});
export const asList = (value: unknown): readonly Members[] =>
  Array.isArray(value) ? value.filter(isMembers) : [];
export const asText = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

export interface InterfaceRequest {
  method?: ProviderRequest['method'];
  /** Below the base address, with its query. */
  path: string;
  accept?: string;
  body?: object;
  /** Also a success. */
  expected?: readonly number[];
}

type Explain = GitProvider['explainFailure'];

/** Sends a request. Throws `ProviderRefused` unless the status is a success. */
export async function sendRequest(
  call: Pick<ProviderCall, 'send' | 'baseUrl'>,
  explain: Explain,
  { method = 'GET', path, accept = 'application/json', body, expected = [] }: InterfaceRequest,
): Promise<ProviderAnswer> {
  const answer = await call.send({
    method,
    url: `${call.baseUrl}${path}`,
    // GitHub refuses requests that do not say who sends them.
    headers: {
      accept,
      'user-agent': 'headgate',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const isSuccess = answer.status >= 200 && answer.status < 300 && answer.status !== 203;
  if (isSuccess || expected.includes(answer.status)) return answer;
  throw new ProviderRefused(explain({ status: answer.status, headers: answer.headers, text: answer.body }));
}

/** The JSON of an answer. Throws `ProviderRefused` for anything else: a proxy's page, for example. */
export function readJson(answer: ProviderAnswer): unknown {
  try {
    return JSON.parse(answer.body);
  } catch {
    throw new ProviderRefused({
      code: 'provider-failed',
      detail: `The provider answered ${answer.status} with something that is not JSON.`,
      remedy: 'Check the address: it may lead to a proxy or a sign-in page.',
    });
  }
}

/** The segments of an address's path, decoded, without `.git` at the end; undefined if it is no address. */
export function readPath(cloneUrl: string): { url: URL; segments: string[] } | undefined {
  if (!URL.canParse(cloneUrl)) return undefined;
  const url = new URL(cloneUrl);
  try {
    const segments = trimEnd(url.pathname, '/')
      .replace(/\.git$/, '')
      .split('/')
      .filter((each) => each !== '')
      .map(decodeURIComponent);
    return { url, segments };
  } catch {
    return undefined;
  }
}

/** Whether a clone address is below the operator's address of a provider. */
export function isBelow(cloneUrl: string, base: string): boolean {
  if (!URL.canParse(cloneUrl) || !URL.canParse(base)) return false;
  const [of, above] = [new URL(cloneUrl), new URL(base)];
  const folder = `${trimEnd(above.pathname, '/')}/`;
  return of.origin === above.origin && of.pathname.startsWith(folder);
}

/** Shortens a text to what a provider takes. */
export function shorten(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).trimEnd()}…`;
}

/** For words about an address that the provider cannot have. */
export function showPath(cloneUrl: string): string {
  return JSON.stringify(URL.canParse(cloneUrl) ? new URL(cloneUrl).pathname : cloneUrl);
}
