/** The memory of the agent and its processes stays flat over many runs. */
import { verdictAtMost } from './finding.ts';
import { measureProcesses } from './process-memory.ts';
import { inFlight, openRunScene, runMany } from './run-scene.ts';
import type { Work } from './work.ts';

const step = 5_000;
const steps = 6;
/** The allowed growth from the second step to the last. */
const flatMebibytes = 60;

export const runMemory: Work = async ({ profileFolder }) => {
  await using ending = new AsyncDisposableStack();
  const scene = await openRunScene(profileFolder, ending);
  const sizes: number[] = [];
  for (let index = 0; index < steps; index++) {
    await runMany(scene, 'empty', (started) => started >= step);
    const { mebibytes, description } = measureProcesses(scene.server.pid);
    console.log(`  after ${step * (index + 1)} runs: ${description}`);
    sizes.push(mebibytes);
  }
  const growth = (sizes.at(-1) ?? Number.NaN) - (sizes[1] ?? Number.NaN);
  return [
    {
      work: `growth of the agent and its processes from ${2 * step} to ${steps * step} runs, ${inFlight} at a time`,
      measured: `${growth.toFixed(0)} MiB`,
      limit: `≤ ${flatMebibytes} MiB`,
      verdict: verdictAtMost(growth, flatMebibytes),
      rounds: sizes,
    },
  ];
};
