import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderRunEvent } from './run-event.ts';

test('objects of stores have the namespaces of OpenLineage, and other datasets those of their environment', () => {
  const event = renderRunEvent('headgate', {
    ...{ runId: 'r', eventType: 'COMPLETE', eventTime: '2026-01-01T00:00:00Z', projectId: 'p' },
    ...{ environmentId: 'e', environmentName: 'dev', executionId: 'r', versionName: 'v1' },
    ...{ pipelineName: 'main.orch.yaml', pipelineType: 'orchestration' },
    steps: [
      {
        stepId: 's',
        inputs: [
          { kind: 'object', name: 's3://lake/in/a b.csv' },
          { kind: 'object', name: 'wasbs://data@lake.blob.core.windows.net/in/a.csv' },
          { kind: 'file', name: 'a.csv' },
        ],
        outputs: [{ kind: 'warehouse', name: 'warehouse.main.t' }],
      },
    ],
  });
  assert.deepEqual(
    [...event.inputs, ...event.outputs].map(({ namespace, name }) => [namespace, name]),
    [
      ['s3://lake', 'in/a b.csv'],
      ['wasbs://data@lake.blob.core.windows.net', 'in/a.csv'],
      ['files://p.e', 'a.csv'],
      ['warehouse://p.e', 'warehouse.main.t'],
    ],
  );
});
