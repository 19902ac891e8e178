/** How files of objects are read. */

/** How a CSV file is written. */
export interface CsvFormat {
  readonly delimiter: string;
  /** What encloses values; '' if nothing does. */
  readonly quote: string;
  /** What stands before a delimiter, a quote or a line break that is a part of a value; ''; or the quote itself. */
  readonly escapeCharacter: string;
  /** Lines before the first row. */
  readonly skippedLines: number;
  /** Values that mean NULL, enclosed or not. */
  readonly nullWords: readonly string[];
  /** Whether an empty value that is not enclosed means NULL. */
  readonly emptyIsNull: boolean;
  /** Whether blanks around values are removed. */
  readonly trims: boolean;
  /** Whether a row with fewer or more values than columns is a fault. Else NULLs are added, or values left out. */
  readonly countsCells: boolean;
  /** Whether a text that is longer than its column is cut. Else it is a fault. */
  readonly cutsTexts: boolean;
  /** Whether rows without any value are left out. */
  readonly skipsBlankLines: boolean;
  /** Formats of the vendor, such as `YYYY-MM-DD`; undefined: those that the vendor recognizes. */
  readonly dateFormat: string | undefined;
  readonly timeFormat: string | undefined;
  readonly timestampFormat: string | undefined;
}

/** Bytes of one line. A longer one is refused before the file is read. */
export const csvLineLimit = 2_000_000;

/** A format in which values have names. */
export type PlainFormat =
  | {
      readonly type: 'JSON';
      readonly stripsOuterArray: boolean;
      readonly stripsNulls: boolean;
      /** The file has a row on each line, as the agent writes what it converts. */
      readonly isByLine?: true;
      /** Bytes of the longest of these lines. */
      readonly lineBytes?: number;
    }
  | { readonly type: 'PARQUET' };

/** Temporary tables in which rows that cannot be divided into values are gathered. */
export interface RejectTables {
  readonly rows: string;
  readonly scans: string;
}
