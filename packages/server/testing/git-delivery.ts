/** Projects whose branches are published, for tests. */
import type { DeliveryRule, Page, Repository } from '@headgate/contract';
import { createGitWork } from '../src/delivery/git-delivery/index.ts';
import type { Client } from './client.ts';
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
