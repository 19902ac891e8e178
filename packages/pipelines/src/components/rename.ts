/** Gives columns other names, and drops those that are not mapped unless they are included. */
import { cellText, ParameterError } from '../parameters.ts';
import { onlySource, sameName, type TransformationDefinition } from './component.ts';

export const rename: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  required: ['columnMapping'],
  optional: ['includeInputColumns'],
  sources: [1, 1],
  plan(context) {
    const { parameters, dialect } = context;
    const source = onlySource(context);
    const mapping = parameters
      .rows('columnMapping', 2)
      .map((row) => [cellText(row, 0), cellText(row, 1)] as const);
    if (mapping.length === 0) throw new ParameterError('"columnMapping" is empty: map a column');
    if (parameters.yes('includeInputColumns', false)) {
      const target = (column: string) => mapping.find(([from]) => sameName(from, column))?.[1] ?? column;
      return {
        select: `SELECT ${dialect.columnsRenamed(mapping)}\nFROM ${source.name}`,
        columns: source.columns?.map(target),
      };
    }
    const list = mapping.map(([from, to]) => `${dialect.name(from)} AS ${dialect.name(to)}`);
    return { select: `SELECT ${list.join(', ')}\nFROM ${source.name}`, columns: mapping.map(([, to]) => to) };
  },
};
