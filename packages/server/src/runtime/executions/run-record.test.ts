/** The variables and the log of executions, in pages and as a stream. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { ExecutionStep, LogLine, Page, RunVariable, Step } from '@headgate/contract';
import { requireProblem } from '../../../testing/client.ts';
import { startTestServer } from '../../../testing/server.ts';
import { createStartableWithAgent } from '../../../testing/startable-project.ts';

const server = await startTestServer();
const address = await server.listen();

type LogPage = { results: LogLine[]; more?: string };

async function createRunning() {
  const found = await createStartableWithAgent(server);
  const id = await found.started();
  const [work] = (await found.instance.claim()).work;
  assert.ok(work);
  const at = server.clock.now().toISOString();
  const stepOf = (pipelineRunId: string, input: Partial<Step> = {}): Step => ({
    stepId: randomUUID(),
    pipelineRunId,
    name: 'Print',
    componentType: 'print-variables',
    status: 'RUNNING',
    startedAt: at,
    ...input,
  });
  const lineOf = ({ stepId }: Step, sequence: number, text = `line ${sequence}`): LogLine => ({
    sequence,
    timestamp: at,
    stepId,
    stream: 'component',
    text,
  });
  const step = stepOf(id);
  await found.instance.report(work, { type: 'progress', steps: [step] });
  const print = (...lines: LogLine[]) =>
    found.instance.report(work, { type: 'progress', steps: [step], lines });
  const end = (status: 'SUCCESS' | 'FAILED' = 'SUCCESS') =>
    found.instance.report(work, { type: 'completed', outcome: { status } });
  const run = `${found.executions}/${id}`;
  const logs = async (query = '', of = run) => (await found.admin.get<LogPage>(`${of}/logs${query}`)).body;
  return { ...found, id, work, step, stepOf, lineOf, print, end, run, logs };
}

/** Opens the stream; `next` returns the next event, without its comments. */
async function follow(run: string, token: string, lastEventId?: string) {
  const headers: Record<string, string> = { authorization: `Bearer ${token}` };
  if (lastEventId !== undefined) headers['last-event-id'] = lastEventId;
  const answer = await fetch(`${address}/dpc/v1${run}/logs/stream`, { headers });
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  return {
    answer,
    cancel: () => reader?.cancel(),
    async next(): Promise<
      { event: string; id: string | undefined; data: Record<string, unknown> } | undefined
    > {
      for (;;) {
        const end = text.indexOf('\n\n');
        if (end >= 0) {
          const block = text.slice(0, end);
          text = text.slice(end + 2);
          const find = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1];
          const event = find('event');
          if (event !== undefined) return { event, id: find('id'), data: JSON.parse(find('data') ?? '{}') };
          continue;
        }
        const chunk = await reader?.read();
        if (chunk === undefined || chunk.done) return undefined;
        text += chunk.value;
      }
    },
  };
}

test('the log is listed in pages, oldest first, and a repeated report adds no line', async () => {
  const { instance, work, step, lineOf, print, logs } = await createRunning();
  await print(lineOf(step, 1), lineOf(step, 2), lineOf(step, 3));
  // The same report again, and the same lines in another one.
  await instance.report(work, { type: 'progress', steps: [step], lines: [lineOf(step, 1)] }, 2);
  await print(lineOf(step, 3, 'changed'));
  const first = await logs('?limit=2');
  assert.deepEqual(first.results, [lineOf(step, 1), lineOf(step, 2)]);
  const second = await logs(`?limit=2&paginationToken=${first.more}`);
  assert.deepEqual(second, { results: [lineOf(step, 3)] });
});

