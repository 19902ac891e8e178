/**
 * The groups that an issuer names when a person signs in. The user joins them, and leaves those that an earlier
 * sign-in at the same issuer gave. All other memberships stay as they are.
 */
import { type ColumnTypes, type RowOf, statement, type Transaction } from '../../kernel/database/database.ts';
import type { AccountEvent } from '../../kernel/database/events.ts';
import { Problem } from '../../kernel/http/problems.ts';
import { inEffect } from '../../kernel/security/guarded-read.ts';
import type { Scope } from '../../kernel/security/permissions.ts';
import { isDirectoryManaged } from '../credentials/index.ts';
import {
  changeMembers,
  describeMemberChange,
  foreseeChange,
  judgeForecast,
  lockGroup,
  type MemberChange,
  updateGroup,
} from '../groups/index.ts';
import type { Claims, IssuerOfAccount } from '../identity-issuers/index.ts';
import { foldName, lockSuperAdminsOfUser } from '../users/index.ts';
import { isStorable, type Person, PersonRefused } from './person.ts';

const mostNames = 200;

const namedGroup = { group_id: 'uuid', display_name: 'text', is_named: 'boolean' } satisfies ColumnTypes;
type NamedGroup = RowOf<typeof namedGroup>;
const selectGroups = statement(
  {
    parameters: {
      account_id: 'uuid',
      user_id: 'uuid',
      identity_issuer_id: 'uuid',
      keys: 'text[]',
      names: 'text[]',
      now: 'timestamptz',
    },
    row: namedGroup,
  },
  `
  with named as (
    select g.group_id, g.display_name from directory_group g
    where g.account_id = $account_id and g.display_name_key = any ($keys) and g.display_name = any ($names)),
  present as (
    select m.group_id, g.display_name, m.identity_issuer_id from directory_member m
    join directory_group g on g.account_id = m.account_id and g.group_id = m.group_id
    where m.account_id = $account_id and m.user_id = $user_id and ${inEffect('m')})
  select n.group_id, n.display_name, true as is_named from named n where not exists (select from present p where p.group_id = n.group_id)
  union all
  select p.group_id, p.display_name, false from present p
  where p.identity_issuer_id = $identity_issuer_id and not exists (select from named n where n.group_id = p.group_id)
  order by group_id`,
);

interface Membership {
  issuer: IssuerOfAccount;
  person: Person;
  now: Date;
}

/** Returns the events. Throws PersonRefused for a claim that is not usable. */
export async function followGroupsClaim(
  tx: Transaction,
  issuer: IssuerOfAccount,
  claims: Claims,
  person: Person,
  now: Date,
): Promise<AccountEvent[]> {
  const { account_id, identity_issuer_id, groups_claim: claim } = issuer;
  if (claim === null || (await isDirectoryManaged(tx, account_id, now))) return [];
  const names = readNames(claims, claim);
  const found = await tx.query(selectGroups, {
    account_id,
    user_id: person.userId,
    identity_issuer_id,
    keys: names.map(foldName),
    names,
    now,
  });
  if (found.some(({ is_named }) => !is_named))
    lockSuperAdminsOfUser(tx, { accountId: account_id, actorId: person.userId }, person.userId);
  const events: AccountEvent[] = [];
  const refused: { name: string; reason: string }[] = [];
  // In the order of their ids, so that two sign-ins never wait for each other.
  for (const group of found) {
    const changed = await changeOne(tx, { issuer, person, now }, group);
    if ('refusal' in changed) refused.push({ name: group.display_name, reason: changed.refusal });
    else events.push(...changed.events);
  }
  if (refused.length > 0)
    events.push({
      name: 'group-claim-refused',
      subject: { type: 'user', id: person.userId, name: person.userName },
      after: { issuerName: issuer.name, groups: refused },
    });
  return events;
}

async function changeOne(
  tx: Transaction,
  { issuer, person, now }: Membership,
  { group_id: groupId, is_named: joins }: NamedGroup,
): Promise<{ events: AccountEvent[] } | { refusal: string }> {
  const scope = { accountId: issuer.account_id, actorId: person.userId };
  const [one, none] = [new Set([person.userId]), new Set<string>()];
  const change: MemberChange = { keeps: true, added: joins ? one : none, removed: joins ? none : one };
  const judged = await judge(tx, scope, groupId, change, now).catch((failure: unknown) => {
    if (failure instanceof Problem) return failure.message;
    throw failure;
  });
  if (typeof judged === 'string') return { refusal: judged };
  const { group, isEmptied } = judged;
  const changed = await changeMembers(tx, scope, groupId, change, {
    now,
    issuerId: issuer.identity_issuer_id,
  });
  if (changed.added.length + changed.removed.length === 0) return { events: [] };
  updateGroup(tx, scope, { ...group, version: group.version + 1, updated_at: now });
  const subject = { type: 'group', id: groupId, name: group.display_name };
  const events: AccountEvent[] = [
    { name: 'group-members-changed', subject, ...describeMemberChange(changed) },
  ];
  if (isEmptied) events.push({ name: 'role-group-emptied', subject, after: { members: [] } });
  return { events };
}

/** Returns why not, or throws it as a problem. */
async function judge(tx: Transaction, scope: Scope, groupId: string, change: MemberChange, now: Date) {
  const group = await lockGroup(tx, scope, groupId);
  if (change.added.size > 0 && group.gives_super_admin) return 'A sign-in never gives the role SUPER_ADMIN.';
  const isEmptied = judgeForecast(group, await foreseeChange(tx, scope, groupId, change, now), false);
  return { group, isEmptied };
}

/**
 * A missing claim names no group. Throws PersonRefused: a person who left a group at the issuer must not stay in it
 * because of a claim in a wrong form.
 */
function readNames(claims: Claims, claim: string): string[] {
  const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
  if (value === undefined) {
    // OpenID Connect Core 1.0 §5.6.2. Entra sends it instead of more than 200 groups.
    const elsewhere = claims._claim_names;
    if (typeof elsewhere !== 'object' || elsewhere === null || !Object.hasOwn(elsewhere, claim)) return [];
    throw new PersonRefused(
      `The issuer does not send the claim ${claim}, only where to ask for it. Let it send at most ${mostNames} groups.`,
    );
  }
  const values: unknown[] = Array.isArray(value) ? value : [value];
  if (values.length <= mostNames && values.every((each) => typeof each === 'string' && isStorable(each)))
    return values as string[];
  throw new PersonRefused(
    `The issuer sent no usable claim ${claim}: a text or a list of at most ${mostNames} texts, each of at most 255 characters.`,
  );
}
