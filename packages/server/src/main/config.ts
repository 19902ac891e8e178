/**
 * The server's settings, and the only place that reads the environment. The server does not start with an
 * invalid setting; the error lists all of them. docs/configuration.md lists the settings.
 */

import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { agentSettingNames, unknownSettings } from '@headgate/contract';
import type { UploadLimits } from '../delivery/artifacts/index.ts';
import type { ObjectStoreSettings } from '../delivery/blobs/index.ts';
import { type LogLevel, logLevels } from '../kernel/log.ts';
import { parseEgressAllow } from '../kernel/security/egress.ts';
import { isLoopbackHost } from '../kernel/security/loopback-host.ts';
import { parseMasterKey, Secret } from '../kernel/security/sealed.ts';
import type { SessionLimits } from '../kernel/security/sessions.ts';
import type { WorkTimes } from '../kernel/work/work.ts';
import { defaultPrices, type Prices, parsePrices } from '../records/consumption/index.ts';
import type { AiSettings } from '../runtime/ai-tasks/index.ts';
import type { MailLimits, MailSettings } from '../runtime/alerts/index.ts';
import { readAiSettings } from './ai-settings.ts';
import { type GitAddresses, type GitSettings, readGitAddresses, readGitSettings } from './git-settings.ts';
import { readCertificate, type TlsFiles } from './http/certificate.ts';
import { parseOrigins } from './http/cors.ts';
import { findExposureFault, parseTrustedProxies } from './http/exposure.ts';
import { readMailLimits, readMailSettings } from './mail-settings.ts';
import { createReader, type Environment, type Reader } from './setting-reader.ts';

const mostCharacters = 65_536;

function readPrices(read: Reader): Prices {
  return read.parsed('HEADGATE_PRICES', parseSetting) ?? defaultPrices;
}

function parseSetting(input: string): Prices {
  if (input.trimStart().startsWith('{')) return parsePrices(input);
  const path = resolve(input);
  const text = readFileSync(path, 'utf8');
  if (text.length > mostCharacters) throw new Error(`${path} has more than ${mostCharacters} characters`);
  try {
    return parsePrices(text);
  } catch (failure) {
    throw new Error(`${path}: ${(failure as Error).message}`);
  }
}

export interface Config {
  host: string;
  port: number;
  /** Without a slash at the end. The issuer of tokens, and the base of `Location`. */
  publicUrl: string;
  /**
   * The address for processes of this machine, without a proxy; undefined with TLS, whose certificate may
   * not be valid for a local address.
   */
  localUrl: string | undefined;
  /** Both files exist and match; undefined for plain HTTP. */
  tls: TlsFiles | undefined;
  /** The addresses and ranges whose X-Forwarded-For the server trusts. */
  trustedProxies: readonly string[];
  problemTypeBase: string;
  region: string;
  /** The origins whose pages may call the API; undefined for none. */
  corsOrigins: readonly string[] | undefined;
  /** Absolute. */
  dataDirectory: string;
  /** The folder in which the operator typed the command; npm runs it in another one. Absolute. */
  invokedIn: string;
  /** Undefined for the embedded PostgreSQL. */
  databaseUrl: string | undefined;
  databaseConnections: number;
  /** How long a request waits for a database connection before its response is 503. Not a setting. */
  databaseWaitMilliseconds: number;
  /** The first credential, instead of a generated one. */
  credential: { clientId: string; secret: Secret } | undefined;
  masterKey: Secret | undefined;
  /** How long a key signs before a new key replaces it; undefined for no rotation. */
  signingKeyDays: number | undefined;
  example: boolean;
  localAgent: boolean;
  /** Requests per minute and account; undefined for no limit. */
  rateLimit: number | undefined;
  /** Of the account's limit: the most that one caller may use. */
  callerPercent: number;
  /** Requests per minute and address whose tokens are refused. */
  refusedLimit: number;
  egressAllow: readonly string[];
  git: GitSettings;
  gitAddresses: GitAddresses;
  logLevel: LogLevel;
  logFile: string | undefined;
  bodyLimitBytes: number;
  upload: UploadLimits;
  /** Where published files are stored. */
  objects: ObjectStoreSettings;
  /** How long unreferenced files are kept, and how often the server looks for them. */
  collection: { graceHours: number; everySeconds: number };
  work: WorkTimes;
  session: SessionLimits;
  /** The longest that a claim waits. Not a setting. */
  claimWaitSeconds: number;
  /** Runs of an environment that may wait for an agent. */
  queuedRuns: number;
  /** The shortest interval between two ticks of a schedule that is written. */
  scheduleIntervalSeconds: number;
  /** How long a request that writes a secret waits for the agent. */
  secretWaitSeconds: number;
  /** How long the receiver of a webhook may take to answer. */
  webhookTimeoutSeconds: number;
  /** How long the dry run of a repository migration may take. */
  migrationPreflightSeconds: number;
  ai: AiSettings;
  /** The longest statement of a turn that raises the alerts of an account. Not a setting. */
  alertTurnMilliseconds: number;
  /** Undefined: the server sends no mail. */
  mail: MailSettings | undefined;
  mailLimits: MailLimits;
  /** In credits. */
  prices: Prices;
  /** The scheme of the namespaces of jobs in lineage. */
  lineageScheme: string;
  /** In days; undefined to keep forever. */
  retention: Record<
    | 'eventDays'
    | 'executionDays'
    | 'logDays'
    | 'deliveryDays'
    | 'deadDeliveryDays'
    | 'aiTaskDays'
    | 'consumptionDays',
    number | undefined
  >;
  postgresUser: string | undefined;
  agentUser: string | undefined;
  /** Settings passed to the local agent, such as HEADGATE_AGENT_CONCURRENCY. */
  agentSettings: Readonly<Record<string, string>>;
  /** One line for each variable that looks like a setting but is not one. */
  warnings: readonly string[];
}

