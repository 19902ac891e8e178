/** The settings of Git, and the operator's addresses of Git providers. */
import { resolve } from 'node:path';
import type { Reader } from './setting-reader.ts';

export interface GitSettings {
  /** Where repositories are hosted; all servers of a database must see it. Undefined: beside the data. */
  repositoriesFolder: string | undefined;
  /** The user to run git as, if the server runs as root. */
  user: string | undefined;
  /** Of one hosted repository. */
  mostBytes: number;
  /** Processes of git at once at this server. */
  processes: number;
  /** How often branches on other hosts are looked at; undefined: only when a webhook says so. */
  pollSeconds: number | undefined;
  /** The PATH of the server. */
  searchPath: string | undefined;
}

export function readGitSettings(read: Reader): GitSettings {
  const folder = read.text('HEADGATE_REPOSITORIES_DIR');
  return {
    repositoriesFolder: folder === undefined ? undefined : resolve(folder),
    user: read.text('HEADGATE_GIT_USER'),
    mostBytes: read.integer('HEADGATE_REPOSITORY_MB', 2_048, 1, 1_048_576) * 1_048_576,
    processes: read.integer('HEADGATE_GIT_PROCESSES', 16, 1, 1_000),
    pollSeconds: readPollSeconds(read),
    searchPath: read.text('PATH'),
  };
}

/** `0` is `off`. */
function readPollSeconds(read: Reader): number | undefined {
  const seconds = read.integerOrOff('HEADGATE_GIT_POLL_SECONDS', 60, 0, 86_400);
  return seconds === 0 ? undefined : seconds;
}

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
