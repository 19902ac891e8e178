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
import { operation } from '../operation.ts';
import { EnvironmentName, Name, OpaqueId, oneOf, Uuid } from '../primitives.ts';
import { projectPath } from '../project/project.ts';
import { SecretCoordinates } from '../secret/secret-value.ts';
import { SecretReferenceName } from './secret-reference.ts';

/** Secrets that one agent is asked about in one request. */
export const checkedSecretLimit = 500;
/** Secrets, each by each agent, that one request is answered about. */
export const secretCheckLimit = 1_000;

/** What an agent finds. */
export const secretFindings = ['RESOLVED', 'NOT_FOUND', 'DENIED', 'NO_SUCH_VAULT', 'UNAVAILABLE'] as const;
export type SecretFinding = (typeof secretFindings)[number];
const secretCheckOutcomes = [
  ...secretFindings,
  'NO_AGENT',
  'AGENT_NOT_CONNECTED',
  'AGENT_TOO_OLD',
  'AGENT_NOT_ALLOWED',
  'NO_ANSWER',
] as const;
export type SecretCheckOutcome = (typeof secretCheckOutcomes)[number];

export const SecretCheckWork = Type.Object({
  secrets: Type.Array(SecretCoordinates, { maxItems: checkedSecretLimit }),
});
/** What an agent is asked. */
export type SecretCheckWork = Static<typeof SecretCheckWork>;

export const CheckedSecrets = Type.Array(
  Type.Object({
    finding: oneOf(secretFindings),
    message: Type.Optional(Type.String({ maxLength: 500 })),
  }),
  { maxItems: checkedSecretLimit },
);
/** What it answers, in the order of the secrets. */
export type CheckedSecrets = Static<typeof CheckedSecrets>;

const SecretCheckResult = Type.Object({
  secretReferenceName: Type.Optional(SecretReferenceName),
  namedBy: Type.Array(Type.String({ maxLength: 1_024 }), {
    maxItems: 10,
    description: 'Connections and overrides that name it, ten at most',
  }),
  ...SecretCoordinates.properties,
  environmentNames: Type.Array(EnvironmentName, {
    maxItems: 100,
    description: 'Whose agent it is; empty for the agent that the reference, or the request, names',
  }),
  agentId: Type.Optional(Uuid),
  agentName: Type.Optional(Name),
  outcome: oneOf(secretCheckOutcomes),
  message: Type.Optional(Type.String({ maxLength: 1_000 })),
});
export type SecretCheckResult = Static<typeof SecretCheckResult>;

export const SecretCheck = Type.Object({
  resolved: Type.Boolean({ description: 'Whether the outcome of each is RESOLVED, and none is unchecked' }),
  results: Type.Array(SecretCheckResult, { maxItems: secretCheckLimit }),
  unchecked: Type.Integer({
    minimum: 0,
    description: `How many more there are than ${secretCheckLimit}: name references, an environment or an agent`,
  }),
});
export type SecretCheck = Static<typeof SecretCheck>;

export const checkSecretReferences = operation({
  id: 'checkSecretReferences',
  method: 'POST',
  path: '/v1/projects/{projectId}/secret-references/check',
  surface: 'dpc',
  tag: 'Secret references',
  summary: 'Ask the agents whether secrets are there, without their values',
  description:
    'Of all secret references and of all connections with their overrides; with `secretReferenceNames` of these references only. Asked is the agent that would read it in ' +
    'a run: `agentId` of the reference, else the agent of each environment, or of `environmentName`; with `agentId` in the request that one is asked about all. ' +
    'The request waits for the answers. What some agents cannot be asked is told by the outcome; where none of them can be asked the answer is 409, and where none answers in ' +
    'time 504: the same request with the same Idempotency-Key then tells what became of it. Because of this path no secret reference can be named `check`.',
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
          'Refused: a request with it means to create a reference named `check`, and none can have this name',
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
