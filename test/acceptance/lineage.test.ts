/** The lineage of a run of the real agent: valid OpenLineage events, and the graph of columns. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { LineageEvent } from '@headgate/contract';
import { requireValidEvent } from '../../packages/server/testing/lineage-scene.ts';
import { waitUntil } from '../../packages/server/testing/waiting.ts';
import type { ApiClient } from './harness/client.ts';
import { Project, pipelineFile, steps } from './harness/project.ts';
import { sharedInstallation } from './harness/shared-installation.ts';

const load = steps(
  [
    'Orders',
    'sql-script',
    { sqlScript: "create or replace table orders as select 'Oslo' as city, 7 as amount, 'paid' as state" },
  ],
  [
    'Totals',
    'sql-script',
    {
      sqlScript:
        "create or replace table totals as select city, sum(amount) as total from orders where state = 'paid' group by city",
    },
  ],
);
const main = pipelineFile('orchestration', {
  Start: { type: 'start', transitions: { unconditional: ['Load'] } },
  Load: { type: 'run-orchestration', parameters: { orchestrationJob: 'load.orch.yaml' } },
});

describe('lineage of a run', () => {
  let client: ApiClient;
  let project: Project;

  before(async () => {
    client = (await sharedInstallation()).client();
    project = await Project.create(client);
    await project.publish({ 'load.orch.yaml': load, 'main.orch.yaml': main });
  });

  it('has valid events of the run and of the pipeline that it calls', async () => {
    const { status } = await project.run('main');
    assert.equal(status, 'SUCCESS');
    const window = 'generatedFrom=2020-01-01T00:00:00.000Z&generatedBefore=2100-01-01T00:00:00.000Z';
    const { results } = (await client.ask('GET', `/v1/lineage/events?${window}&size=100`)) as {
      results: LineageEvent[];
    };
    const projectId = project.path.split('/').at(-1) ?? '';
    const events = results.map(({ event }) => event).filter(({ job }) => job.namespace.includes(projectId));
    for (const event of events) requireValidEvent(event);
    assert.deepEqual(
      events.map(({ eventType, job }) => `${job.name} ${eventType}`),
      ['main.orch.yaml START', 'load.orch.yaml START', 'load.orch.yaml COMPLETE', 'main.orch.yaml COMPLETE'],
    );
    const names = (datasets: readonly { name: string }[] = []) =>
      datasets.map(({ name }) => name.split('.').at(-1));
    assert.deepEqual(names(events[2]?.outputs), ['orders', 'totals']);
    assert.deepEqual(names(events[2]?.inputs), ['orders']);
  });

  it('shows what breaks if a column goes', async () => {
    const list = `${project.path}/datasets?environmentName=dev`;
    await waitUntil('the datasets', 120, async () => (await client.ask('GET', list)).results.length === 2);
    const [orders] = (await client.ask('GET', list)).results;
    const query = `environmentName=dev&column=${orders.name}.amount&direction=DOWNSTREAM`;
    const { edges } = await client.ask('GET', `${project.path}/lineage/graph?${query}`);
    assert.equal(edges.length, 1);
    assert.match(edges[0].to, /totals\.total$/);
    assert.equal(edges[0].transformation, 'AGGREGATED');
  });
});
