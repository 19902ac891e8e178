/** Compares two sources by a key: the rows of the master and those of the second source. */
import { ParameterError, readCellText } from '../expressions/parameters.ts';
import type { Dialect } from '../sql/dialect/dialect.ts';
import type { Source, TransformationDefinition } from './definition/component.ts';
import { namesParameter, rowsParameter, textParameter } from './definition/declared-parameters.ts';
import { isSameName } from './definition/plan-parts.ts';

const prefixes = ['master', 'compare'] as const;

export const detectChanges: TransformationDefinition = {
  kind: 'transformation',
  output: false,
  about:
    'Compares two sources by a key and adds a column with what changed: `C` the row changed, `D` only the master has it, `I` it is identical, `N` only the second source has it. Rows whose key has a NULL are ignored; two NULLs are equal.',
  group: 'transform',
  parameters: {
    masterTable: textParameter('The source that holds the earlier rows.', { required: true }),
    matchKeys: namesParameter('The columns of the key.', { required: true }),
    compareColumns: namesParameter('The columns whose values are compared.', { required: true }),
    outputColumnMapping: rowsParameter(
      'The columns of the result beside those of the key: `master_X` is the column X of the master, `compare_X` that of the second source. None: both for all keys and compared columns.',
      ['master_X or compare_X', 'column'],
    ),
    indicatorColumn: textParameter('The column with the letter.', { standard: 'Indicator' }),
  },
  example: `type: detect-changes
sources: [Customers, New customers]
parameters:
  masterTable: Customers
  matchKeys: [id]
  compareColumns: [name, city]
  outputColumnMapping:
    - [compare_name, name]
  indicatorColumn: change`,
  sources: [2, 2],
  plan({ parameters, dialect, sources }) {
    const keys = parameters.names('matchKeys');
    if (keys.length === 0) throw new ParameterError('"matchKeys" is empty: name the columns of the key');
    const compared = parameters.names('compareColumns');
    const [master, second] = findSides(parameters.text('masterTable'), sources);
    const mappings = parameters.rows('outputColumnMapping', 1).map((row) => {
      const from = readCellText(row, 0);
      return { from: renderSide(from, dialect), to: readCellText(row, 1) || from };
    });
    const standard = [...keys, ...compared].flatMap((column) =>
      prefixes.map((prefix) => ({
        from: `${dialect.name(prefix)}.${dialect.name(column)}`,
        to: `${prefix}_${column}`,
      })),
    );
    const mapped = mappings.length === 0 ? standard : mappings;
    const columns = [
      ...keys
        .filter((key) => !mapped.some(({ to }) => isSameName(to, key)))
        .map((key) => ({ from: renderKey(key, dialect), to: key })),
      ...mapped,
    ];
    const indicator = parameters.optionalText('indicatorColumn') ?? 'Indicator';
    const list = columns.map(({ from, to }) => `${from} AS ${dialect.name(to)}`);
    return {
      select: [
        `SELECT ${[...list, `${renderIndicator(keys, compared, dialect)} AS ${dialect.name(indicator)}`].join(', ')}`,
        `FROM ${renderKeyed(master, keys, dialect)} AS "master"`,
        `FULL JOIN ${renderKeyed(second, keys, dialect)} AS "compare"`,
        `ON ${keys.map((key) => renderPair(key, '=', dialect)).join(' AND ')}`,
      ].join('\n'),
      columns: [...columns.map(({ to }) => to), indicator],
    };
  },
};

function findSides(name: string, sources: readonly Source[]): [Source, Source] {
  const master = sources.find(({ component }) => component === name);
  const second = sources.find((source) => source !== master);
  if (master === undefined || second === undefined)
    throw new ParameterError(
      `"masterTable" is "${name}", which is not a source: name one of the two sources`,
    );
  return [master, second];
}

function renderSide(text: string, dialect: Dialect): string {
  const prefix = prefixes.find((each) => text.toLowerCase().startsWith(`${each}_`));
  if (prefix === undefined || text.length === prefix.length + 1)
    throw new ParameterError(
      `"outputColumnMapping" has "${text}": use master_X or compare_X, where X is a column`,
    );
  return `${dialect.name(prefix)}.${dialect.name(text.slice(prefix.length + 1))}`;
}

function renderKeyed({ name }: Source, keys: readonly string[], dialect: Dialect): string {
  return `(SELECT * FROM ${name} WHERE ${keys.map((key) => `${dialect.name(key)} IS NOT NULL`).join(' AND ')})`;
}

function renderKey(key: string, dialect: Dialect): string {
  return `coalesce("master".${dialect.name(key)}, "compare".${dialect.name(key)})`;
}

function renderPair(column: string, operator: string, dialect: Dialect): string {
  return `"master".${dialect.name(column)} ${operator} "compare".${dialect.name(column)}`;
}

function renderIndicator(keys: readonly string[], compared: readonly string[], dialect: Dialect): string {
  const [key = ''] = keys;
  const changes = compared.map((column) =>
    dialect.differ(`"master".${dialect.name(column)}`, `"compare".${dialect.name(column)}`),
  );
  return [
    `CASE WHEN "master".${dialect.name(key)} IS NULL THEN 'N'`,
    `WHEN "compare".${dialect.name(key)} IS NULL THEN 'D'`,
    ...(changes.length === 0 ? [] : [`WHEN ${changes.join(' OR ')} THEN 'C'`]),
    `ELSE 'I' END`,
  ].join(' ');
}
