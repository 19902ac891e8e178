/**
 * A process of runs with a fault that no pipeline can cause. The name of a pipeline's variable says which, and
 * its value is what the process leaves behind or sends.
 */
import { readFileSync, writeSync } from 'node:fs';
import { MessageChannel } from 'node:worker_threads';
import { createRunCaches } from '../engine/ports/run-caches.ts';
import type { FromRun, RunStart } from '../engine/ports/run-messages.ts';
import { listenForRuns } from '../engine/process/process-of-runs.ts';

/** The file descriptor of the channel to the agent. */
const channel = 3;

/** Survives the run that fills it. */
const grown: Buffer[] = [];

const faults: Record<string, (start: RunStart, run: number) => void> = {
  leaveTimer: () => void setTimeout(() => undefined, 600_000).unref(),
  leaveInterval: () => void setInterval(() => undefined, 1_000),
  leaveHandle: () => void new MessageChannel().port1.on('message', () => undefined),
  changeGlobal: () => void Reflect.set(globalThis, 'structuredClone', () => undefined),
  addGlobal: () => mustFail(() => Object.assign(globalThis, { left: 'canary' })),
  changePrototype: () => mustFail(() => Object.assign(Object.prototype, { left: 'canary' })),
  changeBuiltIn: () => {
    mustFail(() => Object.assign(JSON, { parse: () => 'canary' }));
    mustFail(() => Object.assign(console, { log: () => 'canary' }));
  },
  evaluateText: () => mustFail(() => new Function('return 1')()),
  readFile: () => mustFail(() => readFileSync('/etc/hostname')),
  readItsCode: () => mustFail(() => readFileSync(process.argv[1] ?? '')),
  breakEngine: ({ request }) => void Object.assign(request, { variables: [createUnreadable()] }),
  sendLate: (_, run) => void setTimeout(() => process.send?.(createLine(run)), 100),
  sendOfEarlierRun: (_, run) => process.send?.(createLine(run - 1)),
  askTwice: (_, run) => {
    for (const id of [9, 9]) process.send?.({ type: 'execute', run, id, sql: 'select 1' });
  },
  sendNothing: () => process.send?.(null),
  answerNoScript: (_, run) => process.send?.({ type: 'script-answer', run, request: 7, json: '1' }),
  sendUnprintable: (_, run) => {
    const line = { ...createLine(run), source: { step: 1n, stream: 'stdout' } };
    process.send?.(line);
  },
  finishWithNothing: (_, run) => process.send?.({ type: 'finished', run }),
  finishOddly: (_, run) =>
    process.send?.({ type: 'finished', run, outcome: { status: 1n, message: {} }, faults: [] }),
  // Node.js keeps these to itself. An agent without a handle that waits for this answer would crash.
  sendOwnOfNode: () => process.send?.({ cmd: 'NODE_HANDLE_ACK' }),
  sendNoMessage: (_, run) =>
    process.send?.({ type: 'alive', run }, () => writeSync(channel, Buffer.from([0, 0, 0, 4, 1, 2, 3, 4]))),
  grow: () => void grown.push(Buffer.alloc(150_000_000, 1)),
  die: (_, run) => process.send?.({ type: 'alive', run }, () => process.exit(3)),
};

/** Reading it throws what has no message, which the engine does not expect. */
function createUnreadable(): object {
  return Object.defineProperty({}, 'name', {
    get() {
      throw Object.create(null);
    },
  });
}

function createLine(run: number): FromRun {
  const source = { step: 'none', stream: 'stdout' } as const;
  return { type: 'line', run, line: 'canary', source, timestamp: new Date().toISOString() };
}

function mustFail(act: () => unknown): void {
  try {
    act();
  } catch {
    return;
  }
  throw new Error('this was possible');
}

await listenForRuns(createRunCaches(), (start, run) => {
  for (const { name, value } of start.request.variables) {
    if (name === 'fault') faults[String(value)]?.(start, run);
  }
});
