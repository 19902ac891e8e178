/** A project for tests, created through the API, and uploads to it. */
import { randomUUID } from 'node:crypto';
import type { Answer, Client } from './client.ts';

export interface TestProject {
  projectId: string;
  /** `/projects/{projectId}` */
  path: string;
}

const environmentNames = ['dev', 'prod'] as const;

export async function createProjectWith(
  admin: Client,
  name = `project ${randomUUID()}`,
): Promise<TestProject> {
  const project = { name, warehouse: 'DUCKDB', agentDeploymentType: 'HYBRID' };
  const { projectId } = (await admin.post<{ projectId: string }>('/projects', project)).body;
  const path = `/projects/${projectId}`;
  for (const name of environmentNames) await admin.post(`${path}/environments`, { name });
  return { projectId, path };
}

export interface Part {
  name: string;
  content: string | Buffer;
  type?: string;
}

export const multipartBoundary = 'boundary-of-a-test';

/** Renders a multipart form. Names of parts are put into the header unescaped. */
export function buildMultipart(parts: readonly Part[]): Buffer {
  const chunks = parts.flatMap(({ name, content, type = 'text/plain' }) => [
    Buffer.from(
      `--${multipartBoundary}\r\ncontent-disposition: form-data; name="${name}"; filename="file"\r\ncontent-type: ${type}\r\n\r\n`,
    ),
    Buffer.from(content),
    Buffer.from('\r\n'),
  ]);
  return Buffer.concat([...chunks, Buffer.from(`--${multipartBoundary}--\r\n`)]);
}

export interface Uploaded {
  ignoredResources: { name: string; reason: string }[];
  versionName: string;
}

export function upload(
  client: Client,
  project: TestProject,
  parts: readonly Part[] | Buffer,
  headers: Record<string, string> = {},
): Promise<Answer<Uploaded>> {
  const body = Buffer.isBuffer(parts) ? parts : buildMultipart(parts);
  const all = {
    'content-type': `multipart/form-data; boundary=${multipartBoundary}`,
    environmentName: 'dev',
    versionName: 'v1',
    ...headers,
  };
  return client.post<Uploaded>(`${project.path}/artifacts`, body, { headers: all });
}

/** A shared pipeline, described by its note. */
export const sharedPipeline = `type: "orchestration"
version: "1.0"
pipeline:
  components:
    Start:
      type: "start"
      transitions:
        unconditional:
        - "Count"
    Count:
      type: "query-to-scalar"
      parameters:
        mode: "Advanced"
        query: "SELECT count(*) AS n FROM \${tableName}"
        scalarVariableMapping:
        - ["rows", "n"]
  variables:
    tableName:
      metadata: { type: "TEXT", description: "", scope: "COPIED", visibility: "PUBLIC" }
      defaultValue: ""
    rows:
      metadata: { type: "NUMBER", description: "", scope: "COPIED", visibility: "PRIVATE" }
      defaultValue: "0"
design:
  notes:
    "1": { content: "Counts the rows of a table." }
`;

/** The smallest pipeline, with a public TEXT, NUMBER and GRID variable and a private one. */
export const smallPipeline = `type: "orchestration"
version: "1.0"
pipeline:
  components:
    Start:
      type: "start"
      transitions:
        unconditional:
        - "End"
      skipped: false
      parameters:
        componentName: "Start"
    End:
      type: "end-success"
      skipped: false
      parameters:
        componentName: "End"
  variables:
    city:
      metadata: { type: "TEXT", description: "", scope: "SHARED", visibility: "PUBLIC" }
      defaultValue: "Oslo"
    limit:
      metadata: { type: "NUMBER", description: "", scope: "SHARED", visibility: "PUBLIC" }
      defaultValue: "1"
    table:
      metadata: { type: "GRID", description: "", scope: "SHARED", visibility: "PUBLIC", columns: { name: { columnType: "TEXT" } } }
      defaultValue: [["a"]]
    inner:
      metadata: { type: "TEXT", description: "", scope: "SHARED", visibility: "PRIVATE" }
      defaultValue: ""
design:
  components: {}
`;
