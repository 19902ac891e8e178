/** `?strict=true`: an upload with errors in pipelines is refused as a whole. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { buildMultipart, multipartBoundary, type Part, smallPipeline } from '../../../testing/project.ts';
import { startTestServer } from '../../../testing/server.ts';

const server = await startTestServer();

const broken = { name: 'broken.orch.yaml', content: 'type: orchestration\npipeline: [\n' };
const dangling = {
  name: 'dangling.orch.yaml',
  content:
    'type: orchestration\npipeline:\n  components:\n    S: {type: start, transitions: {success: [Gone]}}\n',
};
const main = { name: 'main.orch.yaml', content: smallPipeline };
const lost = {
  name: 'lost.orch.yaml',
  content: 'type: orchestration\npipeline:\n  components:\n    S: {type: start}\n    Odd: {type: vendor}\n',
};

async function createAccount() {
  const { admin, project: make } = await server.account();
  const project = await make();
  const send = (path: string, parts: readonly Part[], headers: Record<string, string>) =>
    admin.post(path, buildMultipart(parts), {
      headers: {
        'content-type': `multipart/form-data; boundary=${multipartBoundary}`,
        versionName: '1',
        ...headers,
      },
    });
  return {
    project: {
      publish: (parts: readonly Part[], query = '?strict=true') =>
        send(`${project.path}/artifacts${query}`, parts, { environmentName: 'dev' }),
      versions: async () =>
        (await admin.get<Page<unknown>>(`${project.path}/artifacts?environmentName=dev`)).body.total,
    },
    shared: {
      publish: (parts: readonly Part[], query = '?strict=true') =>
        send(`/shared-pipelines/artifacts${query}`, parts, { sharedPipelineIdPrefix: 'Checks' }),
      versions: async () => (await admin.get<Page<unknown>>('/shared-pipelines/artifacts')).body.total,
    },
  };
}

for (const kind of ['project', 'shared'] as const) {
  test(`a strict upload with errors is refused, with a list of them (${kind})`, async () => {
    const { publish, versions } = (await createAccount())[kind];
    const answer = await publish([main, broken, dangling]);
    const { detail, violations, errors } = requireProblem(answer, 422, 'strict-upload-refused');
    assert.match(detail, /have 2 errors/);
    assert.equal(violations?.length, 2);
    assert.match(
      violations[0] ?? '',
      /^part "broken\.orch\.yaml", line 2: the pipeline cannot be read: line 2, column \d+: /,
    );
    assert.deepEqual(
      errors?.map(({ pointer }) => pointer),
      ['/broken.orch.yaml', '/dangling.orch.yaml'],
    );
    assert.match(
      violations[1] ?? '',
      /^part "dangling\.orch\.yaml", line 4, component "S": the transition "success" leads to "Gone"/,
    );
    assert.equal(await versions(), 0);
    assert.equal((await publish([main])).status, 201, 'the version name is still free');
  });

  test(`of many errors 100 are listed, and all are counted (${kind})`, async () => {
    const { publish } = (await createAccount())[kind];
    const parts = Array.from({ length: 130 }, (_, index) => [
      { ...broken, name: `broken ${index}.orch.yaml` },
      { ...dangling, name: `dangling ${index}.orch.yaml` },
    ]);
    const answer = await publish([main, ...parts.flat()]);
    const { detail, violations, errors } = requireProblem(answer, 422, 'strict-upload-refused');
    assert.match(detail, /have 260 errors; `violations` lists the first 100\./);
    assert.deepEqual([violations?.length, errors?.length], [100, 100]);
  });

  test(`an upload without parts is refused (${kind})`, async () => {
    const { publish, versions } = (await createAccount())[kind];
    for (const query of ['', '?strict=true']) {
      const code = kind === 'project' ? 'empty-upload' : 'shared-version-without-pipeline';
      requireProblem(await publish([], query), 422, code);
    }
    assert.equal(await versions(), 0);
  });

  test(`a strict upload may have warnings and ignored files (${kind})`, async () => {
    const { publish, versions } = (await createAccount())[kind];
    const answer = await publish([main, lost, { name: 'a.bin', content: Buffer.from([0, 1]) }]);
    assert.equal(answer.status, 201, answer.text);
    assert.equal(await versions(), 1);
  });

  test(`an upload that is not strict stores pipelines with errors (${kind})`, async () => {
    for (const query of ['', '?strict=false']) {
      const { publish, versions } = (await createAccount())[kind];
      assert.equal((await publish([main, broken, dangling], query)).status, 201);
      assert.equal(await versions(), 1);
    }
  });
}

test('strict must be true or false', async () => {
  const { publish } = (await createAccount()).project;
  requireProblem(await publish([main], '?strict=maybe'), 400, 'invalid-request');
});
