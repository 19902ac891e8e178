import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mergeSteps } from './lineage-record.ts';
import { describeLineage } from './pipeline-lineage.ts';
import { renderRunEvent } from './run-event.ts';

const source = { kind: 'warehouse', name: 's' } as const;
const deciding = Array.from({ length: 14_000 }, (_, field) => ({ dataset: 0, field: `c${field}` }));
const createStep = (number: number) => ({
  stepId: String(number),
  inputs: number === 0 ? [source] : [],
  outputs: [{ kind: 'warehouse' as const, name: 't', rowCount: 1, decidedBy: number === 0 ? deciding : [] }],
});

test('steps that add nothing cost nothing, however much is known of the dataset', () => {
  const steps = Array.from({ length: 2_000 }, (_, number) => createStep(number));
  const began = process.threadCpuUsage();
  const [output] = mergeSteps(steps).outputs;
  // It took 32 s when each step copied what was known.
  assert.ok(process.threadCpuUsage(began).user < 3_000_000);
  assert.equal(output?.decidedBy.length, deciding.length);
  assert.equal(output.rowCount, 2_000);
});

test('a sum of giant counts is the largest number', () => {
  const step = {
    ...createStep(0),
    outputs: [{ kind: 'warehouse' as const, name: 't', rowCount: Number.MAX_SAFE_INTEGER }],
  };
  assert.equal(mergeSteps(Array(2_000).fill(step)).outputs[0]?.rowCount, Number.MAX_SAFE_INTEGER);
});

test('fields are merged once, and a dataset that is made again forgets what was written before', () => {
  const column = (field: string) => ({
    name: 'a',
    inputs: [{ dataset: 0, field, transformation: 'IDENTITY' as const }],
  });
  const step = (field: string, createdOrReplaced = false) => ({
    stepId: field,
    inputs: [source],
    outputs: [{ kind: 'warehouse' as const, name: 't', columns: [column(field)], createdOrReplaced }],
  });
  const fieldsOf = (steps: Parameters<typeof mergeSteps>[0]) =>
    mergeSteps(steps)
      .outputs[0]?.columns.get('a')
      ?.map(({ field }) => field);
  assert.deepEqual(fieldsOf([step('x'), step('y'), step('x')]), ['x', 'y']);
  assert.deepEqual(fieldsOf([step('x'), step('y', true)]), ['y']);
});

/** A step whose table has a long name, which each of its columns repeats. */
function createLongStep(columnCount: number) {
  const columns = Array.from({ length: columnCount }, (_, index) => ({
    name: `c${index}`,
    inputs: [{ dataset: 0, field: 'a', transformation: 'IDENTITY' as const }],
  }));
  const [from, to] = ['from', 'to'].map((name) => ({
    kind: 'warehouse' as const,
    name: name + 'x'.repeat(900),
  }));
  assert.ok(from && to);
  return { stepId: 's', inputs: [from], outputs: [{ ...to, columns }] };
}

test('columns of the graph that repeat long names are bounded, and counted', () => {
  const step = createLongStep(5_000);
  const { columns, omittedColumns } = describeLineage({ steps: [step] });
  assert.ok(JSON.stringify(columns).length < 5_000_000);
  assert.ok(omittedColumns > 0);
  assert.equal(columns.length + omittedColumns, 5_000);
});

test('an event that would repeat long names is bounded, and says so', () => {
  const step = createLongStep(3_000);
  const [projectId, environmentId, runId, executionId] = ['p', 'e', 'r', 'x'];
  const event = renderRunEvent('headgate', {
    ...{ projectId, environmentId, runId, executionId, environmentName: 'dev', versionName: 'v1' },
    ...{ eventType: 'COMPLETE', eventTime: '2026-11-21T09:30:00.000Z' },
    ...{ pipelineName: 'a.orch.yaml', pipelineType: 'ORCHESTRATION', steps: [step] },
  });
  assert.ok(JSON.stringify(event).length < 2_000_000);
  assert.match(JSON.stringify(event.run.facets), /more lineage than an event has: \d+ columns are left out/);
});
