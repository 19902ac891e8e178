/** INSERT ALL and INSERT FIRST: the rows of one query into several tables. */

import { copyNodes, type Frame, refuse } from '../rewrite/frame.ts';
import { isGroup, isQuery, isWord, type Node } from '../tokens/tree.ts';
import { readTableName, type StatementSql } from './statement-sql.ts';

/** Where new rows are kept while they are inserted: their query may read the tables. */
export const aside = 'temp.main."headgate_new_rows"';

interface Target {
  readonly table: string;
  /** `(a, b)`, or ''. */
  readonly columns: string;
  /** SQL of what is inserted. */
  readonly values: string;
  /** The condition of its WHEN; undefined: all rows. */
  readonly when: string | undefined;
}

/** @param at the index of ALL or FIRST */
export function renderInsertAll(nodes: readonly Node[], at: number, frame: Frame): StatementSql {
  const isFirst = isWord(nodes[at], 'FIRST');
  const targets: Target[] = [];
  /** Of the branches before. */
  const conditions: string[] = [];
  let when: string | undefined;
  let next = at + 1;
  for (;;) {
    const node = nodes[next];
    if (isWord(node, 'WHEN')) {
      const then = nodes.findIndex((each, index) => index > next && isWord(each, 'THEN'));
      if (then < 0) refuse(frame, node, 'INSERT ALL: a WHEN has no THEN');
      const condition = `(${frame.render.expression(nodes.slice(next + 1, then), frame)})`;
      when = isFirst ? [condition, ...conditions.map(negate)].join(' AND ') : condition;
      conditions.push(condition);
      next = then + 1;
    } else if (isWord(node, 'ELSE')) {
      when = conditions.map(negate).join(' AND ');
      next += 1;
    } else if (isWord(node, 'INTO')) {
      const [target, after] = readTarget(nodes, next + 1, when, frame);
      targets.push(target);
      next = after;
    } else break;
  }
  const query = nodes.slice(next);
  if (targets.length === 0 || !isQuery(query))
    refuse(frame, nodes[next] ?? nodes[0], 'INSERT ALL needs INTO with a table, and then a query');
  frame.before.push(
    `CREATE OR REPLACE TEMPORARY TABLE ${aside} AS\n${frame.render.query(query, frame)}`,
    ...(isWord(nodes[1], 'OVERWRITE') ? targets.map(({ table }) => `DELETE FROM ${table}`) : []),
  );
  const inserts = targets.map(
    ({ table, columns, values, when: condition }) =>
      `INSERT INTO ${table}${columns} SELECT ${values} FROM ${aside}${condition === undefined ? '' : ` WHERE ${condition}`}`,
  );
  frame.before.push(...inserts.slice(0, -1));
  frame.after.push(`DROP TABLE ${aside}`);
  return { sql: inserts.at(-1) ?? '', kind: 'INSERT' };
}

/** NULL is not true. */
const negate = (condition: string) => `${condition} IS NOT TRUE`;

/** `table [(columns)] [VALUES (values)]` */
function readTarget(
  nodes: readonly Node[],
  at: number,
  when: string | undefined,
  frame: Frame,
): [Target, next: number] {
  const table = readTableName(nodes, at, frame, { writes: true });
  if (table === undefined) refuse(frame, nodes[at - 1], 'INSERT ALL: the name of a table is missing');
  let { next } = table;
  const list = nodes[next];
  const hasColumns = isGroup(list) && !isQuery(list.nodes);
  if (hasColumns) next += 1;
  const columns = hasColumns ? ` ${copyNodes(frame, [list])}` : '';
  const group = nodes[next + 1];
  if (!isWord(nodes[next], 'VALUES') || !isGroup(group))
    return [{ table: table.sql, columns, values: '*', when }, next];
  if (group.nodes.some((node) => isWord(node, 'DEFAULT')))
    refuse(frame, group, 'INSERT ALL: DEFAULT is not supported here: leave the column out');
  const values = frame.render.expression(group.nodes, frame);
  return [{ table: table.sql, columns, values, when }, next + 2];
}
