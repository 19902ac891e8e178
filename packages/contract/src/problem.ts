/**
 * Every problem that the service answers, as one table (decisions.md §2, ProblemDetail).
 * `type` and `title` follow from the status; `code` is the narrow reason; `detail` speaks to the caller and names the input.
 */
import { nearestName } from './nearest-name.ts';

/** The statuses used, with the phrase that is `title` and, in kebab case, the last part of `type`. */
export const statusTitles = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  406: 'Not Acceptable',
  408: 'Request Timeout',
  409: 'Conflict',
  410: 'Gone',
  412: 'Precondition Failed',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  422: 'Unprocessable Entity',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
} as const;
export type ProblemStatus = keyof typeof statusTitles;

interface ProblemKind {
  status: ProblemStatus;
  // biome-ignore lint/suspicious/noExplicitAny: the members of each kind are its own; `problem()` checks them
  detail: (about: any) => string;
}

function kind<About = void>(status: ProblemStatus, detail: (about: About) => string) {
  return { status, detail };
}

function noSuchWord({ field, found, allowed }: { field: string; found: string; allowed: readonly string[] }) {
  return `${field} is ${JSON.stringify(found)}; it must be one of ${allowed.join(', ')}.${didYouMean(nearestName(found, allowed))}`;
}

function didYouMean(nearest: string | undefined): string {
  return nearest === undefined ? '' : ` Did you mean ${nearest}?`;
}

