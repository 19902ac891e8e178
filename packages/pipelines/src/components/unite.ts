/**
 * Unites the rows of several sources, matching columns by name. Different types are always cast to a common
 * type, whatever `castTypes` is set to.
 */
import { ParameterError } from '../parameters.ts';
import { isSameName, type Source, type TransformationDefinition } from './component.ts';
import { choiceParameter, yesNoParameter } from './declared-parameters.ts';

const componentColumn = 'source_component';

export const unite: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about: 'Unites the rows of several sources. Columns are matched by name.',
  group: 'transform',
  parameters: {
    method: choiceParameter('Which columns the result has.', ['All Columns', 'Common Columns'], {
      standard: 'All Columns',
    }),
    addSourceComponentColumn: yesNoParameter('Whether the column `source_component` names the source.', 'No'),
    removeDuplicates: yesNoParameter('Whether equal rows are kept once.', 'No'),
  },
  noEffect: ['castTypes'],
  example: `type: unite
sources: [Orders of Europe, Orders of Asia]
parameters:
  method: All Columns`,
  sources: [1, Number.POSITIVE_INFINITY],
  plan({ parameters, dialect, sources }) {
    const all = parameters.choice('method', { 'All Columns': true, 'Common Columns': false }, true);
    const withComponent = parameters.yes('addSourceComponentColumn', false);
    const columns = all ? listAllColumns(sources) : listCommonColumns(sources);
    const selects = sources.map((source) => {
      const list = [all ? '*' : (columns ?? []).map(dialect.name).join(', ')];
      if (withComponent)
        list.push(`${dialect.literal(source.component)} AS ${dialect.name(componentColumn)}`);
      return `SELECT ${list.join(', ')} FROM ${source.name}`;
    });
    const union = parameters.yes('removeDuplicates', false) ? 'UNION BY NAME' : 'UNION ALL BY NAME';
    return {
      select: selects.join(`\n${union}\n`),
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

function listCommonColumns(sources: readonly Source[]): string[] {
  const unknown = sources.find((source) => source.columns === undefined);
  if (unknown !== undefined) {
    throw new ParameterError(
      `the columns of "${unknown.component}" are not known before the run: list them in table-input or rename`,
    );
  }
  const [first, ...others] = sources.map((source) => source.columns ?? []);
  const common = (first ?? []).filter((column) =>
    others.every((each) => each.some((other) => isSameName(other, column))),
  );
  if (common.length === 0)
    throw new ParameterError('the sources have no common column: set "method" to All Columns');
  return common;
}
