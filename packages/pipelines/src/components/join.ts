/**
 * Joins sources to a main source. The condition of a join `[source, alias, type]` has the key
 * `<earlier alias>_<type>_<alias>`, such as `main_Left_other`.
 */
import { ParameterError, readCellText } from '../expressions/parameters.ts';
import type { Resolved } from '../expressions/resolve.ts';
import type { Dialect } from '../sql/dialect/dialect.ts';
import type { Source, TransformationDefinition } from './definition/component.ts';
import { rowsParameter, textParameter } from './definition/declared-parameters.ts';
import { isSameName, wrapUserExpression } from './definition/plan-parts.ts';

const joinTypes: Readonly<Record<string, string>> = {
  left: 'LEFT JOIN',
  inner: 'INNER JOIN',
  right: 'RIGHT JOIN',
  full: 'FULL JOIN',
  'left outer': 'LEFT JOIN',
  'right outer': 'RIGHT JOIN',
  'full outer': 'FULL JOIN',
};

export const join: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about: 'Joins sources to a main source.',
  group: 'transform',
  parameters: {
    mainTable: textParameter('The main source.', { required: true }),
    mainTableAlias: textParameter('Its alias.', { required: true }),
    joins: rowsParameter('The other sources.', ['source', 'alias', 'Left, Inner, Right or Full'], {
      required: true,
    }),
    joinExpressions: rowsParameter(
      'The condition of each join. Its key is `<earlier alias>_<type>_<alias>`, such as `main_Left_other`.',
      ['SQL condition', 'key'],
      { required: true },
    ),
    columnMappings: rowsParameter('The columns of the result.', ['alias.column', 'column'], {
      required: true,
    }),
  },
  example: `type: join
sources: [Orders, Customers]
parameters:
  mainTable: Orders
  mainTableAlias: o
  joins:
    - [Customers, c, Left]
  joinExpressions:
    - ['"o"."customer" = "c"."name"', o_Left_c]
  columnMappings:
    - [o.amount, amount]
    - [c.country, country]`,
  sources: [1, Number.POSITIVE_INFINITY],
  plan({ parameters, dialect, sources }) {
    const mainAlias = parameters.text('mainTableAlias');
    const expressions = parameters.rows('joinExpressions', 2);
    const joins = parameters.rows('joins', 3);
    const lines = joins.map((row) => renderJoin(row, mainAlias, expressions, sources, dialect));
    const aliases = [mainAlias, ...joins.map((row) => readCellText(row, 1))];
    const mappings = parameters.rows('columnMappings', 1).map((row) => ({
      from: renderQualifiedColumn(readCellText(row, 0), aliases, dialect),
      to: readCellText(row, 1) || readColumnName(readCellText(row, 0), aliases),
    }));
    if (mappings.length === 0) throw new ParameterError('"columnMappings" is empty: map a column');
    const list = mappings.map(({ from, to }) => `${from} AS ${dialect.name(to)}`);
    const main = findSource(parameters.text('mainTable'), sources).name;
    return {
      select: [`SELECT ${list.join(', ')}`, `FROM ${main} AS ${dialect.name(mainAlias)}`, ...lines].join(
        '\n',
      ),
      columns: mappings.map(({ to }) => to),
    };
  },
};

function findSource(component: string, sources: readonly Source[]): Source {
  const source = sources.find((each) => each.component === component);
  if (source === undefined)
    throw new ParameterError(`"${component}" is not a source of the component: add it to its sources`);
  return source;
}

function renderJoin(
  row: readonly Resolved[],
  mainAlias: string,
  expressions: readonly (readonly Resolved[])[],
  sources: readonly Source[],
  dialect: Dialect,
): string {
  const [component, alias, word] = [readCellText(row, 0), readCellText(row, 1), readCellText(row, 2).trim()];
  const type = joinTypes[word.toLowerCase()];
  if (type === undefined)
    throw new ParameterError(`the type of the join "${alias}" is "${word}": use Left, Inner, Right or Full`);
  const tail = `_${word}_${alias}`;
  const expression =
    expressions.find((each) => isSameName(readCellText(each, 1), `${mainAlias}${tail}`)) ??
    expressions.find((each) => readCellText(each, 1).toLowerCase().endsWith(tail.toLowerCase()));
  if (expression === undefined) {
    throw new ParameterError(`"joinExpressions" has no expression for "${mainAlias}${tail}": add one`);
  }
  const condition = wrapUserExpression(readCellText(expression, 0), dialect);
  return `${type} ${findSource(component, sources).name} AS ${dialect.name(alias)} ON ${condition}`;
}

/** `alias.column`. Both may contain dots, so the longest matching alias is used. */
function splitQualifiedColumn(text: string, aliases: readonly string[]): readonly [string, string] {
  const alias = aliases
    .filter((each) => text.toLowerCase().startsWith(`${each.toLowerCase()}.`))
    .sort((left, right) => right.length - left.length)[0];
  if (alias === undefined) {
    throw new ParameterError(
      `the column mapping "${text}" must start with an alias and a dot: use one of the aliases ${aliases.join(', ')}`,
    );
  }
  return [alias, text.slice(alias.length + 1)];
}

function renderQualifiedColumn(text: string, aliases: readonly string[], dialect: Dialect): string {
  return splitQualifiedColumn(text, aliases).map(dialect.name).join('.');
}

const readColumnName = (text: string, aliases: readonly string[]) => splitQualifiedColumn(text, aliases)[1];
