/**
 * The dialect of Amazon Redshift: PostgreSQL's with what Redshift lacks or has otherwise. Names are in lower case
 * there, also in quotes, unless `enable_case_sensitive_identifier` is set; a backslash escapes in literals.
 */
import { type Dialect, SqlError, type TableReference, type TextMatch } from './dialect/dialect.ts';
import { createPostgresShapes } from './postgres/postgres-shapes.ts';
import { raisedMark } from './postgres/raised-mark.ts';
import { createPostgres, type PostgresPlace } from './postgres.ts';
import { renderCheck, renderParts } from './redshift/redshift-merge.ts';
import { anyText, redshiftType } from './redshift/redshift-types.ts';
import { createPlainSql } from './rewriter.ts';
import { isDefaultName } from './tokens/names.ts';
import { lexicalRules } from './tokens/tokens.ts';

export function createRedshift(place: PostgresPlace): Dialect {
  // Files do not reach it through the connection.
  const { copy: _, ...postgres } = createPostgres(place);
  const { name } = postgres;
  const literal = (text: string) => postgres.literal(text.replaceAll('\\', '\\\\'));
  const raise = (message: string) => `CAST(${literal(raisedMark)} || ${message} AS INTEGER)`;

  function isIn({ database, schema }: Omit<TableReference, 'table'>): string {
    const within = isDefaultName(schema) ? place.schema : schema.trim();
    const catalog = isDefaultName(database) ? 'current_database()' : literal(database.trim());
    return `lower(table_schema) = lower(${literal(within)}) AND table_catalog = ${catalog}`;
  }

  return {
    ...postgres,
    ...createPostgresShapes(name, literal, anyText),
    stores: 'redshift',
    user: createPlainSql('redshift'),
    text: anyText,
    literal(value) {
      return typeof value === 'string' ? literal(value) : postgres.literal(value);
    },
    type: redshiftType,
    // SVV_TABLES and SVV_COLUMNS know external tables and late-binding views, too.
    tableExists: (reference) =>
      `SELECT table_name FROM svv_tables WHERE ${isIn(reference)} AND lower(table_name) = lower(${literal(reference.table)})`,
    tableColumns: (reference) =>
      `SELECT column_name, ${typeName} FROM svv_columns WHERE ${isIn(reference)} AND lower(table_name) = lower(${literal(reference.table)}) ORDER BY ordinal_position`,
    tablesLike(schema, pattern, isRegex) {
      const matches = isRegex
        ? `table_name ~* ${literal(`^(?:${pattern})$`)}`
        : matchText('ilike', 'table_name', literal(pattern));
      const column = `'["' || replace(replace(column_name, ${literal('\\')}, ${literal('\\\\')}), '"', ${literal('\\"')}) || '"]'`;
      return `SELECT table_name, ${column} FROM svv_columns WHERE ${isIn(schema)} AND ${matches} ORDER BY table_name, ordinal_position`;
    },
    aggregate: (word, column, over) => renderAggregate(word, column, over),
    firstOrLast() {
      throw new SqlError(
        'Redshift has no first or last value of a group: use rank and a filter, or write SQL',
      );
    },
    unpivot({ from, kept, narrowed, name: names, value }) {
      if (kept === undefined)
        throw new SqlError('the columns of a source are not known: name them in its component');
      const parts = narrowed.map((column) => {
        const cells = [...kept.map(name), `CAST(${literal(column)} AS ${anyText}) AS ${name(names)}`];
        return `SELECT ${[...cells, `${name(column)} AS ${name(value)}`].join(', ')}\nFROM ${from}\nWHERE ${name(column)} IS NOT NULL`;
      });
      return parts.join('\nUNION ALL\n');
    },
    ignoreNulls: (call) => `${call} IGNORE NULLS`,
    matchText,
    compareFraction: (column, operator, fraction) => `${column} ${operator} ${fraction.trim()}`,
    columnTypes(_, columns) {
      throw new SqlError(
        `Redshift does not say whether ${columns.join(', ')} is a text, so that the value may be a text or another column: compare columns in a sql component`,
      );
    },
    raise,
    differ: (left, right) => `coalesce(${left} <> ${right}, (${left} IS NULL) <> (${right} IS NULL))`,
    listRows(rows, columns) {
      const selects = rows.map(
        (row) => `SELECT ${row.map((cell, index) => `${cell} AS ${name(columns[index] ?? '')}`).join(', ')}`,
      );
      return `(\n${selects.join('\nUNION ALL\n')}\n) AS "values"`;
    },
    gatherTexts: (text, separator, order) => `listagg(${text}, '${separator}') WITHIN GROUP (${order})`,
    countUp,
    merge: (merge) => renderParts(merge, postgres, lexicalRules.redshift),
    checkMerge: (merge) => [renderCheck(merge, raise, literal)],
    replaceRows(target, query, columns) {
      const aside = name('headgate_replacing_rows');
      return {
        statements: [
          `CREATE TEMPORARY TABLE ${aside} AS\n${query}`,
          // TRUNCATE would commit.
          `DELETE FROM ${target}`,
          postgres.insertRows(target, `SELECT * FROM ${aside}`, columns),
          `DROP TABLE ${aside}`,
        ],
        counted: 2,
      };
    },
    // They have no schema, and stay until the session ends or they are dropped.
    temporaryTable: name,
    createTemporaryTable: (target, query) => `CREATE TEMPORARY TABLE ${target} AS\n${query}`,
  };

  /** `generate_series` is for the leader node only. */
  function countUp(start: number, end: number, step: number, column: string): string {
    const count = Math.max(0, Math.floor((end - start) / step) + 1);
    const digits = Array.from({ length: String(Math.max(0, count - 1)).length }, (_, index) => index);
    const ten = Array.from({ length: 10 }, (_, digit) => `SELECT ${digit} AS d`).join(' UNION ALL ');
    const number = digits.map((index) => `p${index}.d * CAST(${10 ** index} AS BIGINT)`).join(' + ');
    const from = digits.map((index) => `(${ten}) AS p${index}`).join(' CROSS JOIN ');
    return `SELECT ${start} + (${number}) * ${step} AS ${name(column)} FROM ${from} WHERE ${number} < ${count}`;
  }
}

