/** The table `user_credential`: personal credentials. */
import type { UserCredential } from '@headgate/contract';
import {
  type ColumnTypes,
  type RowOf,
  requireRow,
  statement,
  type Transaction,
} from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { guardedPage } from '../../kernel/security/guarded-read.ts';
import type { Scope } from '../../kernel/security/permissions.ts';

const userCredentialRow = {
  user_credential_id: 'uuid',
  name: 'text',
  client_id: 'text',
  created_at: 'timestamptz',
  expires_at: 'timestamptz?',
  last_used_at: 'timestamptz?',
} satisfies ColumnTypes;
type UserCredentialRow = RowOf<typeof userCredentialRow>;

export const userCredentialPage = guardedPage(
  { parameters: { user_id: 'uuid', limit: 'bigint', offset: 'bigint' }, row: userCredentialRow },
  {
    rows: `
    select user_credential_id, name, client_id, created_at, expires_at, last_used_at from user_credential
    where account_id = $account_id and user_id = $user_id
    order by user_credential_id desc limit $limit offset $offset`,
    total: `
    select count(*)::bigint as total from user_credential
    where account_id = $account_id and user_id = $user_id`,
  },
);

const insertedColumns = {
  account_id: 'uuid',
  user_credential_id: 'uuid',
  user_id: 'uuid',
  name: 'text',
  client_id: 'text',
  secret_digest: 'bytea',
  created_at: 'timestamptz',
  expires_at: 'timestamptz?',
} as const;
const insertOne = statement(
  { parameters: insertedColumns },
  `
  insert into user_credential (account_id, user_credential_id, user_id, name, client_id, secret_digest, created_at,
    expires_at)
  values ($account_id, $user_credential_id, $user_id, $name, $client_id, $secret_digest, $created_at, $expires_at)`,
);

export interface NewUserCredential {
  user_credential_id: string;
  user_id: string;
  name: string;
  client_id: string;
  secret_digest: Buffer;
  created_at: Date;
  expires_at: Date | null;
}

export function insertUserCredential(tx: Transaction, { accountId }: Scope, made: NewUserCredential): void {
  tx.send(insertOne, { account_id: accountId, ...made });
}

const deleteOne = statement(
  {
    parameters: { account_id: 'uuid', user_id: 'uuid', user_credential_id: 'uuid' },
    row: { name: 'text', client_id: 'text', user_name: 'text' },
  },
  `
  delete from user_credential k using directory_user u
  where k.account_id = $account_id and k.user_id = $user_id and k.user_credential_id = $user_credential_id
    and u.account_id = k.account_id and u.user_id = k.user_id
  returning k.name, k.client_id, u.user_name`,
);

/** Throws `user-credential-not-found`. */
export async function removeUserCredential(tx: Transaction, scope: Scope, userId: string, id: string) {
  const removed = await tx.query(deleteOne, {
    account_id: scope.accountId,
    user_id: toUuid(userId),
    user_credential_id: toUuid(id),
  });
  return requireRow(removed, () => problem('user-credential-not-found', { id }));
}

export function presentUserCredential(row: UserCredentialRow): UserCredential {
  const credential: UserCredential = {
    credentialId: row.user_credential_id,
    name: row.name,
    clientId: row.client_id,
    createdAt: row.created_at.toISOString(),
  };
  if (row.expires_at !== null) credential.expiresAt = row.expires_at.toISOString();
  if (row.last_used_at !== null) credential.lastUsedAt = row.last_used_at.toISOString();
  return credential;
}
