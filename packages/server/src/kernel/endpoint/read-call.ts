/** Reads rows and checks the caller's rights in the same trip (guarded-read.ts). */
import type { Operation } from '@headgate/contract';
import type { Database } from '../database/database.ts';
import { type Asking, findRefusal, makeGuardParameters } from '../security/guard.ts';
import type { Standing } from '../security/permissions.ts';
import type { ReadCall, Serving } from './call.ts';

/**
 * For the rows of one response: some of the largest values that a request can write. A page of a hundred of them would
 * take the server's memory.
 */
export const mostCharactersOfRows = 64 * 1_048_576;

type GuardedReads = Pick<ReadCall<Operation>, 'rows' | 'page'>;

export function createReadCall<Op extends Operation>(serving: Serving<Op>): ReadCall<Op> {
  return { ...serving.call, ...createGuardedReads(serving.services.database, serving) };
}

export function createGuardedReads(database: Database, asking: Asking): GuardedReads {
  async function requirePermitted<Head extends { standing: Standing }>(rows: readonly Head[]): Promise<Head> {
    const [head] = rows;
    if (head === undefined) throw new Error('rights() returned no row.');
    const refused = await findRefusal(database.read, head.standing, asking);
    if (refused !== undefined) throw refused;
    return head;
  }
  return {
    async rows(query, parameters) {
      const rows = await database.read(
        query.guarded,
        { ...makeGuardParameters(asking), ...parameters },
        mostCharactersOfRows,
      );
      await requirePermitted(rows);
      return rows.filter((row) => row.found === true);
    },
    async page(query, parameters) {
      const all = { ...makeGuardParameters(asking), ...parameters };
      const [heads, rows] = await database.readBoth(query.head, query.rows, all, mostCharactersOfRows);
      return { rows, total: (await requirePermitted(heads)).total };
    },
  };
}
