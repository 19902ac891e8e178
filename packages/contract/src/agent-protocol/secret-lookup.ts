/** Looking up where the secret of a run is stored. */
import { type Static, Type } from 'typebox';
import { Uuid } from '../primitives.ts';
import { SecretReferenceName } from '../secret-reference/secret-reference.ts';
import { Holding } from './work.ts';

export const SecretLookup = Type.Object({ instanceId: Uuid, ...Holding, name: SecretReferenceName });
/** An instance that holds work of a project asks for one of its secret references. */
export type SecretLookup = Static<typeof SecretLookup>;
