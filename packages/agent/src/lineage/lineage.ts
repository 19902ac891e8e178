/**
 * The lineage of the steps of runs. A step that repeats the statements of another one, over tables with the same
 * columns, is not analyzed again.
 */
import { createHash } from 'node:crypto';
import { followSignals } from '../followed-signals.ts';
import { getReason } from '../log.ts';
import { waitUnlessAborted } from '../unless-aborted.ts';
import { createKnownColumns, type KnownColumns, type QueryText } from './known-columns.ts';
import type { AnalysisAnswer, KnownTables, LineageWarehouse } from './lineage-messages.ts';
import type { RanSql } from './ran-sql.ts';
import { createSqlAnalyzer, type SqlAnalyzer } from './sql-analyzer.ts';
import type { FoundLineage } from './step-lineage.ts';

export interface Lineage {
  /** @param signal ends the waiting for analyses */
  open(of: LineageEnvironment, query: QueryText, signal: AbortSignal): RunLineage;
  close(): Promise<void>;
}

export interface LineageEnvironment {
  /** The same text for the same environment and connection. */
  name: string;
  warehouse: LineageWarehouse;
  filesFolder: string;
}

export interface RunLineage {
  /** Before and after a statement of the run. */
  noteStatement(sql: string): void;
  /** Never rejects: what cannot be analyzed is said. */
  analyze(ran: RanSql): Promise<FoundLineage>;
  close(): void;
}

interface Known {
  /** The tables that it depends on, with the columns that they had. */
  paths: Readonly<Record<string, readonly string[]>>;
  columns: string;
  lineage: FoundLineage;
  characters: number;
}

/** Characters of the lineage that is remembered. */
const charactersLimit = 8_000_000;
const environmentsLimit = 1_000;
/** How long the report of a step waits for its lineage. */
const stepMilliseconds = 60_000;
/** To ask for the columns of tables, in a warehouse that is busy. */
const queryMilliseconds = 2_000;

export function createLineage(analyzer: SqlAnalyzer = createSqlAnalyzer()): Lineage {
  const environments = new Map<string, KnownColumns>();
  /** By a digest of the statements, the least recently used first. */
  const known = new Map<string, Known>();
  let characters = 0;
  let lastRun = 0;

  function remember(key: string, entry: Known): void {
    characters += entry.characters - (known.get(key)?.characters ?? 0);
    known.delete(key);
    known.set(key, entry);
    for (const [oldest, { characters: length }] of known) {
      if (characters <= charactersLimit) return;
      known.delete(oldest);
      characters -= length;
    }
  }

  function getColumns(environment: string, { kind }: LineageWarehouse): KnownColumns {
    const columns = environments.get(environment) ?? createKnownColumns(kind);
    if (environments.size >= environmentsLimit) environments.clear();
    environments.set(environment, columns);
    return columns;
  }

  function open(
    { name, warehouse, filesFolder }: LineageEnvironment,
    query: QueryText,
    signal: AbortSignal,
  ): RunLineage {
    const columns = getColumns(name, warehouse);
    lastRun += 1;
    const run = lastRun;
    /** A step has left temporary tables, on which others may depend. */
    let isPlain = true;
    const read = (paths: Known['paths']) =>
      Object.keys(paths).length === 0 ? {} : within(queryMilliseconds, columns.read(paths, query));

    async function find(ran: RanSql, limit: AbortSignal): Promise<FoundLineage> {
      const key = createHash('sha256')
        .update(JSON.stringify([ran, filesFolder, warehouse]))
        .digest('base64');
      const before = known.get(key);
      let paths: Known['paths'] = before?.paths ?? {};
      let tables: KnownTables = await read(paths);
      if (before !== undefined && isPlain && before.columns === JSON.stringify(tables)) {
        remember(key, before);
        return before.lineage;
      }
      let answer: AnalysisAnswer;
      for (let round = 0; ; round += 1) {
        answer = await analyzer.analyze({ warehouse, run, ran, filesFolder, tables }, limit);
        if (Object.keys(answer.needed).length === 0 || round === mostRounds) break;
        paths = { ...paths, ...answer.needed };
        tables = await read(paths);
      }
      isPlain &&= answer.isPlain;
      const { lineage } = answer;
      const size = JSON.stringify(lineage).length;
      if (answer.isPlain && isPlain)
        remember(key, { paths, columns: JSON.stringify(tables), lineage, characters: size });
      return lineage;
    }

    return {
      noteStatement: (sql) => columns.noteStatement(sql),
      async analyze(ran) {
        const late = AbortSignal.timeout(stepMilliseconds);
        const { controller, release } = followSignals([signal, late]);
        try {
          return await waitUnlessAborted(find(ran, controller.signal), controller.signal);
        } catch (error) {
          const reason = late.aborted
            ? `there was no answer within ${stepMilliseconds / 1_000} s`
            : signal.aborted
              ? 'the run was cancelled'
              : getReason(error);
          return { inputs: [], outputs: [], gaps: [`the statements were not analyzed: ${reason}`] };
        } finally {
          release();
        }
      },
      close: () => analyzer.forget(run),
    };
  }

  return { open, close: () => analyzer.close() };
}

/** A step that needs the columns of the tables that another one in it has made is analyzed again. */
const mostRounds = 4;

async function within<T>(milliseconds: number, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new Error(`the columns of the tables were not read within ${milliseconds} ms`)),
    milliseconds,
  ).unref();
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
