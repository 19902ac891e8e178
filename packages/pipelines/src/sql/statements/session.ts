/** SET, UNSET and USE: the session's variables, and what a name without database or schema means. */

import { copyNodes, type Frame, refuse } from '../rewrite/frame.ts';
import { quoteName, readText } from '../tokens/tokens.ts';
import {
  findChainEnd,
  isGroup,
  isName,
  isSymbol,
  isWord,
  type Node,
  readChain,
  splitByComma,
} from '../tokens/tree.ts';
import { createPlain, ignore, type StatementSql } from './statement-sql.ts';

/** Settings of Redshift that change no result. */
const harmless = [
  'QUERY_GROUP',
  'STATEMENT_TIMEOUT',
  'WLM_QUERY_SLOT_COUNT',
  'ENABLE_RESULT_CACHE_FOR_SESSION',
  'APPLICATION_NAME',
];

/** `SET x = 1`, `SET (x, y) = (1, 2)`. DuckDB's own `SET VARIABLE` and its settings stay. */
export function renderSet(nodes: readonly Node[], frame: Frame): StatementSql {
  const [, name, sign] = nodes;
  if (isGroup(name) && isSymbol(sign, '=')) return setSeveral(nodes, frame);
  if (isWord(name, ...harmless)) return ignore(frame, 'SET', `SET ${name.value} has no effect here`);
  if (!isName(name) || !isSymbol(sign, '=')) return createPlain(nodes, frame);
  if (isWord(name, 'SCHEMA', 'SEARCH_PATH')) return createPlain(nodes, frame);
  return { sql: setVariable(name, nodes.slice(3), frame), kind: 'SET' };
}

function setVariable(name: Node, value: readonly Node[], frame: Frame): string {
  if (!isName(name)) refuse(frame, name, 'the name of a variable is missing after SET');
  const [only] = value;
  const sql = frame.render.expression(value, frame);
  if (only === undefined) refuse(frame, name, `SET ${name.value} has no value`);
  const key = name.value.toLowerCase();
  frame.script.variables.set(
    key,
    value.length === 1 && only.kind === 'text' ? readText(only.value) : undefined,
  );
  return `SET VARIABLE ${quoteName(key)} = (${sql})`;
}

function setSeveral(nodes: readonly Node[], frame: Frame): StatementSql {
  const [, names, , values] = nodes;
  if (!isGroup(names) || !isGroup(values))
    refuse(frame, nodes[0], 'SET of several variables needs two lists in parentheses');
  const [left, right] = [splitByComma(names.nodes), splitByComma(values.nodes)];
  if (left.length !== right.length || left.length === 0)
    refuse(
      frame,
      names,
      `SET has ${left.length} variables and ${right.length} values: give each variable a value`,
    );
  const statements = left.map((part, index) => setVariable(part[0] as Node, right[index] ?? [], frame));
  frame.before.push(...statements.slice(0, -1));
  return { sql: statements.at(-1) ?? '', kind: 'SET' };
}

export function renderUnset(nodes: readonly Node[], frame: Frame): StatementSql {
  const name = nodes[1];
  if (!isName(name)) return createPlain(nodes, frame);
  frame.script.variables.delete(name.value.toLowerCase());
  return { sql: `RESET VARIABLE ${quoteName(name.value.toLowerCase())}`, kind: 'UNSET' };
}

/** USE changes what names of the following statements of the script mean. */
export function renderUse(nodes: readonly Node[], frame: Frame): StatementSql {
  const object = nodes[1];
  if (isWord(object, 'WAREHOUSE', 'ROLE', 'SECONDARY'))
    return ignore(frame, 'USE', `USE ${object.value} has no effect here`);
  const at = isWord(object, 'DATABASE', 'SCHEMA') && nodes.length > 2 ? 2 : 1;
  const end = findChainEnd(nodes, at);
  const names = readChain(nodes.slice(at, end));
  const [last = '', database] = names.toReversed();
  if (end !== nodes.length || names.length === 0 || names.length > 2) return createPlain(nodes, frame);
  const { script } = frame;
  if (isWord(object, 'DATABASE') && at === 2)
    script.names = { ...script.names, database: last, schema: 'public' };
  else if (names.length === 2) script.names = { ...script.names, database, schema: last };
  else if (at === 2) script.names = { ...script.names, schema: last };
  // `USE schema` is DuckDB's own.
  else return createPlain(nodes, frame);
  return ignore(
    frame,
    'USE',
    `${copyNodes(frame, nodes)}: names of the following statements of this script are read in it`,
  );
}
