/**
 * Creates what a new installation needs: an account, a credential with the role Super Admin, and the local
 * agent.
 */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findAccountByName, insertAccount, lockAccounts } from '../access/accounts/index.ts';
import {
  findClientById,
  generateClientId,
  hasSecret,
  insertCredential,
  setSecret,
} from '../access/credentials/index.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Database, Transaction } from '../kernel/database/database.ts';
import { type AccountEvent, recordEvents } from '../kernel/database/events.ts';
import type { NewId } from '../kernel/identifiers.ts';
import { generateSecret, type Sealer, Secret } from '../kernel/security/sealed.ts';
import { type RegisteredAgent, registerLocalAgent } from '../workspace/agents/index.ts';

const firstAccountName = 'default';
const localAgentName = 'local';

export interface ProvisioningServices {
  database: Database;
  sealer: Sealer;
  clock: Clock;
  newId: NewId;
}

export interface ClientCredential {
  clientId: string;
  secret: Secret;
}

/** Returns the id of the first account; creates the account if it is missing. */
export async function ensureFirstAccount(services: ProvisioningServices): Promise<string> {
  return services.database.transaction(async (tx) => {
    lockAccounts(tx);
    return (await findAccountByName(tx, firstAccountName)) ?? makeAccount(services, tx, firstAccountName);
  });
}

/** Throws `account-name-taken`. */
export function makeAccount(services: ProvisioningServices, tx: Transaction, name: string): string {
  const accountId = services.newId();
  insertAccount(tx, accountId, name, services.clock.now());
  const subject = { type: 'account', id: accountId, name };
  recordEvent(services, tx, accountId, { name: 'account-created', subject, after: { name } });
  return accountId;
}

/** Creates a credential with the role Super Admin. Only the caller knows its secret. */
export function makeCredential(
  services: ProvisioningServices,
  tx: Transaction,
  accountId: string,
  input?: ClientCredential,
): ClientCredential {
  const { clientId, secret } = input ?? { clientId: generateClientId(), secret: generateSecret() };
  const made = {
    credentialId: services.newId(),
    name: 'operator',
    clientId,
    secret,
    accountRole: 'SUPER_ADMIN',
  } as const;
  insertCredential(tx, services.sealer, accountId, made, services.clock.now());
  const subject = { type: 'credential', id: made.credentialId, name: made.name };
  recordEvent(services, tx, accountId, {
    name: 'credential-created',
    subject,
    after: { clientId, role: made.accountRole },
  });
  return { clientId, secret };
}

/** Makes sure that the credential of the settings exists and has the given secret. */
export async function ensureGivenCredential(
  services: ProvisioningServices,
  accountId: string,
  input: ClientCredential,
): Promise<void> {
  await services.database.transaction(async (tx) => {
    // Two servers that start at the same moment both find none.
    lockAccounts(tx);
    const client = await findClientById(tx.query, input.clientId, services.clock.now());
    if (client === undefined) makeCredential(services, tx, accountId, input);
    else if (client.accountId !== accountId || client.surface !== 'dpc') {
      throw new Error(
        `HEADGATE_CLIENT_ID: ${input.clientId} belongs to another account or to an agent. Use another client id.`,
      );
    } else if (!client.active || !hasSecret(services.sealer, client, input.secret)) {
      setSecret(tx, services.sealer, client, input.secret);
    }
  });
}

/**
 * Returns the generated credential, stored in a 0600 file of the data directory. Creates one at the first
 * start and if the file is lost.
 */
export async function ensureGeneratedCredential(
  services: ProvisioningServices,
  accountId: string,
  dataDirectory: string,
): Promise<ClientCredential & { isNew: boolean }> {
  const stored = await readCredentialFile(dataDirectory);
  if (stored !== undefined) {
    const client = await findClientById(services.database.read, stored.clientId, services.clock.now());
    if (client?.active && hasSecret(services.sealer, client, stored.secret))
      return { ...stored, isNew: false };
  }
  const made = await services.database.transaction((tx) => makeCredential(services, tx, accountId));
  await writeCredentialFile(getCredentialFile(dataDirectory), made);
  return { ...made, isNew: true };
}

export function getCredentialFile(dataDirectory: string): string {
  return join(dataDirectory, 'credential.json');
}

/** The file for a credential created by a command, whose output may be a log. */
export function getCredentialFileFor(dataDirectory: string, clientId: string): string {
  return join(dataDirectory, `credential-${clientId}.json`);
}

async function readCredentialFile(dataDirectory: string): Promise<ClientCredential | undefined> {
  const text = await readFile(getCredentialFile(dataDirectory), 'utf8').catch(() => '');
  try {
    const { clientId, clientSecret } = JSON.parse(text) as { clientId: unknown; clientSecret: unknown };
    if (typeof clientId === 'string' && typeof clientSecret === 'string') {
      return { clientId, secret: new Secret(clientSecret) };
    }
  } catch {
    // No file, or one truncated by a crash: the caller creates a new credential.
  }
  return undefined;
}

/** Mode 0600, even if a file with a wider mode existed. */
export async function writeCredentialFile(file: string, credential: ClientCredential): Promise<void> {
  const content = { clientId: credential.clientId, clientSecret: credential.secret.reveal() };
  await rm(file, { force: true });
  await writeFile(file, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
}

/** Returns the local agent of the account; registers it at the first start. */
export async function ensureLocalAgent(
  services: ProvisioningServices,
  accountId: string,
): Promise<RegisteredAgent> {
  const agent = {
    agent_id: services.newId(),
    name: localAgentName,
    description: 'Runs beside the server, in its own process.',
    client_id: generateClientId(),
    secret: generateSecret(),
  };
  return services.database.transaction(async (tx) => {
    // Two servers that start at the same moment both find none.
    lockAccounts(tx);
    const found = await registerLocalAgent(tx, services.sealer, accountId, agent, services.clock.now());
    const subject = { type: 'agent', id: found.agentId, name: agent.name };
    if (found.isNew) recordEvent(services, tx, accountId, { name: 'agent-created', subject });
    return found;
  });
}

function recordEvent(
  services: ProvisioningServices,
  tx: Transaction,
  accountId: string,
  event: AccountEvent,
): void {
  const source = { accountId, actorId: null, actorKind: 'system', requestId: null } as const;
  recordEvents(tx, source, [event], services.clock.now(), services.newId);
}
