/** The problems that do not belong to one resource. */
import { nearestName } from './nearest-name.ts';
import { didYouMean, kind } from './outcomes/problem-kind.ts';
import type { Outcomes } from './outcomes/sum-of-outcomes.ts';

/** A value that is not one of a closed list. */
export interface UnknownWord {
  field: string;
  found: string;
  allowed: readonly string[];
}

export function describeUnknownWord({ field, found, allowed }: UnknownWord): string {
  return `${field} is ${JSON.stringify(found)}; it must be one of ${allowed.join(', ')}.${didYouMean(nearestName(found, allowed))}`;
}

const requestProblems = {
  'invalid-request': kind(
    400,
    'A parameter or the body is invalid. `violations` lists up to 100 faults.',
    () => 'The request is invalid; see `violations`.',
  ),
  'malformed-request': kind(
    400,
    'The request is not valid HTTP. The connection is closed.',
    () => 'The request is not valid HTTP.',
  ),
  'invalid-json': kind<{ reason: string }>(
    400,
    'The body is not valid JSON in UTF-8.',
    ({ reason }) => `The body is not valid JSON: ${reason}`,
  ),
  'invalid-content-encoding': kind<{ encoding: string }>(
    400,
    'The body does not have the encoding that `Content-Encoding` names, or it is incomplete.',
    ({ encoding }) =>
      `The body is not valid ${encoding}, which \`Content-Encoding\` names, or it is incomplete.`,
  ),
  'invalid-path': kind(
    400,
    'The path does not decode to UTF-8, or it contains NUL.',
    () => 'The path is not valid: percent-encoding must decode to UTF-8 without NUL.',
  ),
  'path-not-found': kind<{ nearest: string | undefined }>(
    404,
    'There is no such path.',
    ({ nearest }) => `There is nothing at this path.${didYouMean(nearest)}`,
  ),
  'method-not-allowed': kind<{ method: string }>(
    405,
    'The path does not support this method. `Allow` lists the methods that it supports.',
    ({ method }) => `This path does not support ${method}; \`Allow\` lists the methods that it supports.`,
  ),
  'not-acceptable': kind(
    406,
    '`Accept` excludes application/json.',
    () => 'The response is JSON: `Accept` must allow application/json.',
  ),
  'request-timeout': kind(
    408,
    'The request took too long to arrive.',
    () => 'The request took too long to arrive.',
  ),
  'body-too-large': kind<{ limit: string }>(
    413,
    'The request exceeds a size limit.',
    ({ limit }) => `The request is larger than allowed: ${limit}.`,
  ),
  'unsupported-media-type': kind<{ expected: string }>(
    415,
    'The `Content-Type` is not the one that the operation accepts.',
    ({ expected }) => `The body must be sent as \`Content-Type: ${expected}\`.`,
  ),
  'unsupported-content-encoding': kind<{ known: string }>(
    415,
    'The server does not support the `Content-Encoding` of the body.',
    ({ known }) => `Send the body without \`Content-Encoding\`, or with one of: ${known}.`,
  ),
  'unknown-word': kind<UnknownWord>(
    422,
    'A member has a value that is not one of the allowed values.',
    describeUnknownWord,
  ),
  'response-too-large': kind(
    422,
    'The response would hold more than 64 MiB of stored values. Ask for fewer at once, with a smaller `size` or `limit`.',
    () =>
      'The response would hold more than 64 MiB of stored values; ask for fewer at once, with a smaller `size` or `limit`, for example size=5, or read the resources one by one.',
  ),
  'headers-too-large': kind(
    431,
    'The URL and the headers together are larger than 16 KiB.',
    () => 'The URL and the headers together may be at most 16 KiB.',
  ),
} as const;

