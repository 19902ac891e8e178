/**
 * The server's settings: the only place that reads the environment. Every bad value is named, all at once, and stops the boot.
 * docs/configuration.md lists them.
 */
import { resolve } from 'node:path';
import type { UploadLimits } from '../delivery/artifacts/index.ts';
import { parseEgressAllow } from '../kernel/egress.ts';
import { type LogLevel, logLevels } from '../kernel/log.ts';
import { parseMasterKey, Secret } from '../kernel/sealed.ts';
import type { WorkTimes } from '../kernel/work.ts';
import { exposureFault, parseTrustedProxies } from './exposure.ts';
import { readCertificate, type TlsFiles } from './http/certificate.ts';
import { parseOrigins } from './http/cors.ts';

export interface Config {
  host: string;
  port: number;
  /** Without a slash at the end; what tokens name as their issuer and `Location` begins with. */
  publicUrl: string;
  /** Where this machine reaches the server past any proxy; undefined when it speaks TLS, to a name that may not lead here. */
  localUrl: string | undefined;
  /** Both exist, are read and fit; undefined for plain HTTP. */
  tls: TlsFiles | undefined;
  /** The addresses and ranges whose X-Forwarded-For is believed. */
  trustedProxies: readonly string[];
  problemTypeBase: string;
  region: string;
  /** Whose pages may call the interface; undefined for nobody's. */
  corsOrigins: readonly string[] | undefined;
  /** Absolute. */
  dataDirectory: string;
  /** Where the operator typed the command: npm runs it in another folder. Absolute. */
  invokedIn: string;
  /** Undefined: the embedded PostgreSQL. */
  databaseUrl: string | undefined;
  databaseConnections: number;
  /** The first credential, in place of a generated one. */
  credential: { clientId: string; secret: Secret } | undefined;
  masterKey: Secret | undefined;
  /** How long a key signs before another takes its place; undefined for as long as the operator likes. */
  signingKeyDays: number | undefined;
  example: boolean;
  localAgent: boolean;
  /** Requests a minute an account; undefined for no limit. */
  rateLimit: number | undefined;
  egressAllow: readonly string[];
  logLevel: LogLevel;
  logFile: string | undefined;
  bodyLimitBytes: number;
  upload: UploadLimits;
  work: WorkTimes;
  /** How long a request that writes a secret waits for the agent. */
  secretWaitSeconds: number;
  /** In days; undefined for ever. */
  retention: Record<'eventDays' | 'executionDays' | 'logDays', number | undefined>;
  postgresUser: string | undefined;
  agentUser: string | undefined;
  /** Settings of the local agent, passed on to it as they are: HEADGATE_AGENT_CONCURRENCY and its like. */
  agentSettings: Readonly<Record<string, string>>;
}

export class ConfigError extends Error {
  override name = 'ConfigError';
}

type Environment = Readonly<Record<string, string | undefined>>;

const mebibyte = 1_048_576;
const shortestSecret = 24;

