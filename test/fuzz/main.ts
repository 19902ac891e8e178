// `npm run fuzz -- N` sends N random requests to the operations of the OpenAPI document, on a PostgreSQL of
// their own. It prints its seed, which sends the same requests again; with the path of a finding it sends
// that request alone. With `--seconds` it stops after this time.
import { randomInt } from 'node:crypto';
import { readCommandLine } from '../../scripts/command-line.ts';
import { onOwnPostgres, THROWAWAY_SETTINGS } from '../../scripts/own-postgres.ts';
import { fuzz } from './fuzz.ts';

const { values, positionals, count } = readCommandLine(
  'npm run fuzz -- [requests] [--seed N] [--path PATH] [--seconds N]',
  {
    seed: { type: 'string', default: String(randomInt(1, 2 ** 31)) },
    path: { type: 'string' },
    seconds: { type: 'string', default: '86400' },
  },
);
const requests = count('requests', positionals[0] ?? '10000');
const seed = count('--seed', values.seed);
const milliseconds = count('--seconds', values.seconds) * 1_000;
const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopping.abort());

console.log(`${requests} requests, seed ${seed}`);
const began = performance.now();
const secondsGone = () => Math.round((performance.now() - began) / 1_000);
const result = await onOwnPostgres(
  stopping.signal,
  (url) => {
    process.env.HEADGATE_TEST_DATABASE_URL = url;
    const progress = (sent: number) => console.log(`${sent} sent, ${secondsGone()} s`);
    const only = values.path === undefined ? {} : { path: values.path };
    return fuzz({ requests, seed, progress, milliseconds, ...only });
  },
  THROWAWAY_SETTINGS,
);
const answered = Object.entries(result.statuses).map(([status, count]) => `${status}: ${count}`);
console.log(`${answered.join(', ')}; ${result.asked.size} operations; ${secondsGone()} s`);
console.log(result.finding ?? 'No finding.');
process.exitCode = result.finding === undefined ? 0 : 1;
