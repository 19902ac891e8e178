/** The entry point of the thread that analyzes SQL. It is replaced if the parser breaks, or takes too long. */
import { parentPort } from 'node:worker_threads';
import {
  analyzeStep,
  BrokenParser,
  createPostgresLineage,
  createRunTables,
  createSnowflakeLineage,
  datasetNames,
  duckdbLineage,
  type LineageDialect,
  loadSqlParser,
  type RunTables,
} from '@headgate/pipelines/lineage';
import { getReason } from '../log.ts';
import type {
  AnalysisAnswer,
  AnalysisRequest,
  FromThread,
  LineageWarehouse,
  ToThread,
} from './lineage-messages.ts';
import { describeLineage } from './step-lineage.ts';

/** Runs whose temporary tables are remembered. */
const runsLimit = 1_000;

const parsers = {
  duckdb: await loadSqlParser('duckdb'),
  postgres: await loadSqlParser('postgres'),
  snowflake: await loadSqlParser('snowflake'),
};
/** What a run has made in its sessions, if it has made something. */
const runs = new Map<number, RunTables>();

function chooseDialect(warehouse: LineageWarehouse): LineageDialect {
  if (warehouse.kind === 'snowflake') return createSnowflakeLineage(warehouse);
  return warehouse.kind === 'postgres' ? createPostgresLineage(warehouse) : duckdbLineage;
}

function analyze({ warehouse, run, ran, filesFolder, tables }: AnalysisRequest): AnalysisAnswer {
  const before = runs.get(run);
  // The same step is analyzed again when the columns of its tables are known.
  const session = createRunTables(before);
  const analysis = analyzeStep(ran.statements, {
    dialect: chooseDialect(warehouse),
    parse: parsers[warehouse.kind],
    run: session,
    findFields: (name) => (Object.hasOwn(tables, name) ? tables[name] : undefined),
    nameFile: (path) => ran.files[path] ?? { kind: 'file', name: nameFile(path, filesFolder) },
  });
  const hasState = session.temporary.size > 0 || session.hasOwnPath;
  if (analysis.needed.size === 0) {
    if (!hasState) runs.delete(run);
    else if (runs.size < runsLimit) runs.set(run, session);
  }
  return {
    lineage: describeLineage(analysis, ran.gaps),
    needed: Object.fromEntries(analysis.needed),
    isPlain: !hasState && before === undefined,
  };
}

function nameFile(path: string, filesFolder: string): string {
  const folder = `${filesFolder}/`;
  return datasetNames.file(path.startsWith(folder) ? path.slice(folder.length) : path);
}

function send(message: FromThread): void {
  parentPort?.postMessage(message);
}

parentPort?.on('message', (message: ToThread) => {
  if (message.type === 'forget') {
    runs.delete(message.run);
    return;
  }
  const { id } = message;
  try {
    send({ type: 'answer', id, ...analyze(message) });
  } catch (error) {
    send({ type: 'failure', id, reason: getReason(error), isBroken: error instanceof BrokenParser });
  }
});
send({ type: 'ready' });
