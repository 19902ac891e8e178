/**
 * The schema of a test in a served warehouse. The login of the runs creates it and drops it. The test itself signs in
 * with the credential for reading, which may write there and nowhere else, so that the server keeps all other data.
 */
import { randomBytes } from 'node:crypto';
import type { LexicalRules } from '@headgate/pipelines/sql-tokens';
import { findUnsafeStatement } from '../statements/test-refusals.ts';
import type { ServedWarehouse } from './served-connection.ts';

/** In lower case, at most 59 characters: PostgreSQL cuts names after 63. */
const scratchName = /^headgate_test_[0-9a-f]{32}_[0-9a-f]{12}$/;
const beginName = (tag: string) => `headgate_test_${tag.replace(/^hg:/, '').replaceAll('-', '')}_`;

/** @param tag of the execution, `hg:{uuid}` */
export const nameScratchSchema = (tag: string): string =>
  `${beginName(tag)}${randomBytes(6).toString('hex')}`;

/** Whether the schema is one of the execution. */
export const isScratchOf = (tag: string, schema: string): boolean =>
  scratchName.test(schema.toLowerCase()) && schema.toLowerCase().startsWith(beginName(tag));

/** Refuses what acts outside of the warehouse, and explains what the server refuses. */
export function guardScratch(warehouse: ServedWarehouse, rules: LexicalRules): ServedWarehouse {
  async function guard<T>(sql: string, run: () => Promise<T>): Promise<T> {
    const unsafe = findUnsafeStatement(sql, rules);
    if (unsafe !== undefined) throw new Error(unsafe);
    try {
      return await run();
    } catch (error) {
      if (error instanceof Error && /\(42501\)|insufficient privileges/i.test(error.message))
        error.message += `; ${ownTables}`;
      throw error;
    }
  }
  return {
    ...warehouse,
    execute: (sql, ...more) => guard(sql, () => warehouse.execute(sql, ...more)),
    query: (sql, ...more) => guard(sql, () => warehouse.query(sql, ...more)),
    queryText: (sql, ...more) => guard(sql, () => warehouse.queryText(sql, ...more)),
  };
}

const ownTables =
  'a test writes only to tables of its own schema: name them without a schema, and create them in the test';
