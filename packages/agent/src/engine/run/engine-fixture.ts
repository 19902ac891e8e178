/** Test fixture: a real DuckDB in this process, files in a temporary folder, and a record of all reports. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance, type DuckDBType } from '@duckdb/node-api';
import type { RunVariables, Step } from '@headgate/contract';
import {
  createQuickJsLender,
  type FileConversion,
  type SharedPipelineUse,
  type Unreadable,
} from '@headgate/pipelines';
import type { Connectors } from '../../connectors/connectors.ts';
import type { RanSql } from '../../lineage/ran-sql.ts';
import { createRunStores } from '../../pool/run-stores.ts';
import type { RunScript } from '../../scripts/script-job.ts';
import type { StoreAccess } from '../../stores/store-access.ts';
import { behaviour } from '../../warehouses/duckdb-confinement.ts';
import { toJavaScript } from '../../warehouses/duckdb-statement.ts';
import {
  convertPartial,
  createRunFiles,
  describeFile,
  downloadPartial,
  type FilesPlace,
} from '../files/run-files.ts';
import type {
  ArtifactFiles,
  LogSource,
  RunFiles,
  RunOutcome,
  RunPorts,
  RunRequest,
  RunStorePort,
  SharedVersion,
  Warehouse,
} from '../ports/ports.ts';
import { createRunCaches } from '../ports/run-caches.ts';
import { runBounds, runPipeline } from './run.ts';

export interface Fixture {
  folder: string;
  filesFolder: string;
  connection: DuckDBConnection;
  /** Another connection to the same database, for what other runs do. */
  connect(): Promise<DuckDBConnection>;
  /** The latest state of each step, in the order in which steps started. */
  steps: Map<string, Step>;
  /** Every report, as sent. */
  reports: Step[];
  /** What the steps that succeeded have run. */
  ranSql: RanSql[];
  lines: string[];
  /** The same lines with their steps and streams. */
  variables: RunVariables[];
  logged: ({ line: string } & LogSource)[];
  /** The project's secret references, by name. */
  secrets: Map<string, string>;
  /** The names of the secrets that were read, in order. */
  secretsRead: string[];
  /** Pipeline files that the upload ignored, with the reasons. */
  ignored: Map<string, Unreadable>;
  /** How often a run asked for a scratch database. */
  countScratch(): number;
  /** The waits of the run, in milliseconds. No time passes in them. */
  waits: number[];
  /** Lets the time of all running timers pass. Returns their milliseconds. */
  runTimers(): number[];
  /** Calls a function in each wait. */
  onWait(call: () => unknown): void;
  cancel(): void;
  /** Adds files to the artifact; text by path. */
  publish(files: Readonly<Record<string, string>>): Promise<void>;
  /** Sets the version chosen for a use of shared pipelines: files, or a fault. */
  choose(
    use: SharedPipelineUse,
    chosen: { versionName: string; files: Record<string, string> } | string,
  ): Promise<void>;
  run(pipelineName: string, request?: Partial<RunRequest>): Promise<RunOutcome>;
  rows(sql: string): Promise<unknown[][]>;
  dispose(): void;
}

/**
 * @param runScript default: there are no scripts. @param openEndpoint of the folder of the artifact
 * @param other a warehouse in place of DuckDB
 */
