/** The parts of DuckDB's SQL that change which columns rows have: `* REPLACE`, BY NAME, PIVOT, UNPIVOT. */
import type { Dialect } from './dialect/dialect.ts';

type Shapes = Pick<
  Dialect,
  'columnsReplaced' | 'columnsWithout' | 'uniteByName' | 'pivot' | 'unpivot' | 'aggregate' | 'firstOrLast'
>;

export const shapeRows = (name: (identifier: string) => string, quote: (text: string) => string): Shapes => ({
  columnsReplaced: (_columns, replaced) =>
    `* REPLACE (${replaced.map((each) => `${each.sql} AS ${name(each.name)}`).join(', ')})`,
  columnsWithout: (_columns, left) => `* EXCLUDE (${name(left)})`,
  uniteByName(parts, isDistinct) {
    const isAlone = parts.length === 1;
    const selects = parts.map(({ from, columns, isWhole, added }) => {
      const retained = isWhole || columns === undefined ? '*' : columns.map(name).join(', ');
      const list = [retained, ...added.map((each) => `${each.sql} AS ${name(each.name)}`)];
      return `SELECT ${isDistinct && isAlone ? 'DISTINCT ' : ''}${list.join(', ')} FROM ${from}`;
    });
    return selects.join(`\nUNION ${isDistinct ? '' : 'ALL '}BY NAME\n`);
  },
  pivot({ from, label, aggregated, values, aggregate }) {
    const list = values.map((each) => `${quote(each.text)} AS ${name(each.name)}`);
    // The labels are compared as texts, so that a number or a date can be one.
    const text = `CAST(${name(label)} AS VARCHAR)`;
    return `SELECT * FROM (SELECT * REPLACE (${text} AS ${name(label)}) FROM ${from})\nPIVOT (${aggregate(name(aggregated))} FOR ${name(label)} IN (${list.join(', ')}))`;
  },
  unpivot: ({ from, narrowed, name: names, value }) =>
    `SELECT * FROM ${from}\nUNPIVOT (${name(value)} FOR ${name(names)} IN (${narrowed.map(name).join(', ')}))`,
  aggregate: () => undefined,
  firstOrLast: (side, column, order, filter) => `${side}(${column}${order})${filter}`,
});
