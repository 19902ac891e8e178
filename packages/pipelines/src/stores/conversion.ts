/** Files in formats that the warehouse does not read: the agent writes each as lines of JSON, which it reads. */
import type { FileColumn } from '../sql/dialect/dialect.ts';

/** Cells of a sheet, from 1. `undefined`: to the last one. */
export interface CellRange {
  readonly firstRow: number;
  readonly firstColumn: number;
  readonly lastRow: number | undefined;
  readonly lastColumn: number | undefined;
}

export type FileConversion =
  | { readonly from: 'avro' }
  | {
      readonly from: 'xlsx';
      /** The name of the sheet; undefined: the first. */
      readonly sheet: string | undefined;
      /** Whether a sheet that is not there is no fault. */
      readonly isOptional?: true;
      readonly range: CellRange | undefined;
      /** Whether the first row has the names of the columns. */
      readonly hasHeader: boolean;
    };

export type ConvertedType =
  | 'text'
  | 'integer'
  | 'number'
  | 'boolean'
  | 'date'
  | 'time'
  | 'timestamp'
  | 'json'
  | { readonly precision: number; readonly scale: number };

export interface ConvertedColumn {
  readonly name: string;
  readonly type: ConvertedType;
}

/** What a file has become. */
export interface Converted {
  readonly rows: number;
  /** Bytes of the longest line. */
  readonly lineBytes: number;
  /** The members of the lines. */
  readonly columns: readonly ConvertedColumn[];
  /** What was left out, with its place. */
  readonly notes: readonly string[];
  /** Of an optional sheet that is not there. */
  readonly isMissing?: true;
}

const sqlTypes: Readonly<Record<Extract<ConvertedType, string>, string>> = {
  text: 'VARCHAR',
  integer: 'BIGINT',
  number: 'DOUBLE',
  boolean: 'BOOLEAN',
  date: 'DATE',
  time: 'TIME',
  timestamp: 'TIMESTAMP',
  json: 'JSON',
};

/** Types of the embedded warehouse. */
export const describeConverted = (columns: readonly ConvertedColumn[]): FileColumn[] =>
  columns.map(({ name, type }) => ({
    name,
    type: typeof type === 'string' ? sqlTypes[type] : `DECIMAL(${type.precision},${type.scale})`,
  }));