export async function createFixture(
  runScript: RunScript = refuseScripts,
  openEndpoint: (folder: string) => ArtifactFiles['openEndpoint'] = () => refuseEndpoints,
  download: Connectors['download'] = refuseDownloads,
  other?: Warehouse,
  stores?: StoreAccess,
): Promise<Fixture> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-engine-'));
  const artifact = join(folder, 'artifact');
  const filesFolder = join(folder, 'files');
  await mkdir(artifact);
  await mkdir(filesFolder);
  const instance = await DuckDBInstance.create(':memory:', behaviour);
  const connection = await instance.connect();
  const files = new Map<string, string>();
  const ignored = new Map<string, Unreadable>();
  const shared = new Map<string, SharedVersion>();
  const steps = new Map<string, Step>();
  const reports: Step[] = [];
  const ranSql: RanSql[] = [];
  const lines: string[] = [];
  const variables: RunVariables[] = [];
  const logged: Fixture['logged'] = [];
  const secrets = new Map<string, string>();
  const secretsRead: string[] = [];
  const waits: number[] = [];
  const timers = new Set<{ milliseconds: number; onTime: () => void }>();
  let onWait: () => unknown = () => undefined;
  let cancelled = false;
  let ids = 0;
  let entered = 0;
  let place: FilesPlace = { filesFolder };
  function newId(): string {
    ids += 1;
    return `00000000-0000-4000-8000-${String(ids).padStart(12, '0')}`;
  }
  const runFiles = createRunFiles(() => place, newId);
  const convert = (find: () => Promise<string>, conversion: FileConversion) =>
    convertPartial(runFiles, find, (path, target) =>
      (stores ?? refuseStores).convert({ path, target, conversion }, new AbortController().signal),
    );
  const ports: RunPorts = {
    warehouse: other ?? createWarehouse(connection),
    between: createWarehouse(connection),
    sessions: 1,
    artifact: {
      get paths() {
        return [...files.keys()];
      },
      has: (path) => files.has(path),
      getDigest: (path) => files.get(path) ?? '',
      ignored,
      read: async (path) => files.get(path),
      place: (path) => (files.has(path) ? join(artifact, path) : undefined),
      describe: (path) => describeFile(join(artifact, path)),
      convert: (path, conversion) => convert(async () => join(artifact, path), conversion),
      openEndpoint: openEndpoint(artifact),
    },
    async secret(name) {
      secretsRead.push(name);
      const value = secrets.get(name);
      if (value === undefined) throw new Error(`the secret reference "${name}" cannot be looked up: none`);
      return value;
    },
    runScript,
    findShared: ({ prefix, versionName }) => shared.get(`${prefix} ${versionName ?? 'latest'}`),
    files: runFiles,
    download: (address, unpacks, limit = new AbortController().signal) =>
      downloadPartial(runFiles, (path) => download(address, path, unpacks, limit)),
    stores: createStorePort(stores, runFiles),
    convert: (source, conversion) =>
      convert(
        async () => ('partial' in source ? runFiles.findWriting(source.partial) : runFiles.find(source.path)),
        conversion,
      ),
    async enterScratch() {
      entered += 1;
      await mkdir(join(filesFolder, '.tests'), { recursive: true });
      place = { filesFolder: join(filesFolder, '.tests'), environmentFilesFolder: filesFolder };
      return {};
    },
    reportFault: () => undefined,
    createQuickJs: createQuickJsLender().lend,
    caches: createRunCaches(),
    report(step, ran) {
      if (ran !== undefined) ranSql.push(ran);
      steps.set(step.stepId, step);
      reports.push(step);
    },
    log(line, source) {
      lines.push(line);
      logged.push({ line, ...source });
    },
    recordVariables: (record) => variables.push(record),
    isCancelled: () => cancelled,
    getCanceller: () => 'a tester',
    now: () => new Date(Date.UTC(2030, 0, 1)),
    async wait(milliseconds) {
      waits.push(milliseconds);
      await onWait();
    },
    startTimer(milliseconds, onTime) {
      const timer = { milliseconds, onTime };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    newId,
  };
  return {
    folder,
    filesFolder,
    connection,
    connect: () => instance.connect(),
    steps,
    reports,
    ranSql,
    lines,
    logged,
    variables,
    secrets,
    secretsRead,
    ignored,
    countScratch: () => entered,
    waits,
    runTimers() {
      const running = [...timers];
      timers.clear();
      for (const { onTime } of running) onTime();
      return running.map(({ milliseconds }) => milliseconds);
    },
    onWait(call) {
      onWait = call;
    },
    cancel: () => {
      cancelled = true;
    },
    async publish(published) {
      for (const [path, text] of Object.entries(published)) files.set(path, text);
      await writeFiles(artifact, published);
    },
    async choose({ prefix, versionName = 'latest' }, chosen) {
      const key = `${prefix} ${versionName}`;
      if (typeof chosen === 'string') shared.set(key, { fault: chosen });
      else {
        const place = join(folder, 'shared', prefix, chosen.versionName);
        await writeFiles(place, chosen.files);
        const texts = new Map(Object.entries(chosen.files));
        const sharedFiles: ArtifactFiles = {
          paths: [...texts.keys()],
          has: (path) => texts.has(path),
          getDigest: (path) => texts.get(path) ?? '',
          ignored: new Map(),
          read: async (path) => texts.get(path),
          place: (path) => (texts.has(path) ? join(place, path) : undefined),
          describe: (path) => describeFile(join(place, path)),
          openEndpoint: refuseEndpoints,
          convert: (path, conversion) => convert(async () => join(place, path), conversion),
        };
        shared.set(key, { versionName: chosen.versionName, files: sharedFiles });
      }
    },
    run: (pipelineName, request = {}) => runPipeline({ ...baseRequest, pipelineName, ...request }, ports),
    rows: async (sql) => (await ports.warehouse.query(sql, 1_000)).rows,
    dispose() {
      connection.closeSync();
      instance.closeSync();
      rmSync(folder, { recursive: true });
    },
  };
}

