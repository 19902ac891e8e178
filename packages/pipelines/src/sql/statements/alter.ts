/** ALTER. */
import { listMarks, listUnmarks } from '../dialect/keys.ts';
import { Cursor } from '../rewrite/cursor.ts';
import { copyNodes, type Frame, refuse } from '../rewrite/frame.ts';
import { readType } from '../rewrite/sql-types.ts';
import { placeTable } from '../rewrite/table-names.ts';
import { quoteName, quoteNames } from '../tokens/tokens.ts';
import {
  findChainEnd,
  hasWords,
  isGroup,
  isName,
  isWord,
  type Node,
  readChain,
  splitByComma,
} from '../tokens/tree.ts';
import { addKeys, readKey, renderColumnDefinition, type TableColumns } from './columns.ts';
import { nothing, renderAlterSchema } from './schemas.ts';
import {
  addTableName,
  createPlain,
  ignore,
  ignoreAccess,
  type NamedTable,
  type StatementSql,
} from './statement-sql.ts';
import { listAddedChecks, listTypeChange, renderLengthCheck } from './text-lengths.ts';

const kind = 'ALTER TABLE';

/** Settings of a session that change no result. */
const harmless = [
  'QUERY_TAG',
  'STATEMENT_TIMEOUT_IN_SECONDS',
  'STATEMENT_QUEUED_TIMEOUT_IN_SECONDS',
  'USE_CACHED_RESULT',
  'LOCK_TIMEOUT',
  'ABORT_DETACHED_QUERY',
  'MULTI_STATEMENT_COUNT',
  'CLIENT_SESSION_KEEP_ALIVE',
];

export function renderAlter(nodes: readonly Node[], frame: Frame): StatementSql {
  const object = nodes[1];
  if (isWord(object, 'TABLE', 'VIEW')) return renderAlterTable(nodes, frame);
  if (isWord(object, 'SESSION')) {
    const [, , , setting, , value] = nodes;
    // Times have no zone here, as in UTC.
    const isUtc =
      isWord(setting, 'TIMEZONE') && value?.kind === 'text' && /^'(?:Etc\/)?UTC'$/i.test(value.value);
    const isHarmless = setting?.kind === 'word' && (harmless.includes(setting.value) || isUtc);
    if (isWord(nodes[2], 'SET', 'UNSET') && isHarmless)
      return ignore(
        frame,
        'ALTER SESSION',
        `ALTER SESSION ${nodes[2].value} ${setting.value} has no effect here`,
      );
    refuse(
      frame,
      object,
      `${copyNodes(frame, nodes.slice(0, 4))} is not supported here: it would change results; convert the values in the query`,
    );
  }
  if (isWord(object, 'SCHEMA', 'DATABASE')) return renderAlterSchema(nodes, frame);
  if (isWord(object, 'USER', 'ROLE', 'GROUP', 'DEFAULT', 'MASKING', 'ROW'))
    return ignoreAccess(frame, object, `ALTER ${object.value}`, `ALTER ${object.value}`);
  if (isWord(object, 'SEQUENCE', 'TYPE', 'INDEX')) return createPlain(nodes, frame);
  if (isWord(object, 'WAREHOUSE', 'ACCOUNT', 'FILE', 'TAG', 'RESOURCE', 'SESSION'))
    return ignore(frame, `ALTER ${object.value}`, `ALTER ${object.value} has no effect here`);
  if (isWord(object, 'STAGE'))
    refuse(frame, object, 'ALTER STAGE is not supported here: write CREATE OR REPLACE STAGE');
  if (
    isWord(object, 'STREAM', 'TASK', 'PIPE', 'EXTERNAL', 'DYNAMIC', 'PROCEDURE', 'FUNCTION', 'MATERIALIZED')
  )
    refuse(frame, object, `ALTER ${object.value} is not supported here`);
  return createPlain(nodes, frame);
}

