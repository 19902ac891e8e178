// `npm run simulate -- N --seed S`: N schedules of the lease protocol from the seed S on; a failing one is made again by its own seed.
import { randomInt } from 'node:crypto';
import { readCommandLine } from '../../scripts/command-line.ts';
import { runSchedules } from './run-schedules.ts';

const { values, positionals, count } = readCommandLine('npm run simulate -- [schedules] [--seed N]', {
  seed: { type: 'string', default: String(randomInt(1, 1_000_000_000)) },
});
const schedules = count('schedules', positionals[0] ?? '100000');
const seed = count('--seed', values.seed);
const started = performance.now();
const { failures, seen } = await runSchedules(schedules, seed, (done) => console.log(`${done} schedules`));
const seconds = ((performance.now() - started) / 1_000).toFixed(1);
for (const { seed: failing, faults } of failures) {
  console.log(`seed ${failing}: ${faults.join('; ')}\n  again: npm run simulate -- 1 --seed ${failing}`);
}
console.log(
  `${schedules} schedules from seed ${seed} in ${seconds} s, ${failures.length} failed; ${JSON.stringify(seen)}`,
);
process.exit(failures.length === 0 ? 0 : 1);
