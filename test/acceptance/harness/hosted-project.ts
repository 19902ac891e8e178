/** A project with a repository that is hosted here. */
import { waitUntil } from '../../../packages/server/testing/waiting.ts';
import type { ApiClient } from './client.ts';
import { Project } from './project.ts';

export class HostedProject {
  readonly project: Project;
  readonly #client: ApiClient;
  readonly #path: string;

  private constructor(client: ApiClient, project: Project) {
    this.#client = client;
    this.project = project;
    this.#path = `${project.path}/repositories`;
  }

  /** Its branch main is published in dev by a rule. */
  static async create(client: ApiClient, files: Record<string, string>): Promise<HostedProject> {
    const hosted = new HostedProject(client, await Project.create(client));
    await client.ask('POST', hosted.#path, { provider: 'headgate', repositoryName: 'pipelines' });
    const commitId = await hosted.commit('The examples', files);
    await client.ask('PATCH', hosted.#path, {
      deliveryRules: [{ branchName: 'main', environmentName: 'dev' }],
    });
    await hosted.published(commitId);
    return hosted;
  }

  async commit(message: string, files: Record<string, string>): Promise<string> {
    const written = Object.entries(files).map(([path, content]) => ({ path, content }));
    const body = { branch: 'main', message, files: written };
    return (await this.#client.ask('POST', `${this.#path}/commits`, body)).commitId;
  }

  async read(path: string, branch = 'main'): Promise<string> {
    const query = new URLSearchParams({ branch, path });
    return (await this.#client.ask('GET', `${this.#path}/files/content?${query}`)).content;
  }

  async addBranch(name: string): Promise<void> {
    await this.#client.ask('POST', `${this.#path}/branches`, { name, from: 'main' });
  }

  async branches(): Promise<string[]> {
    const { results } = await this.#client.ask('GET', `${this.#path}/branches`);
    return results.map(({ name }: { name: string }) => name);
  }

  /** Waits until the rule has published the commit. */
  async published(commitId: string): Promise<void> {
    await waitUntil(`the version of ${commitId}`, 120, async () => {
      const { results } = await this.#client.ask('GET', this.#path);
      return results[0].deliveryRules.some(
        ({ commitHash }: { commitHash?: string }) => commitHash === commitId,
      );
    });
  }

  async publishFromGit(branch: string): Promise<void> {
    await this.#client.ask('POST', `${this.project.path}/artifacts/from-git`, {
      branch,
      environmentName: 'dev',
    });
  }
}
