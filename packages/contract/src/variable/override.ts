/** Overrides of variables in environments. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { EnvironmentName, oneOf } from '../primitives.ts';
import { Variable, variablePath } from './variable.ts';
import { VariableValue } from './variable-value.ts';

export const overrideLimit = 500;

const overridePath = { ...variablePath, environmentName: EnvironmentName };

export const EnvironmentOverride = named(
  'EnvironmentOverride',
  Type.Object({ environmentName: EnvironmentName, value: VariableValue }),
);
export type EnvironmentOverride = Static<typeof EnvironmentOverride>;

export const failedOverrideCodes = [
  'ENVIRONMENT_NOT_FOUND',
  'FORBIDDEN',
  'TYPE_MISMATCH',
  'INVALID_NAME',
] as const;
export const FailedOverride = named(
  'FailedOverride',
  Type.Object({
    environmentName: Type.String({ maxLength: 1_000 }),
    value: Type.Unknown({ description: 'The value from the request' }),
    reason: Type.String({ maxLength: 1_000 }),
    code: oneOf(failedOverrideCodes),
  }),
);
export type FailedOverride = Static<typeof FailedOverride>;

const overrideOperation = { surface: 'dpc', tag: 'Variables' } as const;

export const getOverrides = operation({
  ...overrideOperation,
  id: 'getOverrides',
  method: 'GET',
  path: '/v1/projects/{projectId}/variables/{variableName}/environment-overrides',
  summary: 'Get a variable with its overrides',
  description: 'With `environmentName`, the response contains only the override in that environment.',
  permission: 'project:read',
  params: Type.Object(variablePath),
  query: Type.Object({ environmentName: Type.Optional(EnvironmentName) }),
  success: {
    status: 200,
    body: named(
      'VariableWithOverrides',
      Type.Object({
        ...Variable.properties,
        environmentOverrides: Type.Array(EnvironmentOverride, { maxItems: 100_000 }),
      }),
    ),
  },
  problems: ['variable-not-found', 'override-not-found'],
  events: [],
});

const OverrideToWrite = named(
  'OverrideToWrite',
  Type.Object({
    environmentName: Type.String({ maxLength: 1_000 }),
    value: Type.Unknown({
      description:
        'A value of the type of the variable. An override with another type is listed in `failedOverride`',
    }),
  }),
);
export type OverrideToWrite = Static<typeof OverrideToWrite>;
const OverridesToWrite = Type.Array(OverrideToWrite, { minItems: 1, maxItems: overrideLimit });

export const writeOverrides = operation({
  ...overrideOperation,
  id: 'writeOverrides',
  method: 'POST',
  path: '/v1/projects/{projectId}/variables/{variableName}/environment-overrides',
  summary: 'Write overrides of a variable',
  description:
    'Creates or replaces overrides. The body is `{"environmentOverrides": […]}`, an array of overrides, or one override. ' +
    'Overrides that cannot be written are listed in `failedOverride`, and the others are written. With `atomic=true`, all overrides are written or none.',
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
  ...overrideOperation,
  id: 'deleteOverride',
  method: 'DELETE',
  path: '/v1/projects/{projectId}/variables/{variableName}/environment-overrides/{environmentName}',
  summary: 'Delete an override',
  permission: 'environment:deliver',
  environmentFrom: 'params.environmentName',
  params: Type.Object(overridePath),
  success: { status: 204 },
  problems: ['variable-not-found', 'environment-not-found', 'override-not-found'],
  events: ['override-deleted'],
});

export const overrideOperations = [getOverrides, writeOverrides, deleteOverride] as const;
