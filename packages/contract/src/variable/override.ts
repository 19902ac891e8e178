/** Overrides of variables in environments: interface.md E6–E9, decisions.md E6–E9. */
import { type Static, Type } from 'typebox';
import { operation } from '../operation.ts';
import { EnvironmentName, oneOf } from '../primitives.ts';
import { Variable, variablePath } from './variable.ts';
import { VariableValue } from './variable-value.ts';

export const overrideLimit = 500;

const overridePath = { ...variablePath, environmentName: EnvironmentName };

export const EnvironmentOverride = Type.Object({ environmentName: EnvironmentName, value: VariableValue });
export type EnvironmentOverride = Static<typeof EnvironmentOverride>;

export const failedOverrideCodes = [
  'ENVIRONMENT_NOT_FOUND',
  'FORBIDDEN',
  'TYPE_MISMATCH',
  'INVALID_NAME',
] as const;
export const FailedOverride = Type.Object({
  environmentName: Type.String({ maxLength: 1_000 }),
  value: Type.Unknown({ description: 'As it was sent' }),
  reason: Type.String({ maxLength: 1_000 }),
  code: oneOf(failedOverrideCodes),
});
export type FailedOverride = Static<typeof FailedOverride>;

export const getOverrides = operation({
  id: 'getOverrides',
  method: 'GET',
  path: '/v1/projects/{projectId}/variables/{variableName}/environment-overrides',
  surface: 'dpc',
  tag: 'Variables',
  summary: 'Read a variable with its overrides',
  description: 'With `environmentName`: with the one override in it.',
  permission: 'project:read',
  params: Type.Object(variablePath),
  query: Type.Object({ environmentName: Type.Optional(EnvironmentName) }),
  success: {
    status: 200,
    body: Type.Object({
      ...Variable.properties,
      environmentOverrides: Type.Array(EnvironmentOverride, { maxItems: 100_000 }),
    }),
  },
  problems: ['variable-not-found', 'override-not-found'],
  events: [],
});

const OverrideToWrite = Type.Object({
  environmentName: Type.String({ maxLength: 1_000 }),
  value: Type.Unknown({
    description: 'As of the variable’s type; one that does not fit is listed under failedOverride',
  }),
});
export type OverrideToWrite = Static<typeof OverrideToWrite>;
const OverridesToWrite = Type.Array(OverrideToWrite, { minItems: 1, maxItems: overrideLimit });

export const writeOverrides = operation({
  id: 'writeOverrides',
  method: 'POST',
  path: '/v1/projects/{projectId}/variables/{variableName}/environment-overrides',
  surface: 'dpc',
  tag: 'Variables',
  summary: 'Create or update overrides of a variable',
  description:
    'The body is `{environmentOverrides: […]}`, a bare array, or one override. Those that cannot be written are listed under ' +
    '`failedOverride`; with `atomic=true` all or none are written.',
  permission: 'environment:deliver',
  environmentFrom: 'items',
  params: Type.Object(variablePath),
  query: Type.Object({ atomic: Type.Boolean({ default: false }) }),
  body: Type.Union([
    Type.Object({ environmentOverrides: OverridesToWrite }),
    OverridesToWrite,
    OverrideToWrite,
  ]),
  success: {
    status: 200,
    body: Type.Object({
      environmentOverrides: Type.Array(EnvironmentOverride, { maxItems: overrideLimit }),
      failedOverride: Type.Array(FailedOverride, { maxItems: overrideLimit }),
    }),
  },
  problems: ['variable-not-found', 'duplicate-environment', 'overrides-refused'],
  events: ['override-written'],
});

export const deleteOverride = operation({
  id: 'deleteOverride',
  method: 'DELETE',
  path: '/v1/projects/{projectId}/variables/{variableName}/environment-overrides/{environmentName}',
  surface: 'dpc',
  tag: 'Variables',
  summary: 'Delete the override of one environment',
  permission: 'environment:deliver',
  environmentFrom: 'params.environmentName',
  params: Type.Object(overridePath),
  success: { status: 204 },
  problems: ['variable-not-found', 'environment-not-found', 'override-not-found'],
  events: ['override-deleted'],
});

export const overrideOperations = [getOverrides, writeOverrides, deleteOverride] as const;
