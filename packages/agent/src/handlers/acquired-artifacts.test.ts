/**
 * The artifacts of an execution: all are held for its time, and one of shared pipelines that cannot be had
 * fails no run.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PipelineExecutionWork } from '@headgate/contract';
import { acquireArtifacts } from './acquired-artifacts.ts';

const [own, one, other] = ['a', 'b', 'c'].map((digit) => digit.repeat(64)) as [string, string, string];

/** A cache that fails for some digests and counts held artifacts. */
function cacheWithout(...missing: string[]) {
  const held: string[] = [];
  return {
    held,
    async acquire(projectId: string, digest: string) {
      if (missing.includes(digest)) throw new Error('the file has another hash');
      held.push(digest);
      const release = () => void held.splice(held.indexOf(digest), 1);
      const index = { paths: ['main.orch.yaml'], digests: [other] };
      return { folder: `/${projectId}/${digest}`, index, release };
    },
  };
}

const work = (sharedArtifacts?: PipelineExecutionWork['sharedArtifacts']): PipelineExecutionWork => ({
  pipelineExecutionId: 'execution',
  projectId: 'project',
  environmentName: 'dev',
  pipelineName: 'main',
  pipelineType: 'ORCHESTRATION',
  versionName: '1',
  artifactDigest: own,
  variables: [],
  scalarVariables: {},
  gridVariables: {},
  timeLimitSeconds: 1,
  warehouse: { kind: 'duckdb' },
  ...(sharedArtifacts === undefined ? {} : { sharedArtifacts }),
});
const chosen = (sharedPipelineIdPrefix: string, artifactDigest: string) => ({
  sharedPipelineIdPrefix,
  versionName: '7',
  artifactDigest,
});
const running = new AbortController().signal;

test('all artifacts are in the folder of the project, and held until they are released', async () => {
  const cache = cacheWithout();
  const notices = [
    chosen('Checks', one),
    { ...chosen('Checks', one), requestedVersionName: '7' },
    chosen('Loads', other),
  ];
  const { artifact, shared, release } = await acquireArtifacts(cache, work(notices), running);
  assert.equal(artifact.folder, `/project/${own}`);
  assert.deepEqual(
    shared.map((each) => [each.use, 'artifact' in each && each.artifact.folder]),
    [
      [{ prefix: 'Checks' }, `/project/${one}`],
      [{ prefix: 'Checks', versionName: '7' }, `/project/${one}`],
      [{ prefix: 'Loads' }, `/project/${other}`],
    ],
  );
  assert.equal(cache.held.length, 4);
  release();
  assert.deepEqual(cache.held, []);
});

test('work from a server without shared pipelines has none', async () => {
  assert.deepEqual((await acquireArtifacts(cacheWithout(), work(), running)).shared, []);
});

test('a shared artifact that was not chosen or cannot be fetched is a fault for its steps', async () => {
  const notices = [{ sharedPipelineIdPrefix: 'Gone', fault: 'enable it' }, chosen('Checks', one)];
  const { shared, release } = await acquireArtifacts(cacheWithout(one), work(notices), running);
  assert.deepEqual(shared, [
    { use: { prefix: 'Gone' }, fault: 'enable it' },
    {
      use: { prefix: 'Checks' },
      fault: 'version "7" of the shared pipelines "Checks" could not be fetched: the file has another hash',
    },
  ]);
  release();
});

test('nothing stays held if the own artifact is missing or the run is killed meanwhile', async () => {
  const cache = cacheWithout(one);
  await assert.rejects(acquireArtifacts(cacheWithout(own), work(), running), /another hash/);
  const outcome = AbortSignal.abort(new Error('ended'));
  await assert.rejects(acquireArtifacts(cache, work([chosen('Checks', one)]), outcome), /ended/);
  assert.deepEqual(cache.held, []);
});
