/** The settings of the directory. */
import { getDirectorySettings, updateDirectorySettings } from '@headgate/contract';
import { statement } from '../../kernel/database/database.ts';
import type { Endpoints } from '../../kernel/endpoint/endpoint.ts';
import { guardedRead } from '../../kernel/security/guarded-read.ts';

const settingsOfAccount = guardedRead(
  { row: { protect_role_groups: 'boolean' } },
  'select protect_role_groups from account where account_id = $account_id',
);
const lockSettings = statement(
  { parameters: { account_id: 'uuid' }, row: { name: 'text', protect_role_groups: 'boolean' } },
  'select name, protect_role_groups from account where account_id = $account_id for no key update',
);
const updateSettings = statement(
  { parameters: { account_id: 'uuid', protect_role_groups: 'boolean' } },
  'update account set protect_role_groups = $protect_role_groups where account_id = $account_id',
);

export function directorySettingsRoutes({ read, write }: Endpoints): void {
  read(getDirectorySettings, async ({ rows }) => {
    const [row] = await rows(settingsOfAccount, {});
    return { body: { protectRoleGroups: row?.protect_role_groups ?? false } };
  });

  write(updateDirectorySettings, async ({ tx, scope, body }) => {
    const [row] = await tx.query(lockSettings, { account_id: scope.accountId });
    const before = { protectRoleGroups: row?.protect_role_groups ?? false };
    const after = { protectRoleGroups: body.protectRoleGroups ?? before.protectRoleGroups };
    tx.send(updateSettings, {
      account_id: scope.accountId,
      protect_role_groups: after.protectRoleGroups,
    });
    const subject = { type: 'account', id: scope.accountId, name: row?.name ?? '' };
    return { body: after, events: [{ name: 'directory-settings-updated', subject, before, after }] };
  });
}
