/** Calls of the provider of a project's repository, with the credential that is stored for it. */
import type { Database } from '../../kernel/database/database.ts';
import {
  type CommitStatus,
  openInterface,
  type ProviderAddresses,
  providerAdapters,
} from '../git-providers/index.ts';
import type { Remotes } from '../git-remotes/index.ts';
import { findRepository, type RepositoryPlace, type RepositoryUse } from '../repositories/index.ts';

export interface ProviderServices {
  database: Database;
  remotes: Remotes;
  repositories: RepositoryUse;
  stopping: AbortSignal;
  config: { gitAddresses: ProviderAddresses };
}

/**
 * Sets the status of a commit, unless the repository's provider has none or no credential is stored for it.
 * Throws `ProviderRefused` and the problems of credentials.
 */
export async function setCommitStatus(
  { database, remotes, repositories, stopping, config }: ProviderServices,
  place: RepositoryPlace,
  status: CommitStatus,
): Promise<void> {
  const row = await findRepository(database.read, place);
  if (row === undefined || row.clone_url === null || row.provider === 'headgate') return;
  const provider = providerAdapters[row.provider];
  const repository = { cloneUrl: row.clone_url, parameters: row.provider_parameters };
  const credential = await repositories.findCredential(place, row);
  const options = { remotes, addresses: config.gitAddresses, signal: stopping };
  const call = openInterface(options, provider, repository, credential);
  if (call !== undefined) await provider.setCommitStatus?.(call, status);
}
