/** Connector profiles in versions: as public clients send them, and those that cannot be read. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConnectorProfile, UploadWarning } from '@headgate/contract';
import { requireProblem } from '../../../../testing/client.ts';
import { multipartBoundary, type Part, smallPipeline, upload } from '../../../../testing/project.ts';
import { startTestServer } from '../../../../testing/server.ts';
import { buildConnectorProfile } from '../../../workspace/connector-profiles/connector-profile.examples.ts';

const server = await startTestServer();
const pipeline: Part = { name: 'main.orch.yaml', content: smallPipeline };

async function createProject() {
  const { admin, project } = await server.account();
  return { admin, project: await project() };
}

/** Parts without a file name. */
const buildProfileForm = (parts: readonly { name: string; content: string }[]) =>
  Buffer.from(
    [
      ...parts.map(
        ({ name, content }) =>
          `--${multipartBoundary}\r\ncontent-disposition: form-data; name="${name}"\r\ncontent-type: application/vnd.example.connector-profile+json\r\n\r\n${content}\r\n`,
      ),
      `--${multipartBoundary}--\r\n`,
    ].join(''),
  );

test('profiles that a client listed are parts of a version, and keep their names when it is promoted', async () => {
  const { admin, project } = await createProject();
  const parts: { name: string; content: string }[] = [];
  for (const kind of ['flex', 'custom'] as const) {
    await admin.post(`/${kind}-connectors`, buildConnectorProfile('Shop'));
    const { body } = await admin.get<ConnectorProfile[]>(`/${kind}-connectors`);
    for (const item of body) {
      const name = kind === 'flex' ? item.alternateId : item.id;
      parts.push({ name: `connector-profile:${kind}-${name}.json`, content: JSON.stringify(item) });
    }
  }
  const { status, body } = await upload(admin, project, buildProfileForm(parts));
  assert.deepEqual([status, body.ignoredResources], [201, []]);
  const names = parts.map(({ name }) => name).sort();
  assert.equal(names.length, 2);
  assert.match(
    names.join(),
    /^connector-profile:custom-[0-9a-f-]{36}\.json,connector-profile:flex-shop\.json$/,
  );
  await admin.post(`${project.path}/artifacts/promotions`, {
    versionName: 'v1',
    sourceEnvironmentName: 'dev',
    targetEnvironmentName: 'prod',
  });
  for (const environment of ['dev', 'prod']) {
    const path = `${project.path}/artifacts/details?environmentName=${environment}&versionName=v1`;
    assert.deepEqual((await admin.get<{ assets: string[] }>(path)).body.assets, names);
  }
});

test('a profile that cannot be read is ignored with the reason, and refused by a strict upload', async () => {
  const { admin, project } = await createProject();
  const noHost = { name: 'Shop', endpoints: [{ name: 'Orders', url: 'https://{host}/orders' }] };
  const parts: Part[] = [
    pipeline,
    { name: 'connector-profile:flex-a.json', content: '{\n "name": \n' },
    { name: 'connector-profile:flex-b.json', content: JSON.stringify(noHost) },
    { name: 'connector-profile:flex-c.json', content: `{"name":"${'x'.repeat(1_048_576)}"}` },
    { name: 'connector-profile:flex-d.json', content: Buffer.from([0xff, 0]) },
    { name: 'connector-profile:flex-e.json', content: '['.repeat(500_000) },
    { name: 'sub/connector-profile:flex-f.json', content: 'any file' },
  ];
  const { status, body } = await upload(admin, project, parts);
  assert.equal(status, 201);
  const reasons = body.ignoredResources.map(({ name, reason }) => `${name.slice(-6, -5)} ${reason}`).sort();
  assert.equal(reasons.length, 5, reasons.join('\n'));
  for (const [index, expected] of [
    /^a The connector profile cannot be read: the connector profile is not JSON/,
    /^b The connector profile cannot be read: "endpoints\[0\]\.url" has a parameter in its host/,
    /^c The connector profile cannot be read: it has 10\d+ bytes; a connector profile has at most 1048576/,
    /^d It is not a text file/,
    /^e The connector profile cannot be read/,
  ].entries())
    assert.match(reasons[index] ?? '', expected);
  const refused = await admin.post(
    `${project.path}/artifacts?strict=true`,
    buildProfileForm([{ name: 'connector-profile:flex-b.json', content: JSON.stringify(noHost) }]),
    {
      headers: {
        'content-type': `multipart/form-data; boundary=${multipartBoundary}`,
        environmentName: 'dev',
        versionName: 'v2',
      },
    },
  );
  assert.ok(refused.status === 422, refused.text);
  assert.match(JSON.stringify(refused.problem), /connector profile cannot be read/);
  requireProblem(
    await admin.get(`${project.path}/artifacts/details?environmentName=dev&versionName=v2`),
    404,
    'artifact-not-found',
  );
});

test('an upload warns of what a component names and its profile or project does not have', async () => {
  const { admin, project } = await createProject();
  const keys = { type: 'API_KEY', parameters: [{ name: 'X-Api-Key', addTo: 'HEADER' }] };
  const endpoint = { name: 'Orders', url: 'https://shop.example.com/orders', auth: 'API_KEY' };
  const profile = { name: 'Shop', endpoints: [{ ...endpoint, authenticationOptions: [keys] }] };
  const load = (dataSource: string, secret: string) => ({
    type: 'api-extract',
    parameters: {
      profile: 'flex-shop',
      dataSource,
      connectionOptions: [['X-Api-Key', secret]],
      targetTable: 'orders',
    },
  });
  await admin.post(`${project.path}/secret-references/shop-key`, { type: 'PASSWORD', secretName: 'shop' });
  const components = {
    S: { type: 'start', transitions: { success: ['Good', 'NoSecret', 'NoEndpoint'] } },
    Good: load('Orders', 'shop-key'),
    NoSecret: load('Orders', 'gone'),
    NoEndpoint: load('Order', 'shop-key'),
  };
  const parts = [
    { name: 'load.orch.yaml', content: JSON.stringify({ type: 'orchestration', pipeline: { components } }) },
    { name: 'connector-profile:flex-shop.json', content: JSON.stringify(profile) },
  ];
  const refused = await admin.post(`${project.path}/artifacts?strict=true`, buildProfileForm(parts), {
    headers: {
      'content-type': `multipart/form-data; boundary=${multipartBoundary}`,
      environmentName: 'dev',
      versionName: 'v1',
    },
  });
  requireProblem(refused, 422, 'strict-upload-refused');
  assert.match(JSON.stringify(refused.problem), /has no endpoint \\"Order\\": did you mean \\"Orders\\"/);
  const { status, body } = await upload(admin, project, parts);
  assert.equal(status, 201);
  const { warnings } = body as unknown as { warnings: UploadWarning[] };
  assert.deepEqual(
    warnings.map(({ component, code, level }) => `${level} ${component} ${code}`),
    ['error NoEndpoint missing-connector-endpoint', 'warning NoSecret unknown-secret-reference'],
  );
});
