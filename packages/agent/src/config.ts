/**
 * The agent's settings. Only this file reads the environment. The agent does not start with an invalid
 * setting.
 */
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { type EgressAllow, parseEgressAllow } from '@headgate/contract/egress';
import { agentSettingNames, Secret, unknownSettings } from '@headgate/contract/without-schemas';
import type { KeyType } from './certificates/certificate-request.ts';
import { getReason, type LogLevel, logLevels } from './log.ts';
import { readScriptSettings, type ScriptSettings } from './scripts/script-settings.ts';
import { readCredential } from './session/credential-settings.ts';
import type { MachineRole } from './stores/machine-role.ts';
import { trimAddress } from './trimmed-address.ts';
import { parseVaults, type VaultSettings } from './vaults/settings.ts';

export interface WarehouseBounds {
  /** DuckDB's own memory limit. */
  memoryMegabytes: number;
  /** Limit of the whole process, which is killed if it exceeds it. */
  processMegabytes: number;
  threads: number;
  /** Disk space for spilling of one warehouse. */
  temporaryMegabytes: number;
  /** A warehouse process without runs ends after this time. */
  idleSeconds: number;
}

export interface AgentConfig {
  serverUrl: string;
  /** The expected agent id, if it is set: see agent-identity.ts. */
  agentId: string | undefined;
  clientId: string;
  /** Undefined: the program that starts the agent sends it on standard input. */
  clientSecret: string | undefined;
  /** The absolute path of the folder for all data of the agent. */
  folder: string;
  /** Runs at the same time. */
  concurrency: number;
  /** Short work at the same time, beside runs. */
  shortConcurrency: number;
  runTimeLimitSeconds: number;
  /** Limit of the JavaScript heap. */
  runMemoryMegabytes: number;
  /** Limit of the whole process, which is killed if it exceeds it. */
  runProcessMegabytes: number;
  artifactCacheMegabytes: number;
  shutdownSeconds: number;
  endWithStdin: boolean;
  logLevel: LogLevel;
  warehouse: WarehouseBounds;
  scripts: ScriptSettings;
  certificateKey: KeyType;
  /** Where connectors may go besides public addresses by https. */
  egressAllow: EgressAllow;
  /** Undefined: pipelines may not use the role of the agent's machine. */
  machineRole: MachineRole | undefined;
  /** The first is the default. */
  vaults: VaultSettings[];
  /** One line for each environment variable that looks like a setting but is unknown. */
  warnings: readonly string[];
}

