/** Calls of the provider of a project's repository, with the credential that is stored for it. */
import type { CommitStatus } from '../git-providers/index.ts';
import type { RepositoryPlace } from './repository-reader.ts';

export interface ProviderAccess {
  /**
   * Sets a status, unless the repository's provider has none. Throws `ProviderRefused` and the problems of
   * credentials.
   */
  setCommitStatus(place: RepositoryPlace, status: CommitStatus): Promise<void>;
}
