/** Loading objects of a store into a table: what a component asks for. */
import type { CsvFormat, PlainFormat, TableReference } from '../sql/dialect/dialect.ts';
import type { FileConversion } from './conversion.ts';
import type { Stage } from './stages.ts';
import type { StorePlace } from './store-address.ts';

export type Compression = 'auto' | 'none' | 'gzip' | 'zstd' | 'brotli' | 'deflate' | 'raw-deflate' | 'zip';

/** Which objects are loaded. */
export interface ObjectSource {
  /** `key`: how the names begin. A stage is located by the run. */
  readonly place: StorePlace | Stage;
  /** A regular expression for the whole name, or for what follows `key`; '' for all. */
  readonly pattern: string;
}

/** JSON whose records become lines. */
export interface JsonRecords {
  /** Whether each element of an array is a record. */
  readonly stripsOuterArray: boolean;
  /** Whether a number of which a double has not all digits becomes a text. */
  readonly keepsDigits: boolean;
}

/** How an object becomes a file that the warehouse reads. */
export interface ObjectReading {
  readonly compression: Compression;
  /** A label of WHATWG's Encoding Standard; undefined: UTF-8. */
  readonly encoding: string | undefined;
  /** Whether what is no character becomes U+FFFD. Else it is a fault. */
  readonly replacesInvalid: boolean;
  /** What ends rows and becomes a line feed; undefined: line breaks do. */
  readonly recordEnd?: string;
  readonly records?: JsonRecords;
}

export type ObjectFormat = ({ readonly type: 'CSV' } & CsvFormat) | PlainFormat;

/** What happens if a row does not fit the table. `most`: this number of faults in a file makes it be skipped. */
export type OnError =
  | { readonly how: 'abort' }
  | { readonly how: 'continue' }
  | { readonly how: 'skip-file'; readonly most: number; readonly unit: 'rows' | 'percent' };

/** How the values of a row find their columns. */
export type ColumnMatch = 'position' | 'name' | 'name-exactly';

/** A column of the table. */
export interface TargetColumn {
  readonly name: string;
  /** Its type in the catalog. */
  readonly type: string;
  /** Characters that a text may have; undefined: any. */
  readonly length?: number;
}

/** What is known of a row besides its values. */
export type MetadataField =
  | 'METADATA$FILENAME'
  | 'METADATA$FILE_ROW_NUMBER'
  | 'METADATA$FILE_CONTENT_KEY'
  | 'METADATA$FILE_LAST_MODIFIED'
  | 'METADATA$START_SCAN_TIME';

/** A column that is filled from a field. */
export interface MetadataColumn {
  readonly field: MetadataField;
  readonly column: string;
}

/** The object that a file comes from. */
export interface FileOrigin {
  /** The key, and the name in an archive. */
  readonly name: string;
  readonly version: string;
  /** ISO 8601. */
  readonly modified: string;
}

export interface ObjectLoad {
  readonly target: TableReference;
  /** The columns to load; all if there are none. */
  readonly columns: readonly string[];
  /** Columns that are filled besides; none of them is one of `columns`. */
  readonly metadata: readonly MetadataColumn[];
  /** Where the file comes from; undefined until it is fetched. */
  readonly origin?: FileOrigin;
  readonly format: ObjectFormat;
  /** What the agent does to each file before it is read. */
  readonly conversion?: FileConversion;
  readonly match: ColumnMatch;
  readonly onError: OnError;
  /** No further object is loaded after this number of bytes. */
  readonly sizeLimit: number | undefined;
  /** Whether the loaded objects are deleted afterwards. */
  readonly purges: boolean;
  /** Whether objects are loaded that were loaded before. */
  readonly reloads: boolean;
}

/** A file at an https address, in a store, or of the version or the agent's files folder. */
export type FileSource =
  | { readonly address: string }
  | { readonly place: StorePlace }
  | { readonly path: string };

/** A copy of a file or an object to another place. */
export interface ObjectTransfer {
  readonly source: FileSource;
  readonly target: { readonly place: StorePlace } | { readonly path: string };
  /** Whether a zip archive is unpacked: its files go to a folder with the name of the target. */
  readonly unpacks: boolean;
  readonly gzips: boolean;
}
