/**
 * Detects changes to the database: triggers record every inserted, updated or deleted row in its own
 * transaction.
 */
import type { TestDatabase } from './database.ts';

/**
 * Tables that also change without a caller's change: an upload has rows before its commit, which are deleted
 * if it fails (docs/adr/0028), and instances of agents record their last heartbeat.
 */
const bookkeeping = "'blob', 'blob_object', 'agent_instance'";

export interface Changes {
  /** Returns the tables changed since the last call. */
  take(): Promise<string[]>;
}

export async function watchChanges(database: TestDatabase): Promise<Changes> {
  await database.query(`
    create table noted_change (number bigint generated always as identity primary key, of_table text not null);
    create function note_change() returns trigger language plpgsql security definer as $$
    begin
      insert into noted_change (of_table) values (tg_table_name);
      return null;
    end $$;
    do $$ declare found record; begin
      for found in select tablename from pg_tables where schemaname = 'public' and tablename not in ('noted_change', ${bookkeeping}) loop
        execute format('create trigger note_change after insert or update or delete on %I for each row execute function note_change()', found.tablename);
      end loop;
    end $$;
    create trigger note_taking after update on blob_object for each row when (old.state = 'pending' and new.state = 'live')
      execute function note_change()`);
  let last = 0;
  return {
    async take() {
      const rows = await database.query<{ number: string; of_table: string }>(
        'select number, of_table from noted_change where number > $1 order by number',
        [last],
      );
      last = Number(rows.at(-1)?.number ?? last);
      return [...new Set(rows.map((row) => row.of_table))];
    },
  };
}
