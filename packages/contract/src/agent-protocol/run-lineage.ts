/**
 * What a step read and wrote, as the agent found it in the SQL that ran or in the components of a transformation.
 *
 * - **dataset**: a table or view of the warehouse, a file, an object of a store, or an endpoint of an API. Its name is
 *   stable: the same place has the same name in every step, run and project of an environment.
 * - **derived column**: a column of an output with the fields of the inputs that its values come from.
 * - **deciding field**: a field that no value comes from; it decides which rows are written (a filter, a join, a
 *   group).
 * - **gap**: why something is missing, such as SQL that could not be analyzed.
 */
import { type Static, Type } from 'typebox';
import { oneOf, Uuid } from '../primitives.ts';
import {
  lineageColumnInputsLimit,
  lineageColumnsLimit,
  lineageDatasetsLimit,
  lineageGapsLimit,
  lineageTextLimit,
  stepSqlLimit,
} from './protocol-constants.ts';

export const datasetKinds = ['warehouse', 'file', 'api', 'object'] as const;
export type DatasetKind = (typeof datasetKinds)[number];

export const columnTransformations = ['IDENTITY', 'CHANGED', 'AGGREGATED'] as const;
export type ColumnTransformation = (typeof columnTransformations)[number];

const DatasetText = Type.String({ minLength: 1, maxLength: lineageTextLimit });
export const DatasetField = Type.Object({ name: DatasetText, type: Type.Optional(DatasetText) });
export type DatasetField = Static<typeof DatasetField>;

const dataset = {
  kind: oneOf(datasetKinds),
  name: DatasetText,
  fields: Type.Optional(
    Type.Array(DatasetField, { maxItems: lineageColumnsLimit, description: 'Absent if they are not known' }),
  ),
};
export const Dataset = Type.Object(dataset);
export type Dataset = Static<typeof Dataset>;

const InputIndex = Type.Integer({
  minimum: 0,
  maximum: lineageDatasetsLimit - 1,
  description: 'The index of the dataset in `inputs` of the step',
});
const DecidingField = Type.Object({ dataset: InputIndex, field: DatasetText });
const ColumnInput = Type.Object({
  dataset: InputIndex,
  field: DatasetText,
  transformation: oneOf(columnTransformations, {
    description: 'IDENTITY: the value as it is. CHANGED: calculated from it. AGGREGATED: from several rows',
  }),
});
const DerivedColumn = Type.Object({
  name: DatasetText,
  inputs: Type.Array(ColumnInput, { maxItems: lineageColumnInputsLimit }),
});

export const OutputDataset = Type.Object({
  ...dataset,
  columns: Type.Optional(
    Type.Array(DerivedColumn, {
      maxItems: lineageColumnsLimit,
      description: 'Absent if the step was not analyzed by columns',
    }),
  ),
  decidedBy: Type.Optional(Type.Array(DecidingField, { maxItems: lineageColumnsLimit })),
  rowCount: Type.Optional(Type.Integer({ minimum: 0, description: 'Rows that the step wrote' })),
  dropped: Type.Optional(Type.Boolean({ description: 'True if the dataset is gone after the step' })),
  createdOrReplaced: Type.Optional(
    Type.Boolean({ description: 'True if the step made the dataset, or all its rows, anew' }),
  ),
});
export type OutputDataset = Static<typeof OutputDataset>;

export const StepLineage = Type.Object({
  stepId: { ...Uuid, description: 'The step that succeeded' },
  pipelineRunId: Uuid,
  inputs: Type.Array(Dataset, { maxItems: lineageDatasetsLimit }),
  outputs: Type.Array(OutputDataset, { maxItems: lineageDatasetsLimit }),
  sql: Type.Optional(
    Type.String({ maxLength: stepSqlLimit, description: 'The statements as they were run' }),
  ),
  gaps: Type.Optional(Type.Array(DatasetText, { maxItems: lineageGapsLimit })),
});
/**
 * Of a step that succeeded, sent once, with the report that says so or an earlier one. At most
 * `lineageColumnInputsLimit` column inputs and deciding fields, and `lineageColumnsLimit` columns and fields, in the
 * whole step; the agent leaves out what is beyond, and says so in `gaps`.
 */
export type StepLineage = Static<typeof StepLineage>;
