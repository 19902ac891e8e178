/**
 * The problems of requests that do not fit what is stored: 404, 409, 410, 412. The table is in problem.ts.
 */
import { didYouMean, kind, type ProblemKind } from './problem-kind.ts';

export const problemsOfState = {
  'path-not-found': kind<{ nearest: string | undefined }>(
    404,
    ({ nearest }) => `There is nothing at this path.${didYouMean(nearest)}`,
  ),
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
  'execution-not-found': kind<{ id: string }>(404, ({ id }) => `There is no pipeline execution ${id}.`),
  'agent-not-found': kind<{ id: string }>(404, ({ id }) => `There is no agent ${id}.`),
  'blob-not-found': kind<{ digest: string }>(
    404,
    ({ digest }) => `There is no content ${digest} that this agent may fetch.`,
  ),
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
} as const satisfies Record<string, ProblemKind>;