function renderAlterTable(nodes: readonly Node[], frame: Frame): StatementSql {
  const cursor = new Cursor(nodes, frame);
  cursor.keep(2);
  if (hasWords(nodes, 2, 'IF', 'EXISTS')) cursor.keep(2);
  const table = addTableName(cursor, { writes: true });
  const { rest } = cursor;
  const head = cursor.sql;
  if (hasWords(rest, 0, 'RENAME', 'TO')) return renderRename(head, table, rest, frame);
  if (hasWords(rest, 0, 'SWAP', 'WITH')) return renderSwap(table, rest, frame);
  if (hasWords(rest, 0, 'APPEND', 'FROM'))
    refuse(frame, rest[0], 'ALTER TABLE … APPEND FROM is not supported here: use INSERT and TRUNCATE');
  const access = rest.find(
    (node, index) =>
      (index === 0 && isWord(node, 'OWNER', 'SECURE')) ||
      (isWord(node, 'POLICY', 'POLICIES') &&
        isWord(rest[index - 1], 'ACCESS', 'MASKING', 'PROJECTION', 'AGGREGATION', 'JOIN')),
  );
  if (access !== undefined)
    return ignoreAccess(frame, access, kind, `ALTER TABLE … ${copyNodes(frame, rest.slice(0, 3))}`);
  const ignored = [
    'CLUSTER',
    'DROP CLUSTERING',
    'SUSPEND',
    'RESUME',
    'SET',
    'UNSET',
    'ADD SEARCH',
    'ALTER DISTSTYLE',
    'ALTER SORTKEY',
    'ALTER DISTKEY',
  ];
  const words = rest.slice(0, 2).map((node) => (node.kind === 'word' ? node.value : ''));
  const option = ignored.find((each) => each === words[0] || each === words.join(' '));
  // `SET SCHEMA` and DuckDB's own are left to DuckDB.
  if (option !== undefined && !(option === 'SET' && isWord(rest[1], 'SCHEMA', 'SORTED', 'PARTITIONED')))
    return ignore(frame, kind, `ALTER TABLE … ${option} has no effect here`);
  return renderChanges(head, table, rest, frame);
}

/** `RENAME TO schema.name`: DuckDB renames within the schema. */
function renderRename(head: string, table: NamedTable, rest: readonly Node[], frame: Frame): StatementSql {
  const end = findChainEnd(rest, 2);
  const names = readChain(rest.slice(2, end));
  if (names.length <= 1) return { sql: `${head} ${copyNodes(frame, rest)}`, kind };
  const { path, reference } = placeTable(names, '', frame, rest[2]);
  if (quoteNames(path).toLowerCase() !== quoteNames(table.place.slice(0, -1)).toLowerCase())
    refuse(
      frame,
      rest[2],
      `a table cannot be renamed into another schema, ${names.slice(0, -1).join('.')}, here: use CREATE TABLE … AS and DROP TABLE`,
    );
  return { sql: `${head} RENAME TO ${quoteName(reference.table)}`, kind };
}

function renderSwap(table: NamedTable, rest: readonly Node[], frame: Frame): StatementSql {
  const end = findChainEnd(rest, 2);
  const other = placeTable(readChain(rest.slice(2, end)), '', frame, rest[2]);
  const [schema, otherSchema] = [quoteNames(table.place.slice(0, -1)), quoteNames(other.path)];
  if (schema.toLowerCase() !== otherSchema.toLowerCase())
    refuse(frame, rest[2], 'tables of two schemas cannot be swapped here');
  frame.writes.push(other.reference);
  const [name, otherName] = [quoteName(table.place.at(-1) ?? ''), quoteName(other.reference.table)];
  const aside = '"headgate_swapped"';
  frame.before.push(
    `ALTER TABLE ${schema}.${name} RENAME TO ${aside}`,
    `ALTER TABLE ${schema}.${otherName} RENAME TO ${name}`,
  );
  return { sql: `ALTER TABLE ${schema}.${aside} RENAME TO ${otherName}`, kind };
}

/** `ADD a int, b int` and `DROP a, b` become one statement for each column. */
function renderChanges(head: string, table: NamedTable, rest: readonly Node[], frame: Frame): StatementSql {
  const verb = rest[0];
  const hasColumn = isWord(rest[1], 'COLUMN');
  const start = hasColumn ? 2 : 1;
  if (isWord(verb, 'ADD') && !isWord(rest[1], 'CONSTRAINT', 'PRIMARY', 'UNIQUE', 'FOREIGN', 'CHECK')) {
    const exists = hasWords(rest, start, 'IF', 'NOT', 'EXISTS') ? 3 : 0;
    const columns: TableColumns = { table, temporary: false, replaces: false, ifNotExists: true, keys: [] };
    const added = splitByComma(rest.slice(start + exists)).map((part) =>
      isWord(part[0], 'COLUMN') ? part.slice(1) : part,
    );
    const checks = added.map((part) => renderLengthCheck(part, frame)).filter((check) => check !== '');
    const isChecked = checks.length > 0 && exists === 0;
    if (checks.length > 0 && exists > 0)
      frame.notes.add('with IF NOT EXISTS, the length of an added column is not checked here');
    const parts = added.map((part) => renderColumnDefinition(part, columns, frame));
    addKeys(table.sql, columns.keys, frame);
    const statements = parts.map((part) => `${head} ADD COLUMN ${exists > 0 ? 'IF NOT EXISTS ' : ''}${part}`);
    return {
      ...chain(statements, frame),
      ...(isChecked ? { listed: listAddedChecks(table, checks) } : {}),
    };
  }
  if (isWord(verb, 'ADD')) return renderAddConstraint(head, table, rest, frame);
  if (isWord(verb, 'DROP') && isWord(rest[1], 'CONSTRAINT', 'PRIMARY', 'UNIQUE', 'FOREIGN'))
    return renderDropKey(table, rest, frame);
  if (isWord(verb, 'DROP')) {
    const exists = hasWords(rest, start, 'IF', 'EXISTS') ? 2 : 0;
    const parts = splitByComma(rest.slice(start + exists)).map((part) => copyNodes(frame, part));
    return chain(
      parts.map((part) => `${head} DROP COLUMN ${exists > 0 ? 'IF EXISTS ' : ''}${part}`),
      frame,
    );
  }
  if (isWord(verb, 'ALTER', 'MODIFY')) return renderAlterColumn(head, table, rest, start, frame);
  return { sql: `${head} ${copyNodes(frame, rest)}`, kind };
}

