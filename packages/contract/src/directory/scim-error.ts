/** Errors of SCIM (RFC 7644 §3.12). */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { oneOf } from '../primitives.ts';
import type { ProblemCode } from '../problem.ts';
import { ScimSchemas } from './directory.ts';

export const scimTypes = [
  'invalidFilter',
  'tooMany',
  'uniqueness',
  'mutability',
  'invalidSyntax',
  'invalidPath',
  'noTarget',
  'invalidValue',
] as const;
export type ScimType = (typeof scimTypes)[number];

export const ScimError = named(
  'ScimError',
  Type.Object({
    schemas: ScimSchemas,
    status: Type.String({ maxLength: 3 }),
    scimType: Type.Optional(oneOf(scimTypes)),
    detail: Type.String({ maxLength: 20_000 }),
  }),
);
export type ScimError = Static<typeof ScimError>;

/** The `scimType` of a problem. The others have none. */
export const scimTypeOf: Partial<Record<ProblemCode, ScimType>> = {
  'invalid-request': 'invalidValue',
  'invalid-json': 'invalidSyntax',
  'invalid-filter': 'invalidFilter',
  'invalid-attribute-path': 'invalidPath',
  'invalid-scim-message': 'invalidSyntax',
  'invalid-attribute-value': 'invalidValue',
  'no-patch-target': 'noTarget',
  'immutable-attribute': 'mutability',
  'too-many-operations': 'tooMany',
  'user-name-taken': 'uniqueness',
  'group-name-taken': 'uniqueness',
  'last-super-admin-user': 'mutability',
  'role-group-protected': 'mutability',
};
