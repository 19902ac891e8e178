/** Renames columns. Drops other columns unless includeInputColumns is set. */
import { ParameterError, readCellText } from '../parameters.ts';
import { getOnlySource, isSameName, type TransformationDefinition } from './component.ts';
import { rowsParameter, yesNoParameter } from './declared-parameters.ts';

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
    const mapping = parameters
      .rows('columnMapping', 2)
      .map((row) => [readCellText(row, 0), readCellText(row, 1)] as const);
    if (mapping.length === 0) throw new ParameterError('"columnMapping" is empty: map a column');
    if (parameters.yes('includeInputColumns', false)) {
      const target = (column: string) => mapping.find(([from]) => isSameName(from, column))?.[1] ?? column;
      return {
        select: `SELECT ${dialect.columnsRenamed(mapping)}\nFROM ${source.name}`,
        columns: source.columns?.map(target),
      };
    }
    const list = mapping.map(([from, to]) => `${dialect.name(from)} AS ${dialect.name(to)}`);
    return { select: `SELECT ${list.join(', ')}\nFROM ${source.name}`, columns: mapping.map(([, to]) => to) };
  },
};
