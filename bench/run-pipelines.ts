/** The pipelines of the benchmark of real runs. */
import { environmentName } from './agent-scene.ts';
import type { MeasuredServer } from './server-process.ts';

export type RunPipeline = 'empty' | 'insert and transformation' | 'insert, transformation and expressions';

const start = (next: string) => ({ type: 'start', parameters: {}, transitions: { unconditional: [next] } });
const insert = (sqlScript: string) => ({
  type: 'sql-script',
  parameters: { sqlScript },
  transitions: { success: ['Totals'] },
});
const totals = { type: 'run-transformation', parameters: { transformationJob: 'totals' } };
const text = (defaultValue: string) => ({
  metadata: { type: 'TEXT', description: '', scope: 'COPIED', visibility: 'PUBLIC' },
  defaultValue,
});

const orchestrations: Record<RunPipeline, { components: object; variables: object }> = {
  empty: {
    components: { Start: start('End'), End: { type: 'end-success', parameters: {} } },
    variables: {},
  },
  'insert and transformation': {
    components: {
      Start: start('Insert'),
      Insert: insert("INSERT INTO sold VALUES (1, 'a', 2.5)"),
      Totals: totals,
    },
    variables: {},
  },
  'insert, transformation and expressions': {
    components: {
      Start: start('Name'),
      Name: {
        type: 'update-scalar',
        parameters: {
          scalarsToUpdate: [['name', `\${'shop-' + (40 + 2) + label.toUpperCase()}`]],
        },
        transitions: { success: ['Insert'] },
      },
      Insert: insert(`INSERT INTO sold VALUES (\${1 + 1}, '\${name.slice(0, 8)}', \${name.length / 2})`),
      Totals: totals,
    },
    variables: { name: text(''), label: text('label') },
  },
};

const prepare = {
  Start: start('Table'),
  Table: {
    type: 'sql-script',
    parameters: { sqlScript: 'CREATE TABLE sold (id INTEGER, shop VARCHAR, amount DOUBLE)' },
  },
};

const transformation = {
  Sold: {
    type: 'table-input',
    parameters: { targetTable: 'sold', columnNames: ['id', 'shop', 'amount'] },
  },
  Large: {
    type: 'filter',
    sources: ['Sold'],
    parameters: { filterConditions: [['amount', 'Is', 'Greater than', '1000']], combineCondition: 'And' },
  },
  Out: { type: 'table-output', sources: ['Large'], parameters: outputParameters() },
};

function outputParameters(): object {
  return {
    targetTable: 'sold',
    truncate: 'Append',
    columnMapping: ['id', 'shop', 'amount'].map((name) => [name, name]),
  };
}

/** Publishes them and creates their table. Returns the id of the project. */
export async function publishRunPipelines(server: MeasuredServer): Promise<string> {
  const project = { name: 'bench', warehouse: 'DUCKDB', agentDeploymentType: 'HYBRID' };
  const projectId = String((await server.call('POST', '/projects', project)).projectId);
  await server.call('POST', `/projects/${projectId}/environments`, { name: environmentName });
  const form = new FormData();
  const add = (name: string, content: object) =>
    form.append(name, new Blob([JSON.stringify(content)], { type: 'text/plain' }));
  for (const [name, pipeline] of Object.entries({
    ...orchestrations,
    prepare: { components: prepare, variables: {} },
  }))
    add(`${name}.orch.yaml`, { type: 'orchestration', version: '1.0', pipeline, design: {} });
  add('totals.tran.yaml', {
    type: 'transformation',
    version: '1.0',
    pipeline: { components: transformation },
  });
  await server.call('POST', `/projects/${projectId}/artifacts`, form, { environmentName, versionName: 'v1' });
  const executions = `/projects/${projectId}/pipeline-executions`;
  const body = { pipelineName: 'prepare', environmentName };
  const { pipelineExecutionId } = await server.call('POST', executions, body);
  for (;;) {
    const { status, message } = await server.call('GET', `${executions}/${pipelineExecutionId}`);
    if (status === 'SUCCESS') return projectId;
    if (status !== 'RUNNING') throw new Error(`${status} ${message}`);
  }
}
