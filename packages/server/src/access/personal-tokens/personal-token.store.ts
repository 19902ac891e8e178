/** The table `personal_token`. */
import type { AccountRole, PersonalToken, ScopedRole } from '@headgate/contract';
import {
  type ColumnTypes,
  type RowOf,
  requireRow,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';
import type { AccountEvent } from '../../kernel/database/events.ts';
import { problem } from '../../kernel/http/problems.ts';
import { toUuid } from '../../kernel/identifiers.ts';
import { guardedPage } from '../../kernel/security/guarded-read.ts';
import type { Scope } from '../../kernel/security/permissions.ts';

const mostOfUser = 50;

const tokenRow = {
  personal_token_id: 'uuid',
  name: 'text',
  account_role: typed<AccountRole | null>('text'),
  roles: typed<ScopedRole[]>('jsonb'),
  created_at: 'timestamptz',
  expires_at: 'timestamptz',
  last_used_at: 'timestamptz?',
} satisfies ColumnTypes;

const ofUser = 'account_id = $account_id and user_id = $user_id';

export const personalTokenPage = guardedPage(
  { parameters: { user_id: 'uuid', limit: 'bigint', offset: 'bigint' }, row: tokenRow },
  {
    rows: `
    select personal_token_id, name, account_role, roles, created_at, expires_at, last_used_at from personal_token
    where ${ofUser} order by personal_token_id desc limit $limit offset $offset`,
    total: `select count(*)::bigint as total from personal_token where ${ofUser}`,
  },
);

export function presentPersonalToken(row: RowOf<typeof tokenRow>): PersonalToken {
  const { account_role: role, last_used_at: lastUsedAt } = row;
  return {
    tokenId: row.personal_token_id,
    name: row.name,
    ...(role === null ? {} : { role }),
    roles: row.roles,
    createdAt: row.created_at.toISOString(),
    expiresAt: row.expires_at.toISOString(),
    ...(lastUsedAt === null ? {} : { lastUsedAt: lastUsedAt.toISOString() }),
  };
}

const countOfUser = statement(
  { parameters: { account_id: 'uuid', user_id: 'uuid' }, row: { count: 'integer' } },
  `select count(*)::integer as count from personal_token where ${ofUser}`,
);
const insertOne = statement(
  {
    parameters: {
      account_id: 'uuid',
      personal_token_id: 'uuid',
      user_id: 'uuid',
      name: 'text',
      secret_digest: 'bytea',
      account_role: 'text?',
      roles: 'jsonb',
      created_at: 'timestamptz',
      expires_at: 'timestamptz',
    },
  },
  `
  insert into personal_token (account_id, personal_token_id, user_id, name, secret_digest, account_role, roles, created_at,
    expires_at)
  values ($account_id, $personal_token_id, $user_id, $name, $secret_digest, $account_role, $roles, $created_at, $expires_at)`,
);

export interface NewPersonalToken {
  personal_token_id: string;
  user_id: string;
  name: string;
  secret_digest: Buffer;
  account_role: AccountRole | null;
  /** JSON of RoleGrant[]. */
  roles: string;
  created_at: Date;
  expires_at: Date;
}

/** The user must be locked. Throws `too-many-personal-tokens`. */
export async function insertPersonalToken(
  tx: Transaction,
  { accountId: account_id }: Scope,
  made: NewPersonalToken,
): Promise<void> {
  const [counted] = await tx.query(countOfUser, { account_id, user_id: made.user_id });
  if ((counted?.count ?? 0) >= mostOfUser) throw problem('too-many-personal-tokens', { limit: mostOfUser });
  tx.send(insertOne, { account_id, ...made });
}

const findUnknownProject = statement(
  {
    parameters: { account_id: 'uuid', user_id: 'uuid', project_ids: 'uuid[]', now: 'timestamptz' },
    row: { project_id: 'uuid' },
  },
  `
  select asked.project_id from unnest($project_ids::uuid[]) as asked (project_id)
  cross join lateral rights($account_id::uuid, $user_id::uuid, asked.project_id, null, '{}', '{}', '{}', $now::timestamptz) held
  where held.standing = 'unknown' limit 1`,
);

/** Projects in which the user has no role are unknown to it. Throws `unknown-project`. */
export async function requireKnownProjects(
  tx: Transaction,
  { accountId, actorId }: Scope,
  projectIds: readonly string[],
  now: Date,
): Promise<void> {
  if (projectIds.length === 0) return;
  const [unknown] = await tx.query(findUnknownProject, {
    account_id: accountId,
    user_id: actorId,
    project_ids: [...new Set(projectIds)],
    now,
  });
  if (unknown !== undefined) throw problem('unknown-project', { id: unknown.project_id });
}

const deleteOne = statement(
  {
    parameters: { account_id: 'uuid', user_id: 'uuid', personal_token_id: 'uuid' },
    row: { personal_token_id: 'uuid', name: 'text', user_id: 'uuid', user_name: 'text' },
  },
  `
  delete from personal_token t using directory_user u
  where t.account_id = $account_id and t.user_id = $user_id and t.personal_token_id = $personal_token_id
    and u.account_id = t.account_id and u.user_id = t.user_id
  returning t.personal_token_id, t.name, t.user_id, u.user_name`,
);

/** Throws `personal-token-not-found`. */
export async function removePersonalToken(
  tx: Transaction,
  accountId: string,
  of: { userId: string; tokenId: string },
) {
  const removed = await tx.query(deleteOne, {
    account_id: accountId,
    user_id: toUuid(of.userId),
    personal_token_id: toUuid(of.tokenId),
  });
  return requireRow(removed, () => problem('personal-token-not-found', { id: of.tokenId }));
}

export function buildRevokeEvent(
  removed: Awaited<ReturnType<typeof removePersonalToken>>,
): AccountEvent & { name: 'personal-token-deleted' } {
  return {
    name: 'personal-token-deleted',
    subject: { type: 'user', id: removed.user_id, name: removed.user_name },
    before: { tokenId: removed.personal_token_id, name: removed.name },
  };
}
