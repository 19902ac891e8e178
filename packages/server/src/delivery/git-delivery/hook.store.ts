/** Webhooks of providers: whose they are, which were received, and what they wake. */
import type { RepositoryProvider } from '@headgate/contract';
import { type Read, statement, typed } from '../../kernel/database/database.ts';
import type { HookReading } from '../git-providers/index.ts';
import { createRemoval } from './old-row.store.ts';

/** What the secrets of a project's webhooks are sealed for. */
export const getHookSecretPurpose = (projectId: string) => `git hook secret of ${projectId}`;

const selectTarget = statement(
  {
    parameters: { project_id: 'uuid' },
    row: {
      account_id: 'uuid',
      provider: typed<RepositoryProvider>('text'),
      sealed_hook_secret: 'bytea?',
      migration_id: 'uuid?',
    },
  },
  `
  select r.account_id, r.provider, r.sealed_hook_secret, m.migration_id
  from repository r
  left join repository_migration m on m.account_id = r.account_id and m.project_id = r.project_id and m.status = 'IN_PROGRESS'
  where r.project_id = $project_id`,
);

/** Undefined if the project does not exist, or has no repository. */
export async function findHookTarget(read: Read, projectId: string) {
  const [target] = await read(selectTarget, { project_id: projectId });
  return target;
}

const placeTypes = { account_id: 'uuid', project_id: 'uuid' } as const;

/**
 * SQL: when the work `w` of a branch is done because of a webhook. What is due already and not under way stays so; the
 * rest is done two seconds after the last time at the earliest.
 */
const soon = `case when w.claimable_at <= $now then w.due_at
      else greatest($now, coalesce(w.touched_at + interval '2 seconds', $now)) end`;

const noteDelivery = `
  fresh as (
    insert into git_hook_delivery (account_id, project_id, delivery_id, received_at)
    select $account_id, $project_id, id, $now from unnest($delivery_ids::text[]) as id
    on conflict on constraint git_hook_delivery_key do nothing returning true
  ), noted as (select count(*) = cardinality($delivery_ids::text[]) as is_fresh from fresh)`;
const hookTypes = { ...placeTypes, delivery_ids: 'text[]', now: 'timestamptz' } as const;
const hookRow = { is_fresh: 'boolean', woken: 'bigint' } as const;

const notePush = statement(
  { parameters: { ...hookTypes, branches: 'text[]' }, row: hookRow, alone: true },
  `
  with ${noteDelivery}, woken as (
    update delivery_rule r set pushers = null
    where r.account_id = $account_id and r.project_id = $project_id and r.branch_name = any ($branches)
      and (select is_fresh from noted)
    returning r.work_id
  ), due as (
    update server_work w set due_at = ${soon} from woken where w.account_id = $account_id and w.work_id = woken.work_id
  )
  select is_fresh, (select count(*) from woken) as woken from noted`,
);

/** Branches of one project with a review at a time. */
const reviewLimit = 1_000;

const noteReview = statement(
  { parameters: { ...hookTypes, branch_name: 'text' }, row: hookRow, alone: true },
  `
  with ${noteDelivery}, woken as (
    insert into git_review as r (account_id, project_id, branch_name, touched_at)
    select $account_id, $project_id, $branch_name, $now from noted
    where is_fresh and (select count(*) from git_review where account_id = $account_id and project_id = $project_id) < ${reviewLimit}
    on conflict on constraint git_review_key do update set touched_at = $now
    returning r.work_id
  ), due as (
    insert into server_work as w (account_id, work_id, kind, due_at)
    select $account_id, work_id, 'git-review', $now from woken
    on conflict on constraint server_work_key do update set due_at = ${soon}, attempts = 0
  )
  select is_fresh, (select count(*) from woken) as woken from noted`,
);

const noteOther = statement(
  {
    parameters: hookTypes,
    row: { is_fresh: 'boolean' },
    alone: true,
  },
  `with ${noteDelivery} select is_fresh from noted`,
);

export interface NotedHook {
  accountId: string;
  projectId: string;
  deliveryIds: readonly string[];
  now: Date;
}

/** Wakes what the hook is about. Undefined if one of its delivery ids was seen before; nothing is woken then. */
export async function noteHook(
  read: Read,
  hook: NotedHook,
  about: Exclude<HookReading, { kind: 'refused' }>,
): Promise<{ woken: number } | undefined> {
  const place = { account_id: hook.accountId, project_id: hook.projectId };
  const common = { ...place, delivery_ids: [...hook.deliveryIds], now: hook.now };
  if (about.kind === 'ignored') {
    const [noted] = await read(noteOther, common);
    return noted?.is_fresh === true ? { woken: 0 } : undefined;
  }
  const [noted] =
    about.kind === 'push'
      ? await read(notePush, { ...common, branches: [...about.branches] })
      : await read(noteReview, { ...common, branch_name: about.branch });
  return noted?.is_fresh === true ? { woken: Number(noted.woken) } : undefined;
}

export const hookRemovalBatch = 5_000;

/** Keeps ids for longer than a hook that says when it happened may be old. */
export const removeOldHooks = createRemoval({
  table: 'git_hook_delivery',
  age: 'received_at',
  days: 7,
  batch: hookRemovalBatch,
});