const accessProblems = {
  'token-required': kind(
    401,
    'The request has no bearer token.',
    () => 'Send a bearer token. POST /oauth/dpc/token issues one for a client id and secret.',
  ),
  'token-invalid': kind<{ reason: string }>(
    401,
    'The bearer token has expired, was issued for another service, region or API, or its credential no longer exists. Get a new one.',
    ({ reason }) => `The bearer token is not accepted: ${reason}`,
  ),
  'session-invalid': kind(
    401,
    'The session of the browser has ended, or is unknown. Sign in again.',
    () => 'The session has ended or is unknown; sign in again.',
  ),
  'cross-origin-request': kind(
    403,
    'A request by the cookie of a session that changes something, or follows a stream, must come from a page of this server.',
    () =>
      'A request by the cookie of a session must come from a page of this server. Programs use a bearer token.',
  ),
  forbidden: kind<{
    permission: string;
    may: string;
    roles: readonly string[];
    has: readonly string[];
    /** Whose roles they are; the caller by default. */
    who?: string | undefined;
  }>(
    403,
    'None of the roles of the caller has the required permission.',
    ({ permission, may, roles, has, who = 'The caller' }) =>
      `This needs the permission ${permission} (${may}). Roles that have it: ${roles.join('; ')}. ${who} has: ${has.join('; ')}.`,
  ),
  'rate-limited': kind<{ seconds: number; of?: string; limit?: number }>(
    429,
    'The caller, its account, or an address whose tokens are refused has sent too many requests. `Retry-After` says when to try again.',
    ({ seconds, of, limit }) =>
      of === undefined
        ? `Too many requests; try again in ${seconds} s.`
        : `Too many requests: the limit of this ${of} is ${limit} in a minute; try again in ${seconds} s.`,
  ),
  'too-many-streams': kind<{ limit: number; of: 'caller' | 'account' }>(
    429,
    'The caller or its account has too many open streams at this server. Close one.',
    ({ limit, of }) =>
      `The ${of} has ${limit} open streams at this server, which is the limit for one ${of}; close one first.`,
  ),
} as const;

const writeProblems = {
  'idempotency-key-in-use': kind(
    409,
    'The first request with this Idempotency-Key is still in progress. Try again.',
    () => 'A request with this Idempotency-Key is still in progress; try again.',
  ),
  'idempotency-key-reused': kind(
    422,
    'The Idempotency-Key was used with a different request before.',
    () => 'This Idempotency-Key was used with a different request; use a new key for a new request.',
  ),
  'concurrent-change': kind(
    409,
    'Another request changed the same resource at the same time. Send the request again.',
    () => 'Another request changed the same resource at the same time; send the request again.',
  ),
  'etag-mismatch': kind(
    412,
    'The resource has changed since the ETag in `If-Match` was read. Read it again.',
    () => 'The resource has changed since the ETag in `If-Match` was read; read it again.',
  ),
  'precondition-required': kind<{ from: string }>(
    428,
    'The request must name what the caller has seen: the `digest` of the response that showed it, as `digest` in the body, or quoted in `If-Match`.',
    ({ from }) =>
      `Send the \`digest\` of ${from} as \`digest\` in the body, or quoted in \`If-Match\`, so that nothing else than what you have seen takes effect. \`If-Match: *\` names nothing.`,
  ),
  'digest-mismatch': kind<{ from: string }>(
    412,
    'What the caller has seen has changed since: the digest is another one. Nothing was changed. Look at it again.',
    ({ from }) =>
      `It has changed since you saw it: its digest is another one. Nothing was changed. Look at ${from} again, and send the new digest.`,
  ),
} as const;

const serverProblems = {
  'internal-error': kind(
    500,
    'An internal error. The operator finds it in the log by `traceId`.',
    () => 'An internal error occurred; the operator finds the cause in the log by `traceId`.',
  ),
  'database-unavailable': kind(
    503,
    'The database is temporarily unavailable. Try again.',
    () => 'The database is temporarily unavailable; send the request again.',
  ),
  'storage-unavailable': kind(
    503,
    'The file storage is temporarily unavailable. Nothing was changed. Try again.',
    () => 'The file storage is temporarily unavailable; send the request again.',
  ),
  'storage-full': kind(
    503,
    'The disk of the database or of the published files is full. Nothing was changed. Free some space, then try again.',
    () => 'The server has no disk space left; send the request again after the operator has freed some.',
  ),
  'shutting-down': kind(
    503,
    'This server is shutting down. Try again.',
    () => 'The server is shutting down; send the request again.',
  ),
  overloaded: kind(
    503,
    'The server is handling as many requests as it can. Try again.',
    () => 'The server is handling as many requests as it can; send the request again.',
  ),
} as const;

export const commonOutcomes = {
  events: [],
  problems: { ...requestProblems, ...accessProblems, ...writeProblems, ...serverProblems },
} as const satisfies Outcomes;
