/** Tries one pipeline after the other for `main.ts`: runs it again with what the run before missed. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { createScriptsFixture, place } from '../../packages/agent/src/scripts/script-fixture.ts';
import { type Attempt, attempt } from './attempt.ts';
import { type CorpusPipeline, findMoved, listFiles } from './corpus.ts';
import { readInputs } from './inputs.ts';
import { readObjectUses, supplyObjects } from './objects.ts';
import { renderProfile } from './profiles.ts';
import { createSupplies } from './supplies.ts';
import { renderStages, renderSupplies, supply } from './supply.ts';

export interface TrialRequest {
  readonly folder: string;
  readonly pipeline: CorpusPipeline;
  readonly seed: number;
}

export interface Trial extends Omit<Attempt, 'steps'> {
  readonly attempts: number;
  readonly supplied: readonly string[];
  readonly steps: readonly {
    name: string;
    componentType: string;
    status: string;
    rowCount?: number;
    message?: string;
    sql?: string;
  }[];
}

/** Each one supplies something. */
const mostAttempts = 150;

const scripts = createScriptsFixture();
const runScript = (
  job: Parameters<typeof scripts.scripts.run>[0],
  events: Parameters<typeof scripts.scripts.run>[2],
) => scripts.scripts.run(job, place, events, AbortSignal.timeout(20_000));

const columnsByRoot = new Map<string, Map<string, string[]>>();

/** The columns that components of the repository read of each table, by its name in lower case. */
function readColumns(root: string, files: readonly string[]): Map<string, string[]> {
  const known = columnsByRoot.get(root);
  if (known !== undefined) return known;
  const columns = new Map<string, string[]>();
  for (const path of files.filter((each) => each.endsWith('.tran.yaml'))) {
    let content: {
      pipeline?: { components?: Record<string, { parameters?: Record<string, unknown> }> };
    } | null;
    try {
      content = parse(readFileSync(join(root, path), 'utf8'));
    } catch {
      continue;
    }
    for (const component of Object.values(content?.pipeline?.components ?? {})) {
      const { targetTable, columnNames } = component?.parameters ?? {};
      if (typeof targetTable !== 'string' || !Array.isArray(columnNames)) continue;
      const key = targetTable.toLowerCase();
      const names = columnNames.filter((each) => typeof each === 'string' && !each.includes('${'));
      columns.set(key, [...new Set([...(columns.get(key) ?? []), ...names])]);
    }
  }
  columnsByRoot.set(root, columns);
  return columns;
}

async function runTrial({ folder, pipeline, seed }: TrialRequest): Promise<Trial> {
  const root = join(folder, pipeline.repository, pipeline.root);
  const files = listFiles(root);
  const columns = readColumns(root, files);
  const supplies = createSupplies();
  const repository = {
    columnsOf: (table: string) => columns.get(table.toLowerCase()) ?? [],
    renderProfile: (name: string) => renderProfile(name, root, files),
    findMoved: (name: string) => findMoved(name, join(folder, pipeline.repository)),
    readInputs: () => readInputs(readFileSync(join(folder, pipeline.file), 'utf8')),
  };
  // The components of the pipeline itself go before others of the same name.
  const others = files.filter((path) => path !== pipeline.name);
  const useOf = readObjectUses(root, [...others, pipeline.name]);
  let last: Attempt | undefined;
  let attempts = 0;
  while (attempts < mostAttempts) {
    attempts += 1;
    last = await attempt({ folder: root, files, name: pipeline.name, supplies, seed, runScript }).catch(
      (error: Error): Attempt => ({
        status: 'FAILED',
        message: `the inputs cannot be supplied: ${error.message}`,
        isEmpty: false,
        steps: [],
        log: [],
        tables: {},
      }),
    );
    if (supplyObjects(last.steps, supplies, useOf)) continue;
    // A pipeline may handle the failure of a component that misses something.
    const failed = last.steps.filter(({ status }) => status === 'FAILED');
    const faults = failed.map(({ message = '', sql = '' }) => ({ message, sql }));
    const { message = '' } = last;
    if (last.status !== 'SUCCESS') faults.unshift({ message, sql: faults.at(-1)?.sql ?? '' });
    if (!faults.some((fault) => supply(fault.message, fault.sql, supplies, repository))) break;
  }
  if (last === undefined) throw new Error('no attempt was made');
  const steps = last.steps.map(({ name, componentType, status, rowCount, message, sql }) => ({
    name,
    componentType,
    status,
    ...(rowCount === undefined ? {} : { rowCount }),
    ...(status !== 'FAILED' || message === undefined ? {} : { message }),
    ...(sql === undefined ? {} : { sql }),
  }));
  return {
    ...last,
    steps,
    attempts,
    supplied: [
      ...[...renderStages(supplies), ...renderSupplies(supplies, seed)],
      ...[...supplies.variables.keys(), ...supplies.objects.keys(), ...supplies.moved.keys()],
      ...(supplies.inputs === undefined ? [] : [JSON.stringify(supplies.inputs)]),
    ],
  };
}

process.on('message', (request: TrialRequest) => {
  runTrial(request).then(
    (trial) => process.send?.(trial),
    (error: Error) => {
      console.error(error);
      process.exit(1);
    },
  );
});
process.send?.('ready');
