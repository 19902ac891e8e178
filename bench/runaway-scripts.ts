/** What four scripts with 60 busy processes each cost the requests of others. */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { environmentName } from './agent-scene.ts';
import { median, percentile, spread, verdictAtMost } from './finding.ts';
import { openRunScene, type RunScene } from './run-scene.ts';
import type { Work } from './work.ts';

const scripts = 4;
const processesOfScript = 60;
const most = 3;
/** Among the arguments of a busy process. */
const mark = 'busy=headgate-bench';
const loop = `${mark}; read -N 1 -u 9; while :; do :; done`;
/** All begin at once. Each is in a session of its own if it can, which has its own share of the processors. */
const script = `
mkfifo /tmp/go
exec 9<> /tmp/go
for _ in $(seq ${processesOfScript}); do
  (setsid bash -c '${loop}' 2> /dev/null || exec bash -c '${loop}') &
done
sleep 3
printf '%0${processesOfScript}d' 0 >&9
wait`;

async function publish({ server, projectId }: RunScene): Promise<void> {
  const pipeline = {
    components: {
      Start: { type: 'start', parameters: {}, transitions: { unconditional: ['Busy'] } },
      Busy: { type: 'bash-script', parameters: { script } },
    },
    variables: {},
  };
  const form = new FormData();
  const file = JSON.stringify({ type: 'orchestration', version: '1.0', pipeline, design: {} });
  form.append('busy.orch.yaml', new Blob([file], { type: 'text/plain' }));
  const headers = { versionName: 'busy', environmentName };
  await server.call('POST', `/projects/${projectId}/artifacts`, form, headers);
}

/** Returns the paths of the runs when all of their processes are busy. */
async function startScripts({ server, projectId }: RunScene): Promise<string[]> {
  const path = `/projects/${projectId}/pipeline-executions`;
  const started: string[] = [];
  while (started.length < scripts) {
    const run = await server.call('POST', path, { pipelineName: 'busy', environmentName });
    started.push(`${path}/${run.pipelineExecutionId}`);
  }
  while (count(isBusy) < scripts * processesOfScript) await delay(100);
  return started;
}

async function stopScripts({ server }: RunScene, runs: readonly string[]): Promise<void> {
  for (const path of runs) await server.call('PATCH', path, { status: 'CANCELLED', forceUpdate: true });
  while (count(() => true) > 0) await delay(100);
}

function count(fits: (pid: string) => boolean): number {
  return readdirSync('/proc').filter((pid) => {
    try {
      const command = /^\d+$/.test(pid) ? readFileSync(`/proc/${pid}/cmdline`, 'latin1') : '';
      return command.startsWith(`bash\0-c\0${mark}`) && fits(pid);
    } catch {
      return false;
    }
  }).length;
}

const isBusy = (pid: string) => /\) R /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));

/** Reads one after the other. Returns the median of their milliseconds. */
async function readFor({ server }: RunScene, milliseconds: number): Promise<number> {
  const latencies: number[] = [];
  const until = performance.now() + milliseconds;
  while (performance.now() < until) {
    const began = performance.now();
    await server.call('GET', '/projects?size=10');
    latencies.push(performance.now() - began);
  }
  return percentile(latencies, 0.5);
}

export const runawayScripts: Work = async ({ rounds, milliseconds, profileFolder }) => {
  await using ending = new AsyncDisposableStack();
  const scene = await openRunScene(profileFolder, ending);
  await publish(scene);
  await readFor(scene, milliseconds);
  const [idle, beside]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    idle.push(await readFor(scene, milliseconds));
    const runs = await startScripts(scene);
    beside.push(await readFor(scene, milliseconds));
    await stopScripts(scene, runs);
  }
  console.log(`  p50 idle ${spread(idle, 1)} ms, beside the scripts ${spread(beside, 1)} ms`);
  const ratios = beside.map((each, round) => each / (idle[round] ?? Number.NaN));
  const ratio = median(ratios);
  return [
    {
      work: `runaway-scripts: p50 of a read beside ${scripts} scripts with ${processesOfScript} busy processes each`,
      measured: `${spread(ratios)} times an idle server's`,
      limit: `≤ ${most} times`,
      verdict: verdictAtMost(ratio, most),
      rounds: ratios,
    },
  ];
};
