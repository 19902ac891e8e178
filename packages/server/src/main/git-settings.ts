/** The operator's addresses of Git providers: self-hosted installations have their own. */
import type { Reader } from './setting-reader.ts';

export interface GitAddresses {
  /** Without a slash at the end, like the others. */
  githubUrl: string;
  githubApiUrl: string;
  gitlabUrl: string;
  azureDevOpsUrl: string;
  /** Microsoft Entra ID, which gives tokens for Azure DevOps. */
  entraUrl: string;
}

const protocols = ['http:', 'https:'];
const publicGithub = 'https://github.com';

export function readGitAddresses(read: Reader): GitAddresses {
  const githubUrl = read.address('HEADGATE_GITHUB_URL', protocols) ?? publicGithub;
  // GitHub Enterprise Server serves its interface below its own address.
  const githubApi = githubUrl === publicGithub ? 'https://api.github.com' : `${githubUrl}/api/v3`;
  return {
    githubUrl,
    githubApiUrl: read.address('HEADGATE_GITHUB_API_URL', protocols) ?? githubApi,
    gitlabUrl: read.address('HEADGATE_GITLAB_URL', protocols) ?? 'https://gitlab.com',
    azureDevOpsUrl: read.address('HEADGATE_AZURE_DEVOPS_URL', protocols) ?? 'https://dev.azure.com',
    entraUrl: read.address('HEADGATE_ENTRA_URL', protocols) ?? 'https://login.microsoftonline.com',
  };
}
