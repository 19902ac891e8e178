/** Any other host: Git over HTTP is all there is. What Git and its hooks write is put into words. */
import { explainByRules } from './failure-rules.ts';
import type { GitProvider } from './git-provider.ts';

export const plainGit: GitProvider = {
  name: 'git',
  findInterface: () => undefined,
  tokenScheme: () => 'basic',
  readParameters: () => ({}),
  describeRepository: () =>
    Promise.resolve({
      defaultBranch: undefined,
      isEmptyOrInitialCommit: false,
      isArchived: false,
      canRead: true,
      canPush: undefined,
      canForcePush: undefined,
      protectedBranches: [],
      findings: [],
    }),
  explainFailure: (failure) => explainByRules([], failure),
};
