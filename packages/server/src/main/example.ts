/** The example project, published through the public interface and run once: the first thing that a new installation has done. */
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Dependencies } from './deps.ts';
import type { ClientCredential } from './provisioning.ts';

const folder = fileURLToPath(new URL('../../../../examples/weather', import.meta.url));
const descriptionFile = 'project.json';
const giveUpMilliseconds = 120_000;

interface Example {
  name: string;
  description: string;
  environments: string[];
  variables: {
    name: string;
    type: string;
    behaviour: string;
    value: unknown;
    overrides: Record<string, unknown>;
  }[];
  pipelineName: string;
  versionName: string;
}

type Call = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<Record<string, unknown>>;

/** By the interface, at `url`. Answers the line to print, or undefined when the example was published before. */
export async function publishExample(
  deps: Dependencies,
  credential: ClientCredential,
  url: string,
): Promise<string | undefined> {
  const example = JSON.parse(await readFile(join(folder, descriptionFile), 'utf8')) as Example;
  const call = await caller(deps, credential, url);
  const { results } = (await call('GET', '/projects?size=100')) as { results: { name: string }[] };
  if (results.some((project) => project.name === example.name)) return undefined;
  const { name, description } = example;
  const created = await call('POST', '/projects', {
    name,
    description,
    warehouse: 'DUCKDB',
    agentDeploymentType: 'HYBRID',
  });
  const project = `/projects/${String(created.projectId)}`;
  for (const environment of example.environments)
    await call('POST', `${project}/environments`, { name: environment });
  for (const { overrides, ...variable } of example.variables) {
    await call('POST', `${project}/variables`, variable);
    for (const [environmentName, value] of Object.entries(overrides)) {
      await call('POST', `${project}/variables/${variable.name}/environment-overrides`, {
        environmentName,
        value,
      });
    }
  }
  for (const environmentName of example.environments) {
    await call('POST', `${project}/artifacts`, await form(), {
      environmentName,
      versionName: example.versionName,
    });
  }
  const [environmentName] = example.environments;
  const { pipelineName } = example;
  const { pipelineExecutionId } = await call('POST', `${project}/pipeline-executions`, {
    pipelineName,
    environmentName,
  });
  const status = await ended(deps, () =>
    call('GET', `${project}/pipeline-executions/${String(pipelineExecutionId)}/status`),
  );
  return `The example project ${JSON.stringify(name)} is published; its pipeline ran once in ${environmentName}: ${status}.`;
}

async function caller(
  deps: Dependencies,
  { clientId, secret }: ClientCredential,
  url: string,
): Promise<Call> {
  const grant = { grant_type: 'client_credentials', client_id: clientId, client_secret: secret.reveal() };
  const signal = deps.stopping;
  const granted = await fetch(`${url}/oauth/dpc/token`, {
    method: 'POST',
    body: new URLSearchParams(grant),
    signal,
  });
  const { access_token } = (await granted.json()) as { access_token: string };
  return async (method, path, body, headers = {}) => {
    const sent = body === undefined || body instanceof FormData ? body : JSON.stringify(body);
    const type: Record<string, string> =
      typeof sent === 'string' ? { 'content-type': 'application/json' } : {};
    const answer = await fetch(`${url}/dpc/v1${path}`, {
      method,
      signal,
      headers: { authorization: `Bearer ${access_token}`, ...type, ...headers },
      ...(sent === undefined ? {} : { body: sent }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${text}`);
    return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
  };
}

async function form(): Promise<FormData> {
  const files = new FormData();
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    if (!entry.isFile() || entry.name === descriptionFile) continue;
    const path = join(entry.parentPath, entry.name);
    files.append(relative(folder, path), new Blob([await readFile(path)], { type: 'text/plain' }));
  }
  return files;
}

async function ended(deps: Dependencies, status: () => Promise<Record<string, unknown>>): Promise<string> {
  const until = Date.now() + giveUpMilliseconds;
  for (;;) {
    const found = String((await status()).status);
    if (found !== 'RUNNING' || Date.now() > until || deps.stopping.aborted) return found;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
