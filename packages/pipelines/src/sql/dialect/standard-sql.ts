/** What most warehouses write in the same way. */
import type { Dialect } from './dialect.ts';

export const createStandardSql = (
  name: Dialect['name'],
  nameTable: Dialect['table'],
): Pick<Dialect, 'text' | 'differ' | 'gatherTexts' | 'listRows' | 'countUp' | 'merge'> => ({
  text: 'VARCHAR',
  differ: (left, right) => `${left} IS DISTINCT FROM ${right}`,
  listRows: (rows, columns) =>
    `(VALUES\n  ${rows.map((row) => `(${row.join(', ')})`).join(',\n  ')}\n) AS "values" (${columns.map(name).join(', ')})`,
  gatherTexts: (text, separator, order) => `string_agg(${text}, '${separator}' ${order})`,
  countUp: (start, end, step, column) =>
    `SELECT generate_series AS ${name(column)} FROM generate_series(${start}, ${end}, ${step})`,
  merge({ table, target, source, aside, condition, rules, updates, inserts }) {
    const column = (each: string) => `${source}.${name(each)}`;
    const assignments = updates.map(([from, to]) => `${name(to)} = ${column(from)}`);
    const clauses = rules.map((rule) => {
      const when = `WHEN MATCHED${rule.condition === undefined ? '' : ` AND ${rule.condition}`} THEN`;
      return rule.action === 'update' ? `${when} UPDATE SET ${assignments.join(', ')}` : `${when} DELETE`;
    });
    if (inserts.length > 0) {
      const names = inserts.map(([, to]) => name(to)).join(', ');
      const values = inserts.map(([from]) => column(from)).join(', ');
      clauses.push(`WHEN NOT MATCHED THEN INSERT (${names}) VALUES (${values})`);
    }
    const head = [
      `MERGE INTO ${nameTable(table)} AS ${target}`,
      `USING ${aside} AS ${source}`,
      `ON ${condition}`,
    ];
    return [[...head, ...clauses].join('\n')];
  },
});
