/**
 * The checks of pipelines at upload: readable pipelines are stored, and their faults are
 * reported.
 */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of the pipeline format
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type UploadWarning, uploadWarningLimit } from '@headgate/contract';
import { requireProblem } from '../../../../testing/client.ts';
import { buildMultipart, upload } from '../../../../testing/project.ts';
import { startTestServer } from '../../../../testing/server.ts';
import { createPipelineChecks } from './pipeline-checks.ts';
import { createPipelineReader, type PipelineReader } from './pipeline-reader.ts';

const server = await startTestServer();
type Checked = { warnings: UploadWarning[]; warningsTotal: number };

const buildOrchestration = (components: object, variables: object = {}) =>
  JSON.stringify({ type: 'orchestration', pipeline: { components, variables } });
const start = (...success: string[]) => ({ type: 'start', transitions: { success } });
const buildScript = (sqlScript: string) => ({ type: 'sql-script', parameters: { sqlScript } });
const buildCall = (orchestrationJob: string) => ({
  type: 'run-orchestration',
  parameters: { orchestrationJob },
});
const buildLoad = (source: string) => ({
  type: 'file-load',
  parameters: { source, fileType: 'CSV', targetTable: 't' },
});

async function uploadTo(files: Record<string, string>, variables: string[] = []) {
  const { admin, project: make } = await server.account();
  const project = await make();
  for (const name of variables)
    await admin.post(`${project.path}/variables`, { name, type: 'TEXT', behaviour: 'SHARED' });
  const parts = Object.entries(files).map(([name, content]) => ({ name, content }));
  const answer = await upload(admin, project, parts);
  const { warnings, warningsTotal } = answer.body as unknown as Checked;
  const told = warnings.map(({ path, component, code, level }) => `${level} ${path} ${component} ${code}`);
  return { admin, project, parts, answer, warnings, warningsTotal, told };
}

test('a valid project is stored without warnings', async () => {
  const { warnings, warningsTotal } = await uploadTo(
    {
      'main.orch.yaml': buildOrchestration({
        S: start('Load', 'Call'),
        Load: buildLoad('in.csv'),
        Call: buildCall('sub/b'),
      }),
      'sub/b.orch.yaml': buildOrchestration(
        { S: start('A'), A: buildScript('select ${city}, ${own}') },
        {
          own: { metadata: { type: 'TEXT' } },
        },
      ),
      'in.csv': 'a\n1\n',
    },
    ['city'],
  );
  assert.deepEqual([warnings, warningsTotal], [[], 0]);
});

test('secrets without a reference in the project are reported', async () => {
  const files = {
    'a.orch.yaml': buildOrchestration({
      S: start('A'),
      A: buildScript('${secret("there")} ${secret("gone")}'),
    }),
  };
  const { admin, project, parts, warnings } = await uploadTo(files);
  assert.equal(warnings.length, 2);
  const reference = { type: 'PASSWORD', secretName: 's' };
  await admin.post(`${project.path}/secret-references/there`, reference);
  const answer = await upload(admin, project, parts, { versionName: '2' });
  const [warning, ...more] = (answer.body as unknown as Checked).warnings;
  assert.deepEqual([warning?.code, warning?.component, more], ['unknown-secret-reference', 'A', []]);
  assert.match(warning?.message ?? '', /no secret reference "gone"/);
});

test('unknown component types and dangling references are reported: errors first, then by path', async () => {
  const { admin, project, answer, told, warningsTotal } = await uploadTo(
    {
      'z.orch.yaml': buildOrchestration({ S: start('Odd', 'Gone'), Odd: { type: 'vendor-load' } }),
      'a.orch.yaml': buildOrchestration({
        S: start('Call', 'Load', 'Script'),
        Call: buildCall('nowhere'),
        Load: buildLoad('gone.csv'),
        Script: buildScript('select ${city}, ${nobody}'),
      }),
    },
    ['city'],
  );
  assert.equal(answer.status, 201);
  assert.deepEqual(told, [
    'error a.orch.yaml Script undeclared-variable',
    'error a.orch.yaml Call missing-pipeline',
    'error z.orch.yaml Odd unknown-component-type',
    'error z.orch.yaml S dangling-transition',
    'warning a.orch.yaml Load missing-file',
  ]);
  assert.equal(warningsTotal, 5);
  const details = await admin.get<{ assets: string[] }>(
    `${project.path}/artifacts/details?environmentName=dev`,
  );
  assert.deepEqual(details.body.assets, ['a.orch.yaml', 'z.orch.yaml'], 'they are stored nevertheless');
});

