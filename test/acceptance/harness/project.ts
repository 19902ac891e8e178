/** A project for a test: publishes and runs pipelines over the public interface. */
import { randomUUID } from 'node:crypto';
import { waitUntil } from '../../../packages/server/testing/waiting.ts';
import type { Answer, ApiClient } from './client.ts';

interface Component {
  type: string;
  parameters?: Record<string, unknown>;
  transitions?: Record<string, string[]>;
  sources?: string[];
  iterationTarget?: string;
}

/** The text of a pipeline file, in JSON, which is also YAML. */
export function pipelineFile(
  type: 'orchestration' | 'transformation',
  components: Record<string, Component>,
  variables: Record<string, unknown> = {},
): string {
  const named = Object.entries(components).map(([name, { parameters, ...rest }]) => [
    name,
    { ...rest, parameters: { componentName: name, ...parameters } },
  ]);
  const pipeline = { components: Object.fromEntries(named), variables };
  return JSON.stringify({ type, version: '1.0', pipeline, design: { components: {} } });
}

/** An orchestration of steps, one after the other. */
export function steps(...list: [name: string, type: string, parameters: Record<string, unknown>][]): string {
  const names = list.map(([name]) => name);
  const components: Record<string, Component> = {
    Start: { type: 'start', transitions: { unconditional: names.slice(0, 1) } },
  };
  for (const [index, [name, type, parameters]] of list.entries()) {
    components[name] = { type, parameters, transitions: { success: names.slice(index + 1, index + 2) } };
  }
  return pipelineFile('orchestration', components);
}

export const sqlScript = (sql: string): string => steps(['Script', 'sql-script', { sqlScript: sql }]);

/** Runs until it is stopped, in little memory and on one thread: other tests need the other processors. */
export const endlessSql =
  'with recursive n(i) as (select 1::hugeint union all select i + 1 from n) select count(*) from n';

/** Runs until it is stopped, and needs no processor: for tests that do not depend on what runs. */
export const endlessScript = steps(['Script', 'bash-script', { script: 'sleep 3600' }]);

export interface Execution {
  pipelineExecutionId: string;
  status: string;
  message?: string;
}

export interface ExecutionStep {
  name: string;
  result: { status: string; message?: string; rowCount?: number };
  childPipeline?: { id: string; name: string };
}

const over = ['SUCCESS', 'FAILED', 'CANCELLED', 'FORBIDDEN', 'SKIPPED'];

export class Project {
  readonly id: string;
  readonly path: string;
  readonly #client: ApiClient;

  private constructor(client: ApiClient, id: string) {
    this.#client = client;
    this.id = id;
    this.path = `/v1/projects/${id}`;
  }

  static async create(client: ApiClient, environments: readonly string[] = ['dev']): Promise<Project> {
    const name = `Project ${randomUUID()}`;
    const made = await client.ask('POST', '/v1/projects', {
      name,
      description: 'of a test',
      warehouse: 'DUCKDB',
      agentDeploymentType: 'HYBRID',
    });
    const project = new Project(client, made.projectId);
    for (const environment of environments)
      await client.ask('POST', `${project.path}/environments`, { name: environment });
    return project;
  }

  /** An existing project. */
  static open(client: ApiClient, id: string): Project {
    return new Project(client, id);
  }

  /** Uploads a version, and returns the ignored files and why. */
  async publish(files: Record<string, string>, environmentName = 'dev', versionName = '1') {
    const form = new FormData();
    for (const [path, text] of Object.entries(files)) {
      form.append(path, new Blob([text], { type: 'text/plain' }), path);
    }
    return this.#client.ask('POST', `${this.path}/artifacts`, form, { environmentName, versionName });
  }

  async start(pipelineName: string, environmentName = 'dev', more: object = {}): Promise<string> {
    const body = { pipelineName, environmentName, ...more };
    const { pipelineExecutionId } = await this.#client.ask('POST', `${this.path}/pipeline-executions`, body);
    return pipelineExecutionId;
  }

  async status(id: string): Promise<string> {
    return (await this.#client.ask('GET', `${this.path}/pipeline-executions/${id}/status`)).status;
  }

  async execution(id: string): Promise<Execution> {
    return this.#client.ask('GET', `${this.path}/pipeline-executions/${id}`);
  }

  async steps(id: string): Promise<ExecutionStep[]> {
    const page = await this.#client.ask('GET', `${this.path}/pipeline-executions/${id}/steps?size=100`);
    return page.results;
  }

  /** Waits for the end of an execution. `seen` collects its statuses. */
  async ended(id: string, seconds = 120, seen: Set<string> = new Set()): Promise<Execution> {
    await waitUntil(`the end of the execution ${id}`, seconds, async () => {
      const status = await this.status(id);
      seen.add(status);
      return over.includes(status);
    });
    return this.execution(id);
  }

  async run(pipelineName: string, environmentName = 'dev', seconds = 120): Promise<Execution> {
    return this.ended(await this.start(pipelineName, environmentName), seconds);
  }

  /** A short step may have ended when it is seen. */
  async stepBegun(id: string, name: string): Promise<void> {
    await waitUntil(`the step ${name} of ${id}`, 120, async () =>
      (await this.steps(id)).some((step) => step.name === name),
    );
  }

  async stepRunning(id: string, name: string): Promise<void> {
    await waitUntil(`the step ${name} of ${id}`, 120, async () =>
      (await this.steps(id)).some((step) => step.name === name && step.result.status === 'RUNNING'),
    );
  }

  async cancel(id: string, forceUpdate: boolean): Promise<Answer> {
    const path = `${this.path}/pipeline-executions/${id}`;
    return this.#client.call('PATCH', path, { body: { status: 'CANCELLED', forceUpdate } });
  }
}
