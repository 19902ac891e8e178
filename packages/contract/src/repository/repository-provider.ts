/** Where the repository of a project can be. */

/** Those that a migration can have as a target. */
export const gitProviders = ['github', 'gitlab', 'azure-devops'] as const;
export type GitProviderName = (typeof gitProviders)[number];

/** `git`: any other host that speaks Git's smart HTTP protocol. `headgate`: hosted here. */
export const repositoryProviders = [...gitProviders, 'git', 'headgate'] as const;
export type RepositoryProvider = (typeof repositoryProviders)[number];
