/** Two PostgreSQL servers: a primary and a synchronous standby. */
import { execFile } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { decidePlaces, type PostgresPlaces } from '../../../packages/server/src/main/host/places.ts';
import { makeOwnFolder } from '../../../packages/server/src/main/host/process-users.ts';
import { initializeDataDirectory } from '../../../packages/server/src/main/postgres/postgres-data-directory.ts';
import {
  type Supervised,
  supervise,
} from '../../../packages/server/src/main/postgres/postgres-supervisor.ts';
import { waitUntil } from '../../../packages/server/testing/waiting.ts';
import { checkout, type Installation, isRoot } from './installation.ts';
import { signal } from './processes.ts';

const port = 5432;
const user = 'headgate';

export interface Node {
  socketPath: string;
  /** Runs SQL without the servers under test. */
  connection: pg.ClientConfig;
}

export class ReplicatedDatabase {
  readonly primary: Node;
  readonly standby: Node;
  readonly #places: readonly [PostgresPlaces, PostgresPlaces];
  readonly #running: Supervised[] = [];

  private constructor(places: readonly [PostgresPlaces, PostgresPlaces]) {
    this.#places = places;
    [this.primary, this.standby] = places.map(({ socketDirectory }) => ({
      socketPath: join(socketDirectory, `.s.PGSQL.${port}`),
      connection: { host: socketDirectory, port, user, database: 'headgate' },
    })) as [Node, Node];
  }

  /** Uses the folders of an installation that never starts. */
  static async start({ folder }: Installation): Promise<ReplicatedDatabase> {
    const stateDirectory = join(folder, 'state');
    mkdirSync(stateDirectory);
    if (isRoot) chmodSync(stateDirectory, 0o711);
    const [first, second] = ['primary', 'standby'].map(
      (name) =>
        decidePlaces({
          ...{ dataDirectory: join(folder, name), stateDirectory, checkout },
          ...{ embeddedPostgres: true, localAgent: false },
        }).postgres,
    );
    if (first === undefined || second === undefined) throw new Error('no place for PostgreSQL');
    const database = new ReplicatedDatabase([first, second]);
    await database.#begin();
    return database;
  }

  async #begin(): Promise<void> {
    const [primary, standby] = this.#places;
    await initializeDataDirectory(primary);
    // A copy of a cluster that never started can follow it from the first record.
    cpSync(primary.dataDirectory, standby.dataDirectory, { recursive: true });
    writeFileSync(join(standby.dataDirectory, 'standby.signal'), '');
    await promisify(execFile)('chmod', ['-R', 'go-rwx', standby.dataDirectory]);
    if (isRoot) {
      const { uid, gid } = standby.user ?? { uid: 0, gid: 0 };
      await promisify(execFile)('chown', ['-R', `${uid}:${gid}`, standby.dataDirectory]);
    }
    await this.#run(primary, { synchronous_standby_names: 'standby' });
    const conninfo = `host=${primary.socketDirectory} port=${port} user=${user} application_name=standby`;
    await this.#run(standby, { primary_conninfo: conninfo });
    const client = new pg.Client({ ...this.primary.connection, database: 'postgres' });
    await waitUntil('a primary', 120, async () => {
      await client.connect();
      return true;
    });
    await client.query('create database headgate');
    await client.end();
  }

  async #run(places: PostgresPlaces, settings: Record<string, string>): Promise<void> {
    const { binaries, dataDirectory, socketDirectory, user: as } = places;
    makeOwnFolder(socketDirectory, as);
    let output = '';
    const all = {
      listen_addresses: '',
      port: String(port),
      unix_socket_directories: socketDirectory,
      ...settings,
    };
    const postmaster = await supervise({
      command: join(binaries, 'bin', 'postgres'),
      args: [
        '-D',
        dataDirectory,
        ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      ],
      cwd: dataDirectory,
      user: as,
      onOutput: (text) => {
        output = (output + text).slice(-4_000);
      },
    });
    this.#running.push(postmaster);
    await waitUntil(`PostgreSQL in ${dataDirectory}`, 120, async () => {
      const client = new pg.Client({ host: socketDirectory, port, user, database: 'postgres' });
      client.on('error', () => undefined);
      return client.connect().then(
        () => client.end().then(() => true),
        () => (output.includes('FATAL:  could not') ? Promise.reject(new Error(output)) : false),
      );
    });
  }

  /** Kills the primary and promotes the standby. */
  async failOver(): Promise<void> {
    const [primary] = this.#running;
    const [, { binaries, dataDirectory, user: as }] = this.#places;
    if (primary === undefined) throw new Error('there is no primary');
    signal(primary.pid, 'SIGKILL');
    await primary.ended;
    const options = { cwd: dataDirectory, ...(as === undefined ? {} : { uid: as.uid, gid: as.gid }) };
    await promisify(execFile)(join(binaries, 'bin', 'pg_ctl'), ['promote', '-D', dataDirectory], options);
  }

  async stop(): Promise<void> {
    for (const postmaster of this.#running) postmaster.end();
    await Promise.all(this.#running.map(({ ended }) => ended));
  }
}
