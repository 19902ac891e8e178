import { azureDevOps } from './azure-devops.ts';
import type { GitProvider, ProviderName } from './git-provider.ts';
import { github } from './github.ts';
import { gitlab } from './gitlab.ts';
import { plainGit } from './plain-git.ts';

/** A missing adapter is a type error. */
export const providerAdapters: Record<ProviderName, GitProvider> = {
  github,
  gitlab,
  'azure-devops': azureDevOps,
  git: plainGit,
};
