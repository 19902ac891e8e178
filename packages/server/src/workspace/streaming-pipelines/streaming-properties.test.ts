/** What a client writes comes back without drift, for random definitions of every kind. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type StreamingPipeline, streamingSourceTypes, streamingTargetTypes } from '@headgate/contract';
import { roundsOr, testSeed } from '@headgate/contract/testing/rounds';
import fc from 'fast-check';
import { startTestServer } from '../../../testing/server.ts';
import {
  expectAnswer,
  randomDefinition,
  randomSources,
  randomTargets,
} from '../../../testing/streaming-definitions.ts';

const server = await startTestServer();

async function createProject() {
  const account = await server.account();
  const made = await account.project();
  const { agentId } = await account.agent(undefined, { agentType: 'streaming' });
  return {
    admin: account.admin,
    path: `${made.path}/streaming-pipelines`,
    projectId: made.projectId,
    agentId,
  };
}

test(`a random definition is answered, read and listed as it was written, and so is its replacement (TEST_SEED=${testSeed})`, async () => {
  const { admin, path, projectId, agentId } = await createProject();
  let count = 0;
  await fc.assert(
    fc.asyncProperty(randomDefinition, randomDefinition, fc.boolean(), async (first, second, hasAgent) => {
      const request = { name: `p${count++}`, ...(hasAgent ? { agentId } : {}), ...first };
      const made = await admin.post<StreamingPipeline>(path, request);
      assert.equal(made.status, 201, made.text);
      const { streamingPipelineId } = made.body;
      const expected = { streamingPipelineId, projectId, ...(expectAnswer(request) as object) };
      assert.deepEqual(made.body, expected);
      const onePath = `${path}/${streamingPipelineId}`;
      assert.deepEqual((await admin.get(onePath)).body, expected);

      const replacement = { name: `p${count++}`, ...second };
      const replaced = await admin.send<StreamingPipeline>('PUT', onePath, { body: replacement });
      assert.equal(replaced.status, 200, replaced.text);
      const afterwards = { streamingPipelineId, projectId, ...(expectAnswer(replacement) as object) };
      assert.deepEqual(replaced.body, afterwards);
      assert.deepEqual((await admin.get(onePath)).body, afterwards);

      // What was read can be written.
      const again = await admin.send<StreamingPipeline>('PUT', onePath, { body: replaced.body });
      assert.deepEqual(again.body, afterwards);
    }),
    { numRuns: roundsOr(20), seed: testSeed },
  );
  const { results } = (await admin.get<{ results: StreamingPipeline[] }>(`${path}?size=1`)).body;
  const [newest] = results;
  assert.deepEqual(newest, (await admin.get(`${path}/${newest?.streamingPipelineId}`)).body);
});

test('every combination of a source and a target can be created', async () => {
  const { admin, path } = await createProject();
  for (const sourceType of streamingSourceTypes) {
    for (const targetType of streamingTargetTypes) {
      const [streamingSource] = fc.sample(randomSources[sourceType], 1);
      const [streamingTarget] = fc.sample(randomTargets[targetType], 1);
      const name = `${sourceType} to ${targetType}`;
      const made = await admin.post<StreamingPipeline>(path, { name, streamingSource, streamingTarget });
      assert.equal(made.status, 201, `${name}: ${made.text}`);
      const { streamingSource: source, streamingTarget: target } = made.body;
      assert.deepEqual([source.type, target.type], [sourceType, targetType]);
    }
  }
});
