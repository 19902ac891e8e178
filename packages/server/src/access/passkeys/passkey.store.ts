/** The table `passkey`. */
import type { Passkey } from '@headgate/contract';
import {
  type ColumnTypes,
  insertStatement,
  type RowOf,
  statement,
  type Transaction,
} from '../../kernel/database/database.ts';
import { guardedPage } from '../../kernel/security/guarded-read.ts';

const passkeyRow = {
  passkey_id: 'uuid',
  name: 'text',
  is_synced: 'boolean',
  created_at: 'timestamptz',
  last_used_at: 'timestamptz?',
} satisfies ColumnTypes;
const columns = Object.keys(passkeyRow).join(', ');
const ofUser = 'account_id = $account_id and user_id = $user_id';

export const passkeyPage = guardedPage(
  { parameters: { user_id: 'uuid', limit: 'bigint', offset: 'bigint' }, row: passkeyRow },
  {
    rows: `select ${columns} from passkey where ${ofUser} order by passkey_id desc limit $limit offset $offset`,
    total: `select count(*)::bigint as total from passkey where ${ofUser}`,
  },
);

export const presentPasskey = (row: RowOf<typeof passkeyRow>): Passkey => ({
  passkeyId: row.passkey_id,
  name: row.name,
  isSynced: row.is_synced,
  createdAt: row.created_at.toISOString(),
  ...(row.last_used_at === null ? {} : { lastUsedAt: row.last_used_at.toISOString() }),
});

export const selectKnown = statement(
  { parameters: { account_id: 'uuid', user_id: 'uuid' }, row: { credential_id: 'bytea' } },
  `select credential_id from passkey where ${ofUser}`,
);

/** Two additions of one user wait for each other. */
export const lockOwner = statement(
  { parameters: { account_id: 'uuid', user_id: 'uuid' }, row: { active: 'boolean' } },
  `select active from directory_user where ${ofUser} for update`,
);

const newPasskey = {
  account_id: 'uuid',
  passkey_id: 'uuid',
  user_id: 'uuid',
  name: 'text',
  credential_id: 'bytea',
  public_key: 'bytea',
  sign_count: 'bigint',
  transports: 'text[]',
  is_synced: 'boolean',
  created_at: 'timestamptz',
} as const;
export const insertPasskey = insertStatement('passkey', newPasskey);

const foundRow = {
  account_id: 'uuid',
  passkey_id: 'uuid',
  user_id: 'uuid',
  name: 'text',
  credential_id: 'bytea',
  public_key: 'bytea',
  sign_count: 'bigint',
  challenge_at: 'timestamptz?',
  user_name: 'text',
  active: 'boolean',
} satisfies ColumnTypes;
export type FoundPasskey = RowOf<typeof foundRow>;

/** Two sign-ins with one passkey wait for each other. */
export const lockPasskey = statement(
  { parameters: { credential_id: 'bytea' }, row: foundRow },
  `
  select p.account_id, p.passkey_id, p.user_id, p.name, p.credential_id, p.public_key, p.sign_count, p.challenge_at,
    u.user_name, u.active
  from passkey p join directory_user u on u.account_id = p.account_id and u.user_id = p.user_id
  where p.credential_id = $credential_id for update of p`,
);

export const notePasskeyUse = statement(
  {
    parameters: {
      account_id: 'uuid',
      passkey_id: 'uuid',
      sign_count: 'bigint',
      is_synced: 'boolean',
      challenge_at: 'timestamptz',
      now: 'timestamptz',
    },
  },
  `
  update passkey set sign_count = $sign_count, is_synced = $is_synced, challenge_at = $challenge_at, last_used_at = $now
  where account_id = $account_id and passkey_id = $passkey_id`,
);

const deleteSome = statement(
  {
    parameters: { account_id: 'uuid', user_id: 'uuid', passkey_id: 'uuid?' },
    row: { passkey_id: 'uuid', user_id: 'uuid', user_name: 'text', name: 'text' },
  },
  `
  delete from passkey p using directory_user u
  where p.account_id = $account_id and p.user_id = $user_id and ($passkey_id::uuid is null or p.passkey_id = $passkey_id)
    and u.account_id = p.account_id and u.user_id = p.user_id
  returning p.passkey_id, p.user_id, u.user_name, p.name`,
);

/** Deletes one passkey of the user, or all. Returns their events. */
export async function deletePasskeys(
  tx: Transaction,
  accountId: string,
  userId: string,
  passkeyId: string | undefined,
) {
  const of = { account_id: accountId, user_id: userId, passkey_id: passkeyId ?? null };
  return (await tx.query(deleteSome, of)).map((row) => ({
    name: 'passkey-deleted' as const,
    subject: { type: 'user', id: row.user_id, name: row.user_name },
    before: { passkeyId: row.passkey_id, passkeyName: row.name },
  }));
}
