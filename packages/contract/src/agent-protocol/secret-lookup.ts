/** Where a secret is kept that a run names. */
import { type Static, Type } from 'typebox';
import { Uuid } from '../primitives.ts';
import { SecretReferenceName } from '../secret-reference/secret-reference.ts';
import { Holding } from './work.ts';

export const SecretLookup = Type.Object({ instanceId: Uuid, ...Holding, name: SecretReferenceName });
/** By who holds the work of a project: which of its secret references. */
export type SecretLookup = Static<typeof SecretLookup>;
