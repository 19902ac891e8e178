/** A failed, cancelled or lost execution is restarted: what runs again, with which values, and what is named. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { waitUntil } from '../../packages/server/testing/waiting.ts';
import type { Answer, ApiClient } from './harness/client.ts';
import { impatientInstallation } from './harness/impatient-installation.ts';
import type { Installation } from './harness/installation.ts';
import { endlessSql, Project, pipelineFile, sqlScript } from './harness/project.ts';

const start = (...unconditional: string[]) => ({ type: 'start', transitions: { unconditional } });
const sql = (text: string, ...success: string[]) => ({
  type: 'sql-script',
  parameters: { sqlScript: text },
  transitions: { success },
});
const variable = (defaultValue: string, scope = 'COPIED') => ({
  metadata: { type: 'TEXT', description: '', scope, visibility: 'PUBLIC' },
  defaultValue,
});

/** `missing_ID` makes the step succeed once it exists. */
const files = {
  'wrong.orch.yaml': sqlScript(''),
  'main.orch.yaml': pipelineFile(
    'orchestration',
    {
      Start: start('Count'),
      Count: sql("insert into log values ('count ${n}')", 'Add'),
      Add: {
        type: 'update-scalar',
        parameters: { scalarsToUpdate: [['n', '${n}1']] },
        transitions: { success: ['Rows'] },
      },
      Rows: {
        type: 'query-to-grid',
        parameters: {
          mode: 'Advanced',
          query: "select 'a' as x union all select 'b' order by 1",
          gridVariable: 'rows',
          gridVariableMapping: [['x', 'x']],
        },
        transitions: { success: ['Each'] },
      },
      Each: {
        type: 'grid-iterator',
        iterationTarget: 'Child',
        parameters: { gridVariable: 'rows', gridIteratorVariableMapping: [['x', 'x']] },
        transitions: { success: ['End'] },
      },
      Child: {
        type: 'run-orchestration',
        parameters: {
          orchestrationJob: 'child',
          setScalarVariables: [
            ['x', '${x}'],
            ['given', '${n}'],
          ],
        },
      },
      End: sql("insert into log values ('end ${n}')"),
    },
    {
      n: variable('0'),
      x: variable(''),
      rows: {
        metadata: {
          type: 'GRID',
          description: '',
          scope: 'COPIED',
          visibility: 'PUBLIC',
          columns: { x: { columnType: 'TEXT' } },
        },
        defaultValue: [],
      },
    },
  ),
  'child.orch.yaml': pipelineFile(
    'orchestration',
    {
      Start: start('First'),
      First: sql("insert into log values ('first ${x} ${given}')", 'Note'),
      Note: {
        type: 'update-scalar',
        parameters: { scalarsToUpdate: [['noted', '${x}!']] },
        transitions: { success: ['Second'] },
      },
      Second: sql("insert into log select 'second ${noted}' from need_${x}"),
    },
    { x: variable(''), given: variable(''), noted: variable('') },
  ),
  'stamped.orch.yaml': pipelineFile('orchestration', {
    Start: start('Call'),
    Call: {
      type: 'run-orchestration',
      parameters: {
        orchestrationJob: 'stamp',
        setScalarVariables: [['at', '${sysvar.thisComponent.startedAt}']],
      },
    },
  }),
  'stamp.orch.yaml': pipelineFile(
    'orchestration',
    {
      Start: start('First'),
      First: sql("insert into log values ('${at}')", 'Second'),
      Second: sql("insert into log select '${at}' from need_stamp"),
    },
    { at: variable('') },
  ),
  'long.orch.yaml': pipelineFile('orchestration', {
    Start: start('Before'),
    Before: sql("insert into log values ('before')", 'Long'),
    Long: sql(`insert into log values ('long'); ${endlessSql}`, 'Never'),
    Never: sql("insert into log values ('never')"),
  }),
  'handled.orch.yaml': pipelineFile('orchestration', {
    Start: start('Load'),
    Load: {
      ...sql('select * from need_handled', 'Done'),
      transitions: { success: ['Done'], failure: ['Tell'] },
    },
    Done: sql("insert into log values ('done')"),
    Tell: sql("insert into log values ('tell')", 'Failed'),
    Failed: { type: 'end-failure' },
  }),
};

