/** Creates a table. A column is `[name, type, size, precision, default, not null, unique, comment]`. */
import { ParameterError, readCellText, readCellYes } from '../parameters.ts';
import type { Resolved } from '../resolve.ts';
import type { Dialect } from '../sql/dialect.ts';
import { type OrchestrationDefinition, readTableReference } from './component.ts';
import {
  choiceParameter,
  columnCells,
  namesParameter,
  placeParameters,
  rowsParameter,
  textParameter,
} from './declared-parameters.ts';

const creations = {
  Create: 'CREATE TABLE',
  Replace: 'CREATE OR REPLACE TABLE',
  'Create if not exists': 'CREATE TABLE IF NOT EXISTS',
} as const;

/** Defaults that are SQL keywords. Any other default is rendered as a literal. */
const defaultWords = ['CURRENT_TIMESTAMP', 'CURRENT_DATE', 'CURRENT_TIME', 'NULL'];

export const createTable: OrchestrationDefinition = {
  kind: 'orchestration',
  warehouse: true,
  about: 'Creates a table.',
  group: 'tables',
  parameters: {
    newTableName: textParameter('The table.', { required: true, otherNames: ['table'] }),
    ...placeParameters,
    createReplace: choiceParameter('What to do if the table exists.', Object.keys(creations), {
      standard: 'Create',
      otherNames: ['createMethod'],
    }),
    columns: rowsParameter('The columns.', columnCells, { required: true }),
    primaryKeys: namesParameter('The columns of the primary key.'),
    tableType: choiceParameter('Only permanent tables exist here.', ['Permanent', 'Transient', 'Temporary'], {
      standard: 'Permanent',
      otherNames: ['snowflakeTableType'],
    }),
  },
  example: `type: create-table
parameters:
  newTableName: orders
  createReplace: Replace
  columns:
    - [customer, VARCHAR]
    - [amount, NUMBER, "12", "2"]`,
  plan({ parameters, dialect }) {
    const creation = parameters.choice('createReplace', creations, creations.Create);
    const tableType = parameters.choice(
      'tableType',
      { Permanent: true, Transient: true, Temporary: false },
      true,
    );
    if (!tableType) {
      throw new ParameterError('"tableType" is Temporary, but each step has its own session: use Permanent');
    }
    const table = dialect.table(readTableReference(parameters, 'newTableName'));
    const columns = parameters.rows('columns', 2);
    if (columns.length === 0) throw new ParameterError('"columns" is empty: add a column');
    const keys = parameters.names('primaryKeys').map(dialect.name);
    const lines = columns.map((column) => renderColumn(column, dialect));
    if (keys.length > 0) lines.push(`PRIMARY KEY (${keys.join(', ')})`);
    const comments = columns
      .filter((column) => readCellText(column, 7) !== '')
      .map(
        (column) =>
          `COMMENT ON COLUMN ${table}.${dialect.name(readCellText(column, 0))} IS ${dialect.literal(readCellText(column, 7))}`,
      );
    return {
      action: 'execute',
      statements: [`${creation} ${table} (\n  ${lines.join(',\n  ')}\n)`, ...comments],
    };
  },
};

function renderColumn(column: readonly Resolved[], dialect: Dialect): string {
  const type = dialect.type({
    type: readCellText(column, 1),
    size: readCellText(column, 2),
    precision: readCellText(column, 3),
  });
  const preset = readCellText(column, 4);
  const ofColumn = `of the column "${readCellText(column, 0)}"`;
  return [
    dialect.name(readCellText(column, 0)),
    type,
    ...(preset === '' ? [] : [`DEFAULT ${renderDefault(preset, type, dialect)}`]),
    ...(readCellYes(column, 5, `"not null" ${ofColumn}`) ? ['NOT NULL'] : []),
    ...(readCellYes(column, 6, `"unique" ${ofColumn}`) ? ['UNIQUE'] : []),
  ].join(' ');
}

function renderDefault(preset: string, type: string, dialect: Dialect): string {
  const word = preset.trim().toUpperCase();
  return defaultWords.includes(word) ? word : `CAST(${dialect.literal(preset)} AS ${type})`;
}