test('a step and a child pipeline have lines of their own, the execution has all', async () => {
  const { instance, work, id, stepOf, lineOf, print, logs, executions } = await createRunning();
  const child = randomUUID();
  const caller = stepOf(id, { childPipeline: { id: child, name: 'child.orch.yaml' } });
  const inside = stepOf(child);
  await instance.report(work, { type: 'progress', steps: [caller, inside] });
  await print(lineOf(caller, 1), lineOf(inside, 2));
  const sequences = async (query: string, run?: string) =>
    (await logs(query, run)).results.map(({ sequence }) => sequence);
  assert.deepEqual(await sequences(''), [1, 2]);
  assert.deepEqual(await sequences('', `${executions}/${child}`), [2]);
  assert.deepEqual(await sequences(`?stepId=${caller.stepId}`), [1]);
  assert.deepEqual(await sequences('?stepId=unknown'), []);
});

test('a line of a step that the execution does not have is not kept', async () => {
  const one = await createRunning();
  const other = await createRunning();
  await one.print(one.lineOf(other.step, 1), one.lineOf(one.step, 2));
  assert.deepEqual((await one.logs()).results, [one.lineOf(one.step, 2)]);
  assert.deepEqual((await other.logs()).results, []);
});

test('unknown runs and wrong parameters are refused', async () => {
  const { admin, executions, run } = await createRunning();
  for (const path of ['variables', 'logs', 'logs/stream'])
    requireProblem(await admin.get(`${executions}/${randomUUID()}/${path}`), 404, 'execution-not-found');
  for (const query of ['?paginationToken=x', '?limit=0', `?paginationToken=${btoa('1:-1')}`])
    requireProblem(await admin.get(`${run}/logs${query}`), 400, 'invalid-request');
  const headers = { 'last-event-id': 'seventeen' };
  requireProblem(await admin.get(`${run}/logs/stream`, { headers }), 400, 'invalid-request');
});

test('the end of a log has an id, and 204 for that id stops an EventSource', async () => {
  for (const printed of [0, 3]) {
    const { admin, step, lineOf, print, end, run } = await createRunning();
    const token = await admin.token();
    if (printed > 0) await print(...[1, 2, 3].map((sequence) => lineOf(step, sequence)));
    const early = await follow(run, token, String(printed));
    assert.equal(early.answer.status, 200, 'the run may print more');
    await end();
    const stream = await follow(run, token);
    let last = await stream.next();
    while (last?.event === 'line') last = await stream.next();
    assert.deepEqual([last?.event, last?.id], ['end', String(printed)]);
    for (const id of [String(printed), '999999'])
      assert.equal((await follow(run, token, id)).answer.status, 204, id);
    const headers = { 'last-event-id': String(printed), accept: 'text/event-stream' };
    assert.equal((await admin.get(`${run}/logs`, { headers })).status, 204);
    assert.equal((await follow(run, token, '')).answer.status, 200, 'an empty id is none');
    if (printed > 0) assert.equal((await (await follow(run, token, '2')).next())?.id, '3');
    await early.cancel();
  }
});

