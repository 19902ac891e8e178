/** Renders a statement by its first words. */

import { copyNodes, copyText, type Frame, refuse } from '../rewrite/frame.ts';
import { hasWords, isGroup, isQuery, isWord, type Node } from '../tokens/tree.ts';
import { renderAlter } from './alter.ts';
import { renderDelete, renderInsert, renderTruncate, renderUpdate } from './change-rows.ts';
import { renderCreate } from './create.ts';
import { renderMerge } from './merge.ts';
import { renderDescribe, renderDrop } from './objects.ts';
import { renderSet, renderUnset, renderUse } from './session.ts';
import { createPlain, ignore, ignoreAccess, type StatementSql } from './statement-sql.ts';

type RenderStatement = (nodes: readonly Node[], frame: Frame) => StatementSql;

const renderers: Readonly<Record<string, RenderStatement>> = {
  ALTER: renderAlter,
  BEGIN: renderBegin,
  COMMIT: renderTransactionEnd,
  CREATE: renderCreate,
  DELETE: renderDelete,
  DESC: renderDescribe,
  DESCRIBE: renderDescribe,
  DROP: renderDrop,
  INSERT: renderInsert,
  MERGE: renderMerge,
  ROLLBACK: renderTransactionEnd,
  SET: renderSet,
  TRUNCATE: renderTruncate,
  UNSET: renderUnset,
  UPDATE: renderUpdate,
  USE: renderUse,
  EXPLAIN: renderExplain,
  SHOW: renderShow,
  ANALYZE: renderMaintenance,
  VACUUM: renderMaintenance,
  COMMENT: renderComment,
};

const withoutEffect: Readonly<Record<string, string>> = {
  REFRESH: 'REFRESH has no effect here: a view shows the rows that its tables have',
  LOCK: 'LOCK has no effect here: a transaction sees one state of the tables',
};

const scripting = 'is Snowflake Scripting, which is not supported: use components of an orchestration';
const cursors = 'of a cursor is not supported here: use query-to-grid and a grid-iterator';

const refusals: Readonly<Record<string, string>> = {
  LET: `LET ${scripting}`,
  RETURN: `RETURN ${scripting}`,
  IF: `IF ${scripting}`,
  FOR: `FOR ${scripting}`,
  WHILE: `WHILE ${scripting}`,
  LOOP: `LOOP ${scripting}`,
  OPEN: `OPEN ${cursors}`,
  FETCH: `FETCH ${cursors}`,
  CLOSE: `CLOSE ${cursors}`,
  CANCEL: 'CANCEL is not supported here: cancel the execution',
  DECLARE: 'a block of Snowflake Scripting (DECLARE) is not supported: use one component for each step',
  EXECUTE: 'EXECUTE is not supported here: write the statement itself',
  LIST: 'LIST of a stage is not supported here: use a file-iterator',
  LS: 'LS of a stage is not supported here: use a file-iterator',
  PUT: 'PUT is not supported here: use file-load',
  GET: 'GET is not supported here: use file-unload',
  REMOVE: 'REMOVE of a stage is not supported here',
  RM: 'RM of a stage is not supported here',
  UNDROP: 'UNDROP is not supported here: a dropped table is gone',
  UNLOAD: 'UNLOAD is not supported here: use file-unload',
};

export function renderStatement(nodes: readonly Node[], frame: Frame): StatementSql {
  const [first] = nodes;
  if (first?.kind !== 'word' || isGroup(first) || (isQuery(nodes) && renderers[first.value] === undefined)) {
    return {
      sql: frame.render.query(nodes, frame),
      kind: isWord(first, 'WITH') ? kindOfWith(nodes) : 'SELECT',
    };
  }
  const word = first.value;
  const note = withoutEffect[word];
  if (note !== undefined) return ignore(frame, word, note);
  if (word === 'GRANT' || word === 'REVOKE') return ignoreAccess(frame, first, word, word);
  const refusal = refusals[word];
  if (refusal !== undefined) refuse(frame, first, refusal);
  if (word === 'CALL')
    refuse(frame, first, 'CALL of a procedure is not supported here: write its statements in the script');
  if (word === 'COPY') return renderCopy(nodes, frame);
  return renderers[word]?.(nodes, frame) ?? createPlain(nodes, frame);
}

