/** Reads the rows of all tables as of one moment, while others write. */
import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import type { AppliedMigration } from '../../kernel/database/migrate.ts';

/** A table and its copied columns. Rows are ordered after the rows they refer to. */
export interface CopiedTable {
  name: string;
  columns: string[];
}

const partBytes = 8 * 1_048_576;

// Transaction ids have no meaning in another database; a restored row gets that of the restore.
const selectTables = `
  select c.relname::text as name,
    array(
      select a.attname::text from pg_attribute a
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' and a.atttypid <> 'xid8'::regtype
      order by a.attnum) as columns,
    array(
      select distinct f.relname::text from pg_constraint k join pg_class f on f.oid = k.confrelid
      where k.conrelid = c.oid and k.contype = 'f' and k.confrelid <> k.conrelid) as refers_to
  from pg_class c
  where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and c.relname <> 'schema_migration'
    and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')
  order by c.relname`;

interface FoundTable extends CopiedTable {
  refers_to: string[];
}

/** The tables of this database, in the order in which they can be filled. */
export async function listCopiedTables(client: pg.Client): Promise<CopiedTable[]> {
  const { rows } = await client.query<FoundTable>(selectTables);
  const ordered: CopiedTable[] = [];
  let left = rows;
  while (left.length > 0) {
    const waiting = new Set(left.map((table) => table.name));
    const ready = left.filter((table) => !table.refers_to.some((name) => waiting.has(name)));
    if (ready.length === 0) throw new Error(`The tables ${[...waiting].join(', ')} refer to each other.`);
    for (const { name, columns } of ready) ordered.push({ name, columns });
    left = left.filter((table) => !ready.includes(table));
  }
  return ordered;
}

export interface Snapshot {
  tables: CopiedTable[];
  migrations: AppliedMigration[];
  postgresVersion: string;
}

/** Opens the snapshot. Schema changes wait until the transaction ends. */
export async function openSnapshot(client: pg.Client): Promise<Snapshot> {
  const before = await listCopiedTables(client);
  await client.query('begin isolation level repeatable read read only');
  // Lock before the first read: the snapshot begins with it.
  const names = ['schema_migration', ...before.map((table) => table.name)].map(pg.escapeIdentifier);
  await client.query(`lock table ${names.join(', ')} in access share mode`);
  const tables = await listCopiedTables(client);
  if (JSON.stringify(tables) !== JSON.stringify(before))
    throw new Error('A migration is changing the database. Try again when it has finished.');
  const migrations = await client.query<AppliedMigration>(
    'select name, checksum from schema_migration order by name',
  );
  const version = await client.query<{ server_version: string }>('show server_version');
  return {
    tables,
    migrations: migrations.rows,
    postgresVersion: version.rows[0]?.server_version ?? '',
  };
}

/** Yields a table's rows in PostgreSQL's text format, which every version reads, in parts cut anywhere. */
export async function* readRows(client: pg.Client, table: CopiedTable): AsyncGenerator<Buffer> {
  const stream = client.query(copyTo(`copy ${formatColumns(table)} to stdout`));
  let chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes < partBytes) continue;
    yield Buffer.concat(chunks);
    chunks = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(chunks);
}

/** `"table" ("column", …)` */
export function formatColumns({ name, columns }: CopiedTable): string {
  return `${pg.escapeIdentifier(name)} (${columns.map(pg.escapeIdentifier).join(', ')})`;
}
