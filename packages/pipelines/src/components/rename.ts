/** Renames columns. Drops other columns unless includeInputColumns is set. */
import { ParameterError } from '../expressions/parameters.ts';
import type { TransformationDefinition } from './definition/component.ts';
import { rowsParameter, yesNoParameter } from './definition/declared-parameters.ts';
import { getOnlySource, readMapping } from './definition/plan-parts.ts';
import { renameColumns } from './projection.ts';

export const rename: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about: 'Renames columns. Other columns are dropped unless `includeInputColumns` is Yes.',
  group: 'transform',
  parameters: {
    columnMapping: rowsParameter('The columns and their new names.', ['column', 'new name'], {
      required: true,
    }),
    includeInputColumns: yesNoParameter('Whether other columns are kept.', 'No'),
  },
  example: `type: rename
sources: [Orders]
parameters:
  columnMapping:
    - [customer, name]`,
  sources: [1, 1],
  plan(context) {
    const { parameters, dialect } = context;
    const source = getOnlySource(context);
    const mapping = readMapping(parameters, 'columnMapping');
    if (mapping.length === 0) throw new ParameterError('"columnMapping" is empty: map a column');
    return renameColumns(source, mapping, parameters.yes('includeInputColumns', false), dialect);
  },
};