const refuseStores: StoreAccess = {
  open: async () => assert.fail('no store is opened'),
  fetch: async () => assert.fail('no object is fetched'),
  convert: async () => assert.fail('no file is converted'),
};

function createStorePort(stores: StoreAccess = refuseStores, files: RunFiles): RunStorePort {
  const never = new AbortController().signal;
  const answered = createRunStores({ stores, kill: never }, files);
  return {
    list: (place, limit = never, scope = 'all') => answered.list({ place, scope }, limit),
    fetch: (store, object, reading, limit = never) => answered.fetch({ store, object, reading }, limit),
    stat: (place, limit = never) => answered.stat({ place }, limit),
    send: (file, limit = never) => answered.send(file, limit),
    remove: (store, objects, limit = never) => answered.remove({ store, objects }, limit),
  };
}

const refuseEndpoints: ArtifactFiles['openEndpoint'] = async () => assert.fail('no endpoint is called');
const refuseDownloads: Connectors['download'] = async () => assert.fail('nothing is downloaded');
const refuseScripts: RunScript = async () => assert.fail('no script is run');

async function writeFiles(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
}

const baseRequest = {
  pipelineExecutionId: '00000000-0000-4000-8000-00000000e0e0',
  projectId: '00000000-0000-4000-8000-00000000aaaa',
  environmentName: 'dev',
  versionName: 'v1',
  warehouse: 'DUCKDB',
  sql: {},
  variables: [],
  scalarVariables: {},
  gridVariables: {},
  bounds: runBounds,
};

function createWarehouse(connection: DuckDBConnection): Warehouse {
  async function readAll(sql: string, limit: AbortSignal | undefined) {
    limit?.throwIfAborted();
    // DuckDB ignores an interrupt before the statement has begun.
    let repeating: NodeJS.Timeout | undefined;
    const interrupt = () => {
      repeating = setInterval(() => connection.interrupt(), 20);
    };
    limit?.addEventListener('abort', interrupt);
    try {
      return await connection.runAndReadAll(sql);
    } finally {
      limit?.removeEventListener('abort', interrupt);
      clearInterval(repeating);
    }
  }
  return {
    async execute(sql, _session, limit) {
      const result = await readAll(sql, limit);
      const [first] = result.getRowsJson();
      const counted = result.columnNames()[0] === 'Count' ? Number(first?.[0]) : result.currentRowCount;
      return { rowCount: counted };
    },
    async query(sql, maxRows, _session, limit) {
      const result = await readAll(sql, limit);
      const types = result.columnTypes();
      const rows = result
        .getRows()
        .map((row) => row.map((value, column) => toJavaScript(value, types[column] as DuckDBType)));
      if (rows.length > maxRows) throw new Error(`the query returned more than ${maxRows} rows`);
      return { columns: result.columnNames(), rows };
    },
  };
}
