/** The problems of well-formed requests that break a rule: 422. The table is in problem.ts. */
import { nearestName } from './nearest-name.ts';
import { didYouMean, kind, type ProblemKind } from './problem-kind.ts';

function noSuchWord({ field, found, allowed }: { field: string; found: string; allowed: readonly string[] }) {
  return `${field} is ${JSON.stringify(found)}; it must be one of ${allowed.join(', ')}.${didYouMean(nearestName(found, allowed))}`;
}

export const problemsOfRules = {
  'pipeline-unreadable': kind<{ path: string; versionName: string; reason: string }>(
    422,
    ({ path, versionName, reason }) =>
      `The upload of the version ${JSON.stringify(versionName)} left ${JSON.stringify(path)} out, since it cannot be read: ${reason}. Correct the file and publish another version.`,
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
  'connection-triple': kind<{
    platformConnectionType: string;
    authProvider: string;
    authType: string;
    allowed: string;
  }>(
    422,
    ({ platformConnectionType, authProvider, authType, allowed }) =>
      `A ${platformConnectionType} connection with the authProvider ${JSON.stringify(authProvider)} cannot have the authType ${authType}: ${allowed}.`,
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
} as const satisfies Record<string, ProblemKind>;