/** A key is declared; other constraints are DuckDB's own. */
function renderAddConstraint(
  head: string,
  table: NamedTable,
  rest: readonly Node[],
  frame: Frame,
): StatementSql {
  const key = readKey(rest.slice(1), frame);
  if (key === undefined && rest.some((node) => isWord(node, 'FOREIGN')))
    return ignore(frame, kind, 'FOREIGN KEY is not checked here');
  if (key === undefined) return { sql: `${head} ${copyNodes(frame, rest)}`, kind };
  const listed = listMarks(table.place, key);
  if (key.kind === 'UNIQUE') return { sql: nothing, kind, listed };
  const columns = key.columns.map(quoteName);
  return {
    ...chain(
      columns.map((column) => `${head} ALTER COLUMN ${column} SET NOT NULL`),
      frame,
    ),
    listed,
  };
}

function renderDropKey(table: NamedTable, rest: readonly Node[], frame: Frame): StatementSql {
  if (isWord(rest[1], 'FOREIGN')) return ignore(frame, kind, 'FOREIGN KEY is not checked here');
  if (isWord(rest[1], 'CONSTRAINT'))
    refuse(
      frame,
      rest[1],
      'constraints have no names here: write DROP PRIMARY KEY, or DROP UNIQUE with its columns',
    );
  const primary = { kind: 'PRIMARY KEY', columns: [] } as const;
  const key = isWord(rest[1], 'PRIMARY') ? primary : readKey(rest.slice(1), frame);
  return { sql: nothing, kind, listed: listUnmarks(table.place, key ?? primary) };
}

function renderAlterColumn(
  head: string,
  table: NamedTable,
  rest: readonly Node[],
  start: number,
  frame: Frame,
): StatementSql {
  if (isGroup(rest[start])) refuse(frame, rest[0], 'change one column in each ALTER TABLE here');
  const column = copyNodes(frame, rest.slice(start, start + 1));
  const words = rest.slice(start + 1);
  const type = hasWords(words, 0, 'SET', 'DATA', 'TYPE')
    ? 3
    : hasWords(words, 0, 'SET', 'TYPE')
      ? 2
      : isWord(words[0], 'TYPE')
        ? 1
        : 0;
  const read = type > 0 || isWord(rest[0], 'MODIFY') ? readType(words, type, frame) : undefined;
  if (
    read !== undefined &&
    !isWord(words[0], 'COMMENT', 'DROP', 'UNSET') &&
    !hasWords(words, 0, 'SET', 'NOT')
  ) {
    const tail = read.next < words.length ? ` ${frame.render.expression(words.slice(read.next), frame)}` : '';
    const change = `${head} ALTER COLUMN ${column} SET DATA TYPE ${read.sql}${tail}`;
    const check = renderLengthCheck([...rest.slice(start, start + 1), ...words.slice(type)], frame);
    const name = isName(rest[start]) ? rest[start].text : '';
    return { sql: nothing, kind, listed: listTypeChange(table, name, change, check) };
  }
  if (isWord(words[0], 'COMMENT') || hasWords(words, 0, 'SET', 'TAG'))
    return ignore(frame, kind, 'COMMENT of a column has no effect here');
  return { sql: `${head} ALTER COLUMN ${column} ${copyNodes(frame, words)}`, kind };
}

function chain(statements: readonly string[], frame: Frame): StatementSql {
  frame.before.push(...statements.slice(0, -1));
  return { sql: statements.at(-1) ?? '', kind };
}
