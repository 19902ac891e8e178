/** Versions of shared pipelines for tests, published through the API. */
import type { Answer, Client } from './client.ts';
import { buildMultipart, multipartBoundary, type Part, type Uploaded } from './project.ts';

export function publishShared(
  client: Client,
  parts: readonly Part[],
  headers: Record<string, string> = {},
): Promise<Answer<Uploaded>> {
  return client.post<Uploaded>('/shared-pipelines/artifacts', buildMultipart(parts), {
    headers: {
      'content-type': `multipart/form-data; boundary=${multipartBoundary}`,
      sharedPipelineIdPrefix: 'Checks',
      versionName: '1',
      ...headers,
    },
  });
}

/** A pipeline that uses one shared pipeline per group: the latest version, or the given one. */
export function makePipelineUsing(...uses: readonly { prefix: string; versionName?: string }[]): string {
  const components = Object.fromEntries(
    uses.map(({ prefix, versionName }, index) => [
      `Use ${index}`,
      {
        type: 'run-shared-pipeline',
        parameters: { sharedPipelineIdPrefix: prefix, sharedPipeline: 'check', versionName },
      },
    ]),
  );
  const start = { type: 'start', transitions: { unconditional: Object.keys(components) } };
  return JSON.stringify({ type: 'orchestration', pipeline: { components: { Start: start, ...components } } });
}
