/** Writing secrets into a vault of an agent: interface.md and decisions.md E15. */
import { Type } from 'typebox';
import { operation } from '../operation.ts';
import { DateTime, mapOf, OpaqueId, oneOf } from '../primitives.ts';
import {
  KeyId,
  receiptLimit,
  SecretKey,
  sealedLimit,
  sealedType,
  sealingAlgorithms,
  secretMembers,
  secretTypes,
  unreadSealedLimit,
  VaultName,
  VaultSecretName,
  valueLimit,
  vaultProviders,
} from './secret-value.ts';

export const writeSecretValue = operation({
  id: 'writeSecretValue',
  method: 'POST',
  path: '/v1/secrets/{agentId}/secret-value',
  surface: 'dpc',
  tag: 'Secrets',
  summary: 'Write a secret into a vault of an agent',
  description:
    'The value is sealed to the agent’s certificate on arrival and opened by the agent only. Answered once the agent has confirmed the write. ' +
    'After 504 the write may still happen: the same request with the same Idempotency-Key tells what became of it. ' +
    'Members of `value` by type: ' +
    secretTypes
      .map((type) => {
        const forms = secretMembers[type].map(({ required, optional }) =>
          [...required, ...optional.map((name) => `${name}?`)].join(', '),
        );
        return `${type} ${forms.map((form) => `{${form}}`).join(' or ')}`;
      })
      .join('; ') +
    '. A caller that seals by itself sends `sealedValue`: a compact JWE (ECDH-ES, ECDH-ES+A256KW or RSA-OAEP-256, with A256GCM) of the value’s JSON, ' +
    `whose protected header has \`typ\` ${sealedType}, \`kid\`, \`agent\`, \`name\`, \`type\`, \`key\`, \`vaultName\` and \`provider\` as in the request, \`jti\` and \`exp\`.`,
  permission: 'agents:manage',
  params: Type.Object({ agentId: OpaqueId }),
  query: Type.Object({
    vaultName: Type.Optional(VaultName),
    provider: Type.Optional(oneOf(vaultProviders)),
  }),
  body: Type.Object({
    secret: Type.Object({
      name: VaultSecretName,
      key: Type.Optional(SecretKey),
      type: oneOf(secretTypes),
      value: Type.Optional(
        mapOf(Type.String({ minLength: 1, maxLength: valueLimit }), { maxProperties: 20 }),
      ),
      sealedValue: Type.Optional(
        Type.String({
          maxLength: unreadSealedLimit,
          description: `Compact JWE for the agent’s certificate, in place of \`value\`; at most ${sealedLimit} characters`,
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
        description: 'By which the agent finds the value again',
      }),
      vaultSecretName: Type.String({ maxLength: 1_024 }),
      receipt: Type.String({
        maxLength: receiptLimit,
        description: 'Compact JWS by the agent’s key: what was written, and where',
      }),
    }),
  },
  problems: [
    'agent-not-found',
    'agent-not-connected',
    'secret-value-incomplete',
    'sealed-value-refused',
    'sealed-value-used',
    'vault-refused',
    'agent-timeout',
  ],
  events: ['secret-write-requested'],
});

export const getAgentCertificate = operation({
  id: 'getAgentCertificate',
  method: 'GET',
  path: '/v1/agents/{agentId}/certificate',
  surface: 'dpc',
  tag: 'Secrets',
  summary: 'Read the certificate to which values for the agent are sealed',
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