/** The message has one line for each invalid setting. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

type Environment = Readonly<Record<string, string | undefined>>;

/** @throws ConfigError listing all missing and invalid settings. */
export function loadConfig(environment: Environment = process.env, userId = process.getuid?.()): AgentConfig {
  const problems: string[] = [];
  const read = createSettingReader(environment, problems);
  const endWithStdin = read.yesOrNo('HEADGATE_AGENT_END_WITH_STDIN');
  const credential = readCredential(
    {
      clientId: environment.HEADGATE_AGENT_CLIENT_ID,
      clientSecret: environment.HEADGATE_AGENT_CLIENT_SECRET,
      clientSecretFile: environment.HEADGATE_AGENT_CLIENT_SECRET_FILE,
      credentialFile: environment.HEADGATE_AGENT_CREDENTIAL_FILE,
    },
    problems,
    endWithStdin,
  );
  if (userId === 0 && !read.yesOrNo('HEADGATE_AGENT_ALLOW_ROOT')) {
    problems.push(
      'the agent runs code of users, so it must not run as root: start it as a user without privileges ' +
        '(or set HEADGATE_AGENT_ALLOW_ROOT=yes if root has no privileges, as in some containers)',
    );
  }
  const memory = readMemory(read, problems);
  const config: AgentConfig = {
    serverUrl: readServerUrl(environment, problems, read.yesOrNo('HEADGATE_AGENT_ALLOW_HTTP')),
    ...credential,
    agentId: environment.HEADGATE_AGENT_ID || credential.agentId,
    folder: resolve(environment.HEADGATE_AGENT_DIR || '.headgate-agent'),
    concurrency: read.integer('HEADGATE_AGENT_CONCURRENCY', 20, 1, 1_000),
    shortConcurrency: read.integer('HEADGATE_AGENT_SHORT_CONCURRENCY', 10, 1, 1_000),
    runTimeLimitSeconds: read.integer('HEADGATE_AGENT_RUN_TIME_LIMIT_SECONDS', 86_400, 1, 2_000_000),
    runMemoryMegabytes: memory.run,
    runProcessMegabytes: memory.runProcess,
    artifactCacheMegabytes: read.integer('HEADGATE_AGENT_ARTIFACT_CACHE_MB', 2_048, 1, 1_048_576),
    shutdownSeconds: read.integer('HEADGATE_AGENT_SHUTDOWN_SECONDS', 10, 1, 3_600),
    endWithStdin,
    logLevel: read.oneOf('HEADGATE_AGENT_LOG_LEVEL', logLevels, 'info'),
    warehouse: {
      memoryMegabytes: memory.warehouse,
      processMegabytes: memory.warehouseProcess,
      threads: read.integer('HEADGATE_AGENT_WAREHOUSE_THREADS', availableParallelism(), 1, 256),
      temporaryMegabytes: read.integer('HEADGATE_AGENT_WAREHOUSE_TEMP_MB', 10_240, 0, 10_485_760),
      idleSeconds: read.integer('HEADGATE_AGENT_WAREHOUSE_IDLE_SECONDS', 60, 1, 86_400),
    },
    scripts: readScriptSettings(environment, read, problems),
    certificateKey: read.oneOf('HEADGATE_AGENT_CERTIFICATE_KEY', ['ec', 'rsa'], 'ec'),
    egressAllow: readEgressAllow(environment, problems),
    machineRole: readMachineRole(environment, problems),
    vaults: readVaults(environment, problems),
    warnings: unknownSettings(environment, agentSettingNames),
  };
  if (problems.length > 0) throw new ConfigError(problems.join('\n'));
  return config;
}

/**
 * A process needs more memory than its heap, or than DuckDB counts: about 100 MB for the program, and
 * uncounted allocations. The default limit of the process is high enough that only uncounted allocations
 * reach it. ADR 0030.
 */
function readMemory(read: ReturnType<typeof createSettingReader>, problems: string[]) {
  const run = read.integer('HEADGATE_AGENT_RUN_MEMORY_MB', 256, 64, 65_536);
  const warehouse = read.integer('HEADGATE_AGENT_WAREHOUSE_MEMORY_MB', 1_024, 64, 1_048_576);
  const readProcessLimit = (name: string, preset: number, inner: string, megabytes: number): number => {
    const value = read.integer(name, preset, 192, 2_097_152);
    if (value < megabytes + 128)
      problems.push(
        `${name} is ${value}: it must be at least ${megabytes + 128}, which is ${inner} (${megabytes}) plus 128`,
      );
    return value;
  };
  return {
    run,
    warehouse,
    runProcess: readProcessLimit(
      'HEADGATE_AGENT_RUN_PROCESS_MEMORY_MB',
      run + 256,
      'HEADGATE_AGENT_RUN_MEMORY_MB',
      run,
    ),
    warehouseProcess: readProcessLimit(
      'HEADGATE_AGENT_WAREHOUSE_PROCESS_MEMORY_MB',
      Math.ceil(warehouse * 1.25) + 256,
      'HEADGATE_AGENT_WAREHOUSE_MEMORY_MB',
      warehouse,
    ),
  };
}

