/** Columns that a load fills from what is known of the file of a row. */
import { type Dialect, SqlError } from '../sql/dialect/dialect.ts';
import type { FileOrigin, MetadataField, ObjectLoad, TargetColumn } from './object-load.ts';

export const metadataFieldNames: readonly MetadataField[] = [
  'METADATA$FILENAME',
  'METADATA$FILE_ROW_NUMBER',
  'METADATA$FILE_CONTENT_KEY',
  'METADATA$FILE_LAST_MODIFIED',
  'METADATA$START_SCAN_TIME',
];

/** Of the row in its file, from 1. No column of a user has it. */
export const rowNumberName = 'headgate_row_number';

/** A field as SQL. The relation has the number of the row under `rowNumberName`. */
export function renderMetadata(
  field: MetadataField,
  origin: FileOrigin | undefined,
  { literal, name, cast }: Dialect,
): string {
  const {
    name: file,
    version,
    modified,
  } = origin ?? { name: '', version: '', modified: '1970-01-01T00:00:00Z' };
  const fields: Readonly<Record<MetadataField, string>> = {
    METADATA$FILENAME: literal(file),
    METADATA$FILE_ROW_NUMBER: name(rowNumberName),
    METADATA$FILE_CONTENT_KEY: literal(version),
    METADATA$FILE_LAST_MODIFIED: cast(literal(modified.replace(/Z$/, '')), 'TIMESTAMP', false),
    METADATA$START_SCAN_TIME: 'CAST(current_timestamp AS TIMESTAMP)',
  };
  return fields[field];
}

export interface FilledColumn {
  readonly column: TargetColumn;
  readonly sql: string;
}

/** @throws SqlError about a column that the table does not have */
export function planMetadata(
  { target, metadata, origin }: ObjectLoad,
  existing: readonly TargetColumn[],
  dialect: Dialect,
): readonly FilledColumn[] {
  return metadata.map(({ field, column }) => {
    const found =
      existing.find(({ name }) => name === column) ??
      existing.find(({ name }) => name.toLowerCase() === column.toLowerCase());
    if (found === undefined)
      throw new SqlError(
        `"metadataFields" fills the column "${column}", which the table "${target.table}" does not have: add it to the table, or name another column beside ${field}`,
      );
    return { column: found, sql: dialect.cast(renderMetadata(field, origin, dialect), found.type, false) };
  });
}

/** The same relation, with the number of each row. */
export const numberRows = (relation: string, what: string, dialect: Dialect): string =>
  `(SELECT ${what}, row_number() OVER () AS ${dialect.name(rowNumberName)} FROM ${relation})`;
