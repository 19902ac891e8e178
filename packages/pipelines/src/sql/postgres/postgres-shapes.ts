/**
 * The parts of PostgreSQL's SQL that change which columns or rows there are. It has no `* REPLACE`, BY NAME or PIVOT.
 */
import { type Dialect, SqlError, type UnitedRows } from '../dialect/dialect.ts';

type Shapes = Pick<
  Dialect,
  'columnsReplaced' | 'columnsWithout' | 'uniteByName' | 'pivot' | 'unpivot' | 'aggregate' | 'firstOrLast'
>;

const isSame = (left: string, right: string) => left.toLowerCase() === right.toLowerCase();

/** Planning has asked for them. */
function requireColumns(columns: readonly string[] | undefined): readonly string[] {
  if (columns === undefined)
    throw new SqlError('the columns of a source are not known: name them in its component');
  return columns;
}

export function createPostgresShapes(
  name: (identifier: string) => string,
  quote: (text: string) => string,
  text = 'VARCHAR',
  lacking = (column: string, from: string) => `(SELECT ${column} FROM ${from} LIMIT 0)`,
): Shapes {
  const list = (columns: readonly string[]) => columns.map(name).join(', ');

  /** A column that a part lacks is NULL, of the type that it has in another part. */
  function renderPart(part: UnitedRows, all: readonly string[], parts: readonly UnitedRows[]): string {
    const cells = all.map((column) => {
      const added = part.added.find((each) => isSame(each.name, column));
      const own = part.columns?.find((each) => isSame(each, column));
      if (added !== undefined) return `CAST(${added.sql} AS ${text}) AS ${name(column)}`;
      if (own !== undefined) return own === column ? name(own) : `${name(own)} AS ${name(column)}`;
      const other = parts.find((each) => each.columns?.some((input) => isSame(input, column)));
      const there = other?.columns?.find((each) => isSame(each, column)) ?? column;
      return `${lacking(name(there), other?.from ?? part.from)} AS ${name(column)}`;
    });
    return cells.join(', ');
  }

  return {
    columnsReplaced: (columns, replaced) =>
      requireColumns(columns)
        .map((column) => {
          const found = replaced.find((each) => isSame(each.name, column));
          return found === undefined ? name(column) : `${found.sql} AS ${name(column)}`;
        })
        .join(', '),
    columnsWithout: (columns, left) => list(requireColumns(columns).filter((each) => !isSame(each, left))),
    uniteByName(parts, isDistinct) {
      const all: string[] = [];
      for (const { columns, added } of parts)
        for (const column of [...requireColumns(columns), ...added.map((each) => each.name)])
          if (!all.some((each) => isSame(each, column))) all.push(column);
      const isAlone = parts.length === 1;
      const selects = parts.map(
        (part) =>
          `SELECT ${isDistinct && isAlone ? 'DISTINCT ' : ''}${renderPart(part, all, parts)} FROM ${part.from}`,
      );
      return selects.join(`\nUNION${isDistinct ? '' : ' ALL'}\n`);
    },
    pivot({ from, columns, label, aggregated, values, aggregate }) {
      const groups = requireColumns(columns).filter(
        (each) => !isSame(each, label) && !isSame(each, aggregated),
      );
      const cells = values.map(({ text: value, name: column }) => {
        const chosen = `CASE WHEN CAST(${name(label)} AS ${text}) = ${quote(value)} THEN ${name(aggregated)} END`;
        return `${aggregate(chosen)} AS ${name(column)}`;
      });
      const end = groups.length === 0 ? 'HAVING count(*) > 0' : `GROUP BY ${list(groups)}`;
      return `SELECT ${[...groups.map(name), ...cells].join(', ')}\nFROM ${from}\n${end}`;
    },
    unpivot({ from, kept, narrowed, name: names, value }) {
      const cells = narrowed.map((column) => `(CAST(${quote(column)} AS ${text}), "rows".${name(column)})`);
      const columns = [...requireColumns(kept).map((each) => `"rows".${name(each)}`), '"narrow".*'];
      return `SELECT ${columns.join(', ')}\nFROM ${from} AS "rows"\nCROSS JOIN LATERAL (VALUES ${cells.join(', ')}) AS "narrow" (${name(names)}, ${name(value)})\nWHERE "narrow".${name(value)} IS NOT NULL`;
    },
    aggregate: renderAggregate,
    firstOrLast(side, column, order, filter) {
      const index = side === 'first' ? '1' : `count(*)${filter}`;
      return `(array_agg(${column}${order})${filter})[${index}]`;
    },
  };
}

function renderAggregate(word: string, column: string, over: string): string | undefined {
  const present = ` FILTER (WHERE ${column} IS NOT NULL)${over}`;
  switch (word) {
    case 'median':
      refuseWindow(word, over);
      return `percentile_cont(0.5) WITHIN GROUP (ORDER BY ${column})`;
    case 'mode':
      refuseWindow(word, over);
      return `mode() WITHIN GROUP (ORDER BY ${column})`;
    case 'any value':
      return `(array_agg(${column})${present})[1]`;
    case 'approximate count distinct':
      return `count(DISTINCT ${column})${over}`;
    case 'array aggregate':
      return `coalesce(jsonb_agg(${column})${present}, '[]')`;
    case 'array aggregate distinct':
      return `coalesce(jsonb_agg(DISTINCT ${column})${present}, '[]')`;
    case 'skew':
    case 'kurtosis':
      throw new SqlError(`PostgreSQL has no function for ${word}: write it as SQL`);
    default:
      return undefined;
  }
}

function refuseWindow(word: string, over: string): void {
  if (over !== '') throw new SqlError(`PostgreSQL has no ${word} over a window: use aggregate, or write SQL`);
}
