/** Each program runs in its own process: the process of the tests must not catch what it does not expect. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';

const module = (name: string) => JSON.stringify(new URL(name, import.meta.url).href);

const beginning = `
  import { createServer } from 'node:http';
  import { createFailureLog } from ${module('../../kernel/failure-log.ts')};
  import { systemClock } from ${module('../../kernel/clock.ts')};
  import { createLog } from ${module('../../kernel/log.ts')};
  import { createMetrics } from ${module('../../kernel/metrics.ts')};
  import { catchUncaught, withOrigin } from ${module('uncaught.ts')};
  const log = createLog('info', { write: (line) => process.stdout.write(line) });
  const counts = catchUncaught(createFailureLog(log, systemClock), (failure) => {
    console.log('STOP ' + failure.message);
    process.exit(1);
  });
  const later = (work) => new Promise((resolve) => setTimeout(() => { resolve(); work(); }, 5));
  const until = async (isTrue) => { while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 1)); };
`;
const end = (failures: number) => `
  await until(() => counts.rejection + counts.exception === ${failures});
  const metrics = createMetrics();
  metrics.watchUncaught(counts);
  console.log((await metrics.renderText()).match(/^headgate_uncaught.*$/gm).join('\\n'));
  process.exit(0);
`;

/**
 * Runs a program that does `work` and ends after `failures` uncaught failures. Returns its output and exit
 * code.
 */
async function run(work: string, failures = 1): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', beginning + work + end(failures)]);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, output };
}

const counted = (kind: string, count: number) => `headgate_uncaught_failures_total{kind="${kind}"} ${count}`;

test('an unhandled rejection is logged and counted, and the program continues', async () => {
  const { code, output } = await run(`Promise.reject(new Error('forgotten', { cause: new Error('why') }));`);
  assert.equal(code, 0, output);
  assert.match(output, /"message":"forgotten".*"message":"why".*unhandled rejection/);
  assert.ok(output.includes(counted('rejection', 1)), output);
});

test('an exception of a request or periodic job is logged and counted, and the program continues', async () => {
  const { code, output } = await run(
    `
    const server = createServer((request, response) => {
      response.end('answered');
      request.on('data', () => { throw new Error('of a body') });
      setTimeout(() => { throw new Error('of a timer') }, 1);
    });
    await withOrigin('requests', () => new Promise((resolve) => server.listen(0, '127.0.0.1', resolve)));
    const url = 'http://127.0.0.1:' + server.address().port;
    // Node closes the connection of a request whose body listener threw.
    await (await fetch(url, { method: 'POST', body: 'x', headers: { connection: 'close' } })).text();
    await until(() => counts.exception === 2);
    console.log(await (await fetch(url)).text());
    withOrigin('periodic jobs', () => setTimeout(() => { throw new TypeError('of a job') }, 1));
  `,
    4,
  );
  assert.equal(code, 0, output);
  assert.match(output, /"job":"uncaught exception of requests".*"message":"of a /);
  assert.match(output, /"job":"uncaught exception of periodic jobs".*"message":"of a job"/);
  assert.match(output, /answered/);
  assert.ok(output.includes(counted('exception', 4)), output);
});

test('a system error without a listener does not stop the program', async () => {
  const { code, output } = await run(`
    await later(() => { throw Object.assign(new Error('write EPIPE'), { code: 'EPIPE', syscall: 'write' }) });
  `);
  assert.equal(code, 0, output);
  assert.ok(output.includes(counted('exception', 1)), output);
});

test('any other exception stops the program', async () => {
  const { code, output } = await run(`await later(() => { throw new Error('a bug') });`);
  assert.equal(code, 1, output);
  assert.match(output, /STOP a bug/);
});
