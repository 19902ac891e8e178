/** The periodic job that removes members whose time is over. Their rights end before, by the clock of each request. */
import type { Clock } from '../../kernel/clock.ts';
import { type Database, statement } from '../../kernel/database/database.ts';
import { type AccountEvent, recordEvents } from '../../kernel/database/events.ts';
import { Problem } from '../../kernel/http/problems.ts';
import type { NewId } from '../../kernel/identifiers.ts';
import type { Metrics } from '../../kernel/metrics.ts';
import type { PeriodicJob } from '../../kernel/retention/periodic-job.ts';
import { buildGroupSubject } from './group.routes.ts';
import { lockGroup, updateGroup } from './group.store.ts';
import { removeEndedMembers } from './group-member.store.ts';
import { describeMemberChange } from './member-rules.ts';

const everyMilliseconds = 30_000;
const restMilliseconds = 50;
const batch = 500;

export interface EndedMembershipServices {
  database: Database;
  metrics: Metrics;
  clock: Clock;
  newId: NewId;
}

const selectGroups = statement(
  { parameters: { now: 'timestamptz' }, row: { account_id: 'uuid', group_id: 'uuid' }, alone: true },
  `
  select distinct e.account_id, e.group_id from (
    select m.account_id, m.group_id from directory_member m
    where m.expires_at <= $now order by m.expires_at limit ${batch}) e`,
);

export function createEndedMembershipJob(services: EndedMembershipServices): PeriodicJob {
  const { database, metrics, clock } = services;
  return {
    name: 'ended memberships',
    everyMilliseconds,
    async run(rest) {
      const now = clock.now();
      const groups = await database.read(selectGroups, { now });
      let removed = 0;
      for (const { account_id, group_id } of groups) {
        removed += await removeFromGroup(services, account_id, group_id, now);
        await rest(restMilliseconds);
      }
      metrics.countRemovedRows('ended-memberships', removed);
      return removed >= batch;
    },
  };
}

/** Returns how many members were removed. */
function removeFromGroup(
  { database, newId }: EndedMembershipServices,
  accountId: string,
  groupId: string,
  now: Date,
): Promise<number> {
  return database.transaction(async (tx) => {
    const source = { accountId, actorId: null, actorKind: 'system', requestId: null } as const;
    const scope = { accountId, actorId: '' };
    const group = await lockGroup(tx, scope, groupId).catch((failure: unknown) => {
      // Deleted since it was read.
      if (failure instanceof Problem) return undefined;
      throw failure;
    });
    if (group === undefined) return 0;
    const { changed, isEmptied } = await removeEndedMembers(tx, scope, groupId, now);
    if (changed.removed.length === 0) return 0;
    updateGroup(tx, scope, { ...group, version: group.version + 1, updated_at: now });
    const subject = buildGroupSubject(group);
    const events: AccountEvent[] = [
      { name: 'group-members-changed', subject, ...describeMemberChange(changed) },
    ];
    if (isEmptied && group.gives_role)
      events.push({ name: 'role-group-emptied', subject, after: { members: [] } });
    recordEvents(tx, source, events, now, newId);
    return changed.removed.length;
  });
}