describe('a restarted execution', () => {
  let headgate: Installation;
  let client: ApiClient;
  let project: Project;
  before(async () => {
    headgate = await impatientInstallation();
    client = headgate.client();
    project = await Project.create(client);
    await project.publish({
      ...files,
      'sql.orch.yaml': pipelineFile(
        'orchestration',
        { Start: start('Script'), Script: sql('${text}') },
        { text: variable('') },
      ),
      'read.orch.yaml': pipelineFile(
        'orchestration',
        {
          Start: start('Read'),
          Read: {
            type: 'query-to-scalar',
            parameters: {
              mode: 'Advanced',
              query: "select coalesce(string_agg(line, ', '), '') as lines from log",
              scalarVariableMapping: [['lines', 'lines']],
            },
            transitions: { success: ['Say'] },
          },
          Say: {
            type: 'print-variables',
            parameters: { variablesToPrint: [['lines']], includeVariableName: 'No' },
          },
        },
        { lines: variable('') },
      ),
    });
  });

  const execute = async (text: string) => {
    const run = await project.ended(await project.start('sql', 'dev', { scalarVariables: { text } }));
    assert.equal(run.status, 'SUCCESS', run.message);
  };
  const clear = () => execute('create or replace table log (line varchar)');
  async function readLog(): Promise<string[]> {
    const { pipelineExecutionId: id } = await project.run('read');
    const { results } = await client.ask('GET', `${project.path}/pipeline-executions/${id}/logs`);
    return results[0].text.split(', ');
  }
  const restart = (id: string, body: object = {}, key?: string): Promise<Answer> =>
    client.call('POST', `${project.path}/pipeline-executions/${id}/restart`, {
      body,
      ...(key === undefined ? {} : { key }),
    });
  async function restarted(id: string, body: object): Promise<string> {
    const { status, body: answer } = await restart(id, body);
    assert.equal(status, 201, JSON.stringify(answer));
    return answer.pipelineExecutionId;
  }

  it('continues in the failed iteration, in the child, with the values of that place; also twice', async () => {
    await clear();
    await execute('create or replace table need_a (a int); insert into need_a values (1)');
    const first = await project.run('main');
    assert.match(first.message ?? '', /child\.orch\.yaml, line \d+: "Second" failed: .*need_b/);
    assert.deepEqual(await readLog(), ['count 0', 'first a 01', 'second a!', 'first b 01']);

    const refused = await restart(first.pipelineExecutionId);
    assert.deepEqual([refused.status, refused.body.code], [409, 'restart-repeats-effects']);
    assert.deepEqual(
      refused.body.errors.map((each: { detail: string }) => each.detail),
      ['"Second" failed, and may have changed data before'],
    );
    const accepted = { from: 'FAILED', acceptEffects: ['Second'] };
    const key = `key-${first.pipelineExecutionId}`;
    const answer = await restart(first.pipelineExecutionId, accepted, key);
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    const second = answer.body.pipelineExecutionId;
    const replayed = await restart(first.pipelineExecutionId, accepted, key);
    assert.deepEqual([replayed.status, replayed.body], [201, answer.body]);
    assert.equal((await project.ended(second)).status, 'FAILED');
    assert.equal((await readLog()).length, 4);
    const shown = await client.ask('GET', `${project.path}/pipeline-executions/${second}`);
    assert.equal(shown.restartOf, first.pipelineExecutionId);
    const twice = await restart(first.pipelineExecutionId, accepted);
    assert.deepEqual([twice.status, twice.body.code], [409, 'execution-not-restartable']);
    assert.match(twice.body.detail, new RegExp(`restarted by the execution ${second}`));

    await execute('create or replace table need_b (a int); insert into need_b values (1)');
    const third = await restarted(second, accepted);
    const run = await project.ended(third);
    assert.equal(run.status, 'SUCCESS', run.message);
    assert.deepEqual((await readLog()).slice(4), ['second b!', 'end 01']);
    const steps = await project.steps(third);
    assert.deepEqual(
      steps.map(({ name, result }) => `${name} ${result.status}`),
      [
        'Start SKIPPED',
        'Count SKIPPED',
        'Add SKIPPED',
        'Rows SKIPPED',
        'Each SUCCESS',
        'Child SUCCESS',
        'End SUCCESS',
      ],
    );
    const done = await restart(third);
    assert.deepEqual([done.status, done.body.code], [409, 'execution-not-restartable']);
    await execute('drop table need_a; drop table need_b');
  });

  it('continues from the moment when a component began', async () => {
    await clear();
    const first = await project.run('main');
    assert.match(first.message ?? '', /need_a/);
    const unknown = await restart(first.pipelineExecutionId, { from: 'Eich' });
    assert.deepEqual([unknown.status, unknown.body.code], [422, 'unknown-restart-component']);
    assert.match(unknown.body.detail, /Did you mean Each/);
    const refused = await restart(first.pipelineExecutionId, { from: 'Add' });
    assert.deepEqual(
      refused.body.errors.map((each: { detail: string }) => each.detail.split(' ')[0]).sort(),
      ['"First"', '"Second"'],
    );
    const second = await restarted(first.pipelineExecutionId, {
      from: 'Count',
      acceptEffects: ['Count', 'First', 'Second'],
    });
    await project.ended(second);
    assert.deepEqual(await readLog(), [
      ...['count 0', 'first a 01', 'first b 01'],
      ...['count 0', 'first a 01', 'first b 01'],
    ]);
  });

  it('continues a child with the values that it was given', async () => {
    await clear();
    const first = await project.run('stamped');
    await execute('create or replace table need_stamp (a int); insert into need_stamp values (1)');
    const second = await restarted(first.pipelineExecutionId, { acceptEffects: ['Second'] });
    const run = await project.ended(second);
    assert.equal(run.status, 'SUCCESS', run.message);
    const [input, ...others] = await readLog();
    assert.match(input ?? '', /^20/);
    assert.deepEqual(others, [input]);
  });

  it('names what was running when the agent was killed', async () => {
    await clear();
    const id = await project.start('long');
    await project.stepRunning(id, 'Long');
    const running = await restart(id);
    assert.deepEqual([running.status, running.body.code], [409, 'execution-not-restartable']);
    const isLogged = async (times: number) =>
      (await readLog()).filter((each) => each === 'long').length === times;
    await waitUntil('the first statement of the step', 120, () => isLogged(1));
    await headgate.kill((await headgate.process('agent')).pid);
    const run = await project.ended(id);
    assert.equal(run.status, 'FAILED');
    const refused = await restart(id, {});
    assert.equal(refused.body.code, 'restart-repeats-effects', JSON.stringify(refused.body));
    assert.deepEqual(
      refused.body.errors.map((each: { detail: string }) => each.detail),
      ['"Long" was running when the agent was lost'],
    );
    const second = await restarted(id, { acceptEffects: ['Long'] });
    await project.stepRunning(second, 'Long');
    await waitUntil('the first statement of the restarted step', 120, () => isLogged(2));
    const cancelled = await project.cancel(second, true);
    assert.equal(cancelled.status, 200);
    assert.equal((await project.ended(second)).status, 'CANCELLED');
    assert.deepEqual(await readLog(), ['before', 'long', 'long']);
    const again = await restart(second);
    assert.equal(again.body.code, 'restart-repeats-effects');
  });

  it('repeats the failure that led to an end-failure', async () => {
    await clear();
    const first = await project.run('handled');
    assert.equal(first.status, 'FAILED');
    await execute('create or replace table need_handled (a int)');
    const second = await restarted(first.pipelineExecutionId, { acceptEffects: ['Tell'] });
    const run = await project.ended(second);
    assert.equal(run.status, 'SUCCESS', run.message);
    assert.deepEqual(await readLog(), ['tell', 'done']);
  });

  it('that never began runs from its start', async () => {
    const first = await project.run('wrong');
    assert.equal(first.status, 'FAILED');
    const second = await restarted(first.pipelineExecutionId, {});
    assert.match((await project.ended(second)).message ?? '', /"sqlScript" is missing/);
    const unknown = await restart('00000000-0000-7000-8000-000000000000');
    assert.deepEqual([unknown.status, unknown.body.code], [404, 'execution-not-found']);
  });
});
