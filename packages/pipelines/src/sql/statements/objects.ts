/** DROP and DESCRIBE. */
import { describeWithKeys } from '../dialect/keys.ts';
import { Cursor } from '../rewrite/cursor.ts';
import { copyNodes, type Frame, refuse } from '../rewrite/frame.ts';
import { placeTable } from '../rewrite/table-names.ts';
import {
  findChainEnd,
  hasWords,
  isGroup,
  isName,
  isSymbol,
  isWord,
  type Node,
  readChain,
} from '../tokens/tree.ts';
import { renderDropDatabase, renderDropSchema } from './schemas.ts';
import { renderDropStage } from './stages.ts';
import {
  addTableName,
  createPlain,
  ignore,
  ignoreAccess,
  readTableName,
  type StatementSql,
} from './statement-sql.ts';

const withoutEffect = [
  'WAREHOUSE',
  'STREAM',
  'TASK',
  'PIPE',
  'FILE',
  'TAG',
  'PROCEDURE',
  'INTEGRATION',
  'STORAGE',
  'ALERT',
  'EXTERNAL',
];

export function renderDrop(nodes: readonly Node[], frame: Frame): StatementSql {
  const object = nodes[1];
  if (isWord(object, 'DATABASE')) return renderDropDatabase(nodes, frame);
  if (isWord(object, 'ROLE', 'USER', 'GROUP', 'MASKING', 'ROW'))
    return ignoreAccess(frame, object, `DROP ${object.value}`, `DROP ${object.value}`);
  if (isWord(object, 'STAGE')) return renderDropStage(nodes, frame);
  if (isWord(object, ...withoutEffect))
    return ignore(frame, `DROP ${object.value}`, `DROP ${object.value} has no effect here: there is none`);
  const type = isWord(object, 'MATERIALIZED') ? nodes[2] : object;
  if (isWord(type, 'TABLE', 'VIEW', 'SEQUENCE')) return renderDropTables(nodes, type.value, frame);
  if (isWord(object, 'SCHEMA')) return renderDropSchema(nodes, frame);
  if (isWord(object, 'FUNCTION')) return renderDropFunction(nodes, frame);
  return createPlain(nodes, frame);
}

/** A macro has no types of parameters. */
function renderDropFunction(nodes: readonly Node[], frame: Frame): StatementSql {
  const cursor = new Cursor(nodes, frame);
  cursor.keep(hasWords(nodes, 2, 'IF', 'EXISTS') ? 4 : 2);
  const end = findChainEnd(nodes, cursor.at);
  const chain = nodes.slice(cursor.at, end);
  const names = readChain(chain);
  const written = copyNodes(frame, chain);
  cursor.add(names.length === 1 ? written : placeTable(names, written, frame, chain[0]).sql, end);
  if (isGroup(cursor.node)) cursor.drop();
  cursor.keep(nodes.length - cursor.at);
  return { sql: cursor.sql, kind: 'DROP FUNCTION' };
}

/** DuckDB drops one table in a statement. */
function renderDropTables(nodes: readonly Node[], type: string, frame: Frame): StatementSql {
  const cursor = new Cursor(nodes, frame);
  cursor.keep();
  if (isWord(cursor.node, 'MATERIALIZED')) cursor.drop();
  cursor.keep();
  if (hasWords(nodes, cursor.at, 'IF', 'EXISTS')) cursor.keep(2);
  const head = cursor.sql;
  const kind = `DROP ${type}`;
  const { sql: first, next } = addTableName(cursor, { writes: true });
  const names = [first];
  let at = next;
  while (isSymbol(nodes[at], ',')) {
    const table = readTableName(nodes, at + 1, frame, { writes: true });
    if (table === undefined) refuse(frame, nodes[at], 'the name of a table is missing');
    names.push(table.sql);
    at = table.next;
  }
  const tail = at < nodes.length ? ` ${copyNodes(frame, nodes.slice(at))}` : '';
  if (names.length === 1) return { sql: `${cursor.sql}${tail}`, kind };
  const statements = names.map((name) => `${head} ${name}${tail}`);
  frame.before.push(...statements.slice(0, -1));
  return { sql: statements.at(-1) ?? '', kind };
}

/** `DESC TABLE t`, with the keys, which the warehouse does not know. */
export function renderDescribe(nodes: readonly Node[], frame: Frame): StatementSql {
  const object = nodes[1];
  const kind = 'DESCRIBE';
  const hasType = isWord(object, 'TABLE', 'VIEW') && isName(nodes[2]);
  if (!hasType && !(isName(object) && nodes.length === findChainEnd(nodes, 1)))
    return createPlain(nodes, frame);
  const table = readTableName(nodes, hasType ? 2 : 1, frame, { writes: false });
  return { sql: table === undefined ? '' : describeWithKeys(table.sql, table.place), kind };
}
