/** What a change of the members of a group may do, and how events list them. */
import { problem } from '../../kernel/http/problems.ts';
import type { LockedGroup } from './group.store.ts';
import type { ChangedMembers, Forecast, Joining, Link } from './group-member.store.ts';

/**
 * Whether the change empties a group that gives a role. Throws `last-super-admin-user`, and
 * `role-group-protected` if it does and the settings of the directory require a confirmation.
 */
export function judgeForecast(group: LockedGroup, forecast: Forecast, isConfirmed: boolean): boolean {
  if (forecast.had_super_admin && !forecast.will_have_super_admin) throw problem('last-super-admin-user');
  const isEmptied = group.gives_role && forecast.will_be_empty && !forecast.was_empty;
  if (isEmptied && group.is_protected && !isConfirmed)
    throw problem('role-group-protected', { name: group.display_name });
  return isEmptied;
}

const namedMembers = 100;

/** The members in an event: the first by name, and how many there are. */
export function listForEvent(links: readonly Link[]) {
  const members = links.slice(0, namedMembers).map(([value, display]) => ({ value, display }));
  return links.length > namedMembers ? { members, count: links.length } : { members };
}

/** The states of an event about members: those that were removed, and those that were added or have another end. */
export function describeMemberChange(
  { added, changed, removed }: ChangedMembers,
  { expiresAt, reason }: Pick<Joining, 'expiresAt' | 'reason'> = {},
) {
  return {
    before: { removed: listForEvent(removed) },
    after: {
      added: listForEvent(added),
      ...(changed.length > 0 ? { changed: listForEvent(changed) } : {}),
      ...(expiresAt === undefined ? {} : { expiresAt: expiresAt?.toISOString() ?? null }),
      ...(reason === undefined ? {} : { reason }),
    },
  };
}
