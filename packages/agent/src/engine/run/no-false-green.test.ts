/** A wrong pipeline never ends in SUCCESS: it is FAILED before its first step. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { findingCodes } from '@headgate/pipelines';
import { wrongOrders } from '../../../testing/wrong-orders.ts';
import { wrongParameters } from '../../../testing/wrong-parameters.ts';
import type { WrongPipeline } from '../../../testing/wrong-pipeline.ts';
import { wrongReferences } from '../../../testing/wrong-references.ts';
import { createFixture, type Fixture } from './engine-fixture.ts';
import {
  grid,
  print,
  renderOrchestration,
  renderTransformation,
  start,
  text,
  update,
} from './pipeline-fixture.ts';

const wrongPipelines = [...wrongOrders, ...wrongParameters, ...wrongReferences];

let fixture: Fixture;
beforeEach(async () => {
  fixture = await createFixture();
});
afterEach(() => fixture.dispose());

async function runWrong({ files, ignored, shared, warehouse = 'DUCKDB' }: WrongPipeline) {
  await fixture.publish(files);
  for (const [path, reason] of Object.entries(ignored ?? {})) fixture.ignored.set(path, reason);
  if (shared !== undefined) await fixture.choose({ prefix: shared.prefix }, shared.chosen);
  return fixture.run('main', { warehouse });
}

describe('a run fails before its first step because of', () => {
  for (const wrong of wrongPipelines) {
    it(wrong.what, async () => {
      const { status, message = '' } = await runWrong(wrong);
      assert.equal(status, 'FAILED');
      assert.match(message, wrong.says);
      assert.match(message, /^not started/);
      assert.match(message, /\.(orch|tran)\.yaml, line \d+/);
      assert.deepEqual([...fixture.steps.values()], []);
      const tables = "select table_name from information_schema.tables where table_name = 'effect'";
      assert.deepEqual(await fixture.rows(tables), []);
    });
  }

  it('every finding of level error is covered', () => {
    const onlyWarnings = [
      'unreachable-component',
      'unused-component',
      'unknown-secret-reference',
      'literal-value',
      'missing-file',
      'invalid-connection',
      'missing-output',
      'pipeline-file-name',
      'more-findings',
    ];
    const exercised = wrongPipelines.map(({ code }) => code);
    assert.deepEqual([...new Set([...exercised, ...onlyWarnings])].sort(), [...findingCodes].sort());
  });
});

describe('a run fails, and loses nothing silently, when', () => {
  const script = (sqlScript: string, more: object = {}) => ({
    type: 'sql-script',
    parameters: { sqlScript },
    ...more,
  });

  it('a script leaves its transaction open', async () => {
    await fixture.publish({
      'main.orch.yaml': renderOrchestration({
        Start: start('Open'),
        Open: script('begin; create table lost as select 1', { transitions: { success: ['Next'] } }),
        Next: script('create table next as select 1'),
      }),
    });
    const { status, message = '' } = await fixture.run('main');
    assert.equal(status, 'FAILED');
    assert.match(
      message,
      /"Open" failed: the script leaves a transaction open: end it with COMMIT or ROLLBACK/,
    );
    assert.deepEqual(await fixture.rows('select table_name from information_schema.tables'), []);
  });

  it('a failure inside a transaction is handled: later statements are kept', async () => {
    await fixture.publish({
      'main.orch.yaml': renderOrchestration({
        Start: start('Break'),
        Break: script('begin; create table lost as select 1; select * from gone', {
          transitions: { failure: ['Next'] },
        }),
        Next: script('create table kept as select 1'),
      }),
    });
    assert.equal((await fixture.run('main')).status, 'SUCCESS');
    assert.deepEqual(await fixture.rows('select table_name from information_schema.tables'), [['kept']]);
  });

  it('a script rolls back a transaction that was never begun', async () => {
    for (const begun of ['', 'begin; commit; ']) {
      await fixture.publish({
        'main.orch.yaml': renderOrchestration({
          Start: start('End'),
          End: script(`${begun}select 1; rollback`),
        }),
      });
      const { status, message = '' } = await fixture.run('main');
      assert.equal(status, 'FAILED');
      assert.match(message, /no transaction is active/);
    }
  });

  it('another branch has reached end-success', async () => {
    await fixture.publish({
      'main.orch.yaml': renderOrchestration({
        Start: start('End', 'Bad'),
        End: { type: 'end-success', parameters: {} },
        Bad: script('select * from gone'),
      }),
    });
    const { status, message = '' } = await fixture.run('main');
    assert.equal(status, 'FAILED');
    assert.match(message, /"Bad" failed: .*gone/);
  });

  const grids = { g: grid({ name: 'TEXT' }, [['a']]), x: text('') };
  for (const [expression, says] of [
    ['sysvar.enviroment', /sysvar has no member "enviroment": did you mean "environment"\?/],
    ['sysvar.environment.nam', /sysvar\.environment has no member "nam": did you mean "name"\?/],
    ['sysvar.environment["zzz"]', /sysvar\.environment has no member "zzz": it has name/],
    [
      'sysvar.schedule.tick',
      /sysvar\.schedule exists only in a run of a schedule or a backfill, and this run is of none\. For other/,
    ],
    ['sysvar.childPipeline.vars.x', /sysvar\.childPipeline exists only in the postProcessing/],
    ['g.nam', /the grid variable "g" has no column "nam": did you mean "name"\?/],
    ['g.zz', /the grid variable "g" has no column "zz": it has name/],
  ] as const) {
    it(`an expression reads ${expression}`, async () => {
      await fixture.publish({
        'main.orch.yaml': renderOrchestration({ Start: start('Set'), Set: update('x', expression) }, grids),
      });
      const { status, message = '' } = await fixture.run('main');
      assert.equal(status, 'FAILED');
      assert.match(message, says);
    });
  }

  it('but not for existing members', async () => {
    const sound =
      'sysvar.environment.name + g.name.length + g.name[7] + JSON.stringify([sysvar, g]) + ("zz" in g) + `${g}`';
    await fixture.publish({
      'main.orch.yaml': renderOrchestration({ Start: start('Set'), Set: update('x', sound) }, grids),
    });
    assert.deepEqual(await fixture.run('main'), { status: 'SUCCESS' });
  });
});

describe('a run starts although', () => {
  const sound: Record<string, Record<string, string>> = {
    'the pipeline has no components': {
      'main.orch.yaml': 'type: orchestration\nversion: "1.0"\npipeline: {}\ndesign: {}\n',
    },
    'the called transformation has no components': {
      'main.orch.yaml': renderOrchestration({
        Start: start('Call'),
        Call: { type: 'run-transformation', parameters: { transformationJob: 'empty' } },
      }),
      'empty.tran.yaml': renderTransformation({}),
    },
    'a skipped component has an unknown type': {
      'main.orch.yaml': renderOrchestration({
        Start: start('Odd'),
        Odd: { type: 'vendor', skipped: true, parameters: {}, transitions: { success: ['Done'] } },
        Done: { type: 'end-success', parameters: {} },
      }),
    },
    'what no transition leads to is wrong': {
      'main.orch.yaml': renderOrchestration({
        Start: start(),
        Odd: { type: 'vendor', parameters: {}, transitions: { success: ['Odder'] } },
        Odder: {
          type: 'run-orchestration',
          parameters: { orchestrationJob: 'gone' },
          transitions: { true: ['No'] },
        },
      }),
    },
    'a pipeline that is not called is wrong': {
      'main.orch.yaml': renderOrchestration({ Start: start() }),
      'other.orch.yaml': 'type: [',
    },
    'rows that lead to no output have sources that go round': {
      'main.orch.yaml': renderOrchestration({
        Start: start('Call'),
        Call: { type: 'run-transformation', parameters: { transformationJob: 'flow' } },
      }),
      'flow.tran.yaml': renderTransformation({
        One: { type: 'sql', parameters: { query: 'select 1 as a' } },
        Out: { type: 'rewrite-table', sources: ['One'], parameters: { targetTable: 'out' } },
        A: { type: 'filter', sources: ['B'], parameters: { filterConditions: [['a', 'Is', 'Null', '']] } },
        B: { type: 'filter', sources: ['A'], parameters: { filterConditions: [['a', 'Is', 'Null', '']] } },
      }),
    },
    'words and rows of its parameters are known later': {
      'main.orch.yaml': renderOrchestration(
        {
          Start: start('Make'),
          Make: {
            type: 'create-table',
            parameters: {
              newTableName: '${name}',
              createReplace: '${how}',
              columns: [['${name}', '${kind}']],
            },
          },
        },
        { name: text('t'), how: text('Replace'), kind: text('VARCHAR') },
      ),
    },
    'a circle is not gone round': {
      'main.orch.yaml': renderOrchestration(
        {
          Start: start('Try'),
          Try: { ...print('x'), transitions: { success: ['Again?'] } },
          'Again?': {
            type: 'if',
            parameters: { mode: 'Advanced', condition1: 'x == "yes"' },
            transitions: { true: ['Try'], false: ['Done'] },
          },
          Done: { type: 'end-success', parameters: {} },
        },
        { x: text('no') },
      ),
    },
  };
  for (const [what, files] of Object.entries(sound)) {
    it(what, async () => {
      await fixture.publish(files);
      assert.deepEqual(await fixture.run('main'), { status: 'SUCCESS' });
    });
  }

  it('its project has an unsupported warehouse that it does not need', async () => {
    await fixture.publish({
      'main.orch.yaml': renderOrchestration({ Start: start('Print'), Print: print('x') }, { x: text('') }),
    });
    assert.deepEqual(await fixture.run('main', { warehouse: 'BIGQUERY' }), { status: 'SUCCESS' });
  });
});

describe('an error found only during a run fails the whole run:', () => {
  const handled = { type: 'or', parameters: {} };
  const call = (orchestrationJob: string) => ({
    type: 'run-orchestration',
    parameters: { orchestrationJob },
    transitions: { failure: ['Handled'] },
  });
  const calling = (name: string) =>
    renderOrchestration(
      { Start: start('Call'), Call: call('${name}'), Handled: handled },
      { name: text(name) },
    );

  it('a wrong pipeline whose name is an expression', async () => {
    await fixture.publish({
      'main.orch.yaml': calling('child'),
      'child.orch.yaml': renderOrchestration({ S: start('Gone') }),
    });
    const { status, message = '' } = await fixture.run('main');
    assert.equal(status, 'FAILED');
    assert.match(message, /^not started: child\.orch\.yaml, line 1, component "S": /);
    assert.deepEqual(
      [...fixture.steps.values()].map(({ name }) => name),
      ['Start', 'Call'],
    );
  });

  it('a missing pipeline whose name is an expression', async () => {
    await fixture.publish({ 'main.orch.yaml': calling('gone') });
    const { status, message = '' } = await fixture.run('main');
    assert.equal(status, 'FAILED');
    assert.match(message, /has no pipeline "gone"/);
  });

  it('a pipeline that calls itself too deep, even if the failure is handled', async () => {
    const again = {
      type: 'if',
      parameters: { mode: 'Advanced', condition1: '1 == 1' },
      transitions: { true: ['Call'] },
    };
    await fixture.publish({
      'main.orch.yaml': renderOrchestration({
        Start: start('If'),
        If: again,
        Call: call('main'),
        Handled: handled,
      }),
    });
    const { status, message = '' } = await fixture.run('main');
    assert.equal(status, 'FAILED');
    assert.match(message, /the depth of calls exceeds 50/);
  });

  it('a transition back to a component that already ran', async () => {
    const again = {
      type: 'if',
      parameters: { mode: 'Advanced', condition1: '1 == 1' },
      transitions: { true: ['Try'], false: ['Handled'] },
    };
    const attempt = { ...handled, transitions: { success: ['If'] } };
    await fixture.publish({
      'main.orch.yaml': renderOrchestration({
        Start: start('Try'),
        Try: attempt,
        If: again,
        Handled: handled,
      }),
    });
    assert.deepEqual(await fixture.run('main'), {
      status: 'FAILED',
      message:
        'main.orch.yaml: "If" leads back to "Try", which already ran; a component runs once: use an iterator to repeat',
    });
  });
});
