/** Which PostgreSQL cluster the server uses: agents use no database of it as a warehouse. */
import type { Database } from '../../kernel/database/database.ts';
import { statement } from '../../kernel/database/trips/statement.ts';

const selectCluster = statement(
  { parameters: {}, row: { cluster: 'text' } },
  'select system_identifier::text as cluster from pg_catalog.pg_control_system()',
);

/** Undefined where the database does not say it. It is read once. */
export function createClusterLookup({ alone }: Pick<Database, 'alone'>): () => Promise<string | undefined> {
  let found: Promise<string | undefined> | undefined;
  return () => {
    found ??= alone((read) => read(selectCluster, {})).then(
      ([row]) => row?.cluster,
      () => {
        found = undefined;
        return undefined;
      },
    );
    return found;
  };
}
