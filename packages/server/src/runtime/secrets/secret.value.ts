/** Reads the secret value of a request: its place, and its members as one secret text. */
import {
  type BodyOf,
  membersOfType,
  missingMembers,
  type QueryOf,
  type SecretPlace,
  type writeSecretValue,
} from '@headgate/contract';
import { problem } from '../../kernel/http/problems.ts';
import { Secret } from '../../kernel/security/sealed.ts';

type Given = BodyOf<typeof writeSecretValue>['secret'];

export function getPlace(query: QueryOf<typeof writeSecretValue>, { name, key, type }: Given): SecretPlace {
  const { vaultName, provider } = query;
  return {
    name,
    type,
    ...(key === undefined ? {} : { key }),
    ...(vaultName === undefined ? {} : { vaultName }),
    ...(provider === undefined ? {} : { provider }),
  };
}

/**
 * Moves the plain value out of the request into a type that cannot be printed. Undefined if the caller
 * sealed it. Throws `secret-value-incomplete`.
 */
export function takeValue(secret: Given): Secret | undefined {
  const { type, value, sealedValue } = secret;
  delete secret.value;
  if ((value === undefined) === (sealedValue === undefined))
    throw createIncomplete('body.secret needs exactly one of `value` and `sealedValue`.');
  if (value === undefined) return undefined;
  const missing = missingMembers(type, value);
  if (missing !== undefined)
    throw createIncomplete(`body.secret.value lacks ${missing.join(', ')}, which the type ${type} requires.`);
  return new Secret(JSON.stringify(membersOfType(type, value)));
}

const createIncomplete = (lacks: string) => problem('secret-value-incomplete', { lacks });