export class ConfigError extends Error {
  override name = 'ConfigError';
}

const mebibyte = 1_048_576;
const shortestSecret = 24;

/** @throws ConfigError with one line for each invalid setting */
export function loadConfig(environment: Environment = process.env): Config {
  const faults: string[] = [];
  const read = createReader(environment, faults);
  const host = read.text('HEADGATE_HOST') ?? '127.0.0.1';
  const port = read.integer('HEADGATE_PORT', 8_080, 1, 65_535);
  const tls = readTlsFiles(read, faults);
  const trustedProxies = read.parsed('HEADGATE_TRUSTED_PROXY', parseTrustedProxies) ?? [];
  const exposed = findExposureFault(host, { tls, trustedProxies });
  if (exposed !== undefined) faults.push(exposed);
  const publicUrl =
    read.address('HEADGATE_PUBLIC_URL', ['http:', 'https:']) ??
    `${tls === undefined ? 'http' : 'https'}://${bracketIpv6(host)}:${port}`;
  const dataDirectory = resolve(read.text('HEADGATE_DATA_DIR') ?? '.headgate');
  const config: Config = {
    host,
    port,
    publicUrl,
    localUrl: tls === undefined ? `http://${bracketIpv6(chooseReachableHost(host))}:${port}` : undefined,
    tls,
    trustedProxies,
    problemTypeBase: read.address('HEADGATE_PROBLEM_BASE', ['http:', 'https:']) ?? `${publicUrl}/problems`,
    region: read.matching('HEADGATE_REGION', /^[a-z0-9-]{1,40}$/, '1 to 40 of a-z, 0-9 and -') ?? 'local',
    corsOrigins: read.parsed('HEADGATE_CORS_ORIGINS', parseOrigins),
    dataDirectory,
    invokedIn: resolve(read.text('INIT_CWD') ?? '.'),
    databaseUrl: read.address('DATABASE_URL', ['postgres:', 'postgresql:']),
    databaseConnections: read.integer('HEADGATE_DATABASE_CONNECTIONS', 10, 2, 500),
    databaseWaitMilliseconds: 5_000,
    credential: readFirstCredential(read, faults),
    masterKey: readMasterKey(read, faults),
    signingKeyDays: read.integerOrOff('HEADGATE_SIGNING_KEY_DAYS', 90, 1, 3_650),
    example: read.onOff('HEADGATE_EXAMPLE'),
    localAgent: read.onOff('HEADGATE_LOCAL_AGENT'),
    rateLimit: read.integerOrOff('HEADGATE_RATE_LIMIT', chooseRateLimit(host, trustedProxies), 1, 1e9),
    callerPercent: read.integer('HEADGATE_RATE_LIMIT_CALLER_PERCENT', 80, 1, 100),
    refusedLimit: read.integer('HEADGATE_RATE_LIMIT_REFUSED', 300, 1, 1e9),
    egressAllow: read.parsed('HEADGATE_EGRESS_ALLOW', parseEgressList) ?? [],
    git: readGitSettings(read),
    gitAddresses: readGitAddresses(read),
    logLevel: read.oneOf('HEADGATE_LOG_LEVEL', logLevels, 'info'),
    logFile: read.text('HEADGATE_LOG_FILE'),
    bodyLimitBytes: read.integer('HEADGATE_BODY_LIMIT_MB', 8, 1, 1_024) * mebibyte,
    upload: {
      parts: read.integer('HEADGATE_UPLOAD_PARTS', 10_000, 1, 1_000_000),
      partBytes: read.integer('HEADGATE_UPLOAD_PART_MB', 5, 1, 1_024) * mebibyte,
      requestBytes: read.integer('HEADGATE_UPLOAD_MB', 256, 1, 65_536) * mebibyte,
    },
    objects: readObjectStore(read, faults, join(dataDirectory, 'blobs')),
    collection: {
      graceHours: read.integer('HEADGATE_BLOB_GRACE_HOURS', 24, 1, 8_760),
      everySeconds: read.integer('HEADGATE_BLOB_COLLECTION_SECONDS', 3_600, 1, 86_400),
    },
    work: {
      leaseSeconds: read.integer('HEADGATE_LEASE_SECONDS', 15, 1, 3_600),
      heartbeatSeconds: read.integer('HEADGATE_HEARTBEAT_SECONDS', 5, 1, 1_200),
      graceSeconds: read.integer('HEADGATE_GRACE_SECONDS', 30, 1, 86_400),
      queueLimitSeconds: read.integer('HEADGATE_QUEUE_LIMIT_SECONDS', 86_400, 1, 31_536_000),
      runLimitSeconds: read.integer('HEADGATE_RUN_LIMIT_SECONDS', 86_400, 1, 2_000_000),
    },
    session: {
      idleMinutes: read.integer('HEADGATE_SESSION_IDLE_MINUTES', 720, 5, 43_200),
      mostHours: read.integer('HEADGATE_SESSION_HOURS', 168, 1, 8_760),
    },
    claimWaitSeconds: 10,
    queuedRuns: read.integer('HEADGATE_QUEUED_RUNS', 1_000, 1, 1_000_000),
    scheduleIntervalSeconds: read.integer('HEADGATE_SCHEDULE_INTERVAL_SECONDS', 10, 1, 86_400),
    secretWaitSeconds: read.integer('HEADGATE_SECRET_WAIT_SECONDS', 20, 1, 120),
    webhookTimeoutSeconds: read.integer('HEADGATE_WEBHOOK_TIMEOUT_SECONDS', 15, 1, 60),
    migrationPreflightSeconds: read.integer('HEADGATE_MIGRATION_PREFLIGHT_SECONDS', 60, 1, 300),
    ai: readAiSettings(read, faults),
    alertTurnMilliseconds: 2_000,
    mail: readMailSettings(read, faults),
    mailLimits: readMailLimits(read),
    prices: readPrices(read),
    lineageScheme:
      read.matching('HEADGATE_LINEAGE_SCHEME', /^[a-z][a-z0-9+.-]{0,30}$/, 'a scheme such as headgate') ??
      'headgate',
    retention: {
      eventDays: read.days('HEADGATE_RETENTION_EVENTS_DAYS', 365),
      executionDays: read.days('HEADGATE_RETENTION_EXECUTIONS_DAYS', 365),
      logDays: read.days('HEADGATE_RETENTION_LOGS_DAYS', 90),
      aiTaskDays: read.days('HEADGATE_RETENTION_AI_TASKS_DAYS', 365),
      consumptionDays: read.days('HEADGATE_RETENTION_CONSUMPTION_DAYS', 1_096),
      deliveryDays: read.days('HEADGATE_RETENTION_DELIVERIES_DAYS', 7),
      deadDeliveryDays: read.days('HEADGATE_RETENTION_DEAD_DELIVERIES_DAYS', 30),
    },
    postgresUser: read.text('HEADGATE_POSTGRES_USER'),
    agentUser: read.text('HEADGATE_AGENT_USER'),
    agentSettings: readAgentSettings(environment),
    warnings: unknownSettings(environment, [...read.names, ...agentSettingNames]),
  };
  if (config.work.heartbeatSeconds * 2 > config.work.leaseSeconds) {
    faults.push(
      'HEADGATE_HEARTBEAT_SECONDS must be at most half of HEADGATE_LEASE_SECONDS, ' +
        'so that one lost heartbeat does not end a lease',
    );
  }
  if (faults.length > 0) throw new ConfigError(faults.join('\n'));
  return config;
}

