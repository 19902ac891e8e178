/**
 * Loading the rows of an endpoint into a table: what a component asks for.
 *
 * The rows wait in a file, one JSON object a line: `n`, which counts them, and `r`, the row. One transaction then
 * makes the table, fills it and moves the high-water mark, so that nothing is ever half loaded.
 */
import { ParameterError } from '../../expressions/parameters.ts';
import type { TableReference } from '../../sql/dialect/dialect.ts';
import type { EndpointValues } from '../endpoint-request.ts';
import type { RequestPlace } from '../profile.ts';
import type { JsonMap } from '../profile-reader.ts';
import type { ConnectorColumn } from '../schema.ts';

export type LoadMode = 'replace' | 'truncate' | 'append' | 'fail-if-exists';

/** What to do with rows that do not fit the schema of the profile. */
export type SchemaChange =
  /** A value that does not fit its column ends the load. Members without a column are left out, and named. */
  | 'stop'
  /** A member without a column ends the load too. */
  | 'stop-on-new'
  /** Columns are added, and get a type that fits. */
  | 'widen';

export interface EndpointSource {
  /** `flex-…`, `custom-…`, or the name of a profile of the version. */
  profile: string;
  /** Its name or id. */
  endpoint: string;
  connection: JsonMap;
  values: EndpointValues;
  rowsPerPage: number | undefined;
}

export interface EndpointLoad {
  target: TableReference;
  mode: LoadMode;
  /** Each page becomes one row with one column of JSON. */
  wholePages: boolean;
  schemaChange: SchemaChange;
  /** Lists of objects become tables of their own. */
  childTables: boolean;
  primaryKeys: readonly string[];
  /** The columns to load; all if there are none. */
  selection: readonly string[];
  /** A condition on the loaded columns, as SQL. */
  condition: string | undefined;
  rowLimit: number | undefined;
  incremental: Incremental | undefined;
  /** Prints a line for each page. */
  isVerbose: boolean;
}

export interface Incremental {
  /** Its largest value is the high-water mark. */
  column: string;
  /** Where the request has the mark of the last load. */
  at: RequestPlace | undefined;
}

/** The column of whole pages. */
export const pageColumn: ConnectorColumn = { name: 'DATA_VALUE', type: 'json' };

/** A list of objects in each row. */
export interface ChildList {
  member: string;
  columns: readonly ConnectorColumn[];
}

/** What has been read. */
export interface GatheredRows {
  file: WrittenRows | undefined;
  columns: readonly ConnectorColumn[];
  children: readonly ChildList[];
}

/** A file with rows; if there is no row, there is no file. */
export interface WrittenRows {
  path: string;
  /** Of its longest line. */
  lineBytes: number;
  /** Some values are written as texts, see `writeExactly`. */
  hasTexts: boolean;
}

/** @throws ParameterError about parameters that do not go together */
export function requireConsistent(load: EndpointLoad): void {
  if (load.childTables && load.primaryKeys.length === 0)
    throw new ParameterError(
      'child tables need "primaryKeys", by which their rows name their parent: add them',
    );
  if (load.wholePages && (load.childTables || load.primaryKeys.length > 0))
    throw new ParameterError('"primaryKeys" and child tables need rows: set "loadSelectedData" to Yes');
  if (load.incremental === undefined) return;
  if (load.wholePages)
    throw new ParameterError('an incremental load needs rows: set "loadSelectedData" to Yes');
  if (load.rowLimit !== undefined)
    throw new ParameterError(
      '"limit" cannot be used in an incremental load: the rows beyond it would never be loaded',
    );
  if (load.mode !== 'append')
    throw new ParameterError(
      'an incremental load adds rows to those of earlier loads: set "createTableMode" to Append',
    );
}
