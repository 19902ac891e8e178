/** What delivery needs of the repository of a project; the slice of repositories provides it. */
import type { GitRepository } from '../git/index.ts';

export interface RepositoryPlace {
  accountId: string;
  projectId: string;
}

export interface RepositoryReader {
  /**
   * Calls `use` with the repository. What is on another host is fetched first, by a fetch that began at `since`
   * or later. Throws `repository-missing`, `migration-in-progress`, and the problems of hosts and of git.
   */
  withRepository<Result>(
    place: RepositoryPlace,
    options: { since: Date },
    use: (repository: GitRepository) => Promise<Result>,
  ): Promise<Result>;
}
