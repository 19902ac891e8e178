/** A secret value of a request: where it goes, and its members as one secret text. */
import {
  type BodyOf,
  membersOfType,
  missingMembers,
  type QueryOf,
  type SecretPlace,
  type writeSecretValue,
} from '@headgate/contract';
import { invalidRequest, type Violation } from '../../kernel/problems.ts';
import { Secret } from '../../kernel/sealed.ts';

type Given = BodyOf<typeof writeSecretValue>['secret'];

export function placeOf(query: QueryOf<typeof writeSecretValue>, { name, key, type }: Given): SecretPlace {
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
 * Takes the plain value out of the request; from here on it is in a type that cannot be printed. Undefined when the caller sealed it.
 * Throws `invalid-request`.
 */
export function takeValue(secret: Given): Secret | undefined {
  const { type, value, sealedValue } = secret;
  delete secret.value;
  if (value === undefined) {
    if (sealedValue === undefined) throw invalidRequest([fault('value', 'or `sealedValue` is required')]);
    return undefined;
  }
  if (sealedValue !== undefined)
    throw invalidRequest([fault('sealedValue', 'stands in place of `value`: send one of the two')]);
  const missing = missingMembers(type, value);
  if (missing !== undefined)
    throw invalidRequest(missing.map((name) => fault(`value.${name}`, `is required for the type ${type}`)));
  return new Secret(JSON.stringify(membersOfType(type, value)));
}

function fault(member: string, detail: string): Violation {
  return { field: `body.secret.${member}`, pointer: `/body/secret/${member.replace('.', '/')}`, detail };
}
