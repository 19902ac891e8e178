/**
 * The tables that a project owns, from the catalogue: those with a project's key, and those that refer to
 * them.
 */
import type { TestDatabase } from './database.ts';

export interface OwnedTable {
  name: string;
  /** SQL after `select … from`: the rows of the project $1. */
  of: string;
}

/**
 * Events outlive their project, and so do groups: only the role that they give there ends. A webhook of a
 * deleted project says that no more events match. The folder of a hosted repository is kept for 30 days.
 * Agents ask which environments are deleted. What a project has consumed is still paid for. Where the turns of an agent
 * stand is tidied at its next hello.
 */
const outliving = [
  'event',
  'directory_group',
  'webhook',
  'dropped_repository',
  'deleted_environment',
  'work_turn',
  'consumption',
  'consumption_entry',
  'consumption_month',
];

export async function listOwnedTables(database: TestDatabase): Promise<OwnedTable[]> {
  const keyed = await database.query<{ name: string }>(
    `
    select table_name as name from information_schema.columns
    where table_schema = 'public' and column_name = 'project_id' and table_name <> all ($1) order by 1`,
    [outliving],
  );
  const names = keyed.map(({ name }) => name);
  const referring = await database.query<{ name: string; parent: string; joined: string }>(
    `
    select c.conrelid::regclass::text as name, c.confrelid::regclass::text as parent,
      (select string_agg(format('child.%I = parent.%I', own.attname, theirs.attname), ' and ')
       from unnest(c.conkey, c.confkey) as pair (own, theirs)
       join pg_attribute own on own.attrelid = c.conrelid and own.attnum = pair.own
       join pg_attribute theirs on theirs.attrelid = c.confrelid and theirs.attnum = pair.theirs) as joined
    from pg_constraint c
    where c.contype = 'f' and c.confrelid::regclass::text = any ($1) and c.conrelid::regclass::text <> all ($1)`,
    [names],
  );
  return [
    ...names.map((name) => ({ name, of: `${name} where project_id = $1` })),
    ...referring.map(({ name, parent, joined }) => ({
      name,
      of: `${name} child join ${parent} parent on ${joined} where parent.project_id = $1`,
    })),
  ];
}

export async function readRows(
  database: TestDatabase,
  table: OwnedTable,
  projectId: string,
): Promise<number> {
  const [row] = await database.query<{ count: number }>(
    `select count(*)::integer as count from ${table.of}`,
    [projectId],
  );
  return row?.count ?? 0;
}
