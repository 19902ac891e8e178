/** Reads the rows of all tables whose names match a pattern. */
import { ParameterError } from '../expressions/parameters.ts';
import type { TransformationDefinition } from './definition/component.ts';
import {
  choiceParameter,
  namesParameter,
  placeParameters,
  textParameter,
  yesNoParameter,
} from './definition/declared-parameters.ts';
import { readTableReference } from './definition/plan-parts.ts';

const sourceColumn = 'Source Table';

export const multiTableInput: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about:
    'Reads the rows of all tables whose names match a pattern when the run begins. Columns are matched by name; a column that a table lacks is NULL.',
  group: 'read',
  parameters: {
    pattern: textParameter('The pattern, such as `orders_%`. Case does not matter.', { required: true }),
    patternType: choiceParameter(
      'The kind of pattern. Regex: a regular expression for the whole name.',
      ['Like', 'Regex'],
      {
        standard: 'Like',
      },
    ),
    ...placeParameters,
    columns: namesParameter('The columns. None: all.'),
    castTypes: yesNoParameter('Columns of different types are cast to a common type in both cases.', 'No'),
    addSourceTable: yesNoParameter('Whether the column `Source Table` names the table.', 'No'),
  },
  noEffect: ['catalog'],
  example: `type: multi-table-input
parameters:
  pattern: orders_%
  patternType: Like
  columns: [customer, amount]
  addSourceTable: "Yes"`,
  sources: [0, 0],
  lookUp({ parameters, dialect }) {
    const isRegex = parameters.choice('patternType', { Like: false, Regex: true }, false);
    const { database, schema } = readTableReference(parameters, 'pattern');
    return dialect.tablesLike({ database, schema }, parameters.text('pattern'), isRegex);
  },
  plan({ parameters, dialect, found }) {
    parameters.choice('patternType', { Like: false, Regex: true }, false);
    parameters.yes('castTypes', false);
    const { database, schema, table: pattern } = readTableReference(parameters, 'pattern');
    const columns = parameters.names('columns');
    const isNamed = parameters.yes('addSourceTable', false);
    const tables = gatherTables(found ?? [[pattern]]);
    if (tables.length === 0)
      throw new ParameterError(`no table matches "${pattern}": create one, or change "pattern"`);
    const parts = tables.map(({ table, columns: ofTable }) => ({
      from: dialect.table({ database, schema, table }),
      columns: columns.length === 0 ? ofTable : columns,
      isWhole: columns.length === 0,
      added: isNamed ? [{ name: sourceColumn, sql: dialect.literal(table) }] : [],
    }));
    const names = [...columns, ...(isNamed ? [sourceColumn] : [])];
    return {
      select: dialect.uniteByName(parts, false),
      columns: columns.length === 0 ? undefined : names,
    };
  },
};

interface FoundTable {
  readonly table: string;
  /** Undefined if a SELECT need not name them. */
  columns: string[] | undefined;
}

/** Columns are a JSON array. A warehouse that cannot gather them gives a row for each. */
function gatherTables(rows: readonly (readonly unknown[])[]): FoundTable[] {
  const tables = new Map<string, FoundTable>();
  for (const [name, columns] of rows) {
    const table = String(name);
    const known = tables.get(table) ?? { table, columns: undefined };
    if (typeof columns === 'string')
      known.columns = [...(known.columns ?? []), ...(JSON.parse(columns) as string[])];
    tables.set(table, known);
  }
  return [...tables.values()];
}
