/** A run never sees anything of the run before it in the same process. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: they are expressions of the format
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { Secret, type Step } from '@headgate/contract';
import { grid, print, renderOrchestration, start, text, update } from '../engine/run/pipeline-fixture.ts';
import { createPoolFixture, request } from './pool-fixture.ts';
import type { RunOptions } from './run-options.ts';

const canary = 'canary-3f9a';
const fixture = await createPoolFixture({
  bounds: { spares: 1, runs: 5_000, milliseconds: 86_400_000, megabytes: 400 },
});
after(() => fixture.close());

/** All that a run says, and all that it asks the agent. */
function listen(): { said: unknown[]; options: Partial<RunOptions> } {
  const said: unknown[] = [];
  const options: Partial<RunOptions> = {
    onStep: (step: Step) => said.push(step),
    onLine: (line) => said.push(line),
    onVariables: (variables) => said.push(variables),
    warehouse: {
      async execute(sql) {
        said.push(sql);
        return { rowCount: 1 };
      },
      async queryText(sql) {
        said.push(sql);
        return JSON.stringify({ columns: ['a'], rows: [[1]] });
      },
    },
  };
  return { said, options };
}

/** Components one after the other, so that every run says the same in the same order. */
function renderChain(components: Record<string, object>, variables: object): string {
  const names = Object.keys(components);
  const chained = Object.entries(components).map(([name, component], index) => {
    const next = names[index + 1];
    return [name, { ...component, ...(next === undefined ? {} : { transitions: { success: [next] } }) }];
  });
  return renderOrchestration({ Start: start(names[0] ?? ''), ...Object.fromEntries(chained) }, variables);
}

const child = renderChain({ Show: print('left') }, { left: text('nothing') });
const runChild = (...set: string[][]) => ({
  type: 'run-orchestration',
  parameters: { orchestrationJob: 'child', ...(set.length === 0 ? {} : { setScalarVariables: set }) },
});
const variables = {
  x: text(''),
  y: text(''),
  given: text('default'),
  g: grid({ a: 'TEXT' }, [['a']]),
};

/** Tries to leave the canary behind in every place that a pipeline reaches. */
const leaving = fixture.publish({
  'main.orch.yaml': renderChain(
    {
      Globals: update('x', `(() => { globalThis.left = '${canary}'; return '${canary}' })()`),
      Prototype: update(
        'y',
        `(() => { Object.prototype.left = '${canary}'; String.prototype.left = '${canary}'; Array.prototype.map = () => ['${canary}']; return [1].map(String).length })()`,
      ),
      Sql: { type: 'sql-script', parameters: { sqlScript: `select '${canary}', '\${given}'` } },
      Child: runChild(['left', canary]),
    },
    variables,
  ),
  'child.orch.yaml': child,
});

/** Looks everywhere for it. */
const looking = fixture.publish({
  'main.orch.yaml': renderChain(
    {
      Globals: update(
        'x',
        "JSON.stringify([Object.getOwnPropertyNames(globalThis).sort(), typeof left, {}.left, ''.left, [1].map(String), sysvar.thisPipeline])",
      ),
      Show: print('x', 'y', 'given', 'g'),
      Sql: { type: 'sql-script', parameters: { sqlScript: "select '${given}'" } },
      Child: runChild(),
    },
    variables,
  ),
  'child.orch.yaml': child,
});

async function look(): Promise<string> {
  const { said, options } = listen();
  const outcome = await fixture.run(looking, options);
  assert.equal(outcome.status, 'SUCCESS', outcome.message);
  return JSON.stringify(said.map((each) => (typeof each === 'object' ? withoutOwn(each) : each)));
}

/** Ids and times differ in all runs. */
function withoutOwn(each: object | null): object {
  const own = new Set(['stepId', 'startedAt', 'finishedAt', 'pipelineRunId', 'childPipeline']);
  return Object.fromEntries(Object.entries(each ?? {}).filter(([name]) => !own.has(name)));
}