/** @throws ConfigError with one line for each setting that is bad. */
export function loadConfig(environment: Environment = process.env): Config {
  const faults: string[] = [];
  const read = reader(environment, faults);
  const host = read.text('HEADGATE_HOST') ?? '127.0.0.1';
  const port = read.integer('HEADGATE_PORT', 8_080, 1, 65_535);
  const tls = tlsFiles(read, faults);
  const trustedProxies = read.parsed('HEADGATE_TRUSTED_PROXY', parseTrustedProxies) ?? [];
  const exposed = exposureFault(host, { tls, trustedProxies });
  if (exposed !== undefined) faults.push(exposed);
  const publicUrl =
    read.address('HEADGATE_PUBLIC_URL', ['http:', 'https:']) ??
    `${tls === undefined ? 'http' : 'https'}://${bracketed(host)}:${port}`;
  const config: Config = {
    host,
    port,
    publicUrl,
    localUrl: tls === undefined ? `http://${bracketed(reachable(host))}:${port}` : undefined,
    tls,
    trustedProxies,
    problemTypeBase: read.address('HEADGATE_PROBLEM_BASE', ['http:', 'https:']) ?? `${publicUrl}/problems`,
    region: read.matching('HEADGATE_REGION', /^[a-z0-9-]{1,40}$/, '1 to 40 of a-z, 0-9 and -') ?? 'local',
    corsOrigins: read.parsed('HEADGATE_CORS_ORIGINS', parseOrigins),
    dataDirectory: resolve(read.text('HEADGATE_DATA_DIR') ?? '.headgate'),
    invokedIn: resolve(read.text('INIT_CWD') ?? '.'),
    databaseUrl: read.address('DATABASE_URL', ['postgres:', 'postgresql:']),
    databaseConnections: read.integer('HEADGATE_DATABASE_CONNECTIONS', 10, 2, 500),
    credential: firstCredential(read, faults),
    masterKey: masterKey(read, faults),
    signingKeyDays: read.integerOrOff('HEADGATE_SIGNING_KEY_DAYS', 90, 1, 3_650),
    example: read.onOff('HEADGATE_EXAMPLE'),
    localAgent: read.onOff('HEADGATE_LOCAL_AGENT'),
    rateLimit: read.integerOrOff('HEADGATE_RATE_LIMIT', 1_000, 1, 1e9),
    egressAllow: read.parsed('HEADGATE_EGRESS_ALLOW', egressAllow) ?? [],
    logLevel: read.oneOf('HEADGATE_LOG_LEVEL', logLevels, 'info'),
    logFile: read.text('HEADGATE_LOG_FILE'),
    bodyLimitBytes: read.integer('HEADGATE_BODY_LIMIT_MB', 8, 1, 1_024) * mebibyte,
    upload: {
      parts: read.integer('HEADGATE_UPLOAD_PARTS', 10_000, 1, 1_000_000),
      partBytes: read.integer('HEADGATE_UPLOAD_PART_MB', 5, 1, 1_024) * mebibyte,
      requestBytes: read.integer('HEADGATE_UPLOAD_MB', 256, 1, 65_536) * mebibyte,
    },
    work: {
      leaseSeconds: read.integer('HEADGATE_LEASE_SECONDS', 15, 1, 3_600),
      heartbeatSeconds: read.integer('HEADGATE_HEARTBEAT_SECONDS', 5, 1, 1_200),
      graceSeconds: read.integer('HEADGATE_GRACE_SECONDS', 30, 1, 86_400),
      queueLimitSeconds: read.integer('HEADGATE_QUEUE_LIMIT_SECONDS', 86_400, 1, 31_536_000),
      runLimitSeconds: read.integer('HEADGATE_RUN_LIMIT_SECONDS', 86_400, 1, 2_000_000),
    },
    secretWaitSeconds: read.integer('HEADGATE_SECRET_WAIT_SECONDS', 20, 1, 120),
    retention: {
      eventDays: read.days('HEADGATE_RETENTION_EVENTS_DAYS', 365),
      executionDays: read.days('HEADGATE_RETENTION_EXECUTIONS_DAYS', 365),
      logDays: read.days('HEADGATE_RETENTION_LOGS_DAYS', 90),
    },
    postgresUser: read.text('HEADGATE_POSTGRES_USER'),
    agentUser: read.text('HEADGATE_AGENT_USER'),
    agentSettings: agentSettings(environment),
  };
  if (config.work.heartbeatSeconds * 2 > config.work.leaseSeconds) {
    faults.push(
      'HEADGATE_HEARTBEAT_SECONDS must be at most half of HEADGATE_LEASE_SECONDS: a lost heartbeat must not end a lease',
    );
  }
  if (faults.length > 0) throw new ConfigError(faults.join('\n'));
  return config;
}