test('an unreadable pipeline is ignored, an error, and missing for its callers', async () => {
  const { answer, told, warnings, warningsTotal } = await uploadTo({
    'a.orch.yaml': buildOrchestration({ S: start('Call'), Call: buildCall('b') }),
    'b.orch.yaml': 'type: orchestration\npipeline: [\n',
  });
  assert.deepEqual(
    answer.body.ignoredResources.map(({ name }) => name),
    ['b.orch.yaml'],
  );
  assert.deepEqual(told, [
    'error b.orch.yaml undefined syntax-error',
    'error a.orch.yaml Call missing-pipeline',
  ]);
  assert.equal(warningsTotal, 2);
  assert.equal(warnings[0]?.line, 2);
  assert.match(
    warnings[0]?.message ?? '',
    /^the pipeline cannot be read: line 2, column \d+: .*: correct the file$/,
  );
  assert.match(
    warnings[1]?.message ?? '',
    /b\.orch\.yaml cannot be read: line 2, column \d+: .*correct that file/,
  );
});

test('a pipeline file that is not text is an error', async () => {
  const { told, warnings } = await uploadTo({
    'a.orch.yaml': buildOrchestration({ S: start() }),
    'b.tran.yaml': 'a\0b',
  });
  assert.deepEqual(told, ['error b.tran.yaml undefined syntax-error']);
  assert.match(warnings[0]?.message ?? '', /cannot be read: line 1: it is not a text file: correct the file/);
});

test('files that look like pipelines but are not get a warning', async () => {
  const misnamed = ['Main.ORCH.yaml', 'main.orch.yml', 'pipeline.orch.YAML', 'sub/x.tran.yml'];
  const others = ['a.orch.yaml', 'b.yaml', 'orch.yml', 'c.orch.yaml.bak', 'main.orchyaml'];
  const files = Object.fromEntries([...misnamed, ...others].map((name) => [name, buildOrchestration({})]));
  const { answer, told, warnings } = await uploadTo(files);
  assert.equal(answer.status, 201);
  assert.deepEqual(
    told,
    misnamed.map((name) => `warning ${name} undefined pipeline-file-name`),
  );
  assert.match(
    warnings[0]?.message ?? '',
    /is not read as a pipeline: rename it so that its name ends in \.orch\.yaml or \.tran\.yaml/,
  );
});

test('a finding names the line and what to do', async () => {
  const { warnings } = await uploadTo({
    'a.orch.yaml': [
      'type: orchestration',
      'pipeline:',
      '  components:',
      '    Start:',
      '      type: start',
      '      transitions:',
      '        success: [Scrpit]',
      '    Script:',
      '      type: sql-scrip',
      '',
    ].join('\n'),
  });
  assert.deepEqual(
    warnings.map(({ line, level, component, message }) => [line, level, component, message]),
    [
      [
        7,
        'error',
        'Start',
        'the transition "success" leads to "Scrpit", which is not a component of this pipeline: did you mean "Script"?',
      ],
      [
        9,
        'warning',
        'Script',
        'the component type "sql-scrip" in a.orch.yaml is not supported: did you mean "sql-script"?',
      ],
      [
        8,
        'warning',
        'Script',
        'the component never runs, because no transition leads to it: connect or remove it',
      ],
    ],
  );
});

test('the variables of another project do not count', async () => {
  const files = { 'a.orch.yaml': buildOrchestration({ S: start('A'), A: buildScript('${city}') }) };
  assert.equal((await uploadTo(files, ['city'])).warningsTotal, 0);
  assert.deepEqual((await uploadTo(files)).told, ['error a.orch.yaml A undeclared-variable']);
});

test('of many findings a limited number is returned, errors first, with the total', async () => {
  const odd = Object.fromEntries(
    Array.from({ length: 1_200 }, (_, index) => [`c${index}`, { type: 'vendor' }]),
  );
  const { warnings, warningsTotal } = await uploadTo({
    'a.orch.yaml': buildOrchestration({ S: start(), ...odd }),
    'b.orch.yaml': buildOrchestration({ S: start('Gone') }),
  });
  assert.equal(warningsTotal, 2_401);
  assert.equal(warnings.length, uploadWarningLimit);
  assert.equal(warnings[0]?.code, 'dangling-transition');
});

test('a repeated upload with its idempotency key returns the same warnings', async () => {
  const { admin, project, parts, answer } = await uploadTo({
    'a.orch.yaml': buildOrchestration({ S: start('Gone') }),
  });
  const headers = { versionName: 'v2', 'idempotency-key': 'once' };
  const [first, again] = [
    await upload(admin, project, buildMultipart(parts), headers),
    await upload(admin, project, buildMultipart(parts), headers),
  ];
  assert.equal(again.headers['idempotency-replayed'], 'true');
  assert.deepEqual(again.body, first.body);
  assert.deepEqual({ ...again.body, versionName: 'v1' }, answer.body);
});

/** Large enough to be read in the thread. */
const buildLargeFile = (components: object) => `${buildOrchestration(components)}\n#${'x'.repeat(100_000)}\n`;

