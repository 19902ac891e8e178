import { type Read, statement } from '../../kernel/database.ts';

const selectBlob = statement<{ digest: string }>(
  'select digest from blob where account_id = $1 and digest = $2',
);

/** Whether the account of an agent has the blob. */
export async function blobOfAgent(read: Read, accountId: string, digest: string): Promise<boolean> {
  const rows = await read(selectBlob, [accountId, digest]);
  return rows.length > 0;
}
