// `npm run corpus -- --folder DIR` tries the pipelines of other people's repositories. Each folder in DIR is a
// repository. See docs/pipeline-corpus.md.
import { type ChildProcess, fork } from 'node:child_process';
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readCommandLine } from '../../scripts/command-line.ts';
import { describeCause } from './causes.ts';
import { type CorpusPipeline, readCorpus } from './corpus.ts';
import type { Trial } from './worker.ts';

const { values, count, refuse } = readCommandLine(
  'npm run corpus -- --folder DIR [--json FILE] [--seed N] [--seconds N] [--only TEXT]',
  {
    folder: { type: 'string' },
    json: { type: 'string' },
    seed: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '60' },
    only: { type: 'string', default: '' },
  },
);
const folder = values.folder ?? refuse('--folder is missing: name a folder of repositories');
if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) refuse(`--folder ${folder} is not a folder`);
if (values.json !== undefined && !existsSync(dirname(resolve(values.json))))
  refuse(`--json ${values.json} cannot be written: its folder does not exist`);
const seed = count('--seed', values.seed);
const milliseconds = count('--seconds', values.seconds) * 1_000;
const atOnce = 2;

interface Result extends CorpusPipeline {
  readonly trial: Omit<Trial, 'steps' | 'tables'> & Partial<Trial>;
}

interface Worker {
  try(pipeline: CorpusPipeline): Promise<Result>;
  stop(): void;
}

function createWorker(): Worker {
  let child: ChildProcess | undefined;
  async function start(): Promise<ChildProcess> {
    const started = fork(fileURLToPath(new URL('worker.ts', import.meta.url)), [], {
      execArgv: [],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    child = started;
    await new Promise<void>((resolve) => started.once('message', () => resolve()));
    return started;
  }
  const fail = (message: string): Result['trial'] => ({
    status: 'FAILED',
    message,
    isEmpty: false,
    attempts: 1,
    supplied: [],
    log: [],
  });
  return {
    async try(pipeline) {
      const running = child?.connected === true ? child : await start();
      const trial = await new Promise<Result['trial']>((resolve) => {
        const timer = setTimeout(() => {
          running.kill('SIGKILL');
          finish(fail(`no end within ${milliseconds / 1_000} seconds`));
        }, milliseconds);
        const finish = (result: Result['trial']) => {
          clearTimeout(timer);
          running.removeAllListeners('message');
          running.removeAllListeners('exit');
          if (running.exitCode !== null || running.killed) child = undefined;
          resolve(result);
        };
        running.once('message', (message) => finish(message as Trial));
        running.once('exit', (code, signal) => finish(fail(`the process ended (${signal ?? code})`)));
        running.send({ folder, pipeline, seed });
      });
      return { ...pipeline, trial };
    },
    stop: () => child?.kill('SIGKILL'),
  };
}

const corpus = readCorpus(folder);
if (corpus.files === 0)
  refuse(
    `no folder in ${folder} has *.orch.yaml or *.tran.yaml files: name the folder that holds the repositories`,
  );
const pipelines = corpus.pipelines.filter(({ file }) => file.includes(values.only));
if (pipelines.length === 0) refuse(`--only ${values.only}: no path of the ${corpus.files} files contains it`);
const results: Result[] = [];
const waiting = [...pipelines];
const workers = Array.from({ length: atOnce }, createWorker);
await Promise.all(
  workers.map(async (worker) => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const result = await worker.try(next);
      results.push(result);
      console.error(`${results.length}/${pipelines.length} ${result.trial.status} ${result.file}`);
    }
    worker.stop();
  }),
);
results.sort((a, b) => (a.file < b.file ? -1 : 1));

const share = (number: number) =>
  `${number} = ${((100 * number) / Math.max(results.length, 1)).toFixed(1)} %`;
const succeeded = results.filter(({ trial }) => trial.status === 'SUCCESS');
const known = results.filter(({ unknownTypes }) => unknownTypes.length === 0);
const failed = results.filter(({ trial }) => trial.status !== 'SUCCESS');
const ranked = (keys: readonly string[]) => {
  const counts = new Map<string, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return [...counts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
};
const causes = ranked(failed.map(({ trial }) => describeCause(trial.message ?? '')));
const missing = ranked(results.flatMap(({ unknownTypes }) => unknownTypes));

console.log(
  `files ${corpus.files}, repositories ${corpus.repositories}, distinct pipelines ${results.length}`,
);
console.log(`every type known ${share(known.length)}`);
console.log(`readable ${share(results.filter(({ fault }) => fault === undefined).length)}`);
console.log(`SUCCESS ${share(succeeded.length)}`);
console.log(`  of these ran on nothing ${succeeded.filter(({ trial }) => trial.isEmpty).length}`);
const handled = succeeded.filter(({ trial }) => trial.steps?.some(({ status }) => status === 'FAILED'));
console.log(`  of these handled the failure of a component ${handled.length}`);
console.log('\nfailures by cause');
for (const [cause, number] of causes.slice(0, 30)) console.log(`${String(number).padStart(5)}  ${cause}`);
console.log('\nmissing component types');
for (const [type, number] of missing.slice(0, 30)) console.log(`${String(number).padStart(5)}  ${type}`);
if (values.json !== undefined)
  writeFileSync(values.json, `${JSON.stringify({ causes, missing, results }, null, 1)}\n`);
process.exit(0);