export const problems = {
  'invalid-request': kind(400, () => 'The request is invalid; see `violations`.'),
  'malformed-request': kind(400, () => 'The bytes are no HTTP request that can be read.'),
  'invalid-json': kind<{ reason: string }>(400, ({ reason }) => `The body is not valid JSON: ${reason}`),
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
  forbidden: kind<{ may: string; needs: readonly string[]; has: readonly string[] }>(
    403,
    ({ may, needs, has }) =>
      `The caller may not ${may}. It needs one of these roles: ${needs.join('; ')}. It has: ${has.join('; ')}.`,
  ),
  'path-not-found': kind(404, () => 'There is nothing at this path.'),
  'project-not-found': kind<{ projectId: string }>(
    404,
    ({ projectId }) => `There is no project ${projectId}.`,
  ),
  'environment-not-found': kind<{ name: string }>(
    404,
    ({ name }) => `The project has no environment ${JSON.stringify(name)}.`,
  ),
  'variable-not-found': kind<{ name: string }>(
    404,
    ({ name }) => `The project has no variable ${JSON.stringify(name)}.`,
  ),
  'connection-not-found': kind<{ name: string }>(
    404,
    ({ name }) => `The project has no connection ${JSON.stringify(name)}.`,
  ),
  'connection-override-not-found': kind<{ names: readonly string[]; environmentName: string }>(
    404,
    ({ names, environmentName }) =>
      `The environment ${JSON.stringify(environmentName)} has no override of: ${names.map((name) => JSON.stringify(name)).join(', ')}.`,
  ),
  'secret-reference-not-found': kind<{ name: string }>(
    404,
    ({ name }) => `The project has no secret reference ${JSON.stringify(name)}.`,
  ),
  'credential-not-found': kind<{ id: string }>(404, ({ id }) => `There is no credential ${id}.`),
  'override-not-found': kind<{ name: string; environmentName: string }>(
    404,
    ({ name, environmentName }) =>
      `The variable ${JSON.stringify(name)} has no override in the environment ${JSON.stringify(environmentName)}.`,
  ),
  'artifact-not-found': kind<{ what: string }>(404, ({ what }) => what),
  'shared-version-not-found': kind<{ prefix: string; versionName: string | undefined }>(
    404,
    ({ prefix, versionName }) =>
      versionName === undefined
        ? `There is no enabled version of shared pipelines ${JSON.stringify(prefix)}; publish or enable one first.`
        : `There is no version ${JSON.stringify(versionName)} of shared pipelines ${JSON.stringify(prefix)}.`,
  ),
  'asset-not-found': kind<{ path: string; versionName: string }>(
    404,
    ({ path, versionName }) =>
      `The version ${JSON.stringify(versionName)} has no file ${JSON.stringify(path)}; a file's path is written exactly as it was uploaded.`,
  ),
  'pipeline-not-found': kind<{ name: string; versionName: string; nearest: string | undefined }>(
    404,
    ({ name, versionName, nearest }) =>
      `The version ${JSON.stringify(versionName)} has no pipeline ${JSON.stringify(name)}; a pipeline's name is its path, with or without ".orch.yaml" or ".tran.yaml".${didYouMean(nearest)}`,
  ),
  'pipeline-unreadable': kind<{ path: string; versionName: string; reason: string }>(
    422,
    ({ path, versionName, reason }) =>
      `The upload of the version ${JSON.stringify(versionName)} left ${JSON.stringify(path)} out, since it cannot be read: ${reason}. Correct the file and publish another version.`,
  ),
  'execution-not-found': kind<{ id: string }>(404, ({ id }) => `There is no pipeline execution ${id}.`),
  'agent-not-found': kind<{ id: string }>(404, ({ id }) => `There is no agent ${id}.`),
  'blob-not-found': kind<{ digest: string }>(
    404,
    ({ digest }) => `There is no content ${digest} that this agent may fetch.`,
  ),
  'method-not-allowed': kind<{ method: string }>(
    405,
    ({ method }) => `${method} is not an operation of this path; \`Allow\` lists them.`,
  ),
  'not-acceptable': kind(406, () => 'The answer is JSON: `Accept` must allow application/json.'),
  'request-timeout': kind(408, () => 'The request took too long to arrive.'),
  'account-name-taken': kind<{ name: string }>(
    409,
    ({ name }) => `An account named ${JSON.stringify(name)} already exists.`,
  ),
  'project-name-taken': kind<{ name: string }>(
    409,
    ({ name }) => `A project named ${JSON.stringify(name)} already exists in this account.`,
  ),
  'environment-name-taken': kind<{ name: string }>(
    409,
    ({ name }) => `An environment named ${JSON.stringify(name)} already exists in this project.`,
  ),
  'variable-name-taken': kind<{ name: string }>(
    409,
    ({ name }) => `A variable named ${JSON.stringify(name)} already exists in this project.`,
  ),
  'connection-name-taken': kind<{ name: string }>(
    409,
    ({ name }) => `A connection named ${JSON.stringify(name)} already exists in this project.`,
  ),
  'agent-name-taken': kind<{ name: string }>(
    409,
    ({ name }) => `An agent named ${JSON.stringify(name)} already exists in this account.`,
  ),
  'agent-not-stopped': kind<{ name: string; status: string }>(
    409,
    ({ name, status }) =>
      `The agent ${JSON.stringify(name)} is ${status}; only an agent that is stopped, pending or unknown can be deleted: stop its program first, or send force=true.`,
  ),
  'agent-cannot-restart': kind<{ name: string }>(
    409,
    ({ name }) =>
      `No instance of the agent ${JSON.stringify(name)} is connected that can restart itself: start its program, or restart it by hand.`,
  ),
  'agent-secret-not-kept': kind<{ name: string }>(
    409,
    ({ name }) =>
      `The secret of the agent ${JSON.stringify(name)} was not kept when it was made; give it another one by SECRET_REFRESH.`,
  ),
  'secret-reference-taken': kind<{ name: string }>(
    409,
    ({ name }) => `A secret reference named ${JSON.stringify(name)} already exists in this project.`,
  ),
  'secret-reference-in-use': kind<{ name: string; users: readonly string[]; more: boolean }>(
    409,
    ({ name, users, more }) =>
      `The secret reference ${JSON.stringify(name)} is named by ${users.join(', ')}${more ? ' and others' : ''}; ` +
      'change them first, or send force=true.',
  ),
  'last-super-admin': kind(
    409,
    () =>
      'It is the last credential with the role SUPER_ADMIN that does not expire; create another one first.',
  ),
  'version-exists': kind<{ versionName: string; environmentName: string }>(
    409,
    ({ versionName, environmentName }) =>
      `The version ${JSON.stringify(versionName)} already exists in the environment ${JSON.stringify(environmentName)}; versions are immutable.`,
  ),
  'shared-version-exists': kind<{ prefix: string; versionName: string }>(
    409,
    ({ prefix, versionName }) =>
      `The version ${JSON.stringify(versionName)} of shared pipelines ${JSON.stringify(prefix)} already exists; versions are immutable.`,
  ),
  'execution-tag-running': kind<{ tag: string; environmentName: string }>(
    409,
    ({ tag, environmentName }) =>
      `An execution tagged ${JSON.stringify(tag)} is already running in the environment ${JSON.stringify(environmentName)}.`,
  ),
  'execution-ended': kind<{ id: string; status: string }>(
    409,
    ({ id, status }) => `The pipeline execution ${id} has already ended: ${status}.`,
  ),
  'idempotency-key-in-use': kind(409, () => 'A request with this Idempotency-Key is still under way.'),
  'concurrent-change': kind(
    409,
    () => 'Another request changed the same resource at the same time; send the request again.',
  ),
  'protocol-version-unsupported': kind<{ supported: number }>(
    409,
    ({ supported }) =>
      `This server speaks version ${supported} of the agent protocol; install an agent that speaks it.`,
  ),
  'agent-not-connected': kind<{ name: string }>(
    409,
    ({ name }) =>
      `The agent ${JSON.stringify(name)} is not connected, or has no certificate yet: start it, and send the request again.`,
  ),
  'work-not-held': kind<{ id: string; epoch: number }>(
    409,
    ({ id, epoch }) => `The work ${id} is not held by this instance under the epoch ${epoch}.`,
  ),
  'secret-reference-of-another-agent': kind<{ name: string; agent: string }>(
    409,
    ({ name, agent }) =>
      `The secret reference ${JSON.stringify(name)} is for the agent ${JSON.stringify(agent)} only: run the pipeline there, or make the reference without an agentId.`,
  ),
  'no-agent-to-ask': kind<{ reasons: readonly string[] }>(
    409,
    ({ reasons }) => `No agent can be asked: ${reasons.join('; ')}.`,
  ),
  'sealed-value-used': kind(
    409,
    () => 'This sealed value was sent before, and each is written once: seal it anew, with another `jti`.',
  ),
  'artifact-disabled': kind<{ versionName: string; environmentName: string }>(
    410,
    ({ versionName, environmentName }) =>
      `The version ${JSON.stringify(versionName)} is disabled in the environment ${JSON.stringify(environmentName)}.`,
  ),
  'etag-mismatch': kind(412, () => 'The resource has changed since the ETag in `If-Match` was read.'),
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
  'value-type-mismatch': kind<{ field: string; type: string; found: string }>(
    422,
    ({ field, type, found }) => `${field} does not fit the variable's type ${type}: it is ${found}.`,
  ),
  'override-type-mismatch': kind<{ type: string; environments: readonly string[] }>(
    422,
    ({ type, environments }) =>
      `The type ${type} does not fit the overrides in these environments: ${environments.map((name) => JSON.stringify(name)).join(', ')}.`,
  ),
  'overrides-refused': kind<{ count: number }>(
    422,
    ({ count }) =>
      `Nothing was written: ${count} of the overrides cannot be, and the request is atomic; \`violations\` lists them.`,
  ),
  'connection-triple': kind<{ platformConnectionType: string; authProvider: string; authType: string }>(
    422,
    ({ platformConnectionType, authProvider, authType }) =>
      `${platformConnectionType} with the provider ${JSON.stringify(authProvider)} cannot have the authType ${authType}.`,
  ),
  'connection-properties': kind<{ field: string; reason: string }>(
    422,
    ({ field, reason }) => `${field}: ${reason}`,
  ),
  'connection-provider-fixed': kind<{ provider: string; found: string }>(
    422,
    ({ provider, found }) =>
      `body.authProvider is ${found}; the provider of a connection stays as created, ${provider}. Create another connection for ${found}.`,
  ),
  'connection-override': kind<{ reason: string }>(422, ({ reason }) => reason),
  'unknown-word': kind<{ field: string; found: string; allowed: readonly string[] }>(422, noSuchWord),
  'unknown-role': kind<{ field: string; found: string; allowed: readonly string[] }>(422, noSuchWord),
  'unknown-connection': kind<{ field: string; name: string; kind: string }>(
    422,
    ({ field, name, kind }) => `${field}: the project has no ${kind} named ${JSON.stringify(name)}.`,
  ),
  'duplicate-connection': kind<{ field: string; name: string }>(
    422,
    ({ field, name }) => `${field} names ${JSON.stringify(name)} more than once.`,
  ),
  'unknown-project': kind<{ id: string }>(422, ({ id }) => `The account has no project ${id}.`),
  'unknown-environment': kind<{ name: string }>(
    422,
    ({ name }) => `The project has no environment ${JSON.stringify(name)}.`,
  ),
  'expiry-in-the-past': kind(422, () => 'body.expiresAt lies in the past.'),
  'paused-until-in-the-past': kind(422, () => 'body.pausedUntil lies in the past.'),
  'empty-time-range': kind(422, () => 'query.from must lie before query.to.'),
  'unknown-agent': kind<{ id: string }>(422, ({ id }) => `The account has no agent ${JSON.stringify(id)}.`),
  'environment-without-agent': kind<{ name: string }>(
    422,
    ({ name }) =>
      `The environment ${JSON.stringify(name)} has no default agent, and the account has several agents or none: set \`defaultAgentId\` of the environment, or send \`agentId\`.`,
  ),
  'unknown-pipeline-variable': kind<{ field: string; name: string; nearest: string | undefined }>(
    422,
    ({ field, name, nearest }) =>
      `${field} names ${JSON.stringify(name)}, which is neither a public variable of the pipeline nor a variable of the project.${didYouMean(nearest)}`,
  ),
  'pipeline-variable-type': kind<{ field: string; name: string; type: string }>(
    422,
    ({ field, name, type }) => `${field} gives a value to ${JSON.stringify(name)}, whose type is ${type}.`,
  ),
  'shared-version-without-pipeline': kind(
    422,
    () =>
      'None of the files is a pipeline that can be read, so there is nothing to share; `violations` lists the pipelines that cannot be.',
  ),
  'strict-upload-refused': kind<{ errors: number; listed: number }>(
    422,
    ({ errors, listed }) =>
      `Nothing was stored: the upload is strict, and its pipelines have ${errors} ${errors === 1 ? 'error' : 'errors'}; \`violations\` lists ${listed < errors ? `the first ${listed}` : 'them'}.`,
  ),
  'empty-upload': kind<{ ignored: number; listed: number }>(422, ({ ignored, listed }) =>
    ignored === 0
      ? 'Nothing was stored: the form has no part. Send one part for each file.'
      : `Nothing was stored: no part of the form can be kept, and ${ignored} ${ignored === 1 ? 'was' : 'were'} ignored; \`violations\` lists ${listed < ignored ? `the first ${listed}` : 'the reasons'}.`,
  ),
  'promotion-to-itself': kind<{ name: string }>(
    422,
    ({ name }) =>
      `The source and the target are both the environment ${JSON.stringify(name)}: name another target.`,
  ),
  'secret-value-incomplete': kind<{ lacks: string }>(422, ({ lacks }) => `Nothing was written: ${lacks}`),
  'secret-reference-name-reserved': kind<{ name: string }>(
    422,
    ({ name }) =>
      `No secret reference can be named ${JSON.stringify(name)}: this path asks the agents whether secrets are there. Choose another name.`,
  ),
  'sealed-value-refused': kind<{ reason: string }>(
    422,
    ({ reason }) => `body.secret.sealedValue is refused: ${reason}.`,
  ),
  'certificate-request-refused': kind<{ reason: string }>(
    422,
    ({ reason }) => `The certificate request is refused: ${reason}.`,
  ),
  'idempotency-key-reused': kind(
    422,
    () => 'This Idempotency-Key was used with another body; use a new key for a new request.',
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
} as const satisfies Record<string, ProblemKind>;

export type ProblemCode = keyof typeof problems;
/** What the detail of a problem is told about. */
export type ProblemAbout<Code extends ProblemCode> = Parameters<(typeof problems)[Code]['detail']>[0];

/** `Bad Request` → `bad-request`: the last part of a problem's `type`. */
export function problemTypeName(status: ProblemStatus): string {
  return statusTitles[status].toLowerCase().replaceAll(' ', '-');
}
