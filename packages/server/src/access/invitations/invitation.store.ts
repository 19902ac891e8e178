/** The tables `invitation`, `invitation_group` and `invitation_role`. */
import type { Invitation, InvitationMail, ScopedRole } from '@headgate/contract';
import {
  type ColumnTypes,
  insertStatement,
  type RowOf,
  requireRow,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';
import { isUuid, toUuid } from '../../kernel/identifiers.ts';
import { guardedPage } from '../../kernel/security/guarded-read.ts';
import type { Sealer } from '../../kernel/security/sealed.ts';
import { explainUnknownPlaces, type RoleGrant } from '../credentials/index.ts';
import { foldName } from '../users/index.ts';

/** Open invitations of an account. */
const mostInvitations = 1_000;

/** The secret in the link. It is a keyed hash, so a mail that is sent again has the same, and the database has none. */
export const makeInvitationSecret = (sealer: Sealer, invitationId: string): string =>
  sealer.digest(invitationId, 'invitation').toString('base64url');

const digestSecret = (sealer: Sealer, secret: string) => sealer.digest(secret, 'invitation link');

const invitationRow = {
  invitation_id: 'uuid',
  user_name: 'text',
  display_name: 'text?',
  email: 'text?',
  created_by: 'uuid',
  created_at: 'timestamptz',
  expires_at: 'timestamptz',
} satisfies ColumnTypes;
export type InvitationRow = RowOf<typeof invitationRow>;

const selectGroups = `array(
    select g.group_id from invitation_group g
    where g.account_id = i.account_id and g.invitation_id = i.invitation_id order by g.group_id)`;
const selectRoles = `coalesce((
    select json_agg(json_strip_nulls(json_build_object('projectId', r.project_id, 'environmentName', r.environment_name, 'role', r.role))
      order by r.project_id, r.environment_name, r.role)
    from invitation_role r where r.account_id = i.account_id and r.invitation_id = i.invitation_id), '[]')`;
const given = {
  group_ids: typed<string[]>('uuid[]'),
  roles: typed<ScopedRole[]>('json'),
} satisfies ColumnTypes;
const columns = Object.keys(invitationRow)
  .map((column) => `i.${column}`)
  .join(', ');

const shownRow = {
  ...invitationRow,
  ...given,
  mail_state: typed<InvitationMail>('text'),
  mail_error: 'text?',
} satisfies ColumnTypes;

export const invitationPage = guardedPage(
  { parameters: { limit: 'bigint', offset: 'bigint' }, row: shownRow },
  {
    rows: `
    select ${columns}, ${selectGroups} as group_ids, ${selectRoles} as roles, m.last_error as mail_error,
      case m.state when 'pending' then 'PENDING' when 'sent' then 'SENT' when 'dead' then 'FAILED' else 'NOT_SENT' end as mail_state
    from invitation i
    left join alert_mail m on m.account_id = i.account_id and m.invitation_id = i.invitation_id
    where i.account_id = $account_id and i.expires_at > $now
    order by i.created_at desc, i.invitation_id desc limit $limit offset $offset`,
    total:
      'select count(*)::bigint as total from invitation where account_id = $account_id and expires_at > $now',
  },
);

export const presentInvitation = (row: RowOf<typeof shownRow>): Invitation => ({
  invitationId: row.invitation_id,
  userName: row.user_name,
  ...(row.display_name === null ? {} : { displayName: row.display_name }),
  ...(row.email === null ? {} : { email: row.email }),
  groupIds: row.group_ids,
  roles: row.roles,
  mail: row.mail_state,
  ...(row.mail_error === null ? {} : { mailError: row.mail_error }),
  createdBy: row.created_by,
  createdAt: row.created_at.toISOString(),
  expiresAt: row.expires_at.toISOString(),
});

const removeExpired = statement(
  { parameters: { account_id: 'uuid', user_name_key: 'text', now: 'timestamptz' } },
  `
  delete from invitation
  where account_id = $account_id and user_name_key = $user_name_key and expires_at <= $now`,
);
const countOpen = statement(
  { parameters: { account_id: 'uuid' }, row: { open: 'integer' } },
  'select count(*)::integer as open from invitation where account_id = $account_id',
);
const selectUserOfName = statement(
  { parameters: { account_id: 'uuid', user_name_key: 'text' }, row: { user_id: 'uuid' } },
  'select user_id from directory_user where account_id = $account_id and user_name_key = $user_name_key',
);
const insertOne = insertStatement('invitation', {
  account_id: 'uuid',
  ...invitationRow,
  user_name_key: 'text',
  secret_digest: 'bytea',
});
const selectUnknownGroups = statement(
  { parameters: { account_id: 'uuid', group_ids: 'uuid[]' }, row: { group_id: 'uuid' } },
  `
  select wanted.group_id from unnest($group_ids::uuid[]) as wanted (group_id)
  where not exists (
    select from directory_group g where g.account_id = $account_id and g.group_id = wanted.group_id)`,
);
const insertGroups = statement(
  { parameters: { account_id: 'uuid', invitation_id: 'uuid', group_ids: 'uuid[]' } },
  `
  insert into invitation_group (account_id, invitation_id, group_id)
  select distinct $account_id::uuid, $invitation_id::uuid, g.group_id from unnest($group_ids::uuid[]) as g (group_id)`,
);
const insertRoles = statement(
  { parameters: { account_id: 'uuid', invitation_id: 'uuid', roles: 'jsonb' } },
  `
  insert into invitation_role (account_id, invitation_id, project_id, environment_name, role)
  select distinct $account_id::uuid, $invitation_id::uuid, g."projectId", g."environmentName", g.role
  from jsonb_to_recordset($roles) as g ("projectId" uuid, "environmentName" text, role text)`,
);

export interface NewInvitation {
  row: InvitationRow;
  groupIds: readonly string[];
  roles: readonly RoleGrant[];
}

/** Returns the secret of the link. Throws the problems of `createInvitation` about names, groups and places. */
export async function insertInvitation(
  tx: Transaction,
  sealer: Sealer,
  accountId: string,
  { row, groupIds, roles }: NewInvitation,
): Promise<string> {
  const { invitation_id, user_name, created_at: now } = row;
  const of = { account_id: accountId, invitation_id };
  const user_name_key = foldName(user_name);
  const byName = { account_id: accountId, user_name_key };
  tx.send(removeExpired, { ...byName, now });
  const [users, [count]] = await Promise.all([
    tx.query(selectUserOfName, byName),
    tx.query(countOpen, { account_id: accountId }),
  ]);
  if (users.length > 0) throw problem('user-name-taken', { name: user_name });
  if ((count?.open ?? 0) >= mostInvitations)
    throw problem('too-many-invitations', { limit: mostInvitations });
  const secret = makeInvitationSecret(sealer, invitation_id);
  tx.onConstraint('invitation_taken', () => problem('invitation-taken', { name: user_name }));
  tx.send(insertOne, {
    account_id: accountId,
    ...row,
    user_name_key,
    secret_digest: digestSecret(sealer, secret),
  });
  await insertGroupsOf(tx, of, groupIds);
  if (roles.length > 0) {
    explainUnknownPlaces(tx, 'invitation_role');
    tx.send(insertRoles, { ...of, roles: JSON.stringify(roles) });
  }
  return secret;
}

async function insertGroupsOf(
  tx: Transaction,
  of: { account_id: string; invitation_id: string },
  groupIds: readonly string[],
): Promise<void> {
  if (groupIds.length === 0) return;
  const malformed = groupIds.filter((id) => !isUuid(id));
  const { account_id } = of;
  const group_ids = groupIds.filter(isUuid);
  const unknown = await tx.query(selectUnknownGroups, { account_id, group_ids });
  const ids = [...malformed, ...unknown.map(({ group_id }) => group_id)];
  if (ids.length > 0) throw problem('unknown-group', { ids });
  // Deleted since it was read: the request is repeated.
  tx.onConstraint('invitation_group_of_group', () => problem('concurrent-change'));
  tx.send(insertGroups, { ...of, group_ids });
}

const deleteOne = statement(
  { parameters: { account_id: 'uuid', invitation_id: 'uuid', now: 'timestamptz' }, row: invitationRow },
  `
  delete from invitation i where account_id = $account_id and invitation_id = $invitation_id and expires_at > $now
  returning ${columns}`,
);

/** Throws `invitation-not-found`. */
export async function deleteInvitationRow(tx: Transaction, accountId: string, id: string, now: Date) {
  const of = { account_id: accountId, invitation_id: toUuid(id), now };
  return requireRow(await tx.query(deleteOne, of), () => problem('invitation-not-found', { id }));
}

const foundRow = {
  account_id: 'uuid',
  account_name: 'text',
  ...invitationRow,
  ...given,
} satisfies ColumnTypes;
export type FoundInvitation = RowOf<typeof foundRow>;

const bySecret = (lock: string) =>
  statement(
    { parameters: { secret_digest: 'bytea', now: 'timestamptz' }, row: foundRow },
    `
    select i.account_id, a.name as account_name, ${columns}, ${selectGroups} as group_ids, ${selectRoles} as roles
    from invitation i join account a on a.account_id = i.account_id
    where i.secret_digest = $secret_digest and i.expires_at > $now${lock}`,
  );
export const selectInvitation = bySecret('');
/** Only one request at a time has the row. */
export const lockInvitation = bySecret(' for update of i');

export const findInvitationParameters = (sealer: Sealer, secret: string, now: Date) => ({
  secret_digest: digestSecret(sealer, secret),
  now,
});

const useUp = statement(
  {
    parameters: {
      account_id: 'uuid',
      invitation_id: 'uuid',
      user_id: 'uuid',
      added_by: 'uuid',
      added_at: 'timestamptz',
    },
  },
  `
  with roles as (
    insert into role_grant (account_id, user_id, project_id, environment_name, role, added_by, added_at)
    select account_id, $user_id::uuid, project_id, environment_name, role, $added_by::uuid, $added_at::timestamptz from invitation_role
    where account_id = $account_id and invitation_id = $invitation_id)
  delete from invitation where account_id = $account_id and invitation_id = $invitation_id`,
);

/** Gives the user the roles of the invitation, and removes that. */
export function useInvitation(
  tx: Transaction,
  { account_id, invitation_id, created_by: added_by }: FoundInvitation,
  userId: string,
  now: Date,
): void {
  tx.send(useUp, { account_id, invitation_id, user_id: userId, added_by, added_at: now });
}

const selectSuperAdmins = statement(
  { parameters: { account_id: 'uuid', group_ids: 'uuid[]' }, row: { found: 'boolean' } },
  `
  select exists (
    select from directory_role r
    where r.account_id = $account_id and r.group_id = any ($group_ids) and r.project_id is null and r.role = 'SUPER_ADMIN') as found`,
);

/** Whether one of the groups does. */
export async function giveSuperAdmin(
  tx: Transaction,
  accountId: string,
  groupIds: readonly string[],
): Promise<boolean> {
  const possible = groupIds.filter(isUuid);
  const [row] = await tx.query(selectSuperAdmins, { account_id: accountId, group_ids: possible });
  return row?.found === true;
}
