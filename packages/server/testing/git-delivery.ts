/** Projects whose branches are published, for tests. */
import type { AccountEventItem, DeliveryRule, Page, Repository } from '@headgate/contract';
import { createGitWork } from '../src/delivery/git-delivery/index.ts';
import type { Account } from './account.ts';
import { associate, host } from './associated-project.ts';
import type { Client } from './client.ts';
import type { GitHost } from './git-host.ts';
import type { TestServer } from './open-server.ts';
import { smallPipeline, type TestProject } from './project.ts';
import { doDueWork } from './server-work.ts';

/** Handles what is due, as the server does twice a second. */
export async function deliver({ deps }: Pick<TestServer, 'deps'>): Promise<void> {
  for (const kind of createGitWork(deps)) await doDueWork(deps, kind);
}

export async function readRules(client: Client, project: TestProject): Promise<DeliveryRule[]> {
  const page = await client.get<Page<Repository>>(`${project.path}/repositories`);
  return page.body.results[0]?.deliveryRules ?? [];
}

export async function writeRules(
  client: Client,
  project: TestProject,
  ...rules: [branchName: string, environmentName: string][]
): Promise<void> {
  const deliveryRules = rules.map(([branchName, environmentName]) => ({ branchName, environmentName }));
  const answer = await client.patch(`${project.path}/repositories`, { deliveryRules });
  if (answer.status !== 200) throw new Error(answer.text);
}

interface Commit {
  branch?: string;
  expectedHead?: string | null;
  files?: Record<string, string>;
}

/** Commits by the API. Returns the commit's id. */
export async function commitByApi(
  client: Client,
  project: TestProject,
  commit: Commit = {},
): Promise<string> {
  const { branch = 'main', expectedHead, files = { 'main.orch.yaml': smallPipeline } } = commit;
  const answer = await client.post<{ commitId: string }>(`${project.path}/repositories/commits`, {
    branch,
    message: 'change',
    ...(expectedHead === undefined ? {} : { expectedHead }),
    files: Object.entries(files).map(([path, content]) => ({ path, content })),
  });
  if (answer.status !== 201) throw new Error(answer.text);
  return answer.body.commitId;
}

export interface Version {
  versionName: string;
  commitHash?: string;
  branch?: string;
  provider: string;
}

/** Newest first. */
export async function listVersions(
  client: Client,
  project: TestProject,
  environmentName = 'dev',
): Promise<Version[]> {
  const path = `${project.path}/artifacts?environmentName=${environmentName}`;
  return (await client.get<Page<Version>>(path)).body.results;
}

/** Projects of an account, with repositories of another host and hosted here. */
export function createDeliveryScene({ admin, project: create }: Account, gitHost: GitHost) {
  let repositories = 0;
  return {
    async arrange() {
      const project = await create();
      repositories += 1;
      const repository = gitHost.addRepository(`acme/r${repositories}.git`, { writers: ['t0ken'] });
      await associate(admin, project, { cloneUrl: repository.cloneUrl, token: 't0ken' });
      return { project, repository };
    },
    async arrangeHosted(): Promise<TestProject> {
      const project = await create();
      await host(admin, project);
      return project;
    },
    names: async (project: TestProject, environmentName = 'dev') =>
      (await listVersions(admin, project, environmentName)).map(({ versionName }) => versionName),
    async readEvents(project: TestProject, eventName: string): Promise<AccountEventItem[]> {
      const page = await admin.get<Page<AccountEventItem>>(
        `/events?after=oldest&eventName=${eventName}&projectId=${project.projectId}&limit=100`,
      );
      return page.body.results;
    },
  };
}

export const short = (commit: string): string => commit.slice(0, 12);
