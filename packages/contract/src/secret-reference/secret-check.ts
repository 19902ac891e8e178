/**
 * Whether the secrets that a project names are there: asked of the agents that would read them, without their
 * values.
 *
 * Terminology
 *   secret   a place in a vault, named by a secret reference, a connection, an override, or an environment's
 *            properties of a connection
 *   asked    the agent that would read it in a run: the one that its reference names, else that of each
 *            environment
 */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { EnvironmentName, Name, OpaqueId, oneOf, Uuid } from '../primitives.ts';
import { projectPath } from '../project/project.ts';
import { SecretCoordinates } from '../secret/secret-value.ts';
import { SecretReferenceName } from './secret-reference.ts';

/** The number of secrets that one agent can check in one request. */
export const checkedSecretLimit = 500;
/** The number of results, one for each secret and agent, in one response. */
export const secretCheckLimit = 1_000;

/** The result of an agent for one secret. */
export const secretFindings = ['RESOLVED', 'NOT_FOUND', 'DENIED', 'NO_SUCH_VAULT', 'UNAVAILABLE'] as const;
export type SecretFinding = (typeof secretFindings)[number];
const secretCheckOutcomes = [
  ...secretFindings,
  'NO_AGENT',
  'AGENT_NOT_CONNECTED',
  'AGENT_TOO_OLD',
  'AGENT_NOT_ALLOWED',
  'NOT_GRANTED',
  'NO_ANSWER',
] as const;
export type SecretCheckOutcome = (typeof secretCheckOutcomes)[number];
const SecretCheckOutcome = named('SecretCheckOutcome', oneOf(secretCheckOutcomes));

export const SecretCheckWork = Type.Object({
  secrets: Type.Array(SecretCoordinates, { maxItems: checkedSecretLimit }),
});
/** The secrets that an agent checks. */
export type SecretCheckWork = Static<typeof SecretCheckWork>;

export const CheckedSecrets = Type.Array(
  Type.Object({
    finding: oneOf(secretFindings),
    message: Type.Optional(Type.String({ maxLength: 500 })),
  }),
  { maxItems: checkedSecretLimit },
);
/** The results of the agent, in the order of the secrets. */
export type CheckedSecrets = Static<typeof CheckedSecrets>;

const SecretCheckResult = named(
  'SecretCheckResult',
  Type.Object({
    secretReferenceName: Type.Optional(SecretReferenceName),
    namedBy: Type.Array(Type.String({ maxLength: 1_024 }), {
      maxItems: 10,
      description: 'Up to ten connections and overrides that use the secret',
    }),
    ...SecretCoordinates.properties,
    environmentNames: Type.Array(EnvironmentName, {
      maxItems: 100,
      description:
        'The environments whose agent checked the secret. Empty if the reference or the request names the agent',
    }),
    agentId: Type.Optional(Uuid),
    agentName: Type.Optional(Name),
    outcome: SecretCheckOutcome,
    message: Type.Optional(Type.String({ maxLength: 1_000 })),
  }),
);
export type SecretCheckResult = Static<typeof SecretCheckResult>;

export const SecretCheck = named(
  'SecretCheck',
  Type.Object({
    resolved: Type.Boolean({ description: 'Whether every secret was checked and has the outcome RESOLVED' }),
    results: Type.Array(SecretCheckResult, { maxItems: secretCheckLimit }),
    unchecked: Type.Integer({
      minimum: 0,
      description: `The number of secrets beyond the limit of ${secretCheckLimit.toLocaleString('en')}, which were not checked. To check them, name references, an environment or an agent`,
    }),
  }),
);
export type SecretCheck = Static<typeof SecretCheck>;

export const checkSecretReferences = operation({
  id: 'checkSecretReferences',
  method: 'POST',
  path: '/v1/projects/{projectId}/secret-references/check',
  surface: 'dpc',
  tag: 'Secret references',
  summary: 'Check secret references',
  description:
    'Asks agents whether they can read the secrets, without returning the values. By default, checks all secret references and all connections with their overrides. ' +
    'With `secretReferenceNames`, checks only those references. Each secret is checked by the agent that would read it in a run: the `agentId` of the reference, or the agent of each environment ' +
    '(of `environmentName` only, if the request has it). With `agentId` in the request, that agent checks all of them. ' +
    'The response contains an outcome for each secret, also if an agent cannot be asked. The status is 409 if no agent can be asked, and 504 if no agent answers in time: ' +
    'send the same request with the same Idempotency-Key to get the later results. A secret reference cannot be named `check`, because this path uses the name.',
  permission: 'project:configure',
  params: Type.Object(projectPath),
  body: Type.Object({
    secretReferenceNames: Type.Optional(
      Type.Array(SecretReferenceName, { minItems: 1, maxItems: 100, uniqueItems: true }),
    ),
    environmentName: Type.Optional(EnvironmentName),
    agentId: Type.Optional(OpaqueId),
    secretName: Type.Optional(
      Type.String({
        maxLength: 1_024,
        description:
          'Not supported. A request with this member is refused: it tries to create a reference named `check`',
      }),
    ),
  }),
  success: { status: 200, body: SecretCheck },
  problems: [
    'secret-reference-not-found',
    'secret-reference-name-reserved',
    'unknown-environment',
    'unknown-agent',
    'no-agent-to-ask',
    'secret-check-timeout',
  ],
  events: ['secret-check-requested'],
});

export const secretCheckOperations = [checkSecretReferences] as const;
