/** Makes JSON of columns. */
import { ParameterError } from '../parameters.ts';
import { getOnlySource, readMapping, type TransformationDefinition } from './component.ts';
import { rowsParameter, textParameter } from './declared-parameters.ts';

export const constructVariant: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about: 'A column with a JSON object of some columns. A column that is NULL is left out of the object.',
  group: 'transform',
  parameters: {
    columnMappings: rowsParameter('The columns and their keys.', ['column', 'key'], { required: true }),
    outputSlot: textParameter('The column with the object.', { required: true }),
  },
  example: `type: construct-variant
sources: [Customers]
parameters:
  columnMappings:
    - [name, name]
    - [city, address]
  outputSlot: customer`,
  sources: [1, 1],
  plan(context) {
    const { parameters, dialect } = context;
    const pairs = readMapping(parameters, 'columnMappings').map(
      ([column, key]) => `${dialect.literal(key)}, ${dialect.name(column)}`,
    );
    if (pairs.length === 0) throw new ParameterError('"columnMappings" is empty: map a column');
    const slot = parameters.text('outputSlot');
    // Merging into an empty object drops the keys whose value is null.
    const object = `json_merge_patch('{}', json_object(${pairs.join(', ')}))`;
    return {
      select: `SELECT ${object} AS ${dialect.name(slot)} FROM ${getOnlySource(context).name}`,
      columns: [slot],
    };
  },
};
