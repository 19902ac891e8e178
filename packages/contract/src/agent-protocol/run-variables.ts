/** The values with which a pipeline of a run started, and where each came from. */
import { type Static, Type } from 'typebox';
import { named } from '../named-schema.ts';
import { Name, oneOf, Uuid } from '../primitives.ts';
import { VariableType, VariableValue } from '../variable/variable-value.ts';
import { runVariablesLimit } from './protocol-constants.ts';

export const variableSources = ['default', 'project', 'override', 'request', 'caller'] as const;
export type VariableSource = (typeof variableSources)[number];

export const RunVariable = named(
  'PipelineExecutionVariable',
  Type.Object({
    name: Name,
    type: VariableType,
    source: oneOf(variableSources, {
      description:
        'default: of the pipeline. project: the value of the project’s variable. override: of the environment. request: of the request that started the execution. caller: given by the calling pipeline, for a child pipeline',
    }),
    value: Type.Optional(VariableValue),
    secretReference: Type.Optional(
      Type.String({
        maxLength: 255,
        description: 'The value is this secret, which is not recorded. `value` is then absent',
      }),
    ),
    rowCount: Type.Optional(Type.Integer({ minimum: 0, description: 'Of a GRID: all its rows' })),
    truncated: Type.Optional(
      Type.Boolean({ description: 'True if `value` is only the beginning, or absent because of its size' }),
    ),
  }),
);
/** Bounded: the beginning of a long text or grid. Secrets in texts are masked. */
export type RunVariable = Static<typeof RunVariable>;

export const RunVariables = Type.Object({
  pipelineRunId: Uuid,
  variables: Type.Array(RunVariable, { maxItems: runVariablesLimit }),
});
/** `pipelineRunId`: of the execution or of a child pipeline, as in a step. */
export type RunVariables = Static<typeof RunVariables>;
