/**
 * Creates a table. Columns are rows of 8 cells (name, type, size, precision, default, not null, unique,
 * comment), of 9 (a masking policy before the comment), or of 5 (the comment after the precision).
 */

import { ParameterError, readCellText, readCellYes } from '../expressions/parameters.ts';
import type { Resolved } from '../expressions/resolve.ts';
import type { ColumnType, Dialect } from '../sql/dialect/dialect.ts';
import { createComment, type DeclaredKey } from '../sql/dialect/keys.ts';
import type { OrchestrationDefinition } from './definition/component.ts';
import {
  choiceParameter,
  columnCells,
  namesParameter,
  placeParameters,
  rowsParameter,
  textParameter,
} from './definition/declared-parameters.ts';
import { readTokens, unquote } from './definition/operand.ts';
import { readTableReference } from './definition/plan-parts.ts';

const creations = {
  Create: 'create',
  Replace: 'replace',
  'Create if not exists': 'if-missing',
} as const;
/** Other spellings of Replace. */
const replacing = { 'Create or replace': creations.Replace, 'Create/Replace': creations.Replace };
const tableTypes = { Permanent: false, Transient: false, Managed: false, Temporary: true };

/** Defaults that are SQL in a text column too. */
const defaultWords = ['CURRENT_TIMESTAMP', 'CURRENT_DATE', 'CURRENT_TIME', 'NULL'];

export const createTable: OrchestrationDefinition = {
  kind: 'orchestration',
  warehouse: true,
  about: 'Creates a table.',
  group: 'tables',
  parameters: {
    newTableName: textParameter('The table.', { required: true, otherNames: ['table'] }),
    ...placeParameters,
    database: { ...placeParameters.database, otherNames: ['catalog'] },
    createReplace: choiceParameter('What to do if the table exists.', Object.keys(creations), {
      standard: 'Create',
      otherNames: ['createMethod'],
    }),
    columns: rowsParameter(
      'The columns. With 9 cells, a masking policy stands before the comment; it is refused, or has no effect if `ignoreAccessStatements` of the project says so.',
      columnCells,
      { required: true, otherNames: ['tableMetadata'] },
    ),
    primaryKeys: namesParameter('The columns of the primary key.'),
    tableType: choiceParameter(
      'All tables are permanent here: a Temporary one replaces the table of an earlier run and stays after the run.',
      Object.keys(tableTypes),
      {
        standard: 'Permanent',
        otherNames: ['snowflakeTableType'],
      },
    ),
    comment: textParameter('A comment on the table.'),
  },
  noEffect: ['warehouse', 'defaultDdlCollation', 'clusteringKeys', 'dataRetentionTimeInDays'],
  example: `type: create-table
parameters:
  newTableName: orders
  createReplace: Replace
  columns:
    - [customer, VARCHAR]
    - [amount, NUMBER, "12", "2"]`,
  plan({ parameters, dialect }) {
    const temporary = parameters.choice('tableType', tableTypes, false);
    const chosen = parameters.choice('createReplace', { ...creations, ...replacing }, creations.Create);
    const creation = temporary && chosen === creations.Create ? creations.Replace : chosen;
    const reference = readTableReference(parameters, 'newTableName');
    const table = dialect.table(reference);
    const columns = parameters.rows('columns', 2).map(readColumn);
    if (columns.length === 0) throw new ParameterError('"columns" is empty: add a column');
    const hidden = columns.find(({ masking }) => masking !== '');
    if (hidden !== undefined && !dialect.ignoresAccess)
      throw new ParameterError(
        `the masking policy "${hidden.masking}" of the column "${hidden.name}" changes who may read, which the warehouse cannot do here: remove it, or set ignoreAccessStatements of the project`,
      );
    const keys = readKeys(parameters.names('primaryKeys'), columns);
    const lines = [
      ...columns.map((column) => renderColumn(column, keys, dialect)),
      ...(dialect.enforcesKeys ? keys.map((key) => renderKey(key, dialect)) : []),
    ];
    const declared = dialect.enforcesKeys ? [] : keys;
    const beginning = dialect.beginTable(table, creation);
    const before = [...dialect.makeSchema(reference), ...beginning.before];
    const create = `${beginning.create} (\n  ${lines.join(',\n  ')}\n)`;
    const comment = parameters.optionalText('comment');
    const after = renderComments(table, comment, { columns, keys: declared }, dialect);
    // A table that is there keeps its own keys.
    const onlyIf =
      creation === creations['Create if not exists']
        ? { onlyIf: `SELECT 1 WHERE NOT EXISTS (${dialect.tableExists(reference)})` }
        : {};
    const statements =
      declared.length === 0 && beginning.before.length === 0
        ? [...before, create, ...after]
        : [{ sql: create, before, after, kind: 'CREATE TABLE', ...onlyIf }];
    const notes = [
      ...(temporary ? ['the table is permanent here and stays after the run'] : []),
      ...columns.flatMap(({ name, masking }) =>
        masking === '' ? [] : [`the masking policy "${masking}" of the column "${name}" has no effect here`],
      ),
    ];
    return { action: 'execute', statements, ...(notes.length === 0 ? {} : { notes }) };
  },
};

