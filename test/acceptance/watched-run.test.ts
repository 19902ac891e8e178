/** What a run says of itself, with the real agent: its log, variables and SQL, and who cancelled it. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { ApiClient } from './harness/client.ts';
import { endlessSql, Project, pipelineFile, sqlScript } from './harness/project.ts';
import { sharedInstallation } from './harness/shared-installation.ts';

const text = (defaultValue: string) => ({
  metadata: { type: 'TEXT', description: '', scope: 'SHARED', visibility: 'PUBLIC' },
  defaultValue,
});
/** Takes seconds, not minutes, on any machine. */
const slowSql = 'select count(*) from range(30000) a, range(50000) b';

const watched = pipelineFile(
  'orchestration',
  {
    Start: { type: 'start', transitions: { unconditional: ['Print'] } },
    Print: {
      type: 'print-variables',
      parameters: { variablesToPrint: [['city'], ['country']], includeVariableName: 'Yes' },
      transitions: { success: ['Count'] },
    },
    Count: { type: 'sql-script', parameters: { sqlScript: `${slowSql} where '\${city}' <> ''` } },
  },
  { city: text('Oslo'), country: text('Norway') },
);

describe('a run', () => {
  let client: ApiClient;
  let project: Project;

  before(async () => {
    client = (await sharedInstallation()).client();
    project = await Project.create(client);
    await project.publish({ 'watched.orch.yaml': watched, 'endless.orch.yaml': sqlScript(endlessSql) });
  });

  it('has a log that can be followed, its variables with their sources, and its SQL', async () => {
    const id = await project.start('watched', 'dev', { scalarVariables: { city: 'Bodø' } });
    const run = `${project.path}/pipeline-executions/${id}`;
    // The stream ends with the run.
    const { body: stream } = await client.call('GET', `${run}/logs/stream`);
    const { results: lines } = await client.ask('GET', `${run}/logs`);
    assert.deepEqual(
      lines.map((line: { sequence: number; stream: string }) => [line.sequence, line.stream]),
      [
        [1, 'component'],
        [2, 'component'],
      ],
    );
    assert.match(lines[0].text, /city.*Bodø/);
    const events = String(stream)
      .trimEnd()
      .split('\n\n')
      .filter((event) => !event.startsWith(':'));
    assert.deepEqual(events, [
      'retry: 2000',
      ...lines.map(
        (line: object, index: number) => `id: ${index + 1}\nevent: line\ndata: ${JSON.stringify(line)}`,
      ),
      'id: 2\nevent: end\ndata: {"reason":"ended","status":"SUCCESS"}',
    ]);
    const { results: variables } = await client.ask('GET', `${run}/variables`);
    assert.deepEqual(variables, [
      { name: 'city', type: 'TEXT', value: 'Bodø', source: 'request' },
      { name: 'country', type: 'TEXT', value: 'Norway', source: 'default' },
    ]);
    const { results: steps } = await client.ask('GET', `${run}/steps`);
    assert.equal(steps.at(-1).result.sql, `${slowSql} where 'Bodø' <> '';`);
    assert.equal(steps.at(-1).result.progress, undefined);
  });

  it('names in its steps who cancelled it by force', async () => {
    const id = await project.start('endless');
    await project.stepRunning(id, 'Script');
    await project.cancel(id, true);
    const { message = '' } = await project.ended(id);
    assert.match(message, /cancelled by ".+" with force/);
    const script = (await project.steps(id)).find(({ name }) => name === 'Script');
    assert.equal(script?.result.status, 'CANCELLED');
    assert.match(script?.result.message ?? '', /^Cancelled by ".+"; the step may have had effects\.$/);
  });
});
