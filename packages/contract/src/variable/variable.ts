/** Project variables and their overrides. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { operation } from '../operation.ts';
import { Description, ifMatchHeader, pageOf, pageQuery, Uuid, VariableName } from '../primitives.ts';
import { projectPath } from '../project/project.ts';
import { VariableBehaviour, VariableType, VariableValue } from './variable-value.ts';

export const variablePath = { ...projectPath, variableName: VariableName };

export const Variable = named(
  'Variable',
  Type.Object({
    id: Uuid,
    name: VariableName,
    type: VariableType,
    behaviour: VariableBehaviour,
    description: Type.Optional(Description),
    value: Type.Optional(VariableValue),
    supportsDoubleResolution: Type.Boolean({
      description: 'Whether references in the value are themselves resolved',
    }),
  }),
);
export type Variable = Static<typeof Variable>;

const variableOperation = { surface: 'dpc', tag: 'Variables' } as const;

export const listVariables = operation({
  ...variableOperation,
  id: 'listVariables',
  method: 'GET',
  path: '/v1/projects/{projectId}/variables',
  summary: 'List variables',
  description: 'Sorted by name.',
  permission: 'project:read',
  params: Type.Object(projectPath),
  query: Type.Object(pageQuery),
  success: { status: 200, body: pageOf(Variable) },
  problems: [],
  events: [],
});

export const createVariable = operation({
  ...variableOperation,
  id: 'createVariable',
  method: 'POST',
  path: '/v1/projects/{projectId}/variables',
  summary: 'Create a variable',
  description:
    'Without `value`, a TEXT variable is "", a GRID variable has no columns and rows, and a NUMBER variable has no value.',
  permission: 'project:configure',
  params: Type.Object(projectPath),
  body: Type.Object({
    name: VariableName,
    type: VariableType,
    behaviour: VariableBehaviour,
    description: Type.Optional(Description),
    value: Type.Optional(VariableValue),
    supportsDoubleResolution: Type.Optional(Type.Boolean()),
  }),
  success: { status: 201, body: Variable, headers: ['Location', 'ETag'] },
  problems: ['variable-name-taken', 'value-type-mismatch'],
  events: ['variable-created'],
});

export const getVariable = operation({
  ...variableOperation,
  id: 'getVariable',
  method: 'GET',
  path: '/v1/projects/{projectId}/variables/{variableName}',
  summary: 'Get a variable',
  permission: 'project:read',
  params: Type.Object(variablePath),
  success: { status: 200, body: Variable, headers: ['ETag'] },
  problems: ['variable-not-found'],
  events: [],
});

export const updateVariable = operation({
  ...variableOperation,
  id: 'updateVariable',
  method: 'PATCH',
  path: '/v1/projects/{projectId}/variables/{variableName}',
  summary: 'Update a variable',
  description:
    '`type` and `behaviour` are always required. Other members that the request omits keep their value. ' +
    'If the type changes and the request has no `value`, the value is cleared. The request is refused if existing overrides do not have the new type.',
  permission: 'project:configure',
  params: Type.Object(variablePath),
  headers: ifMatchHeader,
  body: Type.Object({
    type: VariableType,
    behaviour: VariableBehaviour,
    description: Type.Optional(Description),
    value: Type.Optional(VariableValue),
    supportsDoubleResolution: Type.Optional(Type.Boolean()),
  }),
  success: { status: 200, body: Variable, headers: ['ETag'] },
  problems: ['variable-not-found', 'value-type-mismatch', 'override-type-mismatch', 'etag-mismatch'],
  events: ['variable-updated'],
});

export const deleteVariable = operation({
  ...variableOperation,
  id: 'deleteVariable',
  method: 'DELETE',
  path: '/v1/projects/{projectId}/variables/{variableName}',
  summary: 'Delete a variable',
  description: 'Also deletes its overrides.',
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
