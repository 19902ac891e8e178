/** Findings about a repository that all providers share. */
import { type ProviderFinding, ProviderRefused, type RepositoryDescription } from './git-provider.ts';

export const archived: ProviderFinding = {
  code: 'repository-archived',
  detail: 'The repository is archived, so that nobody can push to it.',
  remedy: 'Unarchive the repository at the provider.',
};

export const notEmpty: ProviderFinding = {
  code: 'repository-not-empty',
  detail: 'The repository already has branches with commits.',
  remedy: 'Use an empty repository, or allow the migration to overwrite it.',
};

/** What providers write when they make a repository with a README, a licence or a .gitignore. */
const initialMessage = /^(?:Initial commit|Add(?:ed)? (?:README|\.gitignore|LICENSE)\b)/i;

export function isInitialCommit(commit: { message: string | undefined; parents: unknown }): boolean {
  const hasParents = Array.isArray(commit.parents) && commit.parents.length > 0;
  return !hasParents && commit.message !== undefined && initialMessage.test(commit.message);
}

/** A refusal becomes a description that says why nothing is known. */
export async function describeRefusal(
  describing: Promise<RepositoryDescription>,
): Promise<RepositoryDescription> {
  try {
    return await describing;
  } catch (failure) {
    if (!(failure instanceof ProviderRefused)) throw failure;
    return {
      defaultBranch: undefined,
      isEmptyOrInitialCommit: false,
      isArchived: failure.finding.code === 'repository-archived',
      canRead: false,
      canPush: undefined,
      canForcePush: undefined,
      protectedBranches: [],
      findings: [failure.finding],
    };
  }
}
