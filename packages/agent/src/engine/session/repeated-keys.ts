/**
 * Counts the rows that repeat a PRIMARY KEY or UNIQUE, which the warehouse does not enforce, in the tables that a
 * step has written.
 */
import { countedRows, countRepeated, type DeclaredKey, keyedColumns, readKeys } from '@headgate/pipelines';
import { getReason } from '../../log.ts';
import { readFirstWord } from '../../warehouses/statements/sql-words.ts';
import type { Session } from './session.ts';
import { findTarget } from './session-names.ts';

const changesTables = new Set(['alter', 'create', 'drop']);

/** A table as a statement names it. */
export interface WrittenTable {
  /** The names without quotes, in lower case. */
  readonly parts: readonly string[];
  readonly written: string;
}

export interface RepeatedKeys {
  /** Reads a statement that is about to run. Returns the table to which it adds rows, or whose rows it changes. */
  note(sql: string): WrittenTable | undefined;
  /** The messages about the tables; none for those without keys. Never rejects. */
  describe(tables: Iterable<WrittenTable>): Promise<string[]>;
}

/** Of a warehouse that enforces keys. */
export const noRepeatedKeys: RepeatedKeys = { note: () => undefined, describe: async () => [] };

/** Columns with a key in one environment. */
const mostColumns = 10_000;

export function createRepeatedKeys(
  warehouse: Pick<Session, 'query'>,
  quote: (name: string) => string,
): RepeatedKeys {
  /** The keys of the tables, by schema and name in lower case. Keys that other runs add meanwhile are not seen. */
  let known: Promise<Map<string, DeclaredKey[]>> | undefined;
  let isEmpty = false;

  async function readTables(): Promise<Map<string, DeclaredKey[]>> {
    const { rows } = await warehouse.query(keyedColumns, mostColumns);
    const columns = Map.groupBy(rows, ([schema, table]) => keyOf([String(table), String(schema)]));
    isEmpty = columns.size === 0;
    return new Map(
      [...columns].map(([key, ofTable]) => [
        key,
        readKeys(
          ofTable.map(([, , column, comment]) => ({ column: String(column), comment: String(comment) })),
        ),
      ]),
    );
  }

  async function describeTable({ parts, written }: WrittenTable): Promise<string[]> {
    known ??= readTables();
    const keys = (await known).get(keyOf(parts.toReversed())) ?? [];
    const name = parts.at(-1) ?? '';
    const lines = keys.map(async (key) => {
      const { rows } = await warehouse.query(countRepeated(written, key, quote), 1);
      const [looked = 0, repeated = 0] = (rows[0] ?? []).map(Number);
      if (repeated === 0) return '';
      const where = looked < countedRows ? name : `the first ${countedRows} rows of ${name}`;
      const how = repeated === 1 ? 'row repeats' : 'rows repeat';
      return `${repeated} ${how} the ${key.kind} (${key.columns.join(', ')}) of ${where}: keys are not enforced`;
    });
    return (await Promise.all(lines)).filter((line) => line !== '');
  }

  return {
    note(sql) {
      // Only a comment adds a key (pipelines/src/sql/dialect/keys.ts); the others may take one away or rename it.
      const first = readFirstWord(sql);
      if (first === 'comment' || (!isEmpty && changesTables.has(first))) known = undefined;
      const { verb, name } = findTarget(sql) ?? {};
      return verb === 'delete' ? undefined : name;
    },
    async describe(tables) {
      const lines: string[] = [];
      for (const table of tables) {
        try {
          lines.push(...(await describeTable(table)));
        } catch (error) {
          known = undefined;
          lines.push(`the keys of ${table.written} could not be checked: ${getReason(error)}`);
        }
      }
      return lines;
    },
  };
}

/** Without a schema, the default schema is meant. */
const keyOf = ([table = '', schema = 'main']: readonly string[]) =>
  JSON.stringify([schema.toLowerCase(), table.toLowerCase()]);
