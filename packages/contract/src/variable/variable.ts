/** Project variables and their overrides: interface.md E3–E5, decisions.md E3–E5. */
import { type Static, Type } from 'typebox';
import { operation } from '../operation.ts';
import { Description, ifMatchHeader, oneOf, pageOf, pageQuery, Uuid, VariableName } from '../primitives.ts';
import { projectPath } from '../project/project.ts';
import { VariableValue, variableBehaviours, variableTypes } from './variable-value.ts';

export const variablePath = { ...projectPath, variableName: VariableName };

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

export const variableOperations = [
  listVariables,
  createVariable,
  getVariable,
  updateVariable,
  deleteVariable,
] as const;
