/** Deletes the oldest rows of a table of this slice, a batch at a time. */
import { addSeconds } from '../../kernel/clock.ts';
import { type Read, statement } from '../../kernel/database/database.ts';

interface OldRows {
  table: string;
  /** When a row was touched last; the table has an index of it. */
  age: string;
  days: number;
  /** Rows at a time. */
  batch: number;
}

/** @returns a function that deletes a batch, and answers how many rows it had */
export function createRemoval({ table, age, days, batch }: OldRows) {
  const removeOld = statement(
    { parameters: { before: 'timestamptz', limit: 'bigint' }, row: { removed: 'bigint' }, alone: true },
    `
    with removed as (
      delete from ${table} where ctid = any (array(
        select ctid from ${table} where ${age} < $before order by ${age} limit $limit for update skip locked))
      returning true
    )
    select count(*) as removed from removed`,
  );
  return async (read: Read, now: Date): Promise<number> => {
    const [row] = await read(removeOld, { before: addSeconds(now, -days * 86_400), limit: batch });
    return Number(row?.removed ?? 0);
  };
}
