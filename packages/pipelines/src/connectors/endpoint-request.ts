/** The request of one page: the endpoint with the values of the pipeline and of the paging. No secret is in it. */

import { shorten } from '../format/template.ts';
import { expandUrl, listPlaceholders } from './endpoint-url.ts';
import { describeHeaderFault } from './header.ts';
import type { PageRequest } from './paging.ts';
import {
  type ConnectorEndpoint,
  ConnectorError,
  type ConnectorParameter,
  type RequestPlace,
} from './profile.ts';
import { isJsonMap } from './profile-reader.ts';

/** What a pipeline or a test gives for one endpoint. A header or query parameter that it lacks is sent too. */
export interface EndpointValues {
  headers: readonly (readonly [name: string, value: string])[];
  query: readonly (readonly [name: string, value: string])[];
  uri: readonly (readonly [name: string, value: string])[];
  /** Replaces the profile's body. */
  body?: string;
}

export interface EndpointRequest {
  method: ConnectorEndpoint['httpMethod'];
  url: string;
  headers: readonly (readonly [name: string, value: string])[];
  body: string | undefined;
}

/** @throws ConnectorError that names the parameter */
export function createEndpointRequest(
  endpoint: ConnectorEndpoint,
  values: EndpointValues,
  page: Omit<PageRequest, 'number'>,
): EndpointRequest {
  const headers = mergeHeaders(endpoint.headerParameters, values.headers, page);
  const body = createBody(endpoint, values, page);
  const isJson = body !== undefined && !headers.some(([name]) => name.toLowerCase() === 'content-type');
  return {
    method: endpoint.httpMethod,
    url: createUrl(endpoint, values, page),
    headers: isJson ? [...headers, ['content-type', 'application/json']] : headers,
    body,
  };
}

function createUrl(
  endpoint: ConnectorEndpoint,
  values: EndpointValues,
  page: Omit<PageRequest, 'number'>,
): string {
  if (page.url !== undefined) return page.url;
  requirePlaces(endpoint, values);
  const uri = new Map(mergeValues(endpoint.uriParameters, values.uri, 'URI parameter'));
  const url = expandUrl(endpoint.url, uri);
  for (const [name, value] of mergeValues(endpoint.queryParameters, values.query, 'query parameter'))
    url.searchParams.append(name, value);
  for (const { at, value } of page.parameters) {
    // The paging wins over a value of the pipeline.
    if (at.in === 'query') url.searchParams.set(at.name, String(value));
  }
  return url.href;
}

/** A value without a place in the address would have no effect. @throws ConnectorError */
function requirePlaces({ url }: ConnectorEndpoint, values: EndpointValues): void {
  const places = listPlaceholders(url);
  const strange = values.uri.find(([name]) => !places.includes(name))?.[0];
  if (strange === undefined) return;
  const known = places.map((name) => `"${shorten(name)}"`).join(', ') || 'none';
  throw new ConnectorError(
    `the address of the endpoint has no URI parameter "${shorten(strange)}": it has ${known}`,
  );
}

/** The profile's values, and those of the pipeline, which replace them. */
function mergeValues(
  declared: readonly ConnectorParameter[],
  inputs: readonly (readonly [string, string])[],
  what: string,
): [string, string][] {
  const names = new Set(inputs.map(([name]) => name));
  const missing = declared.find(
    ({ name, value, required }) => required && value === undefined && !names.has(name),
  );
  if (missing !== undefined)
    throw new ConnectorError(`the ${what} "${missing.name}" has no value: give it one`);
  return [
    ...declared.flatMap(({ name, value }): [string, string][] =>
      value === undefined || names.has(name) ? [] : [[name, value]],
    ),
    ...inputs.map(([name, value]): [string, string] => [name, value]),
  ];
}

function mergeHeaders(
  declared: readonly ConnectorParameter[],
  inputs: readonly (readonly [string, string])[],
  page: Omit<PageRequest, 'number'>,
): [string, string][] {
  const lower = (headers: readonly (readonly [string, string])[]) =>
    headers.map(([name, value]): [string, string] => [name.toLowerCase(), value]);
  const declaredLower = declared.map((each) => ({ ...each, name: each.name.toLowerCase() }));
  const headers = new Map(mergeValues(declaredLower, lower(inputs), 'header'));
  for (const { at, value } of page.parameters)
    if (at.in === 'header') headers.set(at.name.toLowerCase(), String(value));
  for (const [name, value] of headers) {
    const fault = describeHeaderFault(name, value);
    if (fault !== undefined) throw new ConnectorError(`${fault}: correct the profile or the pipeline`);
  }
  return [...headers];
}

function createBody(
  endpoint: ConnectorEndpoint,
  values: EndpointValues,
  page: Omit<PageRequest, 'number'>,
): string | undefined {
  const written = values.body ?? endpoint.body;
  const text = written === undefined || typeof written === 'string' ? written : JSON.stringify(written);
  const changes = page.parameters.filter(({ at }) => at.in === 'body');
  if (changes.length === 0) return text;
  const body = parseBody(text);
  for (const { at, value } of changes) setMember(body, at, value);
  return JSON.stringify(body);
}

function parseBody(text: string | undefined): Record<string, unknown> {
  try {
    const body: unknown = text === undefined || text.trim() === '' ? {} : JSON.parse(text);
    if (isJsonMap(body)) return body as Record<string, unknown>;
  } catch {
    // The message below says what is wrong.
  }
  throw new ConnectorError(
    'the body is not a JSON object, but the paging writes into it: correct the body or the paging',
  );
}

function setMember(body: Record<string, unknown>, at: RequestPlace, value: string | number): void {
  if (at.in !== 'body') return;
  let level = body;
  for (const name of at.path.slice(0, -1)) {
    const next = Object.hasOwn(level, name) ? level[name] : undefined;
    if (next !== undefined && !isJsonMap(next))
      throw new ConnectorError(
        `the body has no object "${name}" for the paging: correct the body or the paging`,
      );
    const object: Record<string, unknown> = next === undefined ? {} : (next as Record<string, unknown>);
    defineMember(level, name, object);
    level = object;
  }
  const last = at.path.at(-1);
  if (last !== undefined) defineMember(level, last, value);
}

/** An assignment to `__proto__` would not make a member. */
function defineMember(object: Record<string, unknown>, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true });
}
