/**
 * Unites the rows of several sources, matching columns by name. Different types are always cast to a common
 * type, whatever `castTypes` is set to.
 */
import { ParameterError } from '../expressions/parameters.ts';
import type { Source, TransformationDefinition } from './definition/component.ts';
import { choiceParameter, yesNoParameter } from './definition/declared-parameters.ts';
import { isSameName } from './definition/plan-parts.ts';

const componentColumn = 'source_component';

/** Whether the result has all columns. */
const methods = { 'All Columns': true, 'Overlapping Columns': false, 'Common Columns': false };

export const unite: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about: 'Unites the rows of several sources. Columns are matched by name.',
  group: 'transform',
  parameters: {
    method: choiceParameter(
      'Which columns the result has: all, or those that every source has.',
      Object.keys(methods),
      { standard: 'All Columns' },
    ),
    castTypes: yesNoParameter('Columns of different types are cast to a common type in both cases.', 'No'),
    addSourceComponentColumn: yesNoParameter('Whether the column `source_component` names the source.', 'No'),
    removeDuplicates: yesNoParameter('Whether equal rows are kept once.', 'No'),
  },
  example: `type: unite
sources: [Orders of Europe, Orders of Asia]
parameters:
  method: All Columns`,
  sources: [1, Number.POSITIVE_INFINITY],
  needsColumns: (parameters) => !parameters.choice('method', methods, true),
  plan({ parameters, dialect, sources }) {
    const all = parameters.choice('method', methods, true);
    parameters.yes('castTypes', false);
    const withComponent = parameters.yes('addSourceComponentColumn', false);
    const columns = all ? listAllColumns(sources) : listCommonColumns(sources);
    const isDistinct = parameters.yes('removeDuplicates', false);
    const isWhole = all || columns === undefined;
    const parts = sources.map((source) => ({
      from: source.name,
      columns: isWhole ? source.columns : columns,
      isWhole,
      added: withComponent ? [{ name: componentColumn, sql: dialect.literal(source.component) }] : [],
    }));
    return {
      select: dialect.uniteByName(parts, isDistinct),
      columns: columns && (withComponent ? [...columns, componentColumn] : columns),
    };
  },
};

function listAllColumns(sources: readonly Source[]): string[] | undefined {
  const columns: string[] = [];
  for (const source of sources) {
    if (source.columns === undefined) return undefined;
    columns.push(...source.columns.filter((column) => !columns.some((each) => isSameName(each, column))));
  }
  return columns;
}

/** Undefined before the run if only the warehouse knows the columns of a source. */
function listCommonColumns(sources: readonly Source[]): string[] | undefined {
  if (sources.some((source) => source.columns === undefined)) return undefined;
  const [first, ...others] = sources.map((source) => source.columns ?? []);
  const common = (first ?? []).filter((column) =>
    others.every((each) => each.some((other) => isSameName(other, column))),
  );
  if (common.length === 0)
    throw new ParameterError('the sources have no common column: set "method" to All Columns');
  return common;
}
