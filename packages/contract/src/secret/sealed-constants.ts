/**
 * What is known of sealed values without their schemas, which an agent does not load. The terminology is in
 * secret-value.ts.
 */

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
type AnyType = keyof typeof secretMembers;
export const secretTypes = Object.keys(secretMembers) as AnyType[];

/**
 * What a value of this type lacks; undefined when nothing. Of several forms the one that comes closest is
 * told about.
 */
export function missingMembers(type: AnyType, value: object): string[] | undefined {
  const lacks = secretMembers[type].map(({ required }) => required.filter((name) => !(name in value)));
  const closest = lacks.sort((one, other) => one.length - other.length)[0] ?? [];
  return closest.length === 0 ? undefined : closest;
}

/** The value with the members of its type only: others are ignored, as everywhere in a request. */
export function membersOfType(
  type: AnyType,
  value: Readonly<Record<string, string>>,
): Record<string, string> {
  const form = secretMembers[type].find(({ required }) => required.every((name) => name in value));
  const names: readonly string[] = form === undefined ? [] : [...form.required, ...form.optional];
  return Object.fromEntries(Object.entries(value).filter(([name]) => names.includes(name)));
}

export const vaultProviders = ['HEADGATE', 'AWS', 'AZURE', 'GCP', 'HASHICORP'] as const;

export const sealingAlgorithms = ['ECDH-ES', 'ECDH-ES+A256KW', 'RSA-OAEP-256'] as const;
export type SealingAlgorithm = (typeof sealingAlgorithms)[number];
export const contentEncryption = 'A256GCM';
export const sealedType = 'headgate-secret+jwe';
export const receiptType = 'headgate-receipt+jws';
/** How long a value may be on its way; one whose `exp` lies further ahead is refused. */
export const sealedSecondsLimit = 3_600;

/** By the type of the certificate's key; the first is what our own programs seal by. */
export const sealingAlgorithmsOf = {
  EC: ['ECDH-ES', 'ECDH-ES+A256KW'],
  RSA: ['RSA-OAEP-256'],
} as const satisfies Record<string, readonly [SealingAlgorithm, ...SealingAlgorithm[]]>;
export type SealingKeyType = keyof typeof sealingAlgorithmsOf;
