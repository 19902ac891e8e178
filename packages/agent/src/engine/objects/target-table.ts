/** The table that objects are loaded into, or that is written to one. */
import {
  type Dialect,
  isDefaultName,
  type ObjectLoad,
  PermanentFault,
  type TableReference,
  type TargetColumn,
} from '@headgate/pipelines';
import type { Transaction } from '../session/session.ts';

const columnLimit = 10_000;

/** @throws PermanentFault if the table does not exist */
export async function readTarget(
  target: TableReference,
  warehouse: Pick<Transaction, 'query'>,
  dialect: Dialect,
): Promise<TargetColumn[]> {
  const { rows } = await warehouse.query(dialect.tableColumns(target), columnLimit);
  if (rows.length === 0)
    throw new PermanentFault(
      `the table "${nameTable(target)}" does not exist: make it before, for example by a create-table component`,
    );
  const lengths = await warehouse.query(dialect.textLengths(target), columnLimit);
  const byName = new Map(lengths.rows.map(([name, length]) => [String(name), Number(length)]));
  return rows.map(([name, type]) => {
    const length = byName.get(String(name));
    return { name: String(name), type: String(type), ...(length === undefined ? {} : { length }) };
  });
}

function nameTable({ database, schema, table }: TableReference): string {
  return [database, schema, table].filter((name) => !isDefaultName(name)).join('.');
}

export async function isEmpty(
  target: TableReference,
  { query }: Pick<Transaction, 'query'>,
  dialect: Dialect,
): Promise<boolean> {
  const { rows } = await query(`SELECT 1 FROM ${dialect.table(target)} LIMIT 1`, 1);
  return rows.length === 0;
}

/** The names of the members of all objects of a file, if they matter. */
export async function listMembers(
  path: string,
  { format, match }: ObjectLoad,
  { query }: Pick<Transaction, 'query'>,
  dialect: Dialect,
): Promise<string[]> {
  if (format.type === 'CSV' || match === 'position') return [];
  const { rows } = await query(dialect.listObjectMembers(path, format), columnLimit);
  return rows.map(([member]) => String(member));
}

/** The role, or the integration, is that of a warehouse that reaches the store itself. @throws PermanentFault */
export function requireNoRole(role: string | undefined): void {
  if (role !== undefined)
    throw new PermanentFault(
      '"iamRoleArn" is for the warehouse REDSHIFT, and "authentication" Storage Integration for SNOWFLAKE: clear it, and name credentials',
    );
}