test('large and small files are read alike, without blocking other requests', async () => {
  const components = { S: start('Odd'), Odd: { type: 'vendor' } };
  const small = await uploadTo({ 'a.orch.yaml': buildOrchestration(components) });
  const { told, answer } = await uploadTo({
    'a.orch.yaml': buildLargeFile(components),
    'b.orch.yaml': `${buildOrchestration({})}\n${' '.repeat(100_000)}- x`,
  });
  assert.deepEqual(told, ['error b.orch.yaml undefined syntax-error', ...small.told]);
  assert.match(answer.body.ignoredResources[0]?.reason ?? '', /cannot be read: line 2, column \d+: ./);
});

test('several uploads with large files take turns file by file', async () => {
  const read = createPipelineReader({ milliseconds: 120_000 });
  const orders = Array.from({ length: 6 }, (_, index) => ({
    path: `p${index}.orch.yaml`,
    text: buildLargeFile({ S: start(`gone${index}`) }),
    most: 10,
  }));
  const results = await Promise.all(orders.map((order) => read(order, 'account')));
  assert.deepEqual(
    results.map(({ outline }) => outline?.path),
    orders.map(({ path }) => path),
  );
});

test('a file that takes too long to read is refused, and the next one is read', async () => {
  const slow = createPipelineReader({ milliseconds: 1 });
  // No machine reads so many values in a millisecond.
  const values = Array.from({ length: 190_000 }, (_, index) => index % 10);
  const text = buildOrchestration({ A: { type: 'fixed-flow', parameters: { values } } });
  const order = { path: 'a.orch.yaml', text, most: 10 };
  for (let attempt = 0; attempt < 2; attempt += 1)
    assert.match((await slow(order, 'account')).fault?.reason ?? '', /takes longer than 0.001 s: split it/);
  assert.equal((await createPipelineReader({ milliseconds: 120_000 })(order, 'account')).outline?.name, 'a');
});

test('a file that needs more memory is read in a larger thread, the next one in the usual one', async () => {
  // On a busy machine the usual time may end before the memory does.
  const read = createPipelineReader({ milliseconds: 120_000 });
  const values = Array.from({ length: 190_000 }, (_, index) => index % 10);
  const texts = {
    dense: buildOrchestration({ A: { type: 'fixed-flow', parameters: { values } } }),
    usual: buildLargeFile({}),
  };
  for (const [name, text] of Object.entries(texts))
    assert.equal((await read({ path: `${name}.orch.yaml`, text, most: 10 }, 'account')).outline?.name, name);
});

test('what is stored of the pipelines of one upload is limited in bytes; the problem names the largest', async () => {
  const { admin, project: make } = await server.account();
  const project = await make();
  const describe = (name: string, count: number) => {
    const metadata = { type: 'TEXT' };
    const variables = Object.fromEntries(
      Array.from({ length: count }, (_, index) => [`${'v'.repeat(200)}${index}`, { metadata }]),
    );
    return { name: `${name}.orch.yaml`, content: buildOrchestration({ S: start() }, variables) };
  };
  const many = Array.from({ length: 40 }, (_, index) => describe(`p${index}`, 900));
  assert.equal((await upload(admin, project, many.slice(0, 30), { versionName: 'v1' })).status, 201);
  const parts = [describe('large', 1_000), describe('small', 1), ...many];
  const refused = await upload(admin, project, parts, { versionName: 'v2' });
  const { detail } = requireProblem(refused, 413, 'body-too-large');
  assert.match(
    detail,
    /at most 8388608 bytes of JSON\. Largest so far: "large\.orch\.yaml" \(2\d+ bytes\), "p/,
  );
  assert.match(detail, /Shorten their variables and notes, or divide the project/);
});

test('the findings of one upload are limited, and the total is returned', async () => {
  const rooms: number[] = [];
  const note = { asks: 'variable' as const, component: 'c', name: 'nobody', line: 1, reached: true };
  const read: PipelineReader = async ({ path, most }) => {
    rooms.push(most);
    const notes = Array.from({ length: Math.min(most, 90_000) }, () => note);
    const beyond = 90_000 - notes.length;
    return {
      outline: {
        path,
        name: path,
        type: 'orchestration',
        variables: [],
        description: '',
        sharedPipelines: [],
        notes,
        beyond,
      },
    };
  };
  const checks = createPipelineChecks(read, 'account');
  for (const path of ['a', 'b', 'c']) await checks.take(path, '');
  assert.deepEqual(rooms, [200_000, 110_000, 20_000]);
  assert.deepEqual(checks.listUnknownVariables(), ['nobody']);
  const { warningsTotal } = checks.check([], [], []).summary;
  assert.equal(warningsTotal, 200_001);
});
