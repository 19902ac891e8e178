/** Runs of pipelines with connectors in real processes, as the agent starts them. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ProjectWarehouse, Step, StepLineage, TestResult, WorkOf } from '@headgate/contract';
import { parseEgressAllow } from '@headgate/contract/egress';
import { Secret } from '@headgate/contract/without-schemas';
import type { ArtifactCache } from '../src/artifacts/artifact-cache.ts';
import { openConfinement } from '../src/confinement/confinement.ts';
import { createConnectors } from '../src/connectors/connectors.ts';
import type { WorkContext } from '../src/handlers/handler.ts';
import {
  createPipelineExecutionHandler,
  type PipelineExecutionDependencies,
} from '../src/handlers/pipeline-execution.ts';
import { createTestExecutionHandler } from '../src/handlers/test-execution.ts';
import { removeTree } from '../src/host/folders.ts';
import { createLineage, type Lineage } from '../src/lineage/lineage.ts';
import { prepareRunCode } from '../src/pool/run-code.ts';
import { createRunPool } from '../src/pool/run-pool.ts';
import type { Outcome } from '../src/session/outbox.ts';
import type { ServedDriver, WarehouseConnection } from '../src/warehouses/warehouse.ts';
import {
  createTestDriver,
  createTestWarehouses,
  errorLog,
  makeWarehouseFolders,
  testPlace,
} from './warehouse.ts';

export interface ConnectorScene {
  /** A connection of its own to the environment's database. */
  connect(): Promise<WarehouseConnection>;
  filesFolder: string;
  /** The file of the environment's database. */
  databaseFile: string;
  run(
    files: Readonly<Record<string, string>>,
    pipelineName: string,
    context?: Partial<WorkContext>,
  ): Promise<Outcome & { steps: Step[]; lineage: StepLineage[] }>;
  /** Runs tests of pipelines. */
  test(
    files: Readonly<Record<string, string>>,
    tests: readonly string[],
  ): Promise<Outcome & { results: TestResult[] }>;
  close(): Promise<void>;
}

const refuse = () => Promise.reject(new Error('not in these tests'));

/**
 * @param secrets the project's secret references, by name
 * @param lineage closed with the scene
 * @param other the warehouse of the project
 */
export async function openConnectorScene(
  secrets: ReadonlyMap<string, string> = new Map(),
  lineage: Lineage = createLineage(),
  other: {
    postgres?: ServedDriver;
    redshift?: ServedDriver;
    snowflake?: ServedDriver;
    warehouse: ProjectWarehouse;
  } = {
    warehouse: { kind: 'duckdb' },
  },
): Promise<ConnectorScene> {
  const { root, folders } = makeWarehouseFolders();
  mkdirSync(folders.temporary, { recursive: true });
  const confinement = await openConfinement(errorLog);
  const driver = createTestDriver(folders, confinement);
  const runPool = createRunPool({
    code: await prepareRunCode(folders.code),
    confinement,
    workFolder: folders.temporary,
    memoryMegabytes: 256,
    processMegabytes: 512,
    log: errorLog,
  });
  const connectors = createConnectors({
    controlPlane: { connectorOauth: refuse, connectorOauthProblem: refuse },
    instanceId: '00000000-0000-4000-8000-000000000001',
    vaults: { find: () => undefined },
    allow: parseEgressAllow(['127.0.0.0/8']),
  });
  let published = 0;

  function publish(files: Readonly<Record<string, string>>) {
    published += 1;
    const folder = join(folders.projectArtifacts(testPlace.projectId), `digest-${published}`, 'files');
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    const paths = Object.keys(files);
    const index = { paths, digests: paths.map((path) => `${published} ${path}`) };
    const acquire = async () => ({ folder, index, release: () => undefined });
    return { acquire } as unknown as ArtifactCache;
  }

  const createDependencies = (files: Readonly<Record<string, string>>): PipelineExecutionDependencies => ({
    config: { runTimeLimitSeconds: 600 },
    runPool,
    folders,
    artifacts: publish(files),
    warehouses: {
      ...createTestWarehouses(driver),
      ...(other.postgres === undefined ? {} : { postgres: other.postgres }),
      ...(other.redshift === undefined ? {} : { redshift: other.redshift }),
      ...(other.snowflake === undefined ? {} : { snowflake: other.snowflake }),
    },
    scripts: { run: refuse },
    secretReferences: {
      read: async (_work, name) => new Secret(secrets.get(name) ?? ''),
      readCloud: async (_work, cloud) => new Secret(secrets.get(cloud) ?? ''),
    },
    connectors,
    lineage,
    log: errorLog,
  });

  return {
    connect: () => driver.connect(testPlace),
    filesFolder: folders.files(testPlace),
    async test(files, tests) {
      const handle = createTestExecutionHandler(createDependencies(files));
      const results: TestResult[] = [];
      const { pipelineName: _, ...work } = createWork('', published, other.warehouse).payload;
      const payload = {
        ...work,
        testExecutionId: '44444444-4444-4444-8444-444444444444',
        tests: tests.map((testName) => ({ testName })),
      };
      const never = new AbortController().signal;
      const outcome = await handle(
        { ...createWork('', published, other.warehouse), kind: 'test-execution', payload },
        {
          reportStarted: async () => undefined,
          step: () => undefined,
          tested: (result) => void results.push(result),
          line: () => undefined,
          variables: () => undefined,
          conceal: () => undefined,
          cancel: never,
          kill: never,
        },
      );
      return { ...outcome, results };
    },
    databaseFile: folders.database(testPlace),
    async run(files, pipelineName, input = {}) {
      const handle = createPipelineExecutionHandler(createDependencies(files));
      const steps = new Map<string, Step>();
      const found: StepLineage[] = [];
      let mask = (text: string) => text;
      const never = new AbortController().signal;
      const outcome = await handle(createWork(pipelineName, published, other.warehouse), {
        reportStarted: async () => undefined,
        step(step, of) {
          steps.set(step.stepId, step);
          if (of !== undefined) found.push(of);
        },
        tested: () => undefined,
        line: () => undefined,
        variables: () => undefined,
        conceal(next) {
          mask = next;
        },
        cancel: never,
        kill: never,
        ...input,
      });
      const masked = JSON.parse(mask(JSON.stringify([...steps.values()]))) as Step[];
      return { ...outcome, steps: masked, lineage: found };
    },
    async close() {
      await runPool.close();
      await lineage.close();
      await driver.close();
      await confinement.close();
      await removeTree(root);
    },
  };
}

function createWork(
  pipelineName: string,
  published: number,
  warehouse: ProjectWarehouse,
): WorkOf<'pipeline-execution'> {
  return {
    workId: '22222222-2222-4222-8222-222222222222',
    epoch: 1,
    leaseExpiresAt: '2030-01-01T00:00:00Z',
    kind: 'pipeline-execution',
    payload: {
      ...testPlace,
      pipelineExecutionId: '33333333-3333-4333-8333-333333333333',
      pipelineName,
      versionName: 'v1',
      artifactDigest: String(published).padStart(64, '0'),
      variables: [],
      scalarVariables: {},
      gridVariables: {},
      timeLimitSeconds: 600,
      warehouse,
    } as unknown as WorkOf<'pipeline-execution'>['payload'],
  };
}
