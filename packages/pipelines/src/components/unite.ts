/** The rows of several sources together, columns matched by name. Differing types become one that holds both, whatever `castTypes` says. */
import { ParameterError } from '../parameters.ts';
import { type Source, sameName, type TransformationDefinition } from './component.ts';

const componentColumn = 'source_component';

export const unite: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  required: [],
  optional: ['method', 'addSourceComponentColumn', 'removeDuplicates'],
  sources: [1, Number.POSITIVE_INFINITY],
  plan({ parameters, dialect, sources }) {
    const all = parameters.choice('method', { 'All Columns': true, 'Common Columns': false }, true);
    const withComponent = parameters.yes('addSourceComponentColumn', false);
    const columns = all ? allColumns(sources) : commonColumns(sources);
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

function allColumns(sources: readonly Source[]): string[] | undefined {
  const columns: string[] = [];
  for (const source of sources) {
    if (source.columns === undefined) return undefined;
    columns.push(...source.columns.filter((column) => !columns.some((each) => sameName(each, column))));
  }
  return columns;
}

function commonColumns(sources: readonly Source[]): string[] {
  const unknown = sources.find((source) => source.columns === undefined);
  if (unknown !== undefined) {
    throw new ParameterError(
      `the columns of "${unknown.component}" are not known here: name them in table-input or rename`,
    );
  }
  const [first, ...others] = sources.map((source) => source.columns ?? []);
  const common = (first ?? []).filter((column) =>
    others.every((each) => each.some((other) => sameName(other, column))),
  );
  if (common.length === 0) throw new ParameterError('the sources have no column in common: use All Columns');
  return common;
}
