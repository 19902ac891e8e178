/** The table `delivery_rule`, as the settings of a repository; git-delivery does the work. */
import type { DeliveryRule, DeliveryRuleWrite } from '@headgate/contract';
import { statement, type Transaction } from '../../kernel/database/database.ts';
import { problem } from '../../kernel/http/problems.ts';

/** As it is in JSON: times are those of PostgreSQL. */
export interface StoredRule {
  branch: string;
  environment: string;
  writtenBy: string;
  writtenAt: string;
  commit: string | null;
  version: string | null;
  publishedAt: string | null;
  problem: string | null;
}

/** SQL: the rules of the repository `r`, or null for none. */
export const rulesOfRepository = `(
  select jsonb_agg(jsonb_build_object('branch', d.branch_name, 'environment', d.environment_name,
    'writtenBy', d.written_by, 'writtenAt', d.written_at, 'commit', d.commit_hash, 'version', d.version_name,
    'publishedAt', d.published_at, 'problem', coalesce(d.problem, d.findings)) order by d.branch_name, d.environment_name)
  from delivery_rule d where d.account_id = r.account_id and d.project_id = r.project_id)`;

export function presentRule(rule: StoredRule): DeliveryRule {
  return {
    branchName: rule.branch,
    environmentName: rule.environment,
    writtenBy: rule.writtenBy,
    writtenAt: new Date(rule.writtenAt).toISOString(),
    ...(rule.commit === null ? {} : { commitHash: rule.commit }),
    ...(rule.version === null ? {} : { versionName: rule.version }),
    ...(rule.publishedAt === null ? {} : { publishedAt: new Date(rule.publishedAt).toISOString() }),
    ...(rule.problem === null ? {} : { problem: rule.problem }),
  };
}

const placeTypes = { account_id: 'uuid', project_id: 'uuid', environments: 'text[]' } as const;

const selectMissing = statement(
  { parameters: placeTypes, row: { name: 'text' } },
  `
  select wanted.name from unnest($environments::text[]) as wanted (name)
  where not exists (
    select from environment e
    where e.account_id = $account_id and e.project_id = $project_id and e.name = wanted.name)
  limit 1`,
);

const removeOthers = statement(
  { parameters: { ...placeTypes, branches: 'text[]' } },
  `
  delete from delivery_rule d
  where d.account_id = $account_id and d.project_id = $project_id and not exists (
    select from unnest($branches::text[], $environments::text[]) as wanted (branch_name, environment_name)
    where wanted.branch_name = d.branch_name and wanted.environment_name = d.environment_name)`,
);

// A commit that was refused is tried again: the caller may have other rights. Those of a push that waits stay.
const putRules = statement(
  {
    parameters: {
      ...placeTypes,
      branches: 'text[]',
      written_by: 'uuid',
      now: 'timestamptz',
    },
  },
  `
  with written as (
    insert into delivery_rule as d (account_id, project_id, branch_name, environment_name, written_by, written_at)
    select $account_id, $project_id, branch_name, environment_name, $written_by, $now
    from unnest($branches::text[], $environments::text[]) as wanted (branch_name, environment_name)
    on conflict on constraint delivery_rule_key do update
      set written_by = $written_by, written_at = $now, problem = null,
        pushers = case when d.problem is null then d.pushers else nullif(d.pushers - coalesce(d.commit_hash, ''), '{}') end,
        commit_hash = case when d.problem is null then d.commit_hash end
    returning d.work_id
  )
  insert into server_work (account_id, work_id, kind, due_at) select $account_id, work_id, 'git-delivery', $now from written
  on conflict on constraint server_work_key do update set due_at = $now`,
);

export interface RuleWriter {
  accountId: string;
  projectId: string;
  actorId: string;
  now: Date;
}

/** Replaces all rules of the project. Throws `environment-not-found`. */
export async function writeDeliveryRules(
  tx: Transaction,
  { accountId, projectId, actorId, now }: RuleWriter,
  rules: readonly DeliveryRuleWrite[],
): Promise<void> {
  const place = {
    account_id: accountId,
    project_id: projectId,
    environments: rules.map((rule) => rule.environmentName),
  };
  const branches = rules.map((rule) => rule.branchName);
  const [missing] = await tx.query(selectMissing, place);
  if (missing !== undefined) throw problem('environment-not-found', { name: missing.name });
  tx.send(removeOthers, { ...place, branches });
  tx.send(putRules, { ...place, branches, written_by: actorId, now });
}
