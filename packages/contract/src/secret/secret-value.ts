/**
 * Secret values on their way into a customer's vault: interface.md and decisions.md E15.
 *
 * Terminology
 *   value     the members of a secret of some type, as `{"password": "…"}`; it exists in plain text with the
 *             caller, in the agent and in the vault
 *   sealed    a compact JWE (RFC 7516) of the value's JSON, for one agent's certificate, bound by its
 *             protected header to one place
 *   kid       the SHA-256 thumbprint of that certificate's DER, base64url: it names the one key that opens
 *             the value
 *   receipt   a compact JWS (RFC 7515) by the same key: the agent says what it wrote, and where
 */
import { type Static, Type } from 'typebox';
import { Name, oneOf } from '../primitives.ts';

/**
 * Each type's members: those that a value must have, and those that it may. A cloud's credentials have the
 * members of one cloud.
 */
export const secretMembers = {
  PASSWORD: [{ required: ['password'], optional: [] }],
  OAUTH_CLIENT_CRED: [{ required: ['clientId', 'clientSecret'], optional: [] }],
  OAUTH_CLIENT_CREDENTIALS: [{ required: ['clientId', 'clientSecret'], optional: [] }],
  OAUTH_USER_TOKENS: [{ required: ['accessToken'], optional: ['refreshToken'] }],
  OAUTH_AUTHORIZATION_CODE: [{ required: ['accessToken'], optional: ['refreshToken'] }],
  COMPOSITE_TOKEN: [
    { required: ['accountId', 'consumerKey', 'consumerSecret', 'tokenId', 'tokenSecret'], optional: [] },
  ],
  CLOUD_PLATFORM_CREDENTIALS: [
    { required: ['accessKeyId', 'secretAccessKey'], optional: ['sessionToken'] },
    { required: ['tenantId', 'clientId', 'clientSecret'], optional: ['subscriptionId'] },
    { required: ['clientEmail', 'privateKey'], optional: ['projectId'] },
  ],
} as const satisfies Record<string, readonly { required: readonly string[]; optional: readonly string[] }[]>;
export type SecretType = keyof typeof secretMembers;
export const secretTypes = Object.keys(secretMembers) as SecretType[];

/**
 * What a value of this type lacks; undefined when nothing. Of several forms the one that comes closest is
 * told about.
 */
export function missingMembers(type: SecretType, value: object): string[] | undefined {
  const lacks = secretMembers[type].map(({ required }) => required.filter((name) => !(name in value)));
  const closest = lacks.sort((one, other) => one.length - other.length)[0] ?? [];
  return closest.length === 0 ? undefined : closest;
}

/** The value with the members of its type only: others are ignored, as everywhere in a request. */
export function membersOfType(
  type: SecretType,
  value: Readonly<Record<string, string>>,
): Record<string, string> {
  const form = secretMembers[type].find(({ required }) => required.every((name) => name in value));
  const names: readonly string[] = form === undefined ? [] : [...form.required, ...form.optional];
  return Object.fromEntries(Object.entries(value).filter(([name]) => names.includes(name)));
}

export const vaultProviders = ['HEADGATE', 'AWS', 'AZURE', 'GCP', 'HASHICORP'] as const;
export type VaultProvider = (typeof vaultProviders)[number];

/** What all stores of secrets take: 64 KiB with its members' names. */
export const valueLimit = 60_000;
/** Characters of a sealed value. */
export const sealedLimit = 200_000;
export const sealingAlgorithms = ['ECDH-ES', 'ECDH-ES+A256KW', 'RSA-OAEP-256'] as const;
export type SealingAlgorithm = (typeof sealingAlgorithms)[number];
export const contentEncryption = 'A256GCM';
export const sealedType = 'headgate-secret+jwe';
export const receiptType = 'headgate-receipt+jws';
/** How long a value may be on its way; one whose `exp` lies further ahead is refused. */
export const sealedSecondsLimit = 3_600;

export const VaultSecretName = Type.String({
  minLength: 1,
  maxLength: 127,
  pattern: '^[A-Za-z0-9](?:[A-Za-z0-9_./-]*[A-Za-z0-9_])?$',
  'x-form':
    'a name of letters, digits, _, ., / and - that begins with a letter or digit and ends with one or with _, such as orders/api-key',
  description: 'Name of the secret in the vault: letters, digits, `_`, `.`, `/` and `-`',
});
export const SecretKey = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: '^[\\w.-]+$',
  'x-form': 'a name of letters, digits, _, . and -, such as password',
  description: 'Of a secret with several values, the one that is written; the others stay',
});
export const VaultName = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: '^[\\w.-]+$',
  'x-form': 'a name of letters, digits, _, . and -, such as team-vault',
});
/**
 * The schema takes what is longer, malformed or empty as well: a malformed value is 422 with its own reason
 * (decisions.md E15).
 */
export const unreadSealedLimit = 10_000_000;
const SealedValue = Type.String({
  minLength: 1,
  maxLength: sealedLimit,
  'x-form': 'a compact JWE: five parts in base64url, separated by dots',
  pattern: '^[\\w-]+\\.[\\w-]*\\.[\\w-]+\\.[\\w-]+\\.[\\w-]+$',
  description: 'Compact JWE for the agent’s certificate',
});
export const KeyId = Type.String({
  minLength: 43,
  maxLength: 43,
  description: 'SHA-256 thumbprint of the certificate, base64url',
});

