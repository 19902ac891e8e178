/**
 * The main job: the example project over the public interface, in two environments that differ by an
 * override.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { ApiClient } from './harness/client.ts';
import { exampleFiles, publishShared } from './harness/examples.ts';
import { checkout, Installation } from './harness/installation.ts';
import { type ExecutionStep, Project, steps } from './harness/project.ts';

const mainPipeline = 'Weather/Monthly report.orch.yaml';

describe('the weather project', () => {
  let headgate: Installation;
  let client: ApiClient;
  let project: Project;
  before(async () => {
    headgate = await Installation.create();
    await headgate.start('node');
    client = headgate.client();
    assert.equal((await publishShared(client, exampleFiles('checks'), 'Checks', '1.0.0')).status, 201);
    project = await Project.create(client, ['dev', 'prod']);
    await client.ask('POST', `${project.path}/variables`, {
      name: 'wetDayMillimetres',
      type: 'NUMBER',
      behaviour: 'SHARED',
      value: 1,
    });
    const written = await client.ask(
      'POST',
      `${project.path}/variables/wetDayMillimetres/environment-overrides`,
      { environmentOverrides: [{ environmentName: 'prod', value: 10 }] },
    );
    assert.deepEqual(written.failedOverride, []);
    // Another pipeline counts the rows of the table and reads the file that the example wrote.
    const check = steps(
      ['Rows', 'query-to-scalar', query('select sum(wet_days)::varchar as wet from monthly_weather')],
      ['Print', 'print-variables', { variablesToPrint: [['wet']], includeVariableName: 'No' }],
      [
        'Read back',
        'file-load',
        { source: 'reports/monthly weather.parquet', fileType: 'PARQUET', targetTable: 'read_back' },
      ],
      [
        'Read back whole',
        'assert-table',
        { tableName: 'read_back', exists: 'Yes', rowCountComparisonType: 'Equal To', rowCountValue: '96' },
      ],
    );
    const withVariable = JSON.parse(check);
    withVariable.pipeline.variables = {
      wet: {
        metadata: { type: 'TEXT', description: '', scope: 'COPIED', visibility: 'PRIVATE' },
        defaultValue: '',
      },
    };
    const files = { ...exampleFiles('weather'), 'check.orch.yaml': JSON.stringify(withVariable) };
    for (const environment of ['dev', 'prod']) {
      const { ignoredResources } = await project.publish(files, environment, '1.0.0');
      assert.deepEqual(ignoredResources, []);
    }
  });
  after(() => headgate.remove());

  const allSteps = async (id: string): Promise<ExecutionStep[]> => {
    const own = await project.steps(id);
    const children = own.flatMap((step) => (step.childPipeline ? [step.childPipeline.id] : []));
    return [...own, ...(await Promise.all(children.map(allSteps))).flat()];
  };

  it('runs to SUCCESS in dev and in prod at once, and the override makes the results differ', async () => {
    const wet: Record<string, number> = {};
    const started = ['dev', 'prod'].map(async (environment) => {
      const run = await project.run(mainPipeline, environment);
      assert.equal(run.status, 'SUCCESS', run.message);
      const found = await allSteps(run.pipelineExecutionId);
      assert.deepEqual(
        found.filter((step) => !['SUCCESS', 'SKIPPED'].includes(step.result.status)),
        [],
      );
      assert.equal(found.find((step) => step.name === 'Load daily weather')?.result.rowCount, 2_922);
      assert.ok(
        found.some((step) => step.name === 'Print the verdict'),
        'steps of child pipelines are listed',
      );

      const check = await project.run('check', environment);
      assert.equal(check.status, 'SUCCESS', check.message);
      const print = (await project.steps(check.pipelineExecutionId)).find((step) => step.name === 'Print');
      wet[environment] = Number(print?.result.message?.match(/\d+/)?.[0]);
    });
    await Promise.all(started);
    // Counted in data/weather.csv: days with at least 1 mm, and with at least 10 mm.
    assert.deepEqual(wet, wetDays());
  });

  it('leaves its executions in the list of the account, newest first, and its artifact whole', async () => {
    const { results } = await client.ask('GET', `/v1/pipeline-executions?projectId=${project.id}`);
    assert.equal(results.length, 4);
    const names = results.map((run: { pipelineName: string }) => run.pipelineName);
    assert.deepEqual(new Set(names), new Set(['check.orch.yaml', mainPipeline]));
    assert.equal(names.at(-1), mainPipeline);
    const details = await client.ask(
      'GET',
      `${project.path}/artifacts/details?environmentName=prod&versionName=1.0.0`,
    );
    assert.equal(details.assets.length, Object.keys(exampleFiles('weather')).length + 1);
  });

  it('is asked before its tables go with an environment', async () => {
    const path = `${project.path}/environments/prod`;
    const refused = await client.call('DELETE', path);
    assert.equal(refused.status, 409);
    assert.match(refused.body.detail, /"monthly_weather"/);
    assert.equal((await client.call('DELETE', `${path}?confirm=true`)).status, 204);
  });
});

function query(sql: string) {
  return { mode: 'Advanced', query: sql, scalarVariableMapping: [['wet', 'wet']] };
}

function wetDays(): Record<string, number> {
  const [head = '', ...rows] = readFileSync(
    join(checkout, 'examples', 'weather', 'data', 'weather.csv'),
    'utf8',
  )
    .trim()
    .split('\n');
  const column = head.split(',').indexOf('precipitation');
  const millimetres = rows.map((row) => Number(row.split(',')[column]));
  const atLeast = (least: number) => millimetres.filter((each) => each >= least).length;
  return { dev: atLeast(1), prod: atLeast(10) };
}