function readFirstCredential(read: Reader, faults: string[]): Config['credential'] {
  const clientId = read.matching(
    'HEADGATE_CLIENT_ID',
    /^[\w.-]{1,255}$/,
    '1 to 255 letters, digits, _, . and -',
  );
  const secret = read.text('HEADGATE_CLIENT_SECRET');
  if ((clientId === undefined) !== (secret === undefined)) {
    faults.push('HEADGATE_CLIENT_ID and HEADGATE_CLIENT_SECRET must be set together');
    return undefined;
  }
  if (clientId === undefined || secret === undefined) return undefined;
  if (secret.length < shortestSecret) {
    faults.push(`HEADGATE_CLIENT_SECRET must be at least ${shortestSecret} characters long`);
  }
  return { clientId, secret: new Secret(secret) };
}

/** Refuses a bucket without HEADGATE_BLOB_STORE=s3: it would have no effect. */
function readObjectStore(read: Reader, faults: string[], folder: string): ObjectStoreSettings {
  const bucket = read.matching('HEADGATE_BLOB_BUCKET', /^[a-z0-9][\w.-]{2,254}$/i, 'the name of a bucket');
  const prefix = read.matching(
    'HEADGATE_BLOB_PREFIX',
    /^\w[\w.-]{0,99}(\/\w[\w.-]{0,99}){0,5}\/?$/,
    'names of letters, digits, _, . and -, with / between them',
  );
  const accessKeyId = read.text('HEADGATE_BLOB_ACCESS_KEY_ID');
  const secretAccessKey = read.text('HEADGATE_BLOB_SECRET_ACCESS_KEY');
  const settings: ObjectStoreSettings = {
    kind: 's3',
    bucket: bucket ?? '',
    prefix: prefix === undefined ? '' : `${prefix.replace(/\/$/, '')}/`,
    region: read.matching('HEADGATE_BLOB_REGION', /^[a-z0-9-]{1,60}$/, '1 to 60 of a-z, 0-9 and -'),
    endpoint: read.address('HEADGATE_BLOB_ENDPOINT', ['http:', 'https:']),
    pathStyle: read.onOff('HEADGATE_BLOB_PATH_STYLE', 'off'),
    credentials:
      accessKeyId === undefined || secretAccessKey === undefined
        ? undefined
        : { accessKeyId, secretAccessKey: new Secret(secretAccessKey) },
  };
  if ((accessKeyId === undefined) !== (secretAccessKey === undefined))
    faults.push('HEADGATE_BLOB_ACCESS_KEY_ID and HEADGATE_BLOB_SECRET_ACCESS_KEY must be set together');
  if (read.oneOf('HEADGATE_BLOB_STORE', ['folder', 's3'], 'folder') === 's3') {
    if (bucket === undefined) faults.push('HEADGATE_BLOB_STORE=s3 needs HEADGATE_BLOB_BUCKET');
    return settings;
  }
  if (bucket !== undefined)
    faults.push('HEADGATE_BLOB_BUCKET has an effect only with HEADGATE_BLOB_STORE=s3');
  return { kind: 'folder', folder };
}

