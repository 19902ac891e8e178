// `npm run simulate -- N --seed S`: N schedules of the lease protocol from the seed S on; a failing one is made again by its own seed.
import { parseArgs } from 'node:util';
import { runSchedules } from './run-schedules.ts';

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: 'string', default: String(Date.now() % 1_000_000_000) } },
});
const count = Number(positionals[0] ?? 100_000);
const seed = Number(values.seed);
if (!Number.isSafeInteger(count) || !Number.isSafeInteger(seed) || count < 1 || seed < 0) {
  console.error('usage: npm run simulate -- [schedules] [--seed number]');
  process.exit(2);
}
const started = performance.now();
const { failures, seen } = await runSchedules(count, seed, (done) => console.log(`${done} schedules`));
const seconds = ((performance.now() - started) / 1_000).toFixed(1);
for (const { seed: failing, faults } of failures) {
  console.log(`seed ${failing}: ${faults.join('; ')}\n  again: npm run simulate -- 1 --seed ${failing}`);
}
console.log(
  `${count} schedules from seed ${seed} in ${seconds} s, ${failures.length} failed; ${JSON.stringify(seen)}`,
);
process.exit(failures.length === 0 ? 0 : 1);
