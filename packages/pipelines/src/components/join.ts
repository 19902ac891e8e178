/**
 * Joins sources to a main one. A join `[source, alias, type]` finds its condition by the key `<earlier alias>_<type>_<alias>`, as in
 * `main_Left_other`.
 */
import { cellText, ParameterError } from '../parameters.ts';
import type { Resolved } from '../resolve.ts';
import type { Dialect } from '../sql/dialect.ts';
import { type Source, sameName, type TransformationDefinition, userExpression } from './component.ts';

const joinTypes: Readonly<Record<string, string>> = {
  left: 'LEFT JOIN',
  inner: 'INNER JOIN',
  right: 'RIGHT JOIN',
  full: 'FULL JOIN',
};

export const join: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  required: ['mainTable', 'mainTableAlias', 'joins', 'joinExpressions', 'columnMappings'],
  optional: [],
  sources: [1, Number.POSITIVE_INFINITY],
  plan({ parameters, dialect, sources }) {
    const mainAlias = parameters.text('mainTableAlias');
    const expressions = parameters.rows('joinExpressions', 2);
    const joins = parameters.rows('joins', 3);
    const lines = joins.map((row) => joinLine(row, mainAlias, expressions, sources, dialect));
    const aliases = [mainAlias, ...joins.map((row) => cellText(row, 1))];
    const mappings = parameters.rows('columnMappings', 2).map((row) => ({
      from: qualifiedColumn(cellText(row, 0), aliases, dialect),
      to: cellText(row, 1),
    }));
    if (mappings.length === 0) throw new ParameterError('"columnMappings" is empty: map a column');
    const list = mappings.map(({ from, to }) => `${from} AS ${dialect.name(to)}`);
    const main = sourceNamed(parameters.text('mainTable'), sources).name;
    return {
      select: [`SELECT ${list.join(', ')}`, `FROM ${main} AS ${dialect.name(mainAlias)}`, ...lines].join(
        '\n',
      ),
      columns: mappings.map(({ to }) => to),
    };
  },
};

function sourceNamed(component: string, sources: readonly Source[]): Source {
  const source = sources.find((each) => each.component === component);
  if (source === undefined) throw new ParameterError(`"${component}" is none of the sources: connect it`);
  return source;
}

function joinLine(
  row: readonly Resolved[],
  mainAlias: string,
  expressions: readonly (readonly Resolved[])[],
  sources: readonly Source[],
  dialect: Dialect,
): string {
  const [component, alias, word] = [cellText(row, 0), cellText(row, 1), cellText(row, 2).trim()];
  const type = joinTypes[word.toLowerCase()];
  if (type === undefined)
    throw new ParameterError(`the join of "${alias}" is "${word}"; it can be Left, Inner, Right, Full`);
  const tail = `_${word}_${alias}`;
  const expression =
    expressions.find((each) => sameName(cellText(each, 1), `${mainAlias}${tail}`)) ??
    expressions.find((each) => cellText(each, 1).toLowerCase().endsWith(tail.toLowerCase()));
  if (expression === undefined) {
    throw new ParameterError(`"joinExpressions" has none for "${mainAlias}${tail}": add one`);
  }
  const condition = userExpression(cellText(expression, 0));
  return `${type} ${sourceNamed(component, sources).name} AS ${dialect.name(alias)} ON ${condition}`;
}

/** `alias.column`; both may hold dots, so the longest alias that fits is taken. */
function qualifiedColumn(text: string, aliases: readonly string[], dialect: Dialect): string {
  const alias = aliases
    .filter((each) => text.toLowerCase().startsWith(`${each.toLowerCase()}.`))
    .sort((left, right) => right.length - left.length)[0];
  if (alias === undefined) {
    throw new ParameterError(
      `the column mapping "${text}" must begin with an alias and a dot: ${aliases.join(', ')}`,
    );
  }
  return `${dialect.name(alias)}.${dialect.name(text.slice(alias.length + 1))}`;
}
