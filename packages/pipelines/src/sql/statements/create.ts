/** CREATE: tables and views, and the other objects that exist here or not. */

import { Cursor } from '../rewrite/cursor.ts';
import { copyNodes, type Frame, refuse } from '../rewrite/frame.ts';
import { makeSchema, placeTable } from '../rewrite/table-names.ts';
import { findChainEnd, hasWords, isSymbol, isWord, type Node, readChain } from '../tokens/tree.ts';
import { renderCreateFunction } from './create-function.ts';
import { renderCreateTable } from './create-table.ts';
import { renderCreateView } from './create-view.ts';
import { keepIfNotExists, type Modifiers } from './creation.ts';
import { renderCreateDatabase, renderCreateSchema } from './schemas.ts';
import { renderCreateStage } from './stages.ts';
import { createPlain, ignore, ignoreAccess, type StatementSql } from './statement-sql.ts';

const modifierWords = [
  'TEMP',
  'TEMPORARY',
  'VOLATILE',
  'TRANSIENT',
  'LOCAL',
  'GLOBAL',
  'SECURE',
  'RECURSIVE',
  'MATERIALIZED',
  'EXTERNAL',
  'AGGREGATE',
  'DYNAMIC',
  'ICEBERG',
  'HYBRID',
  'EVENT',
  'INTERACTIVE',
  'PERSISTENT',
  'UNIQUE',
];

function readModifiers(nodes: readonly Node[]): Modifiers {
  const replaces = hasWords(nodes, 1, 'OR', 'REPLACE') || hasWords(nodes, 1, 'OR', 'ALTER');
  let at = replaces ? 3 : 1;
  const words: string[] = [];
  for (let node = nodes[at]; isWord(node, ...modifierWords); node = nodes[at]) {
    words.push(node.value);
    at += 1;
  }
  const temporary = words.some((word) => ['TEMP', 'TEMPORARY', 'VOLATILE'].includes(word));
  return { replaces, temporary, words, at };
}

const withoutEffect: Readonly<Record<string, string>> = {
  WAREHOUSE: 'CREATE WAREHOUSE has no effect here',
  TAG: 'CREATE TAG has no effect here',
  FILE: 'CREATE FILE FORMAT has no effect here: file-load says how a file is read',
};

const accessObjects = ['ROLE', 'USER', 'GROUP', 'MASKING', 'ROW', 'PROJECTION', 'AGGREGATION'];

const ofDuckdb = ['FUNCTION', 'INDEX', 'MACRO', 'SECRET', 'TYPE'];

const refusals: Readonly<Record<string, string>> = {
  STAGE: 'load files with file-load or s3-load',
  STREAM: 'find changes with detect-changes',
  TASK: 'start pipelines by a schedule',
  PIPE: 'load files with file-load or s3-load',
  PROCEDURE: 'use an orchestration',
  INTEGRATION: 'use a connection of the project',
  STORAGE: 'use a connection of the project',
  ALERT: 'use a schedule',
};

export function renderCreate(nodes: readonly Node[], frame: Frame): StatementSql {
  const modifiers = readModifiers(nodes);
  const kind = nodes[modifiers.at];
  if (kind?.kind !== 'word') return createPlain(nodes, frame);
  const foreign = modifiers.words.find((word) => ['EXTERNAL', 'DYNAMIC', 'ICEBERG', 'EVENT'].includes(word));
  if (foreign !== undefined && kind.value === 'TABLE')
    refuse(
      frame,
      kind,
      `CREATE ${foreign} TABLE is not supported here: make a table, and load it by a component`,
    );
  if (kind.value === 'TABLE') return renderCreateTable(nodes, modifiers, frame);
  if (kind.value === 'VIEW') return renderCreateView(nodes, modifiers, frame);
  if (kind.value === 'SCHEMA') return renderCreateSchema(nodes, modifiers.at, frame);
  if (kind.value === 'DATABASE') return renderCreateDatabase(nodes, modifiers.at, frame);
  if (kind.value === 'SEQUENCE') return renderCreateSequence(nodes, modifiers, frame);
  if (kind.value === 'STAGE' && frame.script.names.vendor !== 'redshift')
    return renderCreateStage(nodes, modifiers, frame);
  const note = withoutEffect[kind.value];
  if (note !== undefined) return ignore(frame, `CREATE ${kind.value}`, note);
  if (accessObjects.includes(kind.value)) {
    const isPolicy = !isWord(kind, 'ROLE', 'USER', 'GROUP');
    const kinds = `CREATE ${kind.value}${isPolicy ? `${isWord(kind, 'ROW') ? ' ACCESS' : ''} POLICY` : ''}`;
    return ignoreAccess(frame, kind, kinds, kinds);
  }
  const isForeign = foreign !== undefined || modifiers.words.includes('AGGREGATE');
  if (kind.value === 'FUNCTION' && isForeign)
    refuse(
      frame,
      kind,
      `CREATE ${modifiers.words.join(' ')} FUNCTION is not supported here: use python-script`,
    );
  // `CREATE FUNCTION f(x) AS (…)` is a macro of DuckDB.
  if (kind.value === 'FUNCTION' && nodes.some((node) => isWord(node, 'RETURNS', 'LANGUAGE')))
    return renderCreateFunction(nodes, modifiers, frame);
  const refusal = refusals[kind.value];
  if (refusal === undefined && !ofDuckdb.includes(kind.value))
    refuse(frame, kind, `CREATE ${kind.value} is not supported here`);
  if (refusal !== undefined) refuse(frame, kind, `CREATE ${kind.value} is not supported here: ${refusal}`);
  return createPlain(nodes, frame);
}

/** `CREATE SEQUENCE s START = 1 INCREMENT = 1 ORDER` */
function renderCreateSequence(nodes: readonly Node[], { at }: Modifiers, frame: Frame): StatementSql {
  const cursor = new Cursor(nodes, frame);
  cursor.keep(at + 1);
  keepIfNotExists(cursor);
  const end = findChainEnd(nodes, cursor.at);
  const table = placeTable(
    readChain(nodes.slice(cursor.at, end)),
    copyNodes(frame, nodes.slice(cursor.at, end)),
    frame,
    cursor.node,
  );
  makeSchema(table, frame);
  cursor.add(table.sql, end);
  while (cursor.node !== undefined) {
    if (isSymbol(cursor.node, '=') || isWord(cursor.node, 'ORDER', 'NOORDER')) cursor.drop();
    else if (isWord(cursor.node, 'COMMENT')) cursor.drop(3);
    else if (isWord(cursor.node, 'WITH') && isWord(nodes[cursor.at + 1], 'START')) cursor.drop();
    else if (isWord(cursor.node, 'START') && cursor.keepWord('START')) {
      if (!cursor.keepWord('WITH')) cursor.pieces.push(' WITH');
    } else if (isWord(cursor.node, 'INCREMENT') && cursor.keepWord('INCREMENT')) {
      if (!cursor.keepWord('BY')) cursor.pieces.push(' BY');
    } else cursor.keep();
  }
  return { sql: cursor.sql, kind: 'CREATE SEQUENCE' };
}
