/** Registers thousands of agents. One process (fleet-process.ts) simulates them, each with its own token. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateClientId } from '../packages/server/src/access/credentials/index.ts';
import { systemClock } from '../packages/server/src/kernel/clock.ts';
import { openDatabase } from '../packages/server/src/kernel/database/database.ts';
import { createUuidMaker } from '../packages/server/src/kernel/identifiers.ts';
import {
  createSealer,
  generateSecret,
  loadMasterKey,
} from '../packages/server/src/kernel/security/sealed.ts';
import { ensureFirstAccount } from '../packages/server/src/main/provisioning.ts';
import { insertAgent, type NewAgent } from '../packages/server/src/workspace/agents/agent.store.ts';
import type { FleetAgent } from './fleet-process.ts';
import type { MeasuredServer } from './server-process.ts';

const agentsOfTransaction = 500;
const settings = {
  description: '',
  agent_type: 'data_productivity_cloud',
  cloud_provider: 'local',
  deployment: 'local',
  track_name: 'current',
  enable_auto_updates: false,
  restricted_access: false,
} as const;

/** Like POST agents, without ten thousand requests. */
export async function registerFleet(server: MeasuredServer, count: number): Promise<FleetAgent[]> {
  const database = openDatabase({
    connection: server.connection,
    connections: 2,
    patienceMilliseconds: 5_000,
    onConnectionError: console.error,
  });
  const sealer = createSealer(await loadMasterKey(undefined, join(server.dataDirectory, 'master-key')));
  const newId = createUuidMaker(systemClock);
  const agents = Array.from({ length: count }, () => ({
    agentId: newId(),
    clientId: generateClientId(),
    clientSecret: generateSecret(),
  }));
  try {
    const accountId = await ensureFirstAccount({ database, sealer, clock: systemClock, newId });
    for (let from = 0; from < count; from += agentsOfTransaction) {
      await database.transaction((tx) => {
        for (const { agentId, clientId, clientSecret } of agents.slice(from, from + agentsOfTransaction)) {
          const names = { agent_id: agentId, name: agentId, client_id: clientId, secret: clientSecret };
          const made = { ...names, ...settings } satisfies NewAgent;
          insertAgent(tx, sealer, accountId, made, systemClock.now());
        }
      });
    }
  } finally {
    await database.close();
  }
  return agents.map(({ clientSecret, ...agent }) => ({ ...agent, clientSecret: clientSecret.reveal() }));
}

/** @throws when a process may not open this many files */
export function requireOpenFiles(count: number): void {
  if (process.platform !== 'linux') return;
  const [, most] = /^Max open files +\d+ +(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? [];
  if (Number(most ?? Number.POSITIVE_INFINITY) >= count) return;
  throw new Error(
    `The benchmark needs ${count} open files, and the limit is ${most}: raise it with \`ulimit -n ${count}\`.`,
  );
}
