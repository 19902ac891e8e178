// `npm run simulate -- N --seed S --seconds T` runs N schedules of the lease protocol from the seed S on, or
// as many as T seconds allow. A failed schedule is run again by its own seed.
import { randomInt } from 'node:crypto';
import { readCommandLine } from '../../scripts/command-line.ts';
import { runSchedules } from './run-schedules.ts';

const { values, positionals, count } = readCommandLine(
  'npm run simulate -- [schedules] [--seed N] [--seconds N]',
  {
    seed: { type: 'string', default: String(randomInt(1, 1_000_000_000)) },
    seconds: { type: 'string', default: '86400' },
  },
);
const schedules = count('schedules', positionals[0] ?? '100000');
const seed = count('--seed', values.seed);
const seconds = count('--seconds', values.seconds);
const started = performance.now();
const { done, failures, seen } = await runSchedules({
  count: schedules,
  firstSeed: seed,
  until: started + seconds * 1_000,
  progress: (count) => console.log(`${count} schedules`),
});
const took = ((performance.now() - started) / 1_000).toFixed(1);
for (const { seed: failing, faults } of failures) {
  console.log(`seed ${failing}: ${faults.join('; ')}\n  again: npm run simulate -- 1 --seed ${failing}`);
}
console.log(
  `${done} schedules from seed ${seed} in ${took} s, ${failures.length} failed; ${JSON.stringify(seen)}`,
);
process.exit(failures.length === 0 ? 0 : 1);