describe('a process of runs', () => {
  it('shows a run nothing of 1,000 runs that tried to leave something', async () => {
    const clean = await look();
    assert.doesNotMatch(clean, new RegExp(canary));
    const places = Object.entries({
      scalarVariables: { given: canary },
      gridVariables: { g: [[canary]] },
      variables: [{ name: 'leftVariable', type: 'TEXT', behaviour: 'SHARED', value: canary }],
      pipelineExecutionId: canary,
      versionName: canary,
    });
    for (let turn = 0; turn < 1_000; turn += 1) {
      const { said, options } = listen();
      const [name, value] = places[turn % places.length] as [string, unknown];
      const outcome = await fixture.run(leaving, {
        ...options,
        request: { ...request, [name]: value },
      });
      assert.equal(outcome.status, 'SUCCESS', outcome.message);
      assert.match(JSON.stringify(said), new RegExp(canary));
      if (turn % 100 === 99) assert.equal(await look(), clean, `after ${turn + 1} runs`);
    }
    assert.deepEqual(fixture.retired, [], 'all of them ran in one process');
  });

  it('takes members named like those of prototypes as names', async () => {
    const text = `{"type":"orchestration","version":"1.0","pipeline":{"components":{
      "Start":{"type":"start","parameters":{},"transitions":{"unconditional":["__proto__","constructor"]}},
      "__proto__":{"type":"print-variables","parameters":{"variablesToPrint":[["toString"]],"__proto__":{"left":"${canary}"}}},
      "constructor":{"type":"print-variables","parameters":{"variablesToPrint":[["__proto__"]]}}},
      "variables":{"toString":{"metadata":{"type":"TEXT"},"defaultValue":"${canary}"},"__proto__":{"metadata":{"type":"TEXT"},"defaultValue":"${canary}"}}},
      "__proto__":{"left":"${canary}"},"design":{}}`;
    const clean = await look();
    const { options } = listen();
    // Whether such a file runs or is refused: it changes nothing for others.
    await fixture.run(text, options);
    await fixture.run(text, {
      ...options,
      request: {
        ...request,
        scalarVariables: JSON.parse(`{"__proto__":"${canary}","constructor":{"prototype":{"left":1}}}`),
      },
    });
    assert.equal(await look(), clean);
    assert.deepEqual(fixture.retired, []);
  });

  it('does not let a run of another environment into a process', async () => {
    const { options } = listen();
    const before = fixture.retired.length;
    const outcome = await fixture.run(looking, {
      ...options,
      request: { ...request, environmentName: 'prod' },
    });
    assert.equal(outcome.status, 'SUCCESS', outcome.message);
    assert.equal(fixture.pool.listProcesses().length, 3, 'one of each environment, and a spare');
    assert.equal(fixture.retired.length, before);
  });

  it('reads a file of the files folder again in each run', async () => {
    const pipeline = renderOrchestration({
      Start: start('Each'),
      Each: {
        type: 'file-iterator',
        iterationTarget: 'Show',
        parameters: { inputDataUrl1: '.', filterRegex: '.*[.]csv', variables: [['x', 'Filename']] },
      },
      Show: print('x'),
    }).replace('"variables":{}', `"variables":{"x":${JSON.stringify(text(''))}}`);
    for (const name of ['one.csv', 'two.csv']) {
      writeFileSync(join(fixture.filesFolder, name), '');
      const { said, options } = listen();
      const outcome = await fixture.run(pipeline, options);
      assert.equal(outcome.status, 'SUCCESS', outcome.message);
      assert.match(JSON.stringify(said), new RegExp(`x = ${name}`));
    }
  });

  it('does no other run after it was given a secret', async () => {
    const pipeline = renderOrchestration(
      { Start: start('Use'), Use: update('x', 'secret("key").length') },
      { x: text('') },
    );
    const before = fixture.retired.length;
    const { options } = listen();
    const outcome = await fixture.run(pipeline, { ...options, readSecret: async () => new Secret(canary) });
    assert.equal(outcome.status, 'SUCCESS', outcome.message);
    assert.deepEqual(fixture.retired.slice(before), ['a secret']);
    assert.doesNotMatch(await look(), new RegExp(canary));
  });
});
