/** Tokens of repositories that expire soon, and what became of their renewal. */
import type { RepositoryProvider } from '@headgate/contract';
import {
  type ColumnTypes,
  type Read,
  type RowOf,
  statement,
  type Transaction,
  typed,
} from '../../../kernel/database/database.ts';

const expiringRow = {
  account_id: 'uuid',
  project_id: 'uuid',
  credential_expires_at: 'timestamptz',
  provider: typed<RepositoryProvider>('text'),
  repository_name: 'text',
  clone_url: 'text',
  provider_parameters: typed<Record<string, string>>('jsonb'),
  sealed_credential: 'bytea',
  /** A renewal began and neither stored a token nor was refused. */
  was_interrupted: 'boolean',
} satisfies ColumnTypes;
export type ExpiringToken = RowOf<typeof expiringRow>;

export const expiringToken = statement(
  {
    parameters: {
      before: 'timestamptz',
      now: 'timestamptz',
      after_end: 'timestamptz',
      after_account: 'uuid',
      after_project: 'uuid',
    },
    row: expiringRow,
    alone: true,
  },
  `
  select r.account_id, r.project_id, r.credential_expires_at, r.provider, r.repository_name, r.clone_url, r.provider_parameters,
    r.sealed_credential, r.renewal_until is not null as was_interrupted
  from repository r
  where r.credential_expires_at < $before and r.credential_expires_at > $now and r.provider = 'gitlab'
    and r.sealed_credential is not null and (r.renewal_until is null or r.renewal_until <= $now)
    and (r.credential_expires_at, r.account_id, r.project_id) > ($after_end, $after_account, $after_project)
    and not exists (
      select from repository_migration m
      where m.account_id = r.account_id and m.project_id = r.project_id and m.status = 'IN_PROGRESS')
  order by r.credential_expires_at, r.account_id, r.project_id limit 1`,
);

const keyTypes = { account_id: 'uuid', project_id: 'uuid', known: 'bytea' } as const;
const isKnown = 'account_id = $account_id and project_id = $project_id and sealed_credential = $known';
const keyOf = ({ account_id, project_id, sealed_credential: known }: ExpiringToken) => ({
  account_id,
  project_id,
  known,
});

const begin = statement(
  { parameters: { ...keyTypes, until: 'timestamptz', now: 'timestamptz' }, row: { begun: 'boolean' } },
  `
  update repository set renewal_until = $until
  where ${isKnown} and (renewal_until is null or renewal_until <= $now)
  returning true as begun`,
);

/** Notes that the token is about to be rotated. False: it was replaced, or another server renews it. */
export async function beginRenewal(
  read: Read,
  token: ExpiringToken,
  { until, now }: { until: Date; now: Date },
): Promise<boolean> {
  return (await read(begin, { ...keyOf(token), until, now })).length > 0;
}

const replace = statement(
  {
    parameters: {
      ...keyTypes,
      sealed_credential: 'bytea',
      credential_expires_at: 'timestamptz?',
      now: 'timestamptz',
    },
    row: { replaced: 'boolean' },
  },
  `
  update repository set sealed_credential = $sealed_credential, credential_expires_at = $credential_expires_at,
    renewal_until = null, credential_problem = null, version = version + 1, updated_at = $now
  where ${isKnown} returning true as replaced`,
);

/** Stores the new token over the one that was rotated. False: that is not the token of the repository any more. */
export async function replaceToken(
  tx: Transaction,
  token: ExpiringToken,
  made: { sealed: Buffer; expiresAt: Date | null; now: Date },
): Promise<boolean> {
  const { sealed, expiresAt, now } = made;
  const columns = { sealed_credential: sealed, credential_expires_at: expiresAt, now };
  return (await tx.query(replace, { ...keyOf(token), ...columns })).length > 0;
}

const refuse = statement(
  {
    parameters: { ...keyTypes, problem: 'text?', was_interrupted: 'boolean', now: 'timestamptz' },
    row: { is_new: 'boolean' },
  },
  `
  with earlier as (
    select credential_problem from repository where ${isKnown}
  )
  update repository r set renewal_until = case when $was_interrupted then r.renewal_until end,
    credential_problem = coalesce($problem::text, r.credential_problem), version = r.version + 1, updated_at = $now
  from earlier
  where r.account_id = $account_id and r.project_id = $project_id and r.sealed_credential = $known
  returning earlier.credential_problem is null as is_new`,
);

/**
 * Ends a renewal that the provider refused. Returns whether the repository had no such problem before.
 *
 * @param problem null for a refusal that may pass
 */
export async function endRefusedRenewal(
  tx: Transaction,
  token: ExpiringToken,
  { problem, now }: { problem: string | null; now: Date },
): Promise<boolean> {
  const { was_interrupted } = token;
  const [row] = await tx.query(refuse, { ...keyOf(token), problem, was_interrupted, now });
  return problem !== null && row?.is_new === true;
}
