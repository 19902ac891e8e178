/**
 * A connector profile: how an HTTP API that answers JSON is called.
 *
 * - **endpoint**: one request of the API, and how its rows are found in the response.
 * - **parameter**: a named value of a request: a header, a query parameter, or a `{segment}` of the path.
 * - **page**: one response. Paging says how the next one is asked for.
 * - **row**: one element of the response at `repeatingElementPath`.
 *
 * A profile is kept as it was written. These types are what `readProfile` makes of it: words in their usual
 * case, absent members filled in.
 */

export const connectorMethods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type ConnectorMethod = (typeof connectorMethods)[number];

export const authenticationTypes = ['NONE', 'BASIC', 'BEARER', 'API_KEY', 'OAUTH'] as const;
export type AuthenticationType = (typeof authenticationTypes)[number];

export const keyPlaces = ['QUERY', 'HEADER'] as const;
export type KeyPlace = (typeof keyPlaces)[number];

export interface ConnectorProfile {
  name: string;
  endpoints: readonly ConnectorEndpoint[];
}

export interface ConnectorEndpoint {
  /** Unique in its profile; the name if the profile gives none. */
  id: string;
  name: string;
  /** Absolute. `{name}` in its path stands for a URI parameter. */
  url: string;
  httpMethod: ConnectorMethod;
  auth: AuthenticationType;
  /** What the endpoint may use to authenticate. */
  authenticationOptions: readonly AuthenticationOption[];
  paging: Paging;
  headerParameters: readonly ConnectorParameter[];
  queryParameters: readonly ConnectorParameter[];
  uriParameters: readonly ConnectorParameter[];
  structure: ConnectorStructure;
  /** Sent as it is if it is text, else as JSON. */
  body: unknown;
  /** All loads of an environment together call the server no faster. */
  rateLimit: RateLimit | undefined;
}

export interface RateLimit {
  requests: number;
  seconds: number;
}

export interface ConnectorParameter {
  name: string;
  /** Undefined: the pipeline gives it. */
  value: string | undefined;
  /** A request without it is not sent. */
  required: boolean;
}

export type AuthenticationOption =
  | { type: 'NONE' }
  | { type: 'BASIC' }
  | { type: 'BEARER' }
  /** Without keys, the connection gives the name. */
  | { type: 'API_KEY'; keys: readonly ApiKey[] }
  /** The names of OAuth configurations of the project, the usual one first. None: the connection names one. */
  | { type: 'OAUTH'; names: readonly string[] };

export interface ApiKey {
  name: string;
  addTo: KeyPlace;
}

/** Where a value is written in a request. The path of a body has the names of its members. */
export type RequestPlace = { in: 'query' | 'header'; name: string } | { in: 'body'; path: readonly string[] };

export const pagingTypes = [
  'none',
  'page',
  'offset',
  'cursor',
  'link-header',
  'next-url',
  'token-in-body',
] as const;
export type PagingType = (typeof pagingTypes)[number];

export interface PageSize {
  at: RequestPlace;
  /** Rows of one page. Undefined: the server decides, and the parameter is not sent. */
  rows: number | undefined;
}

/** Paths are names of members of the response. */
interface PagingFrame {
  size: PageSize | undefined;
  /** A member that is false, null, 0 or absent on the last page. */
  hasMorePath: readonly string[] | undefined;
}

export type Paging =
  | (PagingFrame & { type: 'none' })
  /** Counts pages. `totalPath`: the member with the number of pages. */
  | (PagingFrame & { type: 'page'; at: RequestPlace; first: number; totalPath?: readonly string[] })
  /** Counts rows. `totalPath`: the member with the number of rows. */
  | (PagingFrame & { type: 'offset'; at: RequestPlace; first: number; totalPath?: readonly string[] })
  /** A value of the response, or of its last row, is a parameter of the next request. */
  | (PagingFrame & {
      type: 'cursor';
      at: RequestPlace;
      path: readonly string[];
      from: 'response' | 'last-row';
    })
  /** RFC 8288. */
  | (PagingFrame & { type: 'link-header'; relation: string })
  /** The response holds the address of the next page. */
  | (PagingFrame & { type: 'next-url'; path: readonly string[] })
  /** A value of the response is a member of the body of the next request. */
  | (PagingFrame & { type: 'token-in-body'; at: RequestPlace; path: readonly string[] });

export interface ConnectorStructure {
  /** A JSON schema of one page, or of one row. Undefined: columns are found in the rows. */
  schema: JsonSchema | undefined;
  /** The page is a list, and the path starts in each of its elements. */
  containedInOuterArray: boolean;
  repeatingElementPath: readonly string[];
}

/** The part of JSON Schema that is read. Other keywords are kept and have no effect. */
export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
  readonly required?: readonly string[];
}

/** What is wrong in a profile. `path`: the member, as in `endpoints[0].url`; '' for the whole. */
export interface ProfileFinding {
  path: string;
  message: string;
}

/** Why an endpoint cannot be called or its response cannot be used. The message names what to change. */
export class ConnectorError extends Error {}

/** A fault that another attempt would meet again: only a change of the pipeline, the profile or the settings helps. */
export class PermanentFault extends ConnectorError {
  override name = 'PermanentFault';
}
