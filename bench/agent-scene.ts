/** A project with a pipeline, and an agent that the benchmark simulates. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import pg from 'pg';
import { systemClock } from '../packages/server/src/kernel/clock.ts';
import { openDatabase } from '../packages/server/src/kernel/database/database.ts';
import { createUuidMaker } from '../packages/server/src/kernel/identifiers.ts';
import { createSealer, loadMasterKey } from '../packages/server/src/kernel/security/sealed.ts';
import { ensureFirstAccount, ensureLocalAgent } from '../packages/server/src/main/provisioning.ts';
import { requestText } from './request.ts';
import { type MeasuredServer, tokenFor } from './server-process.ts';

export interface AgentScene {
  projectId: string;
  agentToken: string;
  instanceId: string;
  /** The request that starts the pipeline. */
  start: string;
}

export const environmentName = 'bench';
export const pipelineName = 'nothing';
const pipeline = `type: orchestration
version: "1.0"
pipeline:
  components:
    Start:
      type: start
      transitions:
        unconditional: [End]
      parameters:
        componentName: Start
    End:
      type: end-success
      parameters:
        componentName: End
design:
  components:
    Start: { position: { x: 0, y: 0 } }
    End: { position: { x: 200, y: 0 } }
`;

export async function prepareAgentScene(server: MeasuredServer): Promise<AgentScene> {
  const { clientId, secret } = await registerAgent(server);
  const agentToken = await tokenFor(server.port, clientId, secret);
  const project = { name: 'bench', warehouse: 'DUCKDB', agentDeploymentType: 'HYBRID' };
  const projectId = String((await server.call('POST', '/projects', project)).projectId);
  await server.call('POST', `/projects/${projectId}/environments`, { name: environmentName });
  const variable = { name: 'greeting', type: 'TEXT', behaviour: 'SHARED', value: 'hello' };
  await server.call('POST', `/projects/${projectId}/variables`, variable);
  const form = new FormData();
  form.append(`${pipelineName}.orch.yaml`, new Blob([pipeline], { type: 'text/plain' }));
  await server.call('POST', `/projects/${projectId}/artifacts`, form, { environmentName, versionName: 'v1' });
  const instanceId = randomUUID();
  const body = { pipelineName, environmentName };
  const path = `/dpc/v1/projects/${projectId}/pipeline-executions`;
  return {
    projectId,
    agentToken,
    instanceId,
    start: requestText('POST', path, { token: server.token, body }),
  };
}

/** Registers the local agent as the server does. The server runs without it. */
async function registerAgent(server: MeasuredServer): Promise<{ clientId: string; secret: string }> {
  const database = openDatabase({
    connection: server.connection,
    connections: 2,
    patienceMilliseconds: 5_000,
    onConnectionError: console.error,
  });
  try {
    const sealer = createSealer(await loadMasterKey(undefined, join(server.dataDirectory, 'master-key')));
    const services = { database, sealer, clock: systemClock, newId: createUuidMaker(systemClock) };
    const agent = await ensureLocalAgent(services, await ensureFirstAccount(services));
    return { clientId: agent.clientId, secret: agent.secret.reveal() };
  } finally {
    await database.close();
  }
}

/** @throws unless this many executions are SUCCESS, each with the four events of a cycle */
export async function requireCycles(server: MeasuredServer, count: number): Promise<void> {
  const client = new pg.Client(server.connection);
  await client.connect();
  try {
    const { rows } = await client.query<{ ended: number; events: number }>(`
      select (select count(*)::integer from pipeline_execution where status = 'SUCCESS') as ended,
        (select count(*)::integer from event where subject_type = 'pipeline-execution') as events`);
    const [found] = rows;
    if (found?.ended !== count || found.events !== 4 * count) {
      throw new Error(`${found?.ended} of ${count} executions are SUCCESS, with ${found?.events} events.`);
    }
  } finally {
    await client.end();
  }
}