function readTlsFiles(read: Reader, faults: string[]): TlsFiles | undefined {
  const [certFile, keyFile] = [read.text('HEADGATE_TLS_CERT'), read.text('HEADGATE_TLS_KEY')];
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile === undefined || keyFile === undefined) {
    faults.push('HEADGATE_TLS_CERT and HEADGATE_TLS_KEY must be set together');
    return undefined;
  }
  const files = { certFile: resolve(certFile), keyFile: resolve(keyFile) };
  try {
    readCertificate(files);
  } catch (failure) {
    faults.push((failure as Error).message);
  }
  return files;
}

function readMasterKey(read: Reader, faults: string[]): Secret | undefined {
  const input = read.text('HEADGATE_MASTER_KEY');
  if (input === undefined) return undefined;
  const secret = new Secret(input);
  try {
    parseMasterKey(secret);
  } catch (failure) {
    faults.push((failure as Error).message);
  }
  return secret;
}

function parseEgressList(text: string): readonly string[] {
  const addresses = text.split(',').map((each) => each.trim());
  parseEgressAllow(addresses);
  return addresses;
}

/** The server sets these itself for the local agent. */
const decidedHere =
  /^HEADGATE_(SERVER_URL|AGENT_(DIR|CLIENT_ID|CLIENT_SECRET|CLIENT_SECRET_FILE|CREDENTIAL_FILE|END_WITH_STDIN|ALLOW_HTTP))$/;

function readAgentSettings(environment: Environment): Record<string, string> {
  const passedOn = agentSettingNames.filter((name) => !decidedHere.test(name));
  return Object.fromEntries(
    passedOn.flatMap((name) => {
      const value = environment[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** A server that listens on every address is reached on loopback. */
/** Requests per minute. On one machine: 100 starts a second, and some ten requests to follow each. */
function chooseRateLimit(host: string, trustedProxies: readonly string[]): number {
  return isLoopbackHost(host) && trustedProxies.length === 0 ? 60_000 : 1_000;
}

function chooseReachableHost(host: string): string {
  return host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
}

function bracketIpv6(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
