/** The files of examples/, and publishing shared pipelines. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Answer, ApiClient } from './client.ts';
import { checkout } from './installation.ts';

/** Text by path, without the description of the example. */
export function exampleFiles(example: string): Record<string, string> {
  const folder = join(checkout, 'examples', example);
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile() && !['project.json', 'shared.json'].includes(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(paths.map((path) => [relative(folder, path), readFileSync(path, 'utf8')]));
}

/** Publishes one version of shared pipelines. */
export async function publishShared(
  client: ApiClient,
  files: Record<string, string>,
  sharedPipelineIdPrefix: string,
  versionName: string,
): Promise<Answer> {
  const form = new FormData();
  for (const [path, text] of Object.entries(files)) {
    form.append(path, new Blob([text], { type: 'text/plain' }), path);
  }
  const headers = { sharedPipelineIdPrefix, versionName };
  return client.call('POST', '/v1/shared-pipelines/artifacts', { body: form, headers });
}
