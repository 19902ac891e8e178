/**
 * Every problem that the service answers, as one table (decisions.md §2, ProblemDetail).
 * `type` and `title` follow from the status; `code` is the narrow reason; `detail` speaks to the caller and
 * names the input.
 */
import { kind, type ProblemKind, type ProblemStatus, statusTitles } from './problem-kind.ts';
import { problemsOfRules } from './problems-of-rules.ts';
import { problemsOfState } from './problems-of-state.ts';

export { type ProblemStatus, statusTitles } from './problem-kind.ts';

export const problems = {
  'invalid-request': kind(400, () => 'The request is invalid; see `violations`.'),
  'malformed-request': kind(400, () => 'The bytes are no HTTP request that can be read.'),
  'invalid-json': kind<{ reason: string }>(400, ({ reason }) => `The body cannot be read as JSON: ${reason}`),
  'invalid-content-encoding': kind<{ encoding: string }>(
    400,
    ({ encoding }) => `The body is not ${encoding}, as \`Content-Encoding\` says, or it is cut off.`,
  ),
  'invalid-path': kind(
    400,
    () => 'The path is not valid: percent-encoding must decode to UTF-8 without NUL.',
  ),
  'invalid-upload': kind<{ reason: string }>(400, ({ reason }) => `The upload cannot be read: ${reason}`),
  'invalid-asset-name': kind<{ name: string; reason: string }>(
    400,
    ({ name, reason }) => `The part named ${JSON.stringify(name)} cannot be stored: ${reason}`,
  ),
  'duplicate-environment': kind<{ name: string }>(
    400,
    ({ name }) => `body.environmentOverrides names the environment ${JSON.stringify(name)} more than once.`,
  ),
  'token-required': kind(
    401,
    () => 'Send a bearer token: POST /oauth/dpc/token gives one for a client id and secret.',
  ),
  'token-invalid': kind<{ reason: string }>(
    401,
    ({ reason }) => `The bearer token is not accepted: ${reason}`,
  ),
  forbidden: kind<{ permission: string; may: string; roles: readonly string[]; has: readonly string[] }>(
    403,
    ({ permission, may, roles, has }) =>
      `This needs the permission ${permission} (${may}). Roles that have it: ${roles.join('; ')}. The caller has: ${has.join('; ')}.`,
  ),
  'method-not-allowed': kind<{ method: string }>(
    405,
    ({ method }) => `${method} is not an operation of this path; \`Allow\` lists them.`,
  ),
  'not-acceptable': kind(406, () => 'The answer is JSON: `Accept` must allow application/json.'),
  'request-timeout': kind(408, () => 'The request took too long to arrive.'),
  'body-too-large': kind<{ limit: string }>(
    413,
    ({ limit }) => `The request is larger than allowed: ${limit}.`,
  ),
  'unsupported-media-type': kind<{ expected: string }>(
    415,
    ({ expected }) => `The body must be sent as \`Content-Type: ${expected}\`.`,
  ),
  'unsupported-content-encoding': kind<{ known: string }>(
    415,
    ({ known }) => `The body may be sent as it is, or in one \`Content-Encoding\`: ${known}.`,
  ),
  'headers-too-large': kind(431, () => 'The address and the headers together hold 16 KiB at most.'),
  'rate-limited': kind<{ seconds: number }>(
    429,
    ({ seconds }) => `Too many requests; try again in ${seconds} s.`,
  ),
  'internal-error': kind(
    500,
    () => 'The service failed; the operator finds the cause in its log under `traceId`.',
  ),
  'vault-refused': kind<{ reason: string }>(502, ({ reason }) => `The secret was not written: ${reason}`),
  'agent-timeout': kind<{ name: string; seconds: number }>(
    504,
    ({ name, seconds }) =>
      `The agent ${JSON.stringify(name)} did not confirm the write within ${seconds} s. It may still happen: the same request with the same Idempotency-Key tells.`,
  ),
  'secret-check-timeout': kind<{ names: readonly string[]; seconds: number }>(
    504,
    ({ names, seconds }) =>
      `None of the agents ${names.map((name) => JSON.stringify(name)).join(', ')} answered within ${seconds} s. The same request with the same Idempotency-Key tells what they answer later.`,
  ),
  'database-unavailable': kind(
    503,
    () => 'The database cannot be reached at the moment; send the request again.',
  ),
  'storage-unavailable': kind(
    503,
    () => 'The files cannot be stored or read at the moment; send the request again.',
  ),
  'storage-full': kind(
    503,
    () =>
      'The server has no disk space left to store this; send the request again when the operator has freed some.',
  ),
  'shutting-down': kind(503, () => 'The server is shutting down; send the request again.'),
  overloaded: kind(
    503,
    () => 'The server has more requests under way than it can serve; send the request again.',
  ),
  ...problemsOfState,
  ...problemsOfRules,
} as const satisfies Record<string, ProblemKind>;

export type ProblemCode = keyof typeof problems;
/** What the detail of a problem is told about. */
export type ProblemAbout<Code extends ProblemCode> = Parameters<(typeof problems)[Code]['detail']>[0];

/** `Bad Request` → `bad-request`: the last part of a problem's `type`. */
export function problemTypeName(status: ProblemStatus): string {
  return statusTitles[status].toLowerCase().replaceAll(' ', '-');
}
