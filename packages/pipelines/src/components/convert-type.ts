/** Casts columns to other types. */
import { ParameterError, readCellText } from '../expressions/parameters.ts';
import type { NamedSql } from '../sql/dialect/dialect.ts';
import type { TransformationDefinition } from './definition/component.ts';
import { rowsParameter } from './definition/declared-parameters.ts';
import { getOnlySource } from './definition/plan-parts.ts';

export const convertType: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about: 'Casts columns to other types. Other columns are kept. A value that cannot be cast fails the run.',
  group: 'transform',
  parameters: {
    conversions: rowsParameter('The columns and their types.', ['column', 'type', 'size?', 'precision?'], {
      required: true,
    }),
  },
  example: `type: convert-type
sources: [Orders]
parameters:
  conversions:
    - [amount, NUMBER, "10", "2"]`,
  sources: [1, 1],
  plan(context) {
    const { parameters, dialect } = context;
    const source = getOnlySource(context);
    const replaced = new Map<string, NamedSql>();
    for (const row of parameters.rows('conversions', 2)) {
      const column = readCellText(row, 0);
      if (replaced.has(column.toLowerCase()))
        throw new ParameterError(`"conversions" has two rows for "${column}": remove one`);
      const size = readCellText(row, 2).trim();
      const type = dialect.type({ type: readCellText(row, 1), size, precision: readCellText(row, 3) });
      const cast = dialect.cast(dialect.name(column), type, false);
      // DuckDB knows no lengths of texts, and a cast of the vendors cuts.
      const isCut = type === 'VARCHAR' && /^\d{1,9}$/.test(size);
      replaced.set(column.toLowerCase(), { name: column, sql: isCut ? `left(${cast}, ${size})` : cast });
    }
    if (replaced.size === 0) throw new ParameterError('"conversions" is empty: add a column');
    return {
      select: `SELECT ${dialect.columnsReplaced(source.columns, [...replaced.values()])}\nFROM ${source.name}`,
      columns: source.columns,
    };
  },
};