test('a stream has each line as it is printed, continues after a line, and ends with the run', async () => {
  const { admin, step, lineOf, print, end, run } = await createRunning();
  const token = await admin.token();
  await print(lineOf(step, 1));
  const stream = await follow(run, token);
  assert.equal(stream.answer.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  assert.deepEqual(await stream.next(), { event: 'line', id: '1', data: lineOf(step, 1) });
  await print(lineOf(step, 2), lineOf(step, 3));
  assert.deepEqual([(await stream.next())?.id, (await stream.next())?.id], ['2', '3']);
  const resumed = await follow(run, token, '2');
  assert.equal((await resumed.next())?.id, '3');
  await print(lineOf(step, 4));
  await end('FAILED');
  for (const each of [stream, resumed]) {
    assert.equal((await each.next())?.id, '4');
    assert.deepEqual((await each.next())?.data, { reason: 'ended', status: 'FAILED' });
    assert.equal(await each.next(), undefined);
  }
});

test('the list of lines is a stream for a caller that accepts events', async () => {
  const { admin, step, lineOf, print, end, run } = await createRunning();
  await print(lineOf(step, 1), lineOf(step, 2));
  await end();
  const headers = { authorization: `Bearer ${await admin.token()}`, accept: 'text/event-stream' };
  const answer = await fetch(`${address}/dpc/v1${run}/logs`, {
    headers: { ...headers, 'last-event-id': '1' },
  });
  assert.match(answer.headers.get('content-type') ?? '', /^text\/event-stream/);
  const events = (await answer.text()).match(/^(id|event): .*$/gm);
  assert.deepEqual(events, ['id: 2', 'event: line', 'id: 2', 'event: end']);
});

test('a stream ends when the caller loses its right, and when its token expires', async () => {
  const { account, made, step, lineOf, print, run } = await createRunning();
  const viewer = await account.actor('MEMBER', { projectId: made.projectId, role: 'VIEWER' });
  const [losing, expiring] = [
    await follow(run, await viewer.token()),
    await follow(run, await account.admin.token()),
  ];
  await print(lineOf(step, 1));
  assert.equal((await losing.next())?.id, '1');
  assert.equal((await expiring.next())?.id, '1');
  await server.database.query(`delete from role_grant where credential_id = '${viewer.actorId}'`);
  await print(lineOf(step, 2));
  assert.deepEqual((await losing.next())?.data, { reason: 'forbidden' });
  assert.equal((await expiring.next())?.id, '2');
  server.clock.advance(1_900);
  await print(lineOf(step, 3));
  // A read that began before the token expired may still bring the line.
  const next = await expiring.next();
  const end = next?.event === 'line' ? await expiring.next() : next;
  assert.deepEqual(end?.data, { reason: 'token-expired' });
});

test('a client that leaves frees its place', async () => {
  const { admin, run } = await createRunning();
  const token = await admin.token();
  const open = await Promise.all(Array.from({ length: 20 }, () => follow(run, token)));
  requireProblem(await admin.get(`${run}/logs/stream`), 429, 'too-many-streams');
  await Promise.all(open.map((stream) => stream.cancel()));
  for (;;) {
    const again = await follow(run, token);
    await again.cancel();
    if (again.answer.status === 200) break;
  }
});

test('variables are listed by name with their sources, and are recorded once', async () => {
  const { admin, instance, work, id, step, run } = await createRunning();
  assert.equal((await admin.get<Page<RunVariable>>(`${run}/variables`)).body.total, 0);
  const variables: RunVariable[] = [
    { name: 'city', type: 'TEXT', source: 'request', value: 'Bodø' },
    { name: 'key', type: 'TEXT', source: 'default', secretReference: 'key' },
    {
      name: 'table',
      type: 'GRID',
      source: 'override',
      value: { columns: [{ name: 'n', type: 'NUMBER' }], rows: [[1]] },
      rowCount: 2,
      truncated: true,
    },
  ];
  await instance.report(work, {
    type: 'progress',
    steps: [step],
    variables: [{ pipelineRunId: id, variables }],
  });
  await instance.report(work, {
    type: 'progress',
    steps: [step],
    variables: [{ pipelineRunId: id, variables: [] }],
  });
  const { body } = await admin.get<Page<RunVariable>>(`${run}/variables?size=2`);
  assert.deepEqual([body.results, body.total], [variables.slice(0, 2), 3]);
  const next = await admin.get<Page<RunVariable>>(`${run}/variables?size=2&page=1`);
  assert.deepEqual(next.body.results, variables.slice(2));
});

test('a step shows its progress while it runs, and its SQL', async () => {
  const { admin, instance, work, step, run, end } = await createRunning();
  const progress = { done: 3, total: 10, unit: 'iterations', percent: 30 } as const;
  const read = async () => (await admin.get<Page<ExecutionStep>>(`${run}/steps`)).body.results[0]?.result;
  await instance.report(work, { type: 'progress', steps: [{ ...step, progress, sql: 'select 1;' }] });
  assert.deepEqual([(await read())?.progress, (await read())?.sql], [progress, 'select 1;']);
  await end('FAILED');
  assert.deepEqual([(await read())?.progress, (await read())?.sql], [undefined, 'select 1;']);
});
