/**
 * An operation as data: the one source of its validation, its handler's types, the OpenAPI document and the
 * permission table.
 */
import { type Static, type TObject, type TSchema, Type } from 'typebox';
import type { EventName } from './event.ts';
import type { Tag } from './headings.ts';
import { named } from './named-schema.ts';
import type { EnvironmentPermission, Permission } from './permission.ts';
import type { ProblemCode } from './problem.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type MediaType = 'application/json' | 'multipart/form-data';

export interface Operation {
  /** Unique; the `operationId` of OpenAPI. */
  id: string;
  method: Method;
  /** Below the base of its surface, parameters in braces: `/v1/projects/{projectId}`. */
  path: string;
  /** `dpc`: under `/dpc`, for people and programs. `agent`: under `/agent`, for agents only. */
  surface: 'dpc' | 'agent';
  tag: Tag;
  summary: string;
  description?: string;
  /** Absent on the agent's surface: an agent may do all that concerns its own work, and nothing else. */
  permission?: Permission;
  /**
   * Where the check of the permission finds its environment, for a permission that a role in an environment
   * can give. Nothing else of the request is looked at. The project of a check is the path parameter
   * `projectId`, where the path has one, or what `projectFrom` names.
   */
  environmentFrom?: EnvironmentSource;
  /**
   * The project of the check, for a path without `{projectId}`: a required member of the body, by its path, or
   * `resource`: the project of the resource that the path names.
   */
  projectFrom?: `body.${string}` | 'resource';
  /** A permission that the caller must have too, by a role in the account or in the project. */
  alsoRequires?: Permission;
  params?: TObject;
  query?: TObject;
  headers?: TObject;
  body?: TSchema;
  /**
   * Members of the body that callers may expect, and that the operation does not take: each with the reason, which a
   * response to a request that has it names in `Headgate-Warning`.
   */
  ignoredMembers?: Readonly<Record<string, string>>;
  /** Default `application/json`. */
  mediaType?: MediaType;
  success: {
    status: 200 | 201 | 202 | 204;
    body?: TSchema;
    /** The body of a request with `?dryRun=true`, which gets the status 200 and none of `headers`. */
    dryRun?: TSchema;
    /** Response headers beside the common ones. */
    headers?: readonly ('ETag' | 'Location')[];
    /** Of the body; default `application/json`. */
    mediaType?:
      | 'application/octet-stream'
      | 'text/plain'
      | 'text/event-stream'
      /** JSON; sent as `application/json` to a caller that asks for that. */
      | 'application/scim+json';
    /** `If-None-Match` (RFC 9110 §13.1.2) is honoured: 304 when the caller has this state already. */
    conditional?: true;
    /** A stream of events that has come to its end: 204 to a client that has its last event (HTML §9.2.3). */
    endsWith204?: true;
  };
  /** The response contains a secret: it is not cached, and is sealed where it is stored for an Idempotency-Key. */
  answerHoldsSecret?: boolean;
  /**
   * JSON pointers to the parts of the body that contain a secret in plain text. The body is not stored, and
   * errors do not repeat any of it.
   */
  bodyHoldsSecret?: readonly [string, ...string[]];
  /** The codes that this operation adds to `commonProblems`. */
  problems: readonly ProblemCode[];
  /** The events that it can record; never empty for an operation that writes. */
  events: readonly EventName[];
  /**
   * Why an operation that is not a GET records no event: it only reads, or its effect is too frequent and too
   * small for the log.
   */
  withoutEvent?: string;
}

type RequestPart = 'params' | 'query' | 'headers' | 'body';

/**
 * A required member of the request that names the environment; or `resource`: the environment of the resource
 * that the path names, known once that is read; or `items`: each item of the body names its own and is judged
 * by itself. With the last two a role in any environment of the project lets the request begin, and the
 * handler checks each environment.
 */
export type EnvironmentSource = `${RequestPart}.${string}` | 'resource' | 'items';

/** The required members of a schema that are text. */
type RequiredText<Schema> = Schema extends TObject
  ? {
      [Name in keyof Static<Schema> & string]: undefined extends Static<Schema>[Name]
        ? never
        : Static<Schema>[Name] extends string
          ? Name
          : never;
    }[keyof Static<Schema> & string]
  : never;
type TextMember<Declared> = {
  [Part in RequestPart]: Declared extends Record<Part, infer Schema>
    ? `${Part}.${RequiredText<Schema>}`
    : never;
}[RequestPart];
/** What the permission of an operation asks of its declaration. */
type Placed<Declared> = Declared extends { permission: EnvironmentPermission }
  ? { environmentFrom: TextMember<Declared> | 'resource' | 'items' }
  : { environmentFrom?: never };

