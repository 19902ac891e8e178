// `npm run fuzz -- N [--seed SEED] [--path PATH]`: N random requests at the operations of the OpenAPI document, on a PostgreSQL of
// their own. The seed is printed; with it the same requests are made again, with the path of a finding that one alone.
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { onOwnPostgres } from '../../scripts/own-postgres.ts';
import { fuzz } from './fuzz.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: 'string' }, path: { type: 'string' } },
});
const requests = Number(positionals[0] ?? 10_000);
const seed = Number(values.seed ?? randomInt(2 ** 31));
if (!Number.isSafeInteger(requests) || requests < 1 || !Number.isSafeInteger(seed)) {
  console.error('How many requests? For instance: npm run fuzz -- 100000 --seed 7');
  process.exit(1);
}
const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopping.abort());

console.log(`${requests} requests, seed ${seed}`);
const began = performance.now();
const secondsGone = () => Math.round((performance.now() - began) / 1_000);
const result = await onOwnPostgres(stopping.signal, (url) => {
  process.env.HEADGATE_TEST_DATABASE_URL = url;
  const progress = (sent: number) => console.log(`${sent} sent, ${secondsGone()} s`);
  return fuzz({ requests, seed, progress, ...(values.path === undefined ? {} : { path: values.path }) });
});
const answered = Object.entries(result.statuses).map(([status, count]) => `${status}: ${count}`);
console.log(`${answered.join(', ')}; ${result.asked.size} operations; ${secondsGone()} s`);
console.log(result.finding ?? 'No finding.');
process.exitCode = result.finding === undefined ? 0 : 1;
