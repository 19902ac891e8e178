/** The table `git_token_seen`: fingerprints of tokens that were used up. */
import { type Read, statement } from '../../../kernel/database/database.ts';

export const tokenRemovalBatch = 500;
const removeTokens = statement(
  { parameters: { before: 'timestamptz' }, row: { removed: 'integer' }, alone: true },
  `
  with gone as (
    delete from git_token_seen where ctid = any (array(
      select ctid from git_token_seen where seen_at < $before order by seen_at limit ${tokenRemovalBatch}))
    returning true
  )
  select count(*)::integer as removed from gone`,
);

/** Deletes fingerprints of tokens that have expired at the provider long ago. */
export async function removeSeenTokens(read: Read, before: Date): Promise<number> {
  const [row] = await read(removeTokens, { before });
  return row?.removed ?? 0;
}
