/** Project variables and their overrides: interface.md E3–E9, decisions.md E3–E9. */
import { type Static, Type } from 'typebox';
import { operation } from './operation.ts';
import {
  Description,
  EnvironmentName,
  ifMatchHeader,
  oneOf,
  pageOf,
  pageQuery,
  Uuid,
  VariableName,
} from './primitives.ts';
import { projectPath } from './project.ts';
import { VariableValue, variableBehaviours, variableTypes } from './variable-value.ts';

export const overrideLimit = 500;

const variablePath = { ...projectPath, variableName: VariableName };
const overridePath = { ...variablePath, environmentName: EnvironmentName };
export const Variable = Type.Object({
  id: Uuid,
  name: VariableName,
  type: oneOf(variableTypes),
  behaviour: oneOf(variableBehaviours),
  description: Type.Optional(Description),
  value: Type.Optional(VariableValue),
  supportsDoubleResolution: Type.Boolean({
    description: 'Its text may itself hold a reference that is resolved again',
  }),
});
export type Variable = Static<typeof Variable>;

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

export const listVariables = operation({
  id: 'listVariables',
  method: 'GET',
  path: '/v1/projects/{projectId}/variables',
  surface: 'dpc',
  tag: 'Variables',
  summary: 'List the variables of a project, by name',
  permission: 'project:read',
  params: Type.Object(projectPath),
  query: Type.Object(pageQuery),
  success: { status: 200, body: pageOf(Variable) },
  problems: [],
  events: [],
});

export const createVariable = operation({
  id: 'createVariable',
  method: 'POST',
  path: '/v1/projects/{projectId}/variables',
  surface: 'dpc',
  tag: 'Variables',
  summary: 'Create a variable',
  description: 'Without `value` a TEXT is "", a GRID has no columns and rows, a NUMBER has no value.',
  permission: 'project:configure',
  params: Type.Object(projectPath),
  body: Type.Object({
    name: VariableName,
    type: oneOf(variableTypes),
    behaviour: oneOf(variableBehaviours),
    description: Type.Optional(Description),
    value: Type.Optional(VariableValue),
    supportsDoubleResolution: Type.Optional(Type.Boolean()),
  }),
  success: { status: 201, body: Variable, headers: ['Location', 'ETag'] },
  problems: ['variable-name-taken', 'value-type-mismatch'],
  events: ['variable-created'],
});

export const getVariable = operation({
  id: 'getVariable',
  method: 'GET',
  path: '/v1/projects/{projectId}/variables/{variableName}',
  surface: 'dpc',
  tag: 'Variables',
  summary: 'Read one variable',
  permission: 'project:read',
  params: Type.Object(variablePath),
  success: { status: 200, body: Variable, headers: ['ETag'] },
  problems: ['variable-not-found'],
  events: [],
});

export const updateVariable = operation({
  id: 'updateVariable',
  method: 'PATCH',
  path: '/v1/projects/{projectId}/variables/{variableName}',
  surface: 'dpc',
  tag: 'Variables',
  summary: 'Change a variable',
  description:
    '`type` and `behaviour` are required even when they stay. Members left out keep their value; ' +
    'the value of another type is emptied when the request gives none. A type that stored overrides do not fit is refused.',
  permission: 'project:configure',
  params: Type.Object(variablePath),
  headers: ifMatchHeader,
  body: Type.Object({
    type: oneOf(variableTypes),
    behaviour: oneOf(variableBehaviours),
    description: Type.Optional(Description),
    value: Type.Optional(VariableValue),
    supportsDoubleResolution: Type.Optional(Type.Boolean()),
  }),
  success: { status: 200, body: Variable, headers: ['ETag'] },
  problems: ['variable-not-found', 'value-type-mismatch', 'override-type-mismatch', 'etag-mismatch'],
  events: ['variable-updated'],
});

export const deleteVariable = operation({
  id: 'deleteVariable',
  method: 'DELETE',
  path: '/v1/projects/{projectId}/variables/{variableName}',
  surface: 'dpc',
  tag: 'Variables',
  summary: 'Delete a variable and all its overrides',
  permission: 'project:manage',
  params: Type.Object(variablePath),
  headers: ifMatchHeader,
  success: { status: 204 },
  problems: ['variable-not-found', 'etag-mismatch'],
  events: ['variable-deleted'],
});

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
