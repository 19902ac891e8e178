/** Publishes the example project through the public API and runs it once, on a new installation. */
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Dependencies } from './deps.ts';
import type { ClientCredential } from './provisioning.ts';

const projectFolder = fileURLToPath(new URL('../../../../examples/weather', import.meta.url));
const sharedFolder = fileURLToPath(new URL('../../../../examples/checks', import.meta.url));
/** These files describe the project and are not published. */
const projectFile = 'project.json';
const sharedFile = 'shared.json';
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

interface Shared {
  sharedPipelineIdPrefix: string;
  versionName: string;
}

type Call = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<Record<string, unknown>>;

/** Returns the line to print, or undefined if the project already exists. */
export async function publishExample(
  deps: Dependencies,
  credential: ClientCredential,
  url: string,
): Promise<string | undefined> {
  const example = await readDescription<Example>(projectFolder, projectFile);
  const call = await createCaller(deps, credential, url);
  const { results } = (await call('GET', '/projects?size=100')) as { results: { name: string }[] };
  if (results.some((project) => project.name === example.name)) return undefined;
  await publishShared(call);
  const project = await publishProject(call, example);
  const [environmentName] = example.environments;
  const { name, pipelineName } = example;
  const { pipelineExecutionId } = await call('POST', `${project}/pipeline-executions`, {
    pipelineName,
    environmentName,
  });
  const status = await waitForEnd(deps, () =>
    call('GET', `${project}/pipeline-executions/${String(pipelineExecutionId)}/status`),
  );
  return `The example project ${JSON.stringify(name)} is published; its pipeline ran once in ${environmentName}: ${status}.`;
}

/** Publishes the shared pipelines that the project uses, unless they exist. */
async function publishShared(call: Call): Promise<void> {
  const { sharedPipelineIdPrefix, versionName } = await readDescription<Shared>(sharedFolder, sharedFile);
  const query = `enabledOnly=false&size=100&sharedPipelineIdPrefix=${encodeURIComponent(sharedPipelineIdPrefix)}`;
  const { results } = (await call('GET', `/shared-pipelines/artifacts?${query}`)) as {
    results: { versionName: string }[];
  };
  if (results.some((version) => version.versionName === versionName)) return;
  const files = await readForm(sharedFolder, sharedFile);
  await call('POST', '/shared-pipelines/artifacts', files, { sharedPipelineIdPrefix, versionName });
}

/** Returns the project's path. */
async function publishProject(call: Call, example: Example): Promise<string> {
  const { name, description, environments, variables, versionName } = example;
  const created = await call('POST', '/projects', {
    name,
    description,
    warehouse: 'DUCKDB',
    agentDeploymentType: 'HYBRID',
  });
  const project = `/projects/${String(created.projectId)}`;
  for (const environment of environments)
    await call('POST', `${project}/environments`, { name: environment });
  for (const { overrides, ...variable } of variables) {
    await call('POST', `${project}/variables`, variable);
    for (const [environmentName, value] of Object.entries(overrides)) {
      await call('POST', `${project}/variables/${variable.name}/environment-overrides`, {
        environmentName,
        value,
      });
    }
  }
  for (const environmentName of environments) {
    const files = await readForm(projectFolder, projectFile);
    await call('POST', `${project}/artifacts`, files, { environmentName, versionName });
  }
  return project;
}

async function readDescription<Description>(folder: string, file: string): Promise<Description> {
  return JSON.parse(await readFile(join(folder, file), 'utf8')) as Description;
}

async function createCaller(
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

async function readForm(folder: string, descriptionFile: string): Promise<FormData> {
  const files = new FormData();
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    if (!entry.isFile() || entry.name === descriptionFile) continue;
    const path = join(entry.parentPath, entry.name);
    files.append(relative(folder, path), new Blob([await readFile(path)], { type: 'text/plain' }));
  }
  return files;
}

async function waitForEnd(
  deps: Dependencies,
  status: () => Promise<Record<string, unknown>>,
): Promise<string> {
  const until = Date.now() + giveUpMilliseconds;
  for (;;) {
    const found = String((await status()).status);
    if (found !== 'RUNNING' || Date.now() > until || deps.stopping.aborted) return found;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
