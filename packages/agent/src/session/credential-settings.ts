/** The settings of the agent's credential. A secret in a file is less exposed than one in the environment. */
import { readFileSync, statSync } from 'node:fs';
import { getReason } from '../log.ts';

/** The values of the environment variables. */
export interface CredentialSettings {
  clientId: string | undefined;
  clientSecret: string | undefined;
  clientSecretFile: string | undefined;
  credentialFile: string | undefined;
}

export interface Credential {
  clientId: string;
  /** Undefined: the program that starts the agent sends it on standard input. */
  clientSecret: string | undefined;
  agentId?: string;
}

/**
 * Adds faults to `problems`. `fromParent`: the secret may come on standard input instead of from a setting.
 */
export function readCredential(
  input: CredentialSettings,
  problems: string[],
  fromParent: boolean,
): Credential {
  const none: Credential = { clientId: '', clientSecret: '' };
  const file = input.credentialFile || undefined;
  const secretFile = input.clientSecretFile || undefined;
  const secret = input.clientSecret || undefined;
  const clientId = input.clientId ?? '';
  if (file !== undefined && (clientId || secretFile !== undefined || secret !== undefined)) {
    problems.push(
      'HEADGATE_AGENT_CREDENTIAL_FILE is set together with HEADGATE_AGENT_CLIENT_ID or a client secret: set one of them',
    );
    return none;
  }
  if (file !== undefined) return readCredentialFile(file, problems) ?? none;
  if (!clientId) {
    problems.push(
      'HEADGATE_AGENT_CLIENT_ID is missing: set it to the client id of the agent’s credential, or set HEADGATE_AGENT_CREDENTIAL_FILE',
    );
  }
  if (secretFile !== undefined && secret !== undefined) {
    problems.push(
      'HEADGATE_AGENT_CLIENT_SECRET_FILE and HEADGATE_AGENT_CLIENT_SECRET are both set: set one of them',
    );
    return none;
  }
  if (secretFile !== undefined) return { clientId, clientSecret: readSecretFile(secretFile, problems) };
  if (secret === undefined && !fromParent) {
    problems.push(
      'HEADGATE_AGENT_CLIENT_SECRET is missing: set it, HEADGATE_AGENT_CLIENT_SECRET_FILE or HEADGATE_AGENT_CREDENTIAL_FILE',
    );
  }
  return { clientId, clientSecret: secret };
}

function readSecretFile(file: string, problems: string[]): string {
  const name = `HEADGATE_AGENT_CLIENT_SECRET_FILE (${file})`;
  const secret = readOwnFile(file, name, problems)?.trim();
  if (secret === '') problems.push(`${name} is empty: write the client secret to it`);
  return secret ?? '';
}

function readCredentialFile(file: string, problems: string[]): Credential | undefined {
  const name = `HEADGATE_AGENT_CREDENTIAL_FILE (${file})`;
  const text = readOwnFile(file, name, problems);
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (isCredential(value)) {
      const { clientId, clientSecret, agentId } = value;
      return { clientId, clientSecret, ...(agentId === undefined ? {} : { agentId }) };
    }
    problems.push(
      `${name} must be {"clientId": "…", "clientSecret": "…", "agentId": "…"}; agentId is optional`,
    );
  } catch {
    // The parser's message quotes the text, which contains the secret.
    problems.push(`${name} is not JSON: write {"clientId": "…", "clientSecret": "…"}`);
  }
  return undefined;
}

/** Reads a file that only its owner can read. */
function readOwnFile(file: string, name: string, problems: string[]): string | undefined {
  try {
    if ((statSync(file).mode & 0o077) === 0) return readFileSync(file, 'utf8');
    problems.push(`${name} can be read by other users: set its mode to 0600`);
  } catch (error) {
    problems.push(`${name} cannot be read: ${getReason(error)}`);
  }
  return undefined;
}

function isCredential(value: unknown): value is Credential & { clientSecret: string } {
  if (typeof value !== 'object' || value === null) return false;
  const { clientId, clientSecret, agentId } = value as Record<string, unknown>;
  const isText = (text: unknown) => typeof text === 'string' && text !== '';
  return isText(clientId) && isText(clientSecret) && (agentId === undefined || isText(agentId));
}