const renderKey = ({ kind, columns }: DeclaredKey, { name }: Dialect) =>
  `${kind} (${columns.map(name).join(', ')})`;

interface CreatedColumn {
  readonly name: string;
  readonly type: ColumnType;
  readonly preset: string;
  readonly notNull: boolean;
  readonly unique: boolean;
  readonly masking: string;
  readonly comment: string;
}

function readColumn(row: readonly Resolved[]): CreatedColumn {
  const cell = (index: number) => readCellText(row, index);
  const name = cell(0);
  const type = { type: cell(1), size: cell(2), precision: cell(3) };
  const plain = { name, type, preset: '', notNull: false, unique: false, masking: '' };
  if (row.length === 5) return { ...plain, comment: cell(4) };
  const masked = row.length > 8;
  return {
    ...plain,
    preset: cell(4),
    notNull: readCellYes(row, 5, `"not null" of the column "${name}"`),
    unique: readCellYes(row, 6, `"unique" of the column "${name}"`),
    masking: masked ? cell(7) : '',
    comment: cell(masked ? 8 : 7),
  };
}

/** @throws ParameterError for a key of no column */
function readKeys(primary: readonly string[], columns: readonly CreatedColumn[]): DeclaredKey[] {
  const isColumn = (key: string) => columns.some(({ name }) => name.toLowerCase() === key.toLowerCase());
  const wrong = primary.find((key) => !isColumn(key));
  if (wrong !== undefined)
    throw new ParameterError(`"primaryKeys" names "${wrong}", which is not one of "columns": correct it`);
  const unique = columns.filter((column) => column.unique);
  return [
    ...(primary.length === 0 ? [] : [{ kind: 'PRIMARY KEY', columns: primary } as const]),
    ...unique.map(({ name }) => ({ kind: 'UNIQUE', columns: [name] }) as const),
  ];
}

function renderComments(
  table: string,
  comment: string | undefined,
  { columns, keys }: { columns: readonly CreatedColumn[]; keys: readonly DeclaredKey[] },
  dialect: Dialect,
): string[] {
  const ofTable = comment === undefined ? [] : [`COMMENT ON TABLE ${table} IS ${dialect.literal(comment)}`];
  return [
    ...ofTable,
    ...columns.flatMap((column) => {
      const text = createComment(column.name, keys, column.comment);
      return text === ''
        ? []
        : [`COMMENT ON COLUMN ${table}.${dialect.name(column.name)} IS ${dialect.literal(text)}`];
    }),
  ];
}

function renderColumn(
  { name, type: columnType, preset, notNull }: CreatedColumn,
  keys: readonly DeclaredKey[],
  dialect: Dialect,
): string {
  const type = dialect.type(columnType);
  const isKey = keys.some(
    ({ kind, columns }) =>
      kind === 'PRIMARY KEY' && columns.some((key) => key.toLowerCase() === name.toLowerCase()),
  );
  return [
    dialect.name(name),
    type,
    ...(preset.trim() === '' ? [] : [`DEFAULT ${renderDefault(preset.trim(), type, dialect)}`]),
    ...(notNull || isKey ? ['NOT NULL'] : []),
  ]
    .join(' ')
    .concat(dialect.lengthCheck(name, columnType));
}

/**
 * A default is an expression, as in `UUID_STRING()`, `sequence.NEXTVAL` or `1 + 1`. In a text column only a call of a
 * known function is one, and in a column of dates or times what looks like a date is a value.
 */
function renderDefault(preset: string, type: string, dialect: Dialect): string {
  const word = preset.toUpperCase().replace(/\(\s*\)$/, '');
  if (defaultWords.includes(word)) return word;
  const isText = /^(?:VARCHAR|TEXT|CHAR|JSON|BLOB)\b/i.test(type);
  const isMoment = /^(?:DATE|TIME)/i.test(type) && /^[\d\s:.+TZ-]+$/i.test(preset);
  const isValue = isMoment || preset.startsWith("'") || (isText && !isCallOrSequence(preset, dialect));
  const expression = isValue ? undefined : dialect.user.expression(preset).sql;
  if (expression !== undefined && (!isText || expression !== preset)) return `(${expression})`;
  return `CAST(${dialect.literal(unquote(preset))} AS ${type})`;
}

function isCallOrSequence(preset: string, { user }: Dialect): boolean {
  const tokens = readTokens(preset, user.lexical)?.tokens ?? [];
  let end = 1;
  while (tokens[end]?.value === '.' && tokens[end + 1]?.kind === 'word') end += 2;
  const isSequence = end === tokens.length && end > 1 && tokens.at(-1)?.value === 'NEXTVAL';
  return isSequence || (tokens[0]?.kind === 'word' && tokens[end]?.value === '(');
}
