/** From the stage that a component names to the place in a store. */
import { type ObjectSource, PermanentFault, type StorePlace } from '@headgate/pipelines';
import type { Transaction } from '../session/session.ts';

/** @throws PermanentFault if there is no such stage */
export async function locate(
  place: ObjectSource['place'],
  { query }: Pick<Transaction, 'query'>,
): Promise<StorePlace> {
  if (!('locate' in place)) return place;
  const tables = await query(place.exists, 1);
  const [row] = tables.rows.length === 0 ? [] : (await query(place.query, 1)).rows;
  if (row !== undefined) return place.locate(row);
  throw new PermanentFault(
    `there is no stage "${place.name}": make it once by CREATE STAGE "${place.name}" URL = 's3://bucket/folder/' in a sql-script, or set "stage" to [Custom] and give the address`,
  );
}