function reader(environment: Environment, faults: string[]) {
  const text = (name: string) => environment[name] || undefined;
  function fault(name: string, expected: string): undefined {
    faults.push(`${name} must be ${expected}; it is ${JSON.stringify(environment[name])}`);
  }
  function integer(name: string, preset: number, least: number, most: number, orElse = ''): number {
    const given = text(name);
    if (given === undefined) return preset;
    const value = /^\d{1,15}$/.test(given) ? Number(given) : Number.NaN;
    if (value >= least && value <= most) return value;
    fault(name, `a whole number from ${least} to ${most}${orElse}`);
    return preset;
  }
  return {
    text,
    integer: (name: string, preset: number, least: number, most: number) =>
      integer(name, preset, least, most),
    integerOrOff: (name: string, preset: number, least: number, most: number): number | undefined =>
      text(name) === 'off' ? undefined : integer(name, preset, least, most, ', or off'),
    /** Undefined: for ever. */
    days: (name: string, preset: number): number | undefined =>
      text(name) === 'forever' ? undefined : integer(name, preset, 1, 36_500, ', or forever'),
    /** What `parse` makes of a value; it throws, in words for the operator, on a bad one. */
    parsed<Value>(name: string, parse: (text: string) => Value): Value | undefined {
      const given = text(name);
      if (given === undefined) return undefined;
      try {
        return parse(given);
      } catch (failure) {
        faults.push(`${name}: ${(failure as Error).message}`);
        return undefined;
      }
    },
    onOff(name: string): boolean {
      const given = text(name) ?? 'on';
      if (given !== 'on' && given !== 'off') fault(name, 'on or off');
      return given !== 'off';
    },
    oneOf<Word extends string>(name: string, words: readonly Word[], preset: Word): Word {
      const given = text(name);
      return (
        words.find((word) => word === (given ?? preset)) ??
        fault(name, `one of ${words.join(', ')}`) ??
        preset
      );
    },
    matching(name: string, form: RegExp, expected: string): string | undefined {
      const given = text(name);
      return given === undefined || form.test(given) ? given : fault(name, expected);
    },
    /** A database's address may hold a password: it is named by its fault, never repeated. */
    address(name: string, protocols: readonly string[]): string | undefined {
      const given = text(name);
      if (given === undefined) return undefined;
      if (URL.canParse(given) && protocols.includes(new URL(given).protocol))
        return given.replace(/\/+$/, '');
      faults.push(
        `${name} must be an address that begins with ${protocols.map((each) => `${each}//`).join(' or ')}`,
      );
      return undefined;
    },
  };
}

type Reader = ReturnType<typeof reader>;

function firstCredential(read: Reader, faults: string[]): Config['credential'] {
  const clientId = read.matching(
    'HEADGATE_CLIENT_ID',
    /^[\w.-]{1,255}$/,
    '1 to 255 letters, digits, _, . and -',
  );
  const secret = read.text('HEADGATE_CLIENT_SECRET');
  if ((clientId === undefined) !== (secret === undefined)) {
    faults.push('HEADGATE_CLIENT_ID and HEADGATE_CLIENT_SECRET must be given together');
    return undefined;
  }
  if (clientId === undefined || secret === undefined) return undefined;
  if (secret.length < shortestSecret) {
    faults.push(`HEADGATE_CLIENT_SECRET must be at least ${shortestSecret} characters long`);
  }
  return { clientId, secret: new Secret(secret) };
}

function tlsFiles(read: Reader, faults: string[]): TlsFiles | undefined {
  const [certFile, keyFile] = [read.text('HEADGATE_TLS_CERT'), read.text('HEADGATE_TLS_KEY')];
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile === undefined || keyFile === undefined) {
    faults.push('HEADGATE_TLS_CERT and HEADGATE_TLS_KEY must be given together');
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

function masterKey(read: Reader, faults: string[]): Secret | undefined {
  const given = read.text('HEADGATE_MASTER_KEY');
  if (given === undefined) return undefined;
  const secret = new Secret(given);
  try {
    parseMasterKey(secret);
  } catch (failure) {
    faults.push((failure as Error).message);
  }
  return secret;
}

function egressAllow(text: string): readonly string[] {
  const given = text.split(',').map((each) => each.trim());
  parseEgressAllow(given);
  return given;
}

/** Who the local agent is, and where, is decided by the server. */
const decidedHere = /^HEADGATE_AGENT_(USER|DIR|CLIENT_ID|CLIENT_SECRET|CREDENTIAL_FILE|END_WITH_STDIN)$/;

function agentSettings(environment: Environment): Record<string, string> {
  const entries = Object.entries(environment).filter(
    (entry): entry is [string, string] =>
      entry[0].startsWith('HEADGATE_AGENT_') && !decidedHere.test(entry[0]) && entry[1] !== undefined,
  );
  return Object.fromEntries(entries);
}

/** A server that listens on every address is reached on loopback. */
function reachable(host: string): string {
  return host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
