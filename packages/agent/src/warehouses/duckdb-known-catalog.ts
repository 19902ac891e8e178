/**
 * What is known of the views and macros of a database, so that most statements need no EXPLAIN, which costs as
 * much as the statement. A statement that does not name a refused function calls one only by a view or a macro. All
 * changes of the catalog go through this process, so that what was found holds until the next change.
 */
import { type DuckDBConnection, StatementType } from '@duckdb/node-api';
import type { BuiltInFunctions } from './statements/duckdb-functions.ts';

/** These leave the catalog and the names in it as they are. */
const leavesCatalog: ReadonlySet<StatementType> = new Set([
  StatementType.SELECT,
  StatementType.INSERT,
  StatementType.UPDATE,
  StatementType.DELETE,
  StatementType.MERGE_INTO,
]);

/** To read the catalog costs as much as several EXPLAIN: after a change, so many statements do without. */
const statementsBeforeReading = 8;

/** What one session knows. */
export interface KnownCatalog {
  /** Whether the plan of the statement cannot have a refused function. */
  isHarmless(connection: DuckDBConnection, sql: string, type: StatementType): Promise<boolean>;
  /** Whether a column, a view or a macro can have a VARIANT. */
  mayHoldVariants(connection: DuckDBConnection): Promise<boolean>;
  /** Runs a statement. `type`: undefined if it is several statements. */
  run(type: StatementType | undefined, work: () => Promise<void>): Promise<void>;
}

/** @returns what gives a new session its view of the catalog */
export function createCatalogWatch({ refused }: BuiltInFunctions): () => KnownCatalog {
  /** Counts the changes of the catalog: their beginnings and their ends. */
  let state = 0;
  let statements = 0;
  let known: { isClean: boolean; hasVariants: boolean } | undefined;
  const names = [...refused];
  const namesRefused = (text: string) => {
    const lower = text.toLowerCase();
    return names.some((name) => lower.includes(name));
  };

  function noteChange(): void {
    state += 1;
    statements = 0;
    known = undefined;
  }

  /** Undefined: it is not known. */
  async function readCatalog(connection: DuckDBConnection): Promise<typeof known> {
    if (known !== undefined) return known;
    statements += 1;
    if (statements < statementsBeforeReading) return undefined;
    const before = state;
    const reader = await connection.runAndReadAll(definitions);
    const texts = reader.getRows().map(([text]) => String(text));
    const found = {
      isClean: !texts.some(namesRefused),
      hasVariants: texts.some((text) => /json|->/i.test(text)),
    };
    if (state !== before) return undefined;
    known = found;
    return found;
  }

  return () => {
    /** The session has made something of its own, such as a temporary view. */
    let isChanged = false;
    /** In a transaction the catalog is that of its beginning. */
    let since: number | undefined;
    return {
      async isHarmless(connection, sql, type) {
        if (isChanged || (since !== undefined && since !== state) || !leavesCatalog.has(type)) return false;
        // A name can also be written by the codes of its letters.
        if (namesRefused(sql) || /u&/i.test(sql)) return false;
        return (await readCatalog(connection))?.isClean ?? false;
      },
      async mayHoldVariants(connection) {
        if (isChanged || (since !== undefined && since !== state)) return true;
        return (await readCatalog(connection))?.hasVariants ?? true;
      },
      async run(type, work) {
        if (type !== undefined && leavesCatalog.has(type)) return work();
        if (type === StatementType.TRANSACTION && !isChanged) {
          since = state;
          return work();
        }
        isChanged = true;
        noteChange();
        try {
          await work();
        } finally {
          noteChange();
        }
      },
    };
  };
}

/** Aliases of tables keep no definition. */
const definitions = `
  select sql from system.main.duckdb_views() where not internal
  union all
  select macro_definition from system.main.duckdb_functions() where not internal
  union all
  select 'json' where exists (
    from system.main.duckdb_columns() where not internal and contains(data_type, 'JSON'))`;
