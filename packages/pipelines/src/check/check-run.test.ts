/** The check of a run does an amount of work that is linear in what the run can reach. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CallArgument, Question } from '../validate/finding.ts';
import { type CheckedArtifact, checkRun } from './check-run.ts';
import type { PipelineOutline } from './outline.ts';

/** Counts what is read of an artifact. */
interface Counter {
  reads: number;
}

function counted<T extends object>(counter: Counter, value: T): T {
  return new Proxy(value, {
    get(target, member, receiver) {
      counter.reads += 1;
      const found = Reflect.get(target, member, receiver);
      return typeof found === 'function' ? found.bind(target) : found;
    },
  });
}

const outline = (path: string, notes: PipelineOutline['notes'] = []): PipelineOutline => ({
  path,
  name: path,
  type: 'orchestration',
  variables: [{ name: 'city', type: 'TEXT', visibility: 'PUBLIC' }],
  description: '',
  sharedPipelines: [],
  notes,
  beyond: 0,
});

const place = (index: number) => ({ component: `c${index}`, line: index + 1, reached: true });

const sharedCall = (pipelineName: string, index: number, sets: CallArgument[] = []): Question => ({
  asks: 'shared-call',
  use: { prefix: 'Checks' },
  pipelineName,
  sets,
  certain: false,
  ...place(index),
});

const call = (path: string, index: number): Question => ({
  asks: 'call',
  path,
  sets: [{ name: 'ctiy', as: 'scalar' }],
  certain: true,
  ...place(index),
});

function artifactOf(counter: Counter, outlines: PipelineOutline[], prefix = ''): CheckedArtifact {
  const byPath = new Map(outlines.map((each) => [each.path, counted(counter, each)]));
  return {
    prefix,
    title: prefix === '' ? 'the project' : `version "1" of the shared pipelines "${prefix}"`,
    get paths() {
      counter.reads += byPath.size;
      return [...byPath.keys()];
    },
    unreadable: new Map(),
    async outline(path) {
      counter.reads += 1;
      return byPath.get(path);
    },
    async profiles() {
      return new Map();
    },
    async expressions() {
      return [];
    },
  };
}

async function check(own: PipelineOutline[], shared: PipelineOutline[] = [], sound = new Set<string>()) {
  const counter = { reads: 0 };
  const group = artifactOf(counter, shared, 'Checks/');
  let turns = 0;
  const result = await checkRun(artifactOf(counter, own), 'main.orch.yaml', {
    variables: new Set(),
    warehouse: 'DUCKDB',
    shared: () => group,
    isSound: (_, path) => sound.has(path),
    async nextTurn() {
      turns += 1;
    },
  });
  return { ...result, reads: counter.reads, turns };
}

const many = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => make(index));
const child = (index: number) => `child ${index}.orch.yaml`;

describe('checkRun', () => {
  const projects: Record<string, (size: number) => Parameters<typeof check>> = {
    'calls of shared pipelines that are not there': (size) => [
      [
        outline(
          'main.orch.yaml',
          many(size, (index) => sharedCall(`child ${index}x`, index)),
        ),
      ],
      many(size, (index) => outline(child(index))),
    ],
    'calls of shared pipelines that set a mistyped variable': (size) => [
      [
        outline(
          'main.orch.yaml',
          many(size, (index) => sharedCall(`child ${index}`, index, [{ name: 'ctiy', as: 'scalar' }])),
        ),
      ],
      many(size, (index) => outline(child(index))),
    ],
    'calls of one shared pipeline': (size) => [
      [
        outline(
          'main.orch.yaml',
          many(size, (index) => sharedCall('child 0', index)),
        ),
      ],
      many(size, (index) => outline(child(index))),
    ],
    'calls of pipelines that are not there': (size) => [
      [
        outline(
          'main.orch.yaml',
          many(size, (index) => call(`gone ${index}.orch.yaml`, index)),
        ),
        ...many(size, (index) => outline(child(index))),
      ],
    ],
    'a deep chain of calls': (size) => [
      [
        outline('main.orch.yaml', [call(child(0), 0)]),
        ...many(size, (index) => outline(child(index), [call(child(index + 1), 0)])),
      ],
    ],
    'pipelines that all call the same ones': (size) => [
      [
        outline(
          'main.orch.yaml',
          many(size, (index) => call(child(index), index)),
        ),
        ...many(size, (index) => outline(child(index), [call(child((index + 1) % size), 0)])),
      ],
    ],
  };
  for (const [what, project] of Object.entries(projects)) {
    it(`does four times the work for four times ${what}`, async () => {
      // Both exceed the limit on suggestions of one check.
      const [small, large] = [await check(...project(500)), await check(...project(2_000))];
      assert.ok(large.reads < 5 * small.reads, `${small.reads} reads, then ${large.reads}`);
      assert.ok(small.errorsTotal > 0 || what.includes('one shared'));
    });
  }

  it('yields to the event loop after each pipeline', async () => {
    const { turns } = await check([
      outline(
        'main.orch.yaml',
        many(50, (index) => call(child(index), index)),
      ),
      ...many(50, (index) => outline(child(index))),
    ]);
    assert.equal(turns, 51);
  });

  it('keeps a limited number of errors and counts all', async () => {
    const calls = many(3_000, (index) => call(`gone ${index}.orch.yaml`, index));
    const { errors, errorsTotal } = await check([outline('main.orch.yaml', calls)]);
    assert.deepEqual([errors.length, errorsTotal], [100, 3_000]);
  });

  it('skips pipelines that an earlier check found sound', async () => {
    const own = [
      outline('main.orch.yaml', [call(child(0), 0)]),
      outline(child(0), [call(child(1), 0)]),
      outline(child(1), [call('gone.orch.yaml', 0)]),
    ];
    const { errors, checked } = await check(own, [], new Set([child(0)]));
    assert.deepEqual(
      errors.map(({ path, code }) => [path, code]),
      [['main.orch.yaml', 'undeclared-variable']],
    );
    assert.deepEqual(
      checked.map(({ path }) => path),
      ['main.orch.yaml'],
    );
  });

  it('suggests names, up to a limit', async () => {
    const { errors } = await check(
      [
        outline(
          'main.orch.yaml',
          many(60, (index) => sharedCall(`chlid ${index}`, index)),
        ),
      ],
      many(60, (index) => outline(child(index))),
    );
    assert.match(errors[0]?.message ?? '', /has no pipeline "chlid 0": did you mean "child 0"\?$/);
    assert.equal(errors.filter(({ message }) => message.includes('did you mean')).length, 50);
  });
});
