/** Looking up where the secret of a run is stored. */
import { type Static, Type } from 'typebox';
import { Uuid } from '../primitives.ts';
import { SecretReferenceName } from '../secret-reference/secret-reference.ts';
import { Holding } from './work.ts';

export const SecretLookup = Type.Object({
  instanceId: Uuid,
  ...Holding,
  name: SecretReferenceName,
  cloud: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 20,
      description:
        '`aws`, `azure` or `gcp`: in place of the secret reference, the secret of the connection to this cloud',
    }),
  ),
});
/** An instance that holds work of a project asks for one of its secret references, or for a cloud's credentials. */
export type SecretLookup = Static<typeof SecretLookup>;
