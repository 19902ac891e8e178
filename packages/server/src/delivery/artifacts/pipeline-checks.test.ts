/**
 * The checks of pipelines at upload (decisions.md E10): what can be read is stored, and what is wrong with it
 * is told.
 */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type UploadWarning, uploadWarningLimit } from '@headgate/contract';
import { buildMultipart, upload } from '../../testing/project.ts';
import { startTestServer } from '../../testing/server.ts';
import { createPipelineChecks } from './pipeline-checks.ts';
import { createPipelineReader } from './pipeline-reader.ts';

const server = await startTestServer();
type Checked = { warnings: UploadWarning[]; warningsTotal: number };

const orchestration = (components: object, variables: object = {}) =>
  JSON.stringify({ type: 'orchestration', pipeline: { components, variables } });
const start = (...success: string[]) => ({ type: 'start', transitions: { success } });
const script = (sqlScript: string) => ({ type: 'sql-script', parameters: { sqlScript } });
const call = (orchestrationJob: string) => ({ type: 'run-orchestration', parameters: { orchestrationJob } });
const load = (source: string) => ({
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

test('a sound project is stored without a warning', async () => {
  const { warnings, warningsTotal } = await uploadTo(
    {
      'main.orch.yaml': orchestration({
        S: start('Load', 'Call'),
        Load: load('in.csv'),
        Call: call('sub/b'),
      }),
      'sub/b.orch.yaml': orchestration(
        { S: start('A'), A: script('select ${city}, ${own}') },
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

test('secrets that the project has no reference for are told', async () => {
  const files = {
    'a.orch.yaml': orchestration({ S: start('A'), A: script('${secret("there")} ${secret("gone")}') }),
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

test('component types that no agent knows, and what leads nowhere, are told: errors first, then by path', async () => {
  const { admin, project, answer, told, warningsTotal } = await uploadTo(
    {
      'z.orch.yaml': orchestration({ S: start('Odd', 'Gone'), Odd: { type: 'vendor-load' } }),
      'a.orch.yaml': orchestration({
        S: start('Call', 'Load', 'Script'),
        Call: call('nowhere'),
        Load: load('gone.csv'),
        Script: script('select ${city}, ${nobody}'),
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
  assert.deepEqual(details.body.assets, ['a.orch.yaml', 'z.orch.yaml'], 'they are stored all the same');
});

test('a pipeline that cannot be read is ignored, an error, and missing for those that call it', async () => {
  const { answer, told, warnings, warningsTotal } = await uploadTo({
    'a.orch.yaml': orchestration({ S: start('Call'), Call: call('b') }),
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
  assert.equal(warnings[0]?.line, 3);
  assert.match(
    warnings[0]?.message ?? '',
    /^the pipeline cannot be read: line 3, column \d+: .*: correct the file$/,
  );
  assert.match(
    warnings[1]?.message ?? '',
    /b\.orch\.yaml cannot be read: line 3, column \d+: .*correct that file/,
  );
});

test('a pipeline file that is not text is an error, too', async () => {
  const { told, warnings } = await uploadTo({
    'a.orch.yaml': orchestration({ S: start() }),
    'b.tran.yaml': 'a\0b',
  });
  assert.deepEqual(told, ['error b.tran.yaml undefined syntax-error']);
  assert.match(warnings[0]?.message ?? '', /cannot be read: line 1: it is not a text file: correct the file/);
});

test('files that look like pipelines and are not read as such are warned of', async () => {
  const misnamed = ['Main.ORCH.yaml', 'main.orch.yml', 'pipeline.orch.YAML', 'sub/x.tran.yml'];
  const others = ['a.orch.yaml', 'b.yaml', 'orch.yml', 'c.orch.yaml.bak', 'main.orchyaml'];
  const files = Object.fromEntries([...misnamed, ...others].map((name) => [name, orchestration({})]));
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

test('what is told of a pipeline names the line and what to do', async () => {
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
  const files = { 'a.orch.yaml': orchestration({ S: start('A'), A: script('${city}') }) };
  assert.equal((await uploadTo(files, ['city'])).warningsTotal, 0);
  assert.deepEqual((await uploadTo(files)).told, ['error a.orch.yaml A undeclared-variable']);
});

test('of very many warnings some are given, errors before all, and their number is told', async () => {
  const odd = Object.fromEntries(
    Array.from({ length: 1_200 }, (_, index) => [`c${index}`, { type: 'vendor' }]),
  );
  const { warnings, warningsTotal } = await uploadTo({
    'a.orch.yaml': orchestration({ S: start(), ...odd }),
    'b.orch.yaml': orchestration({ S: start('Gone') }),
  });
  assert.equal(warningsTotal, 2_401);
  assert.equal(warnings.length, uploadWarningLimit);
  assert.equal(warnings[0]?.code, 'dangling-transition');
});

test('the same upload under the same key is answered with the same warnings', async () => {
  const { admin, project, parts, answer } = await uploadTo({
    'a.orch.yaml': orchestration({ S: start('Gone') }),
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

/** Too large to be read in the thread of the requests. */
const large = (components: object) => `${orchestration(components)}\n#${'x'.repeat(100_000)}\n`;

test('a large file is read as a small one is, beside other requests', async () => {
  const components = { S: start('Odd'), Odd: { type: 'vendor' } };
  const small = await uploadTo({ 'a.orch.yaml': orchestration(components) });
  const { told, answer } = await uploadTo({
    'a.orch.yaml': large(components),
    'b.orch.yaml': `${orchestration({})}\n${' '.repeat(100_000)}- x`,
  });
  assert.deepEqual(told, ['error b.orch.yaml undefined syntax-error', ...small.told]);
  assert.match(answer.body.ignoredResources[0]?.reason ?? '', /cannot be read: line 2, column \d+: ./);
});

test('several uploads with large files wait for each other’s files, not for each other', async () => {
  const read = createPipelineReader();
  const orders = Array.from({ length: 6 }, (_, index) => ({
    path: `p${index}.orch.yaml`,
    text: large({ S: start(`gone${index}`) }),
    most: 10,
  }));
  const results = await Promise.all(orders.map(read));
  assert.deepEqual(
    results.map(({ outline }) => outline?.path),
    orders.map(({ path }) => path),
  );
});

test('a file that takes too long to read is given up, and the next is read again', async () => {
  const slow = createPipelineReader({ milliseconds: 1 });
  const order = { path: 'a.orch.yaml', text: large({}), most: 10 };
  for (let attempt = 0; attempt < 2; attempt += 1)
    assert.match((await slow(order)).fault?.reason ?? '', /takes longer than 0.001 s: split it/);
  assert.equal((await createPipelineReader()(order)).outline?.name, 'a');
});

test('a file that takes more memory than usual ones is read in a thread that has it, the next as before', async () => {
  const read = createPipelineReader();
  const values = Array.from({ length: 190_000 }, (_, index) => index % 10);
  const texts = {
    dense: orchestration({ A: { type: 'fixed-flow', parameters: { values } } }),
    usual: large({}),
  };
  for (const [name, text] of Object.entries(texts))
    assert.equal((await read({ path: `${name}.orch.yaml`, text, most: 10 })).outline?.name, name);
});

test('what the pipelines of one upload may declare is bounded', async () => {
  const variables = Array.from({ length: 1_000 }, (_, index) => ({
    name: `v${index}`,
    type: 'TEXT' as const,
    visibility: 'PUBLIC' as const,
  }));
  const checks = createPipelineChecks(async ({ path }) => ({
    outline: {
      path,
      name: path,
      type: 'orchestration',
      variables,
      notes: [],
      description: '',
      sharedPipelines: [],
      beyond: 0,
    },
  }));
  for (let index = 0; index < 200; index += 1) await checks.take(`p${index}`, '');
  await assert.rejects(checks.take('one more', ''), /declare 200000 variables at most/);
});

test('the notes of one upload are bounded, and what is beyond is told', async () => {
  const rooms: number[] = [];
  const note = { asks: 'variable' as const, component: 'c', name: 'nobody', line: 1, reached: true };
  const checks = createPipelineChecks(async ({ path, most }) => {
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
  });
  for (const path of ['a', 'b', 'c']) await checks.take(path, '');
  assert.deepEqual(rooms, [200_000, 110_000, 20_000]);
  assert.deepEqual(checks.askedFor(), ['nobody']);
  const { warningsTotal } = checks.check([], [], []).told;
  assert.equal(warningsTotal, 200_001);
});
