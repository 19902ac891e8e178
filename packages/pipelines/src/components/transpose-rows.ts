/** One row of each group, with lists of its values. */
import { ParameterError } from '../expressions/parameters.ts';
import type { TransformationDefinition } from './definition/component.ts';
import { choiceParameter, namesParameter } from './definition/declared-parameters.ts';
import { getOnlySource } from './definition/plan-parts.ts';

export const transposeRows: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about: 'One row of each group, with the values of some columns as a text such as `[ 1, 2, 3 ]`.',
  group: 'transform',
  parameters: {
    groupings: namesParameter('The columns of the groups. None: one group.'),
    aggregations: namesParameter('The columns whose values are listed.', { required: true }),
    sortOrder: choiceParameter('The order of the values.', ['Ascending', 'Descending'], {
      standard: 'Ascending',
    }),
  },
  example: `type: transpose-rows
sources: [Orders]
parameters:
  groupings: [customer]
  aggregations: [amount]`,
  sources: [1, 1],
  plan(context) {
    const { parameters, dialect } = context;
    const groups = parameters.names('groupings');
    const listed = parameters.names('aggregations');
    const words = { Ascending: 'ASC', Descending: 'DESC', Asc: 'ASC', Desc: 'DESC' } as const;
    const direction = parameters.choice<string>('sortOrder', words, 'ASC');
    if (listed.length === 0) throw new ParameterError('"aggregations" is empty: name a column');
    const lists = listed.map((column) => {
      const name = dialect.name(column);
      return `'[ ' || coalesce(${dialect.gatherTexts(`CAST(${name} AS ${dialect.text})`, ', ', `ORDER BY ${name} ${direction}`)}, '') || ' ]' AS ${name}`;
    });
    const keys = groups.map(dialect.name);
    return {
      select: `SELECT ${[...keys, ...lists].join(', ')}\nFROM ${getOnlySource(context).name}${keys.length === 0 ? '' : `\nGROUP BY ${keys.join(', ')}`}`,
      columns: [...groups, ...listed],
    };
  },
};
