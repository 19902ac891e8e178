/** Makes a table. A column is `[name, type, size, precision, default, not null, unique, comment]`. */
import { cellText, cellYes, ParameterError } from '../parameters.ts';
import type { Resolved } from '../resolve.ts';
import type { Dialect } from '../sql/dialect.ts';
import { type OrchestrationDefinition, tableReference } from './component.ts';

const creations = {
  Create: 'CREATE TABLE',
  Replace: 'CREATE OR REPLACE TABLE',
  'Create if not exists': 'CREATE TABLE IF NOT EXISTS',
} as const;

/** Defaults that are SQL's own words; any other is a literal. */
const defaultWords = ['CURRENT_TIMESTAMP', 'CURRENT_DATE', 'CURRENT_TIME', 'NULL'];

export const createTable: OrchestrationDefinition = {
  kind: 'orchestration',
  warehouse: true,
  required: ['newTableName', 'columns'],
  optional: ['createReplace', 'tableType', 'primaryKeys', 'database', 'schema'],
  plan({ parameters, dialect }) {
    const creation = parameters.choice('createReplace', creations, creations.Create);
    const tableType = parameters.choice(
      'tableType',
      { Permanent: true, Transient: true, Temporary: false },
      true,
    );
    if (!tableType) {
      throw new ParameterError(
        '"tableType" is Temporary, but steps have no session in common: use Permanent',
      );
    }
    const table = dialect.table(tableReference(parameters, 'newTableName'));
    const columns = parameters.rows('columns', 2);
    if (columns.length === 0) throw new ParameterError('"columns" is empty: a table needs a column');
    const keys = parameters.names('primaryKeys').map(dialect.name);
    const lines = columns.map((column) => columnLine(column, dialect));
    if (keys.length > 0) lines.push(`PRIMARY KEY (${keys.join(', ')})`);
    const comments = columns
      .filter((column) => cellText(column, 7) !== '')
      .map(
        (column) =>
          `COMMENT ON COLUMN ${table}.${dialect.name(cellText(column, 0))} IS ${dialect.literal(cellText(column, 7))}`,
      );
    return {
      action: 'execute',
      statements: [`${creation} ${table} (\n  ${lines.join(',\n  ')}\n)`, ...comments],
    };
  },
};

function columnLine(column: readonly Resolved[], dialect: Dialect): string {
  const type = dialect.type({
    type: cellText(column, 1),
    size: cellText(column, 2),
    precision: cellText(column, 3),
  });
  const preset = cellText(column, 4);
  const ofColumn = `of the column "${cellText(column, 0)}"`;
  return [
    dialect.name(cellText(column, 0)),
    type,
    ...(preset === '' ? [] : [`DEFAULT ${defaultSql(preset, type, dialect)}`]),
    ...(cellYes(column, 5, `"not null" ${ofColumn}`) ? ['NOT NULL'] : []),
    ...(cellYes(column, 6, `"unique" ${ofColumn}`) ? ['UNIQUE'] : []),
  ].join(' ');
}

function defaultSql(preset: string, type: string, dialect: Dialect): string {
  const word = preset.trim().toUpperCase();
  return defaultWords.includes(word) ? word : `CAST(${dialect.literal(preset)} AS ${type})`;
}
