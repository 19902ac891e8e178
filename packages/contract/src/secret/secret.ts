/** Writing secrets into a vault of an agent. */
import { Type } from 'typebox';
import { operation } from '../operation.ts';
import { DateTime, mapOf, OpaqueId, oneOf, ProjectId } from '../primitives.ts';
import { sealedType, sealingAlgorithms, secretMembers, secretTypes } from './sealed-constants.ts';
import {
  KeyId,
  receiptLimit,
  SecretKey,
  SecretType,
  sealedLimit,
  unreadSealedLimit,
  VaultName,
  VaultProvider,
  VaultSecretName,
  valueLimit,
} from './secret-value.ts';

const secretOperation = { surface: 'dpc', tag: 'Secrets' } as const;

export const writeSecretValue = operation({
  ...secretOperation,
  id: 'writeSecretValue',
  method: 'POST',
  path: '/v1/secrets/{agentId}/secret-value',
  summary: 'Write a secret to a vault',
  description:
    'The server seals the value for the certificate of the agent on arrival, and only the agent can open it. The response is sent when the agent has confirmed the write. ' +
    'After a 504, the write may still happen: send the same request with the same Idempotency-Key to get the result. ' +
    'Members of `value` by type: ' +
    secretTypes
      .map((type) => {
        const forms = secretMembers[type].map(({ required, optional }) =>
          [...required, ...optional.map((name) => `${name}?`)].join(', '),
        );
        return `${type} ${forms.map((form) => `{${form}}`).join(' or ')}`;
      })
      .join('; ') +
    '. To seal the value yourself, send `sealedValue` instead: a compact JWE (ECDH-ES, ECDH-ES+A256KW or RSA-OAEP-256, with A256GCM) of the value in JSON, ' +
    `whose protected header has \`typ\` ${sealedType}, \`kid\`, \`agent\`, \`name\`, \`type\`, \`key\`, \`vaultName\` and \`provider\` as in the request, \`jti\` and \`exp\`.`,
  permission: 'agents:manage',
  params: Type.Object({ agentId: OpaqueId }),
  query: Type.Object({
    vaultName: Type.Optional(VaultName),
    provider: Type.Optional(VaultProvider),
    projectId: Type.Optional(
      Type.Unsafe<string>({
        ...ProjectId,
        description:
          'A project that may use the written name from then on, in the vaults of this agent. Without it, the name is granted to no project',
      }),
    ),
  }),
  body: Type.Object({
    secret: Type.Object({
      name: VaultSecretName,
      key: Type.Optional(SecretKey),
      type: SecretType,
      value: Type.Optional(
        mapOf(Type.String({ minLength: 1, maxLength: valueLimit }), {
          maxProperties: 20,
          description: 'The members that the type needs, such as `{"password": "…"}` for PASSWORD',
        }),
      ),
      sealedValue: Type.Optional(
        Type.String({
          maxLength: unreadSealedLimit,
          description: `A compact JWE for the certificate of the agent, instead of \`value\`. At most ${sealedLimit} characters`,
        }),
      ),
    }),
  }),
  bodyHoldsSecret: ['/secret/value'],
  success: {
    status: 201,
    body: Type.Object({
      resolver_ref: Type.String({
        maxLength: 2_048,
        description: 'The reference by which the agent finds the secret',
      }),
      vaultSecretName: Type.String({ maxLength: 1_024 }),
      receipt: Type.String({
        maxLength: receiptLimit,
        description: 'A compact JWS, signed by the agent: what was written, and where',
      }),
    }),
  },
  problems: [
    'agent-not-found',
    'agent-not-connected',
    'unknown-project',
    'secret-value-incomplete',
    'sealed-value-refused',
    'sealed-value-used',
    'vault-refused',
    'agent-timeout',
  ],
  events: ['secret-write-requested'],
});

export const getAgentCertificate = operation({
  ...secretOperation,
  id: 'getAgentCertificate',
  method: 'GET',
  path: '/v1/agents/{agentId}/certificate',
  summary: 'Get the certificate of an agent',
  description: 'Seal values for the agent with the key of this certificate.',
  permission: 'agents:manage',
  params: Type.Object({ agentId: OpaqueId }),
  success: {
    status: 200,
    body: Type.Object({
      certificate: Type.String({ maxLength: 10_000, description: 'PEM' }),
      issuerChain: Type.Array(Type.String({ maxLength: 10_000, description: 'PEM' }), { maxItems: 4 }),
      kid: KeyId,
      notAfter: DateTime,
      algorithms: Type.Array(oneOf(sealingAlgorithms), { maxItems: 3 }),
    }),
  },
  problems: ['agent-not-found', 'agent-not-connected'],
  events: [],
});

export const secretOperations = [getAgentCertificate, writeSecretValue] as const;