function createSettingReader(environment: Environment, problems: string[]) {
  const reportBad = <T>(name: string, expected: string, fallback: T): T => {
    problems.push(`${name} must be ${expected}; it is ${JSON.stringify(environment[name])}`);
    return fallback;
  };
  return {
    integer(name: string, fallback: number, minimum: number, maximum: number): number {
      const text = environment[name];
      if (text === undefined || text === '') return fallback;
      const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
      if (value >= minimum && value <= maximum) return value;
      return reportBad(name, `a whole number from ${minimum} to ${maximum}`, fallback);
    },
    yesOrNo(name: string): boolean {
      const text = environment[name];
      if (text === undefined || text === '' || text === 'no') return false;
      return text === 'yes' ? true : reportBad(name, 'yes or no', false);
    },
    oneOf<T extends string>(name: string, values: readonly T[], fallback: T): T {
      const text = environment[name];
      if (text === undefined || text === '') return fallback;
      return (
        values.find((value) => value === text) ?? reportBad(name, `one of ${values.join(', ')}`, fallback)
      );
    },
  };
}

function readEgressAllow(environment: Environment, problems: string[]): EgressAllow {
  try {
    return parseEgressAllow(
      (environment.HEADGATE_AGENT_EGRESS_ALLOW ?? '')
        .split(',')
        .map((entry) => entry.trim())
        .filter((entry) => entry !== ''),
    );
  } catch (error) {
    problems.push(`HEADGATE_AGENT_EGRESS_ALLOW: ${getReason(error)}`);
    return parseEgressAllow([]);
  }
}

/** `yes` is for Amazon's endpoints; others are named. */
function readMachineRole(environment: Environment, problems: string[]): MachineRole | undefined {
  const text = environment.HEADGATE_AGENT_MACHINE_ROLE?.trim() ?? '';
  if (text === '' || text === 'no') return undefined;
  const hosts = text.split(',').map((entry) => entry.trim());
  for (const host of hosts)
    if (URL.parse(`https://${host}`)?.host !== host || host === 'no')
      problems.push(
        `HEADGATE_AGENT_MACHINE_ROLE must be yes, no, or hosts such as minio.example.com:9000, separated by commas; it has ${JSON.stringify(host)}`,
      );
  return { hosts: hosts.filter((host) => host !== 'yes') };
}

function readVaults(environment: Environment, problems: string[]): VaultSettings[] {
  const secret = (name: string) => (environment[name] ? new Secret(environment[name]) : undefined);
  const secrets = {
    fileKey: secret('HEADGATE_AGENT_FILE_VAULT_KEY'),
    hashicorpToken: secret('HEADGATE_AGENT_HASHICORP_TOKEN'),
  };
  const key = secrets.fileKey?.reveal() ?? '';
  if (key !== '' && Buffer.from(key, /^[0-9a-f]{64}$/i.test(key) ? 'hex' : 'base64').length !== 32)
    problems.push(
      'HEADGATE_AGENT_FILE_VAULT_KEY must be 32 bytes in base64 or hexadecimal: create one with openssl rand -base64 32',
    );
  try {
    return parseVaults(environment.HEADGATE_AGENT_VAULTS, secrets);
  } catch (error) {
    problems.push(`HEADGATE_AGENT_VAULTS: ${getReason(error)}`);
    return [];
  }
}

function readServerUrl(environment: Environment, problems: string[], allowHttp: boolean): string {
  const text = environment.HEADGATE_SERVER_URL;
  if (!text) {
    problems.push(
      'HEADGATE_SERVER_URL is missing: set it to the address of the Headgate server, such as https://headgate.example.com',
    );
    return '';
  }
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.username || url.search || url.hash) {
    problems.push(
      'HEADGATE_SERVER_URL must be an http or https address without user, query and fragment, such as https://headgate.example.com',
    );
    return '';
  }
  if (url.protocol === 'http:' && !allowHttp && !isLoopback(url.hostname)) {
    problems.push(
      `HEADGATE_SERVER_URL must begin with https://: ${url.origin} would send the agent’s secret and data unencrypted ` +
        '(or set HEADGATE_AGENT_ALLOW_HTTP=yes if the network between agent and server is private)',
    );
  }
  return trimAddress(url);
}

function isLoopback(hostname: string): boolean {
  return /^(127(\.\d+){3}|\[::1\]|localhost|.*\.localhost)$/.test(hostname);
}
