/** The repository of a project as a migration reads it, and points it at the target. */
import type { MigrationProvider, RepositoryProvider } from '@headgate/contract';
import {
  type ColumnTypes,
  type Read,
  type RowOf,
  statement,
  type Transaction,
  typed,
} from '../../../kernel/database/database.ts';
import type { Held } from './migration-work.store.ts';

const repositoryRow = {
  provider: typed<RepositoryProvider>('text'),
  repository_name: 'text',
  clone_url: 'text?',
  provider_parameters: typed<Record<string, string>>('jsonb'),
  default_branch: 'text?',
  enterprise_oauth_id: 'uuid?',
  sealed_credential: 'bytea?',
  credential_expires_at: 'timestamptz?',
  version: 'bigint',
} satisfies ColumnTypes;
export type SourceRow = RowOf<typeof repositoryRow>;

const selectSource = statement(
  { parameters: { account_id: 'uuid', project_id: 'uuid' }, row: repositoryRow },
  `
  select provider, repository_name, clone_url, provider_parameters, default_branch, enterprise_oauth_id,
    sealed_credential, credential_expires_at, version
  from repository where account_id = $account_id and project_id = $project_id`,
);

/** The repository of the project, which is the source of its migration. */
export async function readSource(
  read: Read,
  { account_id, project_id }: { account_id: string; project_id: string },
): Promise<SourceRow | undefined> {
  const [row] = await read(selectSource, { account_id, project_id });
  return row;
}

const moveRepository = statement(
  {
    parameters: {
      account_id: 'uuid',
      project_id: 'uuid',
      known_version: 'bigint',
      provider: 'text',
      repository_name: 'text',
      clone_url: 'text',
      provider_parameters: 'jsonb',
      default_branch: 'text?',
      enterprise_oauth_id: 'uuid?',
      sealed_credential: 'bytea?',
      credential_origin: 'text?',
      credential_expires_at: 'timestamptz?',
      now: 'timestamptz',
    },
    row: { moved: 'boolean' },
  },
  `
  update repository set provider = $provider, repository_name = $repository_name, clone_url = $clone_url,
    provider_parameters = $provider_parameters, default_branch = coalesce($default_branch, default_branch),
    enterprise_oauth_id = $enterprise_oauth_id, sealed_credential = $sealed_credential,
    credential_origin = $credential_origin, credential_expires_at = $credential_expires_at, credential_problem = null,
    renewal_until = null, sealed_hook_secret = null,
    version = version + 1, updated_at = $now
  where account_id = $account_id and project_id = $project_id and version = $known_version
  returning true as moved`,
);

export interface MovedRepository {
  known_version: number;
  provider: MigrationProvider;
  repository_name: string;
  clone_url: string;
  provider_parameters: Readonly<Record<string, string>>;
  default_branch: string | null;
  enterprise_oauth_id: string | null;
  sealed_credential: Buffer | null;
  credential_origin: string | null;
  credential_expires_at: Date | null;
}

/** Points the project at the target. False: the repository of the project is not the one that was copied. */
export async function moveRepositoryRow(
  tx: Transaction,
  { account_id, project_id }: Held,
  moved: MovedRepository,
  now: Date,
): Promise<boolean> {
  const { provider_parameters: parameters, ...columns } = moved;
  const rows = await tx.query(moveRepository, {
    account_id,
    project_id,
    ...columns,
    provider_parameters: JSON.stringify(parameters),
    now,
  });
  return rows.length > 0;
}