/** The names that `type` gives, from those of SVV_COLUMNS. */
const typeName = `CASE WHEN data_type LIKE 'character%' OR data_type = 'text' THEN 'VARCHAR' WHEN data_type = 'numeric' AND numeric_precision IS NOT NULL THEN 'NUMERIC(' || CAST(numeric_precision AS VARCHAR) || ',' || CAST(numeric_scale AS VARCHAR) || ')' ELSE upper(replace(data_type, ' without time zone', '')) END`;

/** No text has it: a pattern has no escape character, as in the other warehouses. */
const noEscape = '\u0001';

function matchText(how: TextMatch, text: string, pattern: string): string {
  if (how === 'contains') return `strpos(${text}, ${pattern}) > 0`;
  if (how === 'starts') return `left(${text}, char_length(${pattern})) = ${pattern}`;
  if (how === 'ends') return `right(${text}, char_length(${pattern})) = ${pattern}`;
  return `${text} ${how.toUpperCase()} ${pattern} ESCAPE '${noEscape}'`;
}

function renderAggregate(word: string, column: string, over: string): string | undefined {
  switch (word) {
    case 'median':
      return `percentile_cont(0.5) WITHIN GROUP (ORDER BY ${column})${over}`;
    case 'any value':
      return `any_value(${column})${over}`;
    case 'approximate count distinct':
    case 'count distinct':
      if (over !== '')
        throw new SqlError(`Redshift has no ${word} over a window: use aggregate, or write SQL`);
      return `count(DISTINCT ${column})`;
    case 'list aggregate':
    case 'listagg':
      return `coalesce(listagg(CAST(${column} AS ${anyText}), ',')${over}, '')`;
    case 'mode':
    case 'skew':
    case 'kurtosis':
    case 'array aggregate':
    case 'array aggregate distinct':
    case 'bit xor':
    case 'bit xor aggregate':
      throw new SqlError(`Redshift has no function for ${word}: write it as SQL`);
    default:
      return undefined;
  }
}
