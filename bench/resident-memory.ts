/** The resident memory of the server under a long mixed load. */
import { readFileSync } from 'node:fs';
import { type Finding, verdictAtMost } from './finding.ts';
import { startLoadGenerator } from './load.ts';
import { requestText, uniqueNumber } from './request.ts';
import { type MeasuredServer, startServer } from './server-process.ts';
import type { Work } from './work.ts';

const step = 20_000;
const steps = 5;
const connections = 16;
const mostMebibytes = 200;
/** The allowed growth from the second step to the last. */
const flatMebibytes = 10;

export const residentMemory: Work = async ({ profileFolder }) => {
  await using ending = new AsyncDisposableStack();
  const server = ending.adopt(await startServer(profileFolder), (started) => started.stop());
  const load = ending.adopt(await startLoadGenerator(), (generator) => generator.stop());
  const requests = await mixedRequests(server);
  const sizes = [residentMebibytes(server.pid)];
  for (let index = 0; index < steps; index++) {
    await load.run({ port: server.port, connections, requests, answers: step });
    sizes.push(residentMebibytes(server.pid));
  }
  const shown = sizes.map((size) => size.toFixed(0));
  console.log(`  before: ${shown[0]} MiB; after each ${step} requests: ${shown.slice(1).join(', ')} MiB`);
  const largest = Math.max(...sizes);
  const growth = (sizes.at(-1) ?? Number.NaN) - (sizes[2] ?? Number.NaN);
  const total = `${(step * steps) / 1_000},000`;
  return [
    verdict(
      `resident memory within ${total} requests`,
      `${largest.toFixed(0)} MiB at most`,
      largest,
      mostMebibytes,
      sizes,
    ),
    verdict(
      `its growth from ${(2 * step) / 1_000},000 to ${total}`,
      `${growth.toFixed(1)} MiB`,
      growth,
      flatMebibytes,
      sizes,
    ),
  ];
};

function verdict(work: string, measured: string, value: number, most: number, rounds: number[]): Finding {
  return { work, measured, limit: `≤ ${most} MiB`, verdict: verdictAtMost(value, most), rounds };
}

/** Reads and writes like a client: seven of ten requests read. */
async function mixedRequests({ call, token }: MeasuredServer): Promise<string[]> {
  const project = { name: 'bench', warehouse: 'DUCKDB', agentDeploymentType: 'HYBRID' };
  const path = `/projects/${String((await call('POST', '/projects', project)).projectId)}`;
  await call('POST', `${path}/environments`, { name: 'bench' });
  const variable = { type: 'TEXT', behaviour: 'SHARED', value: 'a value' };
  await call('POST', `${path}/variables`, { ...variable, name: 'greeting' });
  const request = (method: string, below: string, body?: unknown, headers?: Record<string, string>) =>
    requestText(method, `/dpc/v1${path}${below}`, {
      token,
      body,
      ...(headers === undefined ? {} : { headers }),
    });
  const page = request('GET', '/variables');
  const one = request('GET', '/variables/greeting');
  const overrides = request('GET', '/variables/greeting/environment-overrides');
  const key = { 'Idempotency-Key': `bench-${uniqueNumber}` };
  const made = request('POST', '/variables', { ...variable, name: `written_${uniqueNumber}` }, key);
  const changed = request('PATCH', '/variables/greeting', { ...variable, value: `value ${uniqueNumber}` });
  const overridden = request('POST', '/variables/greeting/environment-overrides', {
    environmentName: 'bench',
    value: `value ${uniqueNumber}`,
  });
  return [page, one, made, page, overrides, changed, page, one, overridden, page];
}

/** The resident memory of a process. */
export function residentMebibytes(pid: number): number {
  if (process.platform !== 'linux')
    throw new Error('Resident memory is read from /proc, which only Linux has.');
  const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1];
  return Number(kibibytes) / 1_024;
}
