/**
 * Secret values on their way into a customer's vault.
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
import { named } from '../named-schema.ts';
import { Name, oneOf } from '../primitives.ts';
import {
  contentEncryption,
  sealedType,
  sealingAlgorithms,
  type secretMembers,
  secretTypes,
  vaultProviders,
} from './sealed-constants.ts';

export type SecretType = keyof typeof secretMembers;
export const SecretType = named('SecretType', oneOf(secretTypes));

export type VaultProvider = (typeof vaultProviders)[number];
export const VaultProvider = named('VaultProvider', oneOf(vaultProviders));

/** What all stores of secrets take: 64 KiB with its members' names. */
export const valueLimit = 60_000;
/** Characters of a sealed value. */
export const sealedLimit = 200_000;

export const VaultSecretName = Type.String({
  minLength: 1,
  maxLength: 127,
  pattern: '^[A-Za-z0-9](?:[A-Za-z0-9_./-]*[A-Za-z0-9_])?$',
  'x-form':
    'a name of letters, digits, _, ., / and - that begins with a letter or digit and ends with one or with _, such as orders/api-key',
  description: 'The name of the secret in the vault: letters, digits, `_`, `.`, `/` and `-`',
});
export const SecretKey = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: '^[\\w.-]+$',
  'x-form': 'a name of letters, digits, _, . and -, such as password',
  description: 'The key to write in a secret with several keys. The others are kept',
});
export const VaultName = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: '^[\\w.-]+$',
  'x-form': 'a name of letters, digits, _, . and -, such as team-vault',
});
/**
 * The schema takes what is longer, malformed or empty as well: a malformed value is 422 with its own reason.
 */
export const unreadSealedLimit = 10_000_000;
const SealedValue = Type.String({
  minLength: 1,
  maxLength: sealedLimit,
  'x-form': 'a compact JWE: five parts in base64url, separated by dots',
  pattern: '^[\\w-]+\\.[\\w-]*\\.[\\w-]+\\.[\\w-]+\\.[\\w-]+$',
  description: 'A compact JWE for the certificate of the agent',
});
export const KeyId = Type.String({
  minLength: 43,
  maxLength: 43,
  description: 'The SHA-256 thumbprint of the certificate, in base64url',
});

/** Where a value goes, and what it is. */
const secretPlace = {
  vaultName: Type.Optional(VaultName),
  provider: Type.Optional(VaultProvider),
  name: VaultSecretName,
  key: Type.Optional(SecretKey),
  type: SecretType,
};
const SecretPlace = Type.Object(secretPlace);
export type SecretPlace = Static<typeof SecretPlace>;

const VaultText = Type.String({ minLength: 1, maxLength: 1_024 });
export const SecretCoordinates = Type.Object({
  provider: Type.Optional(VaultProvider),
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
/** The protected header of a sealed value. `jti` is unique; the value cannot be opened after `exp`. */
export type SealedHeader = Static<typeof SealedHeader>;

export const SecretWriteWork = Type.Object({
  ...secretPlace,
  keyId: KeyId,
  sealedValue: SealedValue,
});
/** A value for an agent to write. */
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