/** The phrases of the statuses of success; those of problems are `statusTitles`. */
export const successTitles = { 200: 'OK', 201: 'Created', 202: 'Accepted', 204: 'No Content' } as const;

/** Declares an operation; the value keeps its exact type, from which the handler's types derive. */
export function operation<const Declared extends Operation>(declared: Declared & Placed<Declared>): Declared {
  return declared;
}

/** Whether its permission is checked in one project, so that a role there can give it. */
export function isOfProject({ path, projectFrom }: Operation): boolean {
  return path.includes('{projectId}') || projectFrom !== undefined;
}

/** A POST that requires no member can be sent without a body, which means an empty object. */
export function bodyIsOptional({ method, body }: Operation): boolean {
  if (method !== 'POST' || !Type.IsObject(body)) return false;
  const { required = [] }: { required?: readonly string[] } = body;
  return required.length === 0;
}

type StaticOf<Schema> = Schema extends TSchema ? Static<Schema> : undefined;
type Part<Declared, Key extends string> =
  Declared extends Record<Key, infer Schema> ? StaticOf<Schema> : undefined;

export type ParamsOf<Declared> = Part<Declared, 'params'>;
export type QueryOf<Declared> = Part<Declared, 'query'>;
export type HeadersOf<Declared> = Part<Declared, 'headers'>;
export type BodyOf<Declared> = Part<Declared, 'body'>;
export type AnswerOf<Declared> = Declared extends { success: infer Success }
  ? Part<Success, 'body'>
  : undefined;

/** The problems that every operation can answer. */
export const commonProblems = [
  'invalid-request',
  'invalid-path',
  'token-required',
  'token-invalid',
  'not-acceptable',
  'headers-too-large',
  'rate-limited',
  'response-too-large',
  'internal-error',
  'database-unavailable',
  'storage-full',
  'shutting-down',
  'overloaded',
] as const satisfies readonly ProblemCode[];

/** All problems of an operation: the common ones, those of its features, and those that it declares. */
export function problemsOf(declared: Operation): ProblemCode[] {
  const codes = new Set<ProblemCode>(commonProblems);
  if (declared.permission !== undefined) codes.add('forbidden');
  // Whatever comes with a method that may bring content is read before it is known to be of no use.
  if (declared.method !== 'GET') {
    codes.add('body-too-large').add('unsupported-media-type').add('request-timeout');
    codes.add('unsupported-content-encoding').add('invalid-content-encoding');
    if ((declared.mediaType ?? 'application/json') === 'application/json') codes.add('invalid-json');
    if (declared.mediaType === 'multipart/form-data') codes.add('storage-unavailable');
  }
  if (declared.surface === 'dpc') {
    codes.add('session-invalid').add('cross-origin-request');
    if (declared.method === 'POST') codes.add('idempotency-key-in-use').add('idempotency-key-reused');
    if (declared.method !== 'GET') codes.add('concurrent-change');
    if (declared.path.includes('{projectId}') || declared.projectFrom?.startsWith('body.'))
      codes.add('project-not-found');
  }
  for (const code of declared.problems) codes.add(code);
  return [...codes];
}

/** ProblemDetail (RFC 9457), with extension members. */
export const ProblemDetail = named(
  'ProblemDetail',
  Type.Object({
    type: Type.String({ format: 'uri', maxLength: 2_048 }),
    title: Type.String({ maxLength: 100 }),
    status: Type.Integer({ minimum: 400, maximum: 599 }),
    detail: Type.String({ maxLength: 10_000 }),
    instance: Type.String({ maxLength: 8_192 }),
    code: Type.String({ maxLength: 100, description: 'The exact reason' }),
    traceId: Type.String({
      maxLength: 64,
      description: 'The id of the request, also in the header x-request-id',
    }),
    violations: Type.Optional(
      Type.Array(Type.String({ maxLength: 2_000 }), {
        maxItems: 100,
        description: 'One sentence for each of the first 100 faults, starting with the field',
      }),
    ),
    errors: Type.Optional(
      Type.Array(
        Type.Object({
          pointer: Type.String({ maxLength: 2_000 }),
          detail: Type.String({ maxLength: 2_000 }),
        }),
        {
          maxItems: 100,
          description: 'The violations, with JSON pointers into the request',
        },
      ),
    ),
  }),
);
export type ProblemDetail = Static<typeof ProblemDetail>;