/** Where a value goes, and what it is. */
const secretPlace = {
  vaultName: Type.Optional(VaultName),
  provider: Type.Optional(oneOf(vaultProviders)),
  name: VaultSecretName,
  key: Type.Optional(SecretKey),
  type: oneOf(secretTypes),
};
const SecretPlace = Type.Object(secretPlace);
export type SecretPlace = Static<typeof SecretPlace>;

const VaultText = Type.String({ minLength: 1, maxLength: 1_024 });
export const SecretCoordinates = Type.Object({
  provider: Type.Optional(oneOf(vaultProviders)),
  vaultName: Type.Optional(Name),
  secretName: VaultText,
  secretKey: Type.Optional(Type.String({ maxLength: 1_024 })),
});
/**
 * Where a secret is kept: in which of an agent's vaults (its first, unless one is named), and under which
 * name there.
 */
export type SecretCoordinates = Static<typeof SecretCoordinates>;

export const SealedHeader = Type.Object({
  ...secretPlace,
  typ: Type.Literal(sealedType),
  alg: oneOf(sealingAlgorithms),
  enc: Type.Literal(contentEncryption),
  kid: KeyId,
  agent: Name,
  jti: Type.String({ minLength: 16, maxLength: 100 }),
  exp: Type.Integer({ minimum: 1, maximum: 253_402_300_799, description: 'Seconds since 1970' }),
});
/** The protected header of a sealed value. `jti` is of one value only; after `exp` nobody opens it. */
export type SealedHeader = Static<typeof SealedHeader>;

/** By the type of the certificate's key; the first is what our own programs seal by. */
export const sealingAlgorithmsOf = {
  EC: ['ECDH-ES', 'ECDH-ES+A256KW'],
  RSA: ['RSA-OAEP-256'],
} as const satisfies Record<string, readonly [SealingAlgorithm, ...SealingAlgorithm[]]>;
export type SealingKeyType = keyof typeof sealingAlgorithmsOf;

/** How long a value that our own programs sealed may be on its way. */
export const sealedSeconds = 300;

/** The header of a value that is sealed now. */
export function sealedHeader(
  key: { kid: string; keyType: SealingKeyType },
  about: { agent: string; place: SecretPlace; jti: string; now: Date },
): SealedHeader {
  const [alg] = sealingAlgorithmsOf[key.keyType];
  const { agent, place, jti, now } = about;
  const exp = Math.floor(now.getTime() / 1_000) + sealedSeconds;
  return { typ: sealedType, alg, enc: contentEncryption, kid: key.kid, agent, ...place, jti, exp };
}

/** Who a certificate is for: its subject's alternative name, a URI. */
export const certificateHolder = (agentId: string, instanceId: string): string =>
  `urn:headgate:agent:${agentId}:instance:${instanceId}`;

/** Why a header is not the one of this place; undefined when it is. Both the server and the agent ask. */
export function headerFault(
  header: Readonly<Record<string, unknown>>,
  expected: { agent: string; place: SecretPlace; now: Date },
): string | undefined {
  if (header.typ !== sealedType) return `its \`typ\` is not ${sealedType}`;
  if (!sealingAlgorithms.some((name) => name === header.alg))
    return `its \`alg\` is none of ${sealingAlgorithms.join(', ')}`;
  if (header.enc !== contentEncryption) return `its \`enc\` is not ${contentEncryption}`;
  if ('zip' in header || 'crit' in header) return 'it uses `zip` or `crit`';
  if (header.agent !== expected.agent) return 'it is sealed for another agent';
  for (const member of ['vaultName', 'provider', 'name', 'key', 'type'] as const) {
    if (header[member] !== expected.place[member]) return `it is sealed for another \`${member}\``;
  }
  const { jti, exp } = header;
  if (typeof jti !== 'string' || jti.length < 16 || jti.length > 100)
    return 'its `jti` is no text of 16 to 100 characters';
  if (typeof exp !== 'number' || !Number.isSafeInteger(exp)) return 'it has no `exp`';
  const left = exp - expected.now.getTime() / 1_000;
  if (left <= 0) return 'it is stale: its `exp` has passed';
  if (left > sealedSecondsLimit) return `its \`exp\` lies more than ${sealedSecondsLimit} s ahead`;
  return undefined;
}

export const SecretWriteWork = Type.Object({
  ...secretPlace,
  keyId: KeyId,
  sealedValue: SealedValue,
});
/** What an agent is told of a value that it is to write. */
export type SecretWriteWork = Static<typeof SecretWriteWork>;

export const Receipt = Type.Object({
  agent: Name,
  jti: Type.String({ maxLength: 100 }),
  ...secretPlace,
  sha256: Type.String({ maxLength: 43, description: 'Of the sealed value, base64url' }),
  resolverRef: Type.String({ minLength: 1, maxLength: 2_048 }),
  vaultSecretName: Type.String({ minLength: 1, maxLength: 1_024 }),
  iat: Type.Integer({ description: 'Seconds since 1970' }),
});
/** The payload of a receipt. */
export type Receipt = Static<typeof Receipt>;
export const receiptLimit = 8_192;
