/** Uploads that probably mean something else are warned of, and a dry run says what an upload would do. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requireProblem } from '../../../testing/client.ts';
import { buildMultipart, multipartBoundary, type Part, smallPipeline } from '../../../testing/project.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();

interface DryRun {
  versionName: string;
  assets: string[];
  digest: string;
  ignoredResources: { name: string }[];
  warningsTotal: number;
}

async function createProject() {
  const { admin, project: make } = await server.account();
  const project = await make();
  let versions = 0;
  return {
    admin,
    path: project.path,
    publish(parts: readonly Part[], { query = '', versionName = '' } = {}) {
      versions += 1;
      return admin.post<DryRun>(`${project.path}/artifacts${query}`, buildMultipart(parts), {
        headers: {
          'content-type': `multipart/form-data; boundary=${multipartBoundary}`,
          environmentName: 'dev',
          versionName: versionName || `v${versions}`,
        },
      });
    },
  };
}

const pipelines = (...names: string[]): Part[] =>
  names.map((name) => ({ name: `${name}.orch.yaml`, content: smallPipeline }));
const notes: Part = { name: 'notes.txt', content: 'x' };

test('an upload without most pipelines of the newest version is stored, and says so', async () => {
  const { publish } = await createProject();
  const warned = async (parts: readonly Part[]) => {
    const answer = await publish(parts);
    assert.equal(answer.status, 201, answer.text);
    return answer.headers['headgate-warning'];
  };
  assert.equal(await warned(pipelines('a', 'b', 'c', 'd')), undefined, 'the first version');
  assert.equal(await warned(pipelines('a', 'b', 'c', 'd')), undefined, 'the same files');
  assert.equal(await warned(pipelines('a', 'b', 'x')), undefined, 'half of them');
  assert.match((await warned(pipelines('x'))) ?? '', /only 1 of the 3 pipelines of the newest version/);
  assert.match((await warned([notes])) ?? '', /has none of the 1 pipelines of the newest version/);
  assert.equal(await warned([notes, ...pipelines('y')]), undefined, 'the newest version has none');
  // A transformation is not the orchestration of the same name.
  const tran = { name: 'y.tran.yaml', content: 'type: transformation\npipeline:\n  components: {}\n' };
  assert.match((await warned([tran])) ?? '', /none of the 1 pipelines/);
});

test('a single part with the name "file" is stored, and says what the name means', async () => {
  const { publish } = await createProject();
  const answer = await publish([{ name: 'file', content: smallPipeline }]);
  assert.equal(answer.status, 201, answer.text);
  assert.match(answer.headers['headgate-warning'] ?? '', /the name of a part is the path of its file/);
  const two = await publish([{ name: 'file', content: 'x' }, notes]);
  assert.equal(two.headers['headgate-warning'], undefined);
});

test('a dry run tells what would be published, and writes nothing', async () => {
  const { publish, admin, path } = await createProject();
  const count = () =>
    server.database.query(`select (select count(*)::integer from artifact_version) as versions,
      (select count(*)::integer from manifest) as manifests, (select count(*)::integer from blob) as blobs,
      (select count(*)::integer from event) as events`);
  await publish(pipelines('a', 'b', 'c'), { versionName: 'first' });
  const before = await count();
  const dry = await publish([notes, ...pipelines('a'), { name: 'logo.png', content: '\0' }], {
    query: '?dryRun=true',
    versionName: 'next',
  });
  assert.equal(dry.status, 200, dry.text);
  const { versionName, assets, ignoredResources, warningsTotal, digest } = dry.body;
  assert.deepEqual(
    [versionName, assets, ignoredResources.map(({ name }) => name), warningsTotal],
    ['next', ['a.orch.yaml', 'notes.txt'], ['logo.png'], 0],
  );
  assert.match(dry.headers['headgate-warning'] ?? '', /only 1 of the 3 pipelines/);
  const taken = await publish(pipelines('a'), { query: '?dryRun=true', versionName: 'first' });
  requireProblem(taken, 409, 'version-exists');
  const broken = [{ name: 'broken.orch.yaml', content: 'type: orchestration\npipeline: [\n' }];
  requireProblem(await publish(broken, { query: '?dryRun=true&strict=true' }), 422, 'strict-upload-refused');
  requireProblem(await publish(broken, { query: '?dryRun=true' }), 422, 'empty-upload');
  assert.deepEqual(await count(), before);

  const real = await publish([notes, ...pipelines('a')], { query: '?dryRun=false', versionName: 'next' });
  assert.equal(real.status, 201, real.text);
  const found = await admin.get<{ details: { digest: string } }>(
    `${path}/artifacts/details?environmentName=dev&versionName=next`,
  );
  assert.equal(found.body.details.digest, digest);
});

test('a component that the warehouse of the project does not run is a warning', async () => {
  const load = `type: "orchestration"
version: "1.0"
pipeline:
  components:
    Start: {type: "start", transitions: {unconditional: ["Load"]}}
    Load: {type: "file-load", parameters: {file: "a.csv", targetTable: "a"}}
`;
  const { admin } = await server.account();
  for (const [warehouse, expected] of [
    ['REDSHIFT', 1],
    ['POSTGRES', 0],
    ['DUCKDB', 0],
  ] as const) {
    const { body } = await admin.post<{ projectId: string }>('/projects', {
      name: warehouse,
      warehouse,
      agentDeploymentType: 'HYBRID',
    });
    const path = `/projects/${body.projectId}`;
    await admin.post(`${path}/environments`, { name: 'dev' });
    const published = await admin.post<{ warnings: { code: string; level: string; message: string }[] }>(
      `${path}/artifacts`,
      buildMultipart([{ name: 'main.orch.yaml', content: load }]),
      {
        headers: {
          'content-type': `multipart/form-data; boundary=${multipartBoundary}`,
          environmentName: 'dev',
          versionName: 'v1',
        },
      },
    );
    const found = published.body.warnings.filter(({ code }) => code === 'warehouse-not-supported');
    assert.equal(found.length, expected);
    for (const { level, message } of found) {
      assert.equal(level, 'warning');
      assert.match(message, /file-load works in the embedded warehouse, DUCKDB, and in POSTGRES only/);
    }
  }
});
