/** Shared pipelines in a run: what they can access, and uses without a chosen version. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { createFixture, type Fixture } from './engine-fixture.ts';
import { print, renderOrchestration, renderTransformation, start, text } from './pipeline-fixture.ts';

let fixture: Fixture;
beforeEach(async () => {
  fixture = await createFixture();
});
afterEach(() => fixture.dispose());

const step = (name: string) => [...fixture.steps.values()].find((each) => each.name === name);
const call = (sharedPipeline: string, more: object = {}) => ({
  type: 'run-shared-pipeline',
  parameters: { sharedPipelineIdPrefix: 'Checks', sharedPipeline, ...more },
});
const calls = (type: string, parameters: object, ...success: string[]) => ({
  type,
  parameters,
  transitions: { success },
});
/** A main pipeline with a single call. */
const publishCall = (sharedPipeline: string, more: object = {}) =>
  fixture.publish({
    'main.orch.yaml': renderOrchestration({ S: start('Call'), Call: call(sharedPipeline, more) }),
  });

test('a shared pipeline uses its own files and pipelines, even if the project has others of the same names', async () => {
  const load = { source: 'data.csv', fileType: 'CSV', header: 'Yes', targetTable: 'loaded' };
  await publishCall('inner/load.orch.yaml');
  await fixture.publish({ 'data.csv': 'n\n1\n', 'inner/copy.tran.yaml': 'not this one' });
  await fixture.choose(
    { prefix: 'Checks' },
    {
      versionName: '2.0',
      files: {
        'data.csv': 'n\n41\n42\n',
        'inner/load.orch.yaml': renderOrchestration({
          S: start('Load'),
          Load: calls('file-load', load, 'Copy'),
          Copy: calls('run-transformation', { transformationJob: 'inner/copy' }),
        }),
        'inner/copy.tran.yaml': renderTransformation({
          In: { type: 'table-input', parameters: { targetTable: 'loaded', columnNames: ['n'] } },
          Out: { type: 'rewrite-table', sources: ['In'], parameters: { targetTable: 'copied' } },
        }),
      },
    },
  );
  assert.deepEqual(await fixture.run('main'), { status: 'SUCCESS' });
  assert.deepEqual(await fixture.rows('select n from copied order by n'), [[41], [42]]);
  const called = step('Call');
  assert.equal(called?.message, 'version "2.0" of the shared pipelines "Checks"');
  assert.equal(called?.childPipeline?.name, 'Checks/inner/load.orch.yaml');
  assert.equal(step('Load')?.pipelineRunId, called?.childPipeline?.id);
});

test('a shared pipeline gets values for its public variables, reads variables of the project, and knows its own version', async () => {
  const variables = { name: text('nobody'), secret: text('mine', 'COPIED', 'PRIVATE') };
  await fixture.choose(
    { prefix: 'Checks', versionName: '1' },
    {
      versionName: '1',
      files: {
        'greet.orch.yaml': renderOrchestration(
          {
            S: start('Print'),
            Print: {
              type: 'print-variables',
              parameters: {
                variablesToPrint: [['name'], ['place']],
                prefixText: '${sysvar.artifact.versionName}, ${sysvar.thisPipeline.fullName}: ',
                includeVariableName: 'No',
              },
            },
          },
          variables,
        ),
      },
    },
  );
  const place = { name: 'place', type: 'TEXT', behaviour: 'SHARED', value: 'Oslo' } as const;
  await publishCall('greet', { versionName: '1', setScalarVariables: [['name', 'Ada']] });
  assert.equal((await fixture.run('main', { variables: [place] })).status, 'SUCCESS');
  assert.equal(step('Print')?.message, '1, greet: Ada\n1, greet: Oslo');

  await publishCall('greet', { versionName: '1', setScalarVariables: [['secret', 'x']] });
  const refused = await fixture.run('main', { variables: [place] });
  assert.equal(refused.status, 'FAILED');
  assert.match(refused.message ?? '', /"secret" is PRIVATE in greet\.orch\.yaml/);
});

test('shared pipelines can call shared pipelines; endless recursion is refused', async () => {
  await publishCall('outer');
  await fixture.choose(
    { prefix: 'Checks' },
    {
      versionName: '1',
      files: {
        'outer.orch.yaml': renderOrchestration({
          S: start('Other'),
          Other: {
            type: 'run-shared-pipeline',
            parameters: { sharedPipelineIdPrefix: 'Loads', sharedPipeline: 'load', versionName: '7' },
          },
        }),
        'again.orch.yaml': renderOrchestration({ S: start('Again'), Again: call('again') }),
      },
    },
  );
  await fixture.choose(
    { prefix: 'Loads', versionName: '7' },
    {
      versionName: '7',
      files: {
        'load.orch.yaml': renderOrchestration({ S: start('Print'), Print: print('x') }, { x: text('') }),
      },
    },
  );
  assert.deepEqual(await fixture.run('main'), { status: 'SUCCESS' });
  assert.equal(step('Print')?.status, 'SUCCESS');

  await publishCall('again');
  const { status, message } = await fixture.run('main');
  assert.equal(status, 'FAILED');
  assert.match(message ?? '', /calls itself endlessly: .*Checks\/again\.orch\.yaml/);
});

test('a use without a chosen version fails the run with a remedy, unless it is not reached', async () => {
  await fixture.choose({ prefix: 'Checks' }, 'the group is disabled: enable it');
  await publishCall('p');
  const own = 'not started: main.orch.yaml, line 1, component "Call": ';
  assert.equal((await fixture.run('main')).message, `${own}the group is disabled: enable it`);
  await publishCall('p', { versionName: '9' });
  const { message } = await fixture.run('main');
  assert.match(
    message ?? '',
    /version "9" of the shared pipelines "Checks" was not looked up when .* publish/,
  );
  await fixture.choose({ prefix: 'Checks', versionName: '9' }, { versionName: '9', files: {} });
  assert.match(
    (await fixture.run('main')).message ?? '',
    /version "9" of the shared pipelines "Checks" has no pipeline "p": publish it/,
  );
  await fixture.publish({
    'main.orch.yaml': renderOrchestration({ S: start(), Call: call('p', { versionName: 'never' }) }),
  });
  assert.deepEqual(await fixture.run('main'), { status: 'SUCCESS' });
});

test('the group and the pipeline may be written in one', async () => {
  const called = renderOrchestration({ S: start('Print'), Print: print('who') }, { who: text('nobody') });
  await fixture.choose(
    { prefix: 'Our tools', versionName: '1' },
    { versionName: '1', files: { 'greet/all.orch.yaml': called } },
  );
  const publish = (pipelineName: string) =>
    fixture.publish({
      'main.orch.yaml': renderOrchestration(
        {
          S: start('Call'),
          Call: {
            type: 'run-shared-pipeline',
            parameters: {
              pipelineName,
              version: '1',
              setScalarVariables: [['who', 'Ada']],
              setGridVariables: null,
            },
          },
        },
        { what: text('all') },
      ),
    });
  await publish('Our tools#greet/${what}');
  assert.deepEqual(await fixture.run('main'), { status: 'SUCCESS' });
  assert.deepEqual(fixture.lines, ['who = Ada']);
  await publish('greet/all');
  assert.match(
    (await fixture.run('main')).message ?? '',
    /^not started: .*"pipelineName" is "greet\/all": write the prefix of the shared pipelines, a # and the name/,
  );
  await publish('Our tools#nix');
  assert.match((await fixture.run('main')).message ?? '', /^not started: .*"nix"/);
});
