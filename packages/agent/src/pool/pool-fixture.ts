/** Test fixture: a pool with real processes, in which orchestrations run. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { openConfinement } from '../confinement/confinement.ts';
import type { RunOutcome } from '../engine/ports/ports.ts';
import type { PlacedArtifact } from '../engine/ports/run-messages.ts';
import { createLog } from '../log.ts';
import { prepareRunCode } from './run-code.ts';
import type { RunOptions } from './run-options.ts';
import { createRunPool, type RunPool, type RunPoolSettings } from './run-pool.ts';

export const request: RunOptions['request'] = {
  pipelineExecutionId: '00000000-0000-7000-8000-000000000001',
  projectId: '00000000-0000-7000-8000-000000000002',
  environmentName: 'dev',
  pipelineName: 'main',
  versionName: '1',
  warehouse: 'DUCKDB',
  sql: {},
  variables: [],
  scalarVariables: {},
  gridVariables: {},
};

export interface PoolFixture {
  folder: string;
  filesFolder: string;
  pool: RunPool;
  /** Why processes were retired, in order. */
  retired: string[];
  /** Creates an artifact. */
  publish(files: Readonly<Record<string, string>>): PlacedArtifact;
  /** Runs the pipeline `main` of new files, or of one orchestration. */
  run(
    files: string | PlacedArtifact,
    options?: Partial<RunOptions> & { environmentName?: string },
  ): Promise<RunOutcome>;
  close(): Promise<void>;
}

/** A given confinement stays open. */
export async function createPoolFixture(settings: Partial<RunPoolSettings> = {}): Promise<PoolFixture> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-pool-'));
  const filesFolder = join(folder, 'files');
  mkdirSync(filesFolder);
  const retired: string[] = [];
  const log = createLog({
    level: 'debug',
    write(line) {
      const { message, level, reason } = JSON.parse(line) as Record<string, string>;
      if (message === 'process of runs retired') retired.push(reason ?? '');
      else if (level === 'error') console.log(line);
    },
  });
  const confinement = settings.confinement ?? (await openConfinement(log));
  const pool = createRunPool({
    code: settings.code ?? (await prepareRunCode(join(folder, 'code'))),
    confinement,
    workFolder: folder,
    memoryMegabytes: 256,
    processMegabytes: 512,
    log,
    ...settings,
  });
  function publish(files: Readonly<Record<string, string>>): PlacedArtifact {
    const paths = Object.keys(files);
    const digests = Object.values(files).map((text) => createHash('sha256').update(text).digest('hex'));
    const digest = createHash('sha256')
      .update(JSON.stringify([paths, digests]))
      .digest('hex');
    const place = join(folder, 'artifacts', digest);
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(place, path)), { recursive: true });
      writeFileSync(join(place, path), text);
    }
    return { digest, folder: place, index: { paths, digests }, ignored: [] };
  }
  const never = new AbortController().signal;
  const refuse = () => assert.fail('not asked for');
  return {
    folder,
    filesFolder,
    pool,
    retired,
    publish,
    run: (files, { environmentName = 'dev', ...options } = {}) =>
      pool.run({
        request: { ...request, environmentName },
        artifact: typeof files === 'string' ? publish({ 'main.orch.yaml': files }) : files,
        shared: [],
        files: { filesFolder },
        enterScratch: async () => ({ filesFolder }),
        warehouse: { execute: refuse, queryText: refuse },
        openBetween: refuse,
        readSecret: refuse,
        runScript: refuse,
        openEndpoint: refuse,
        download: refuse,
        stores: { open: refuse, fetch: refuse, convert: refuse },
        conceal: (said) => said,
        cancel: never,
        kill: never,
        onStep: () => undefined,
        onLine: () => undefined,
        onVariables: () => undefined,
        ...options,
      }),
    async close() {
      await pool.close();
      if (settings.confinement === undefined) await confinement.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
