/** Repositories that were dropped: the trigger of the table `repository` writes their rows. */
import { type Read, statement, type Transaction } from '../../kernel/database/database.ts';

const place = { account_id: 'uuid', project_id: 'uuid' } as const;

const selectHasFolderToMove = statement(
  { parameters: place, row: { has_folder: 'boolean' } },
  `select exists (
    select from dropped_repository
    where account_id = $account_id and project_id = $project_id and moved_at is null) as has_folder`,
);

export async function hasFolderToMove(
  read: Read,
  at: { accountId: string; projectId: string },
): Promise<boolean> {
  const [row] = await read(selectHasFolderToMove, { account_id: at.accountId, project_id: at.projectId });
  return row?.has_folder === true;
}

// The row is locked until the folder is moved and the transaction ends, so that two servers do not move two
// folders for it. Oldest first: there is one folder, and the first row is its own.
const noteMoved = statement(
  { parameters: { ...place, now: 'timestamptz' }, row: { folder: 'text', dropped_at: 'timestamptz' } },
  `
  update dropped_repository set moved_at = $now
  where account_id = $account_id and project_id = $project_id and moved_at is null
  returning folder, dropped_at`,
);

export async function takeFoldersToMove(
  tx: Transaction,
  at: { accountId: string; projectId: string; now: Date },
): Promise<string[]> {
  const keys = { account_id: at.accountId, project_id: at.projectId, now: at.now };
  const rows = await tx.query(noteMoved, keys);
  return rows
    .toSorted((one, other) => one.dropped_at.getTime() - other.dropped_at.getTime())
    .map(({ folder }) => folder);
}

const selectToMove = statement(
  { parameters: { most: 'bigint' }, row: place, alone: true },
  'select distinct account_id, project_id from dropped_repository where moved_at is null limit $most',
);

export async function listProjectsToMove(
  read: Read,
  most: number,
): Promise<{ accountId: string; projectId: string }[]> {
  const rows = await read(selectToMove, { most });
  return rows.map(({ account_id: accountId, project_id: projectId }) => ({ accountId, projectId }));
}

const selectExpired = statement(
  { parameters: { before: 'timestamptz', most: 'bigint' }, row: { folder: 'text' }, alone: true },
  `select folder from dropped_repository where dropped_at < $before and moved_at is not null
   order by dropped_at limit $most`,
);
const deleteExpired = statement(
  { parameters: { folder: 'text' } },
  'delete from dropped_repository where folder = $folder',
);

export async function listExpiredFolders(read: Read, before: Date, most: number): Promise<string[]> {
  return (await read(selectExpired, { before, most })).map(({ folder }) => folder);
}

/** After its folder has been removed. */
export async function forgetFolder(read: Read, folder: string): Promise<void> {
  await read(deleteExpired, { folder });
}