/** `WITH … INSERT INTO` and the like are DuckDB's own. */
function kindOfWith(nodes: readonly Node[]): string {
  const main = nodes.find((node) =>
    isWord(node, 'SELECT', 'INSERT', 'UPDATE', 'DELETE', 'MERGE', 'FROM', 'VALUES'),
  );
  return isWord(main, 'INSERT', 'UPDATE', 'DELETE', 'MERGE') ? main.value : 'SELECT';
}

function renderBegin(nodes: readonly Node[], frame: Frame): StatementSql {
  if (nodes.length === 1 || (nodes.length === 2 && isWord(nodes[1], 'TRANSACTION')))
    return createPlain(nodes, frame);
  if (isWord(nodes[1], 'WORK', 'TRANSACTION', 'NAME', 'ISOLATION', 'READ'))
    return { sql: 'BEGIN TRANSACTION', kind: 'BEGIN' };
  refuse(
    frame,
    nodes[0],
    'a block of Snowflake Scripting (BEGIN … END) is not supported: write its statements one after the other',
  );
}

function renderTransactionEnd(nodes: readonly Node[], frame: Frame): StatementSql {
  const kind = isWord(nodes[0], 'COMMIT') ? 'COMMIT' : 'ROLLBACK';
  return isWord(nodes[1], 'WORK') ? { sql: kind, kind } : createPlain(nodes, frame);
}

function renderCopy(nodes: readonly Node[], frame: Frame): StatementSql {
  if (isWord(nodes[1], 'INTO'))
    refuse(frame, nodes[0], 'COPY INTO is not supported here: use file-load, s3-load or file-unload');
  if (nodes.some((node) => isWord(node, 'CREDENTIALS', 'IAM_ROLE', 'CREDENTIAL')))
    refuse(frame, nodes[0], 'COPY from a bucket is not supported here: use s3-load');
  // DuckDB's COPY. Its query is in parentheses.
  return createPlain(nodes, frame);
}

/** `EXPLAIN [ANALYZE] statement` */
function renderExplain(nodes: readonly Node[], frame: Frame): StatementSql {
  const start = isWord(nodes[1], 'ANALYZE') ? 2 : 1;
  const [before, first] = [nodes[start - 1], nodes[start]];
  if (before === undefined || first === undefined || isGroup(first)) return createPlain(nodes, frame);
  const { sql } = renderStatement(nodes.slice(start), frame);
  const words = copyNodes(frame, nodes.slice(0, start));
  return { sql: `${words}${copyText(frame, before.to, first.from)}${sql}`, kind: 'EXPLAIN' };
}

function renderShow(nodes: readonly Node[], frame: Frame): StatementSql {
  const isOwn = nodes.length <= 2 || hasWords(nodes, 1, 'ALL', 'TABLES') || nodes.length === 4;
  if (isOwn && !isWord(nodes[2], 'LIKE')) return createPlain(nodes, frame);
  return ignore(
    frame,
    'SHOW',
    `${copyNodes(frame, nodes.slice(0, 2)).toUpperCase()} has no effect here: query information_schema`,
  );
}

/** DuckDB knows both, with the name of one table at most. */
function renderMaintenance(nodes: readonly Node[], frame: Frame): StatementSql {
  const word = isWord(nodes[0], 'ANALYZE') ? 'ANALYZE' : 'VACUUM';
  if (nodes.length === 1) return createPlain(nodes, frame);
  return ignore(frame, word, `${word} has no effect here: the warehouse maintains its tables by itself`);
}

function renderComment(_: readonly Node[], frame: Frame): StatementSql {
  return ignore(frame, 'COMMENT', 'COMMENT has no effect here');
}
