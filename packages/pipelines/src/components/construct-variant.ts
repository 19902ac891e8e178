/** Makes JSON of columns. */
import { ParameterError } from '../expressions/parameters.ts';
import type { TransformationDefinition } from './definition/component.ts';
import { rowsParameter, textParameter } from './definition/declared-parameters.ts';
import { getOnlySource, readMapping } from './definition/plan-parts.ts';

export const constructVariant: TransformationDefinition = {
  kind: 'transformation',
  embeddedOnly: true,
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
    const members = readMapping(parameters, 'columnMappings').map(
      ([column, key]) =>
        `${dialect.literal(`${JSON.stringify(key)}:`)} || CAST(to_json(${dialect.name(column)}) AS VARCHAR)`,
    );
    if (members.length === 0) throw new ParameterError('"columnMappings" is empty: map a column');
    const slot = parameters.text('outputSlot');
    // concat_ws leaves NULLs out, but not nulls inside of JSON.
    const object = `CAST('{' || concat_ws(',', ${members.join(', ')}) || '}' AS JSON)`;
    return {
      select: `SELECT ${object} AS ${dialect.name(slot)} FROM ${getOnlySource(context).name}`,
      columns: [slot],
    };
  },
};
