/** Projects with a repository, for tests. */

import type { Client } from './client.ts';
import type { TestProject } from './project.ts';

export const tokenHeader = 'Git-Provider-Access-Token';

/** Settings of a server that may reach hosts on loopback. */
export const loopbackAllowed = { HEADGATE_EGRESS_ALLOW: '127.0.0.0/8' };

/** Associates a project with a repository of a host. */
export async function associate(
  admin: Client,
  project: TestProject,
  { cloneUrl, token, ...members }: { cloneUrl: string; token?: string; defaultBranch?: string },
): Promise<void> {
  const body = { provider: 'git', repositoryName: 'pipelines', cloneUrl, ...members };
  const headers = token === undefined ? {} : { [tokenHeader]: token };
  const answer = await admin.post(`${project.path}/repositories`, body, { headers });
  if (answer.status !== 201) throw new Error(answer.text);
}

/** Associates a project with a repository that is hosted here. */
export async function host(admin: Client, project: TestProject): Promise<void> {
  const body = { provider: 'headgate', repositoryName: 'pipelines' };
  const answer = await admin.post(`${project.path}/repositories`, body);
  if (answer.status !== 201) throw new Error(answer.text);
}
